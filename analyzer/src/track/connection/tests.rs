//! A connection: its handshake, its ends, its exchanges, its repetitions.

use crate::track::Side;
use crate::track::half::repeated::Repeats;
use crate::track::story::{Story, StorySegment, client, server};
use crate::track::wait::{End, fact};

const MS: i64 = 1_000_000;

fn connected() -> Story {
    Story::new().handshake(0.02, 1.0)
}

#[test]
fn the_handshake_tells_both_round_trips_and_the_mss() {
    let told = Story::new().handshake(2.0, 30.0).end();
    assert!(told.connection.has_handshake());
    let round_trips = Side::BOTH.map(|side| told.half(side).measured_rtt_ns());
    assert_eq!(round_trips, [Some(2 * MS), Some(30 * MS)]);
    assert_eq!(told.connection.effective_mss(), (1460, false));
    // Without a SYN a connection begins with its first byte.
    let told = Story::new().after_ms(0.0, client(100).seq(5000)).end();
    assert!(!told.connection.has_handshake());
    assert_eq!(told.half(Side::Client).bytes(), 100);
    // More than a day: the clock was set.
    let told = Story::new().handshake(25.0 * 3_600_000.0, 1.0).end();
    assert_eq!(Side::BOTH.map(|side| told.half(side).measured_rtt_ns()), [None, Some(MS)]);
}

#[test]
fn what_is_sent_again_is_a_retransmission_that_cost_its_wait() {
    let told = Story::new()
        .after_ms(0.0, client(0).syn().ip_id(7))
        .after_ms(1000.0, client(0).syn().ip_id(8))
        .after_ms(1.0, server(0).syn())
        .end();
    assert!(told.wait().is(fact::RETRANSMITTED));
    assert_eq!(told.wait().wait_ns(), 1000 * MS);
    // Karn's rule: which of the two was answered is not known.
    assert_eq!(told.half(Side::Server).measured_rtt_ns(), None);
    let told = connected()
        .after_ms(0.0, client(100).ip_id(1))
        .after_ms(200.0, client(100).seq(0).ip_id(2))
        .after_ms(1.0, server(10))
        .end();
    let wait = &told.waits[0];
    assert!(wait.is(fact::RETRANSMITTED | fact::OWN_DATA_BEFORE));
    assert_eq!((wait.wait_ns(), wait.rel_seq, wait.len), (200 * MS, 0, 100));
    assert_eq!(told.half(Side::Client).bytes(), 100);
}

/// TCP Fast Open: the SYN carries the request, and the SYN-ACK acknowledges it.
#[test]
fn data_in_a_syn_is_a_request_and_not_missing() {
    let told = Story::new()
        .after_ms(0.0, client(100).syn())
        .after_ms(1.0, server(0).syn().ack(100))
        .after_ms(0.02, client(0).seq(100))
        .after_ms(5.0, server(200).ack(100))
        .after_ms(0.02, client(0))
        .end();
    let client = told.half(Side::Client);
    assert_eq!((client.bytes(), client.unseen().0), (100, 0));
    assert_eq!(told.connection.exchanges.count, 1);
}

#[derive(Debug, PartialEq)]
enum Again {
    Sent,
    Captured,
    Overtaken,
    /// A FIN without data.
    Finished,
}

/// How something of the client came again, if only one thing did.
fn again(story: &Story) -> Again {
    let repeats = story.half(Side::Client).odd().repeats;
    match repeats {
        Repeats { retransmitted: 1, duplicated: 0, reordered: 0, fins: 0, .. } => Again::Sent,
        Repeats { retransmitted: 0, duplicated: 1, reordered: 0, fins: 0, .. } => Again::Captured,
        Repeats { retransmitted: 0, duplicated: 0, reordered: 1, fins: 0, .. } => Again::Overtaken,
        Repeats { retransmitted: 0, duplicated: 0, reordered: 0, fins: 1, .. } => Again::Finished,
        _ => panic!("{repeats:?}"),
    }
}

/// Bytes that come twice, some ms apart.
#[test]
fn a_frame_that_was_captured_twice_is_not_a_retransmission() {
    let twice = |first: StorySegment, ms: f64, second: StorySegment| {
        again(&connected().after_ms(0.0, first).after_ms(ms, second.seq(0)))
    };
    let sent = client(100);
    assert_eq!(twice(sent.ip_id(7), 20.0, sent.ip_id(7)), Again::Captured);
    assert_eq!(twice(sent.ip_id(7), 20.0, sent.ip_id(8)), Again::Sent);
    assert_eq!(twice(sent.tsval(5), 20.0, sent.tsval(5)), Again::Captured);
    assert_eq!(twice(sent, 0.1, sent), Again::Captured);
    let fin = client(0).fin();
    assert_eq!(twice(fin.ip_id(9), 0.1, fin.ip_id(9)), Again::Captured);
    assert_eq!(twice(fin.ip_id(9), 300.0, fin.ip_id(200)), Again::Finished);
    // gVisor sends a SYN again with the timestamp that it had.
    let syns =
        |ms: f64| again(&Story::new().after_ms(0.0, client(0).syn()).after_ms(ms, client(0).syn()));
    assert_eq!([0.1, 1000.0].map(syns), [Again::Captured, Again::Sent]);
}

/// A host that numbers no packets gives all of them one identification (RFC 6864, section 4.1).
#[test]
fn what_comes_again_with_the_one_identification_of_its_host_is_sent_again() {
    let story =
        connected().after_ms(5.0, client(1460).ip_id(1)).after_ms(0.02, client(90).ip_id(1));
    let story = story.after_ms(300.0, client(90).ip_id(1).again());
    assert_eq!(again(&story), Again::Sent);
}

/// Each was captured once, the one that was sent first behind the other: too late for the clock to
/// tell, but for the last one.
#[test]
fn the_older_of_two_packets_was_overtaken_and_not_lost() {
    let late = |overtook: StorySegment, ms: f64, came: StorySegment| {
        again(&connected().after_ms(5.0, overtook.seq(100)).after_ms(ms, came.seq(0)))
    };
    let sent = client(100);
    assert_eq!(late(sent.ip_id(8), 20.0, sent.ip_id(7)), Again::Overtaken);
    assert_eq!(late(sent.ip_id(0), 20.0, sent.ip_id(u16::MAX)), Again::Sent);
    assert_eq!(late(sent.ip_id(7), 20.0, sent.ip_id(8)), Again::Sent);
    assert_eq!(late(sent.tsval(50), 20.0, sent.tsval(49)), Again::Overtaken);
    // A coarse clock ticks seldom: the identification tells more.
    assert_eq!(late(sent.tsval(50), 20.0, sent.tsval(50)), Again::Sent);
    assert_eq!(late(sent.tsval(50).ip_id(8), 20.0, sent.tsval(50).ip_id(7)), Again::Overtaken);
    assert_eq!(late(sent.tsval(50), 20.0, sent.tsval(51).ip_id(7)), Again::Sent);
    assert_eq!(late(sent, 20.0, sent), Again::Sent);
    assert_eq!(late(sent, 0.1, sent), Again::Overtaken);
}

#[test]
fn what_was_overtaken_fills_its_hole_and_a_copy_does_not() {
    let story = connected()
        .after_ms(5.0, client(100).seq(0).ip_id(7))
        .after_ms(0.0, client(100).seq(200).ip_id(9))
        .after_ms(0.01, client(100).seq(0).ip_id(7));
    assert_eq!((again(&story), story.half(Side::Client).unseen().0), (Again::Captured, 100));
    let story = story
        .after_ms(0.01, client(100).seq(300).ip_id(10))
        .after_ms(0.01, client(100).seq(100).ip_id(8));
    let half = story.half(Side::Client);
    assert_eq!((half.odd().repeats.reordered, half.unseen().0, half.bytes()), (1, 0, 300));
}

#[test]
fn a_keep_alive_is_neither_data_nor_a_wait() {
    let told = connected()
        .after_ms(0.0, client(100))
        .after_ms(1.0, server(100))
        .after_ms(45_000.0, client(1).seq(99))
        .after_ms(1.0, server(0))
        .end();
    assert!(told.waits.is_empty(), "{:?}", told.waits);
    assert_eq!(told.half(Side::Client).bytes(), 100);
    assert_eq!(told.half(Side::Client).odd().repeats.retransmitted, 0);
}

#[test]
fn an_exchange_lasts_from_the_first_byte_asked_to_the_last_answered() {
    let told = connected()
        .after_ms(0.0, client(100))
        .after_ms(1.0, client(50))
        .after_ms(3.0, server(1460))
        .after_ms(1.0, server(40))
        .after_ms(2.0, client(100))
        .end();
    let [exchange] = told.exchanges[..] else { panic!("{:?}", told.exchanges) };
    assert_eq!(exchange.latency_ns(), 5 * MS);
    assert_eq!((exchange.request_bytes, exchange.response_bytes), (150, 1500));
}

/// Latencies in ms, and how many messages are no part of an exchange.
fn latencies(story: Story) -> (Vec<i64>, u64) {
    let told = story.end();
    (told.exchanges.iter().map(|row| row.latency_ns() / MS).collect(), told.unasked)
}

fn answered(story: Story) -> Story {
    story.after_ms(50.0, client(100)).after_ms(5.0, server(200)).after_ms(0.02, client(0))
}

#[test]
fn what_a_server_sends_of_its_own_accord_is_no_latency() {
    let push = |story: Story| story.after_ms(5_000.0, server(60)).after_ms(0.02, client(0));
    assert_eq!(latencies(answered(connected()).times(70, push)), (vec![5], 70));
    assert_eq!(latencies(answered(answered(connected()).times(2, push))), (vec![5, 5], 2));
    // The ACK of the reply was not captured; nothing was sent again.
    let asked = connected().after_ms(5.0, client(100)).after_ms(5.0, server(200));
    assert_eq!(latencies(asked.after_ms(5_000.0, server(60).ack(100))).0, [5]);
}

#[test]
fn a_reply_goes_on_over_pauses_while_something_is_owed() {
    let begun = || connected().after_ms(5.0, client(100)).after_ms(5.0, server(1460).more());
    let cut = begun().after_ms(0.02, client(0)).after_ms(5_000.0, server(60));
    assert_eq!(latencies(cut), (vec![5_005], 0));
    let paused = answered(connected()).after_ms(700.0, server(60));
    assert_eq!(latencies(paused), (vec![705], 0));
    let full = connected().after_ms(5.0, client(100)).after_ms(5.0, server(700));
    let full = full.after_ms(0.02, client(0).window(0));
    let full = full.after_ms(5_000.0, client(0)).after_ms(1.0, server(60));
    assert_eq!(latencies(full), (vec![5_006], 0));
}

/// A program writes 'typing ...' every five seconds, which nobody answers, then asks.
#[test]
fn a_request_begins_with_the_message_that_is_answered() {
    let typing = |story: Story| story.after_ms(5_000.0, client(90)).after_ms(1.0, server(0));
    let asked = answered(connected()).times(3, typing);
    assert_eq!(latencies(answered(asked.after_ms(5_000.0, client(0)))), (vec![5, 5], 3));
}

#[test]
fn a_late_answer_is_one_unless_both_ends_speak_when_they_like() {
    let late = |story: Story| story.after_ms(50.0, client(100)).after_ms(9_000.0, server(200));
    assert_eq!(latencies(late(answered(connected()))), (vec![5, 9_000], 0));
    let push = |story: Story| story.after_ms(5_000.0, server(60)).after_ms(0.02, client(0));
    assert_eq!(latencies(late(answered(connected()).times(2, push))), (vec![5], 3));
}

/// iSCSI and IEC 104 send such probes every ten or twenty seconds.
#[test]
fn a_servers_probe_that_its_client_answers_at_once_is_no_exchange() {
    let probe = |story: Story, after_ms| {
        let probed = story.after_ms(10_000.0, server(48)).after_ms(after_ms, client(48));
        probed.after_ms(0.1, server(0))
    };
    let probed = || answered(connected()).times(3, |story| probe(story, 0.1));
    assert_eq!(latencies(probed()), (vec![5], 3));
    // An answer that comes soon ends it, and a client that takes its time asks something else.
    let asked = |story: Story| story.after_ms(50.0, client(100)).after_ms(9_000.0, server(200));
    let soon = |story: Story| answered(answered(story.after_ms(5.0, server(9))));
    assert_eq!(latencies(asked(soon(probed()))), (vec![5, 5, 5, 5, 9_000], 3));
    assert_eq!(latencies(probe(probe(answered(connected()), 2_000.0), 0.1)), (vec![5, 10_000], 1));
    // A late reply to the first word after a greeting is one.
    let greeted = connected().after_ms(5.0, server(20)).after_ms(0.02, client(0));
    assert_eq!(latencies(asked(greeted)), (vec![9_000], 0));
}

#[test]
fn what_is_still_owed_at_the_end_is_no_whole_exchange() {
    let cut = answered(connected()).after_ms(5.0, client(100)).after_ms(5.0, server(1460).more());
    let told = cut.after_ms(0.02, client(0)).end_after_ms(30_000.0);
    assert_eq!(told.exchanges.len(), 1);
}

#[test]
fn a_greeting_is_no_exchange() {
    let told = connected()
        .after_ms(5.0, server(20))
        .after_ms(5.0, client(100))
        .after_ms(5.0, server(100))
        .end();
    assert_eq!(told.exchanges.len(), 1);
    assert_eq!(told.exchanges[0].begin.frame, 5);
}

#[test]
fn fin_and_rst_end_the_last_exchange() {
    let asked = || {
        let story = connected().after_ms(0.0, client(100));
        story.after_ms(1.0, server(100))
    };
    for ended in [asked().after_ms(1.0, server(0).fin()), asked().after_ms(1.0, server(0).rst())] {
        // Later segments belong to no exchange any more.
        let told = ended.after_ms(1.0, server(0)).end();
        assert_eq!(told.exchanges.len(), 1);
        assert_eq!(told.connection.first_exchange(), Some((MS, 5.try_into().unwrap())));
    }
}

#[test]
fn the_ack_of_a_fin_shows_no_missing_byte() {
    let told = connected().after_ms(0.0, client(100).fin()).after_ms(1.0, server(0)).end();
    assert_eq!(told.half(Side::Client).unseen(), (0, 0));
    assert_eq!(told.half(Side::Client).sequence.in_flight(), 0);
}

#[test]
fn a_stray_number_far_ahead_does_not_move_the_stream() {
    let story = connected().after_ms(0.0, client(100));
    let forged = story.after_ms(0.0, client(100).seq(1 << 30));
    assert_eq!(forged.half(Side::Client).bytes(), 100);
    let believed = forged.after_ms(0.0, client(100));
    assert_eq!(believed.half(Side::Client).bytes(), 200);
}

#[test]
fn what_comes_after_fin_keeps_its_place_in_the_stream() {
    let story =
        connected().after_ms(0.0, client(100).ip_id(1)).after_ms(0.0, client(0).fin().ip_id(2));
    let half = story.half(Side::Client);
    let place = |ahead: u32| half.offset_of(half.sequence.nxt.wrapping_add(ahead));
    assert_eq!(
        [place(0), place(0_u32.wrapping_sub(1)), place(0_u32.wrapping_sub(101))],
        [101, 100, 0]
    );
    let told = story.after_ms(300.0, client(50).seq(50).fin().ip_id(200)).end();
    assert_eq!((told.wait().rel_seq, told.wait().len), (50, 50));
}

#[test]
fn a_handshake_takes_from_the_last_syn_to_its_ack() {
    let syn = || Story::new().after_ms(0.0, client(0).syn());
    let took = |story: Story| story.end().connection.handshake_ns();
    assert_eq!(took(Story::new().handshake(2.0, 3.0)), Some(5 * MS));
    let again = syn().after_ms(1000.0, client(0).syn());
    assert_eq!(took(again.after_ms(3.0, server(0).syn()).after_ms(2.0, client(0))), Some(5 * MS));
    let later = Story::new().handshake(2.0, 3.0).after_ms(9.0, client(0)).after_ms(1.0, server(9));
    assert_eq!(took(later), Some(5 * MS));
    // One direction only: the ACK, but not data that came who knows when.
    assert_eq!(took(syn().after_ms(5.0, client(0))), Some(5 * MS));
    assert_eq!(took(syn().after_ms(5.0, client(10))), None);
    assert_eq!(took(syn().after_ms(3.0, server(0).syn())), None);
    assert_eq!(took(Story::new().after_ms(0.0, client(10)).after_ms(1.0, client(0))), None);
    // The clock was set back.
    assert_eq!(took(Story::new().handshake(-2000.0, 3.0)), None);
}

#[test]
fn a_late_ack_that_nothing_follows_is_told_where_only_a_timer_explains_it() {
    let asked = || connected().after_ms(5.0, client(100).ip_id(1));
    let is_told = |story: Story| story.end().waits.iter().any(|wait| wait.end == End::Ack);
    let told = asked().after_ms(41.0, server(0)).end();
    assert!(told.wait().end == End::Ack && told.wait().is(fact::PURE_ACK));
    assert_eq!((told.wait().by, told.wait().wait_ns()), (Side::Server, 41 * MS));
    // Over a path of unknown length none is late.
    assert!(!is_told(Story::new().after_ms(0.0, client(100)).after_ms(41.0, server(0))));
    let again = asked().after_ms(210.0, client(100).again().ip_id(2));
    assert!(!is_told(again.after_ms(90.0, server(0))));
    assert!(!is_told(asked().after_ms(700.0, server(0))));
}

/// SMTP, FTP, SSH and database servers greet: late ones look up names first.
#[test]
fn a_late_greeting_is_told_of_the_server_that_speaks_first() {
    let greeted = |ms: f64| connected().after_ms(ms, server(30)).end().waits;
    let late = greeted(90.0);
    assert!(!late[0].is(fact::OWN_DATA_BEFORE));
    assert_eq!((late[0].by, late[0].wait_ns() / 1_000_000), (Side::Server, 89));
    assert!(greeted(1.5).is_empty());
}

#[test]
fn a_keep_alive_at_the_beginning_asks_for_nothing() {
    let joined = |first: StorySegment| {
        let probed = Story::new().after_ms(0.0, first).after_ms(260.0, server(0));
        probed.after_ms(630.0, client(595)).after_ms(190.0, server(900)).end().exchanges
    };
    let asked = |first| joined(first).iter().map(|one| one.begin.frame).collect::<Vec<u32>>();
    assert_eq!(asked(client(1).more()), [3]);
    assert_eq!(asked(client(1)), [1]);
}

/// How often client and server could have stalled.
fn opportunities(story: Story) -> [u32; 2] {
    story.end().judge().0.halves.map(|half| half.opportunities)
}

#[test]
fn quick_acks_leave_nothing_to_stall_and_an_ack_on_a_reply_does() {
    // Captured at the client, 1 ms from the server.
    let ask = |story: Story| story.after_ms(1.0, client(100)).after_ms(1.0, server(0));
    let asked = || ask(connected());
    let first = || asked().after_ms(1.0, server(200)).after_ms(0.02, client(0));
    assert_eq!(opportunities(first()), [0, 0]);
    let again = || first().after_ms(60.0, client(100)).after_ms(1.2, server(200));
    assert_eq!(opportunities(again().after_ms(0.02, client(0))), [1, 0]);
    assert_eq!(opportunities(again().after_ms(40.0, client(0))), [1, 1]);
    assert_eq!(opportunities(again().after_ms(0.1, client(100)).after_ms(1.0, server(0))), [1, 1]);
    // An ACK that came with the handshake acknowledges a SYN.
    let opened = Story::new().after_ms(0.0, client(0).syn()).after_ms(1.0, server(0).syn());
    assert_eq!(opportunities(ask(opened)), [0, 0]);
    // On a path this long, 12 ms are no delayed ACK.
    let far = Story::new().handshake(0.02, 300.0).after_ms(1.0, client(100));
    assert_eq!(opportunities(far.after_ms(312.0, server(0))), [0, 0]);
    // Sent again needlessly, it is acknowledged as late as it was the first time.
    let near = Story::new().handshake(0.02, 12.0).after_ms(1.0, client(100));
    let again = near.after_ms(49.0, client(100).again()).after_ms(4.0, server(0));
    assert_eq!(opportunities(again.after_ms(170.0, server(37))), [1, 0]);
    // A full segment keeps back nothing (Minshall), and TCP_NODELAY is proven by what left.
    assert_eq!(
        opportunities(asked().after_ms(1.0, server(1460)).after_ms(40.0, client(0))),
        [0, 0]
    );
    assert_eq!(opportunities(asked().after_ms(1.0, server(9)).after_ms(0.01, server(9))), [0, 1]);
}

#[test]
fn two_pieces_within_a_quick_ack_are_a_stall_to_come() {
    let asked = || connected().after_ms(1.0, client(100)).after_ms(1.0, server(0));
    let split = |piece: StorySegment, ms| {
        let replied = asked().after_ms(0.1, server(71)).after_ms(0.01, client(0));
        replied.after_ms(ms, piece).end().splits
    };
    let found = split(server(23), 0.01);
    assert_eq!((found[0].by, found[0].bytes, found[0].frames), (Side::Server, [71, 23], [6, 8]));
    assert_eq!(found.len(), 1);
    // Later it is another message, or a hold; FIN is never held; and the client answers.
    assert_eq!(split(server(23), 5.0), []);
    assert_eq!(split(server(23).fin(), 0.01), []);
    assert_eq!(split(client(23), 0.01), []);
    // The client closes, or its window, 128 bytes, was too small for both.
    let split_after = |ack: StorySegment, window| {
        let offered = connected().after_ms(1.0, client(100).window(window));
        let quick = offered.after_ms(0.1, server(71)).after_ms(0.01, ack);
        quick.after_ms(0.01, server(60)).end().splits.len()
    };
    assert_eq!([split_after(client(0), 512), split_after(client(0).fin(), 512)], [1, 0]);
    assert_eq!(split_after(client(0), 1), 0);
}
