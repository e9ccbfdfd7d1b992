//! A connection: its handshake, its ends, its exchanges, its repetitions.

use crate::track::Side;
use crate::track::half::repeated::Repeats;
use crate::track::story::{Story, StorySegment, client, server};
use crate::track::wait::fact;

const MS: i64 = 1_000_000;

#[test]
fn the_handshake_tells_both_round_trips_and_the_mss() {
    let told = Story::new().handshake(2.0, 30.0).end();
    assert!(told.connection.has_handshake());
    let round_trips = Side::BOTH.map(|side| told.half(side).measured_rtt_ns());
    assert_eq!(round_trips, [Some(2 * MS), Some(30 * MS)]);
    assert_eq!(told.connection.effective_mss(), (1460, false));
}

#[test]
fn without_a_syn_a_connection_begins_with_its_first_byte() {
    let told = Story::new().after_ms(0.0, client(100).seq(5000)).end();
    assert!(!told.connection.has_handshake());
    assert_eq!(told.half(Side::Client).bytes(), 100);
}

#[test]
fn a_syn_sent_again_is_a_retransmission_that_cost_its_wait() {
    let told = Story::new()
        .after_ms(0.0, client(0).syn().ip_id(7))
        .after_ms(1000.0, client(0).syn().ip_id(8))
        .after_ms(1.0, server(0).syn())
        .end();
    assert!(told.wait().is(fact::RETRANSMITTED));
    assert_eq!(told.wait().wait_ns(), 1000 * MS);
    // Karn's rule: which of the two was answered is not known.
    assert_eq!(told.half(Side::Server).measured_rtt_ns(), None);
}

#[test]
fn a_syn_captured_twice_is_not_a_retransmission() {
    let told = Story::new()
        .after_ms(0.0, client(0).syn().ip_id(7))
        .after_ms(20.0, client(0).syn().ip_id(7))
        .end();
    assert!(told.waits.is_empty());
    assert_eq!(told.half(Side::Client).odd().repeats.duplicated, 1);
}

#[test]
fn a_keep_alive_is_neither_data_nor_a_wait() {
    let told = Story::new()
        .handshake(0.0, 1.0)
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
    let told = Story::new()
        .handshake(0.0, 1.0)
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

#[test]
fn a_greeting_is_no_exchange() {
    let told = Story::new()
        .handshake(0.0, 1.0)
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
        let story = Story::new().handshake(0.0, 1.0).after_ms(0.0, client(100));
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
    let told = Story::new()
        .handshake(0.0, 1.0)
        .after_ms(0.0, client(100).fin())
        .after_ms(1.0, server(0))
        .end();
    assert_eq!(told.half(Side::Client).unseen(), (0, 0));
    assert_eq!(told.half(Side::Client).sequence.in_flight(), 0);
}

#[test]
fn a_late_ack_that_nothing_follows_is_told_at_the_end() {
    let told =
        Story::new().handshake(0.0, 1.0).after_ms(0.0, client(100)).after_ms(41.0, server(0)).end();
    assert!(told.wait().is(fact::ACK_ONLY | fact::PURE_ACK));
    assert_eq!((told.wait().by, told.wait().wait_ns()), (Side::Server, 41 * MS));
}

#[test]
fn over_a_path_of_unknown_length_no_ack_is_late() {
    let told = Story::new().after_ms(0.0, client(100)).after_ms(41.0, server(0)).end();
    assert!(told.waits.is_empty());
}

#[test]
fn data_sent_again_is_told_with_what_it_repeats() {
    let told = Story::new()
        .handshake(0.0, 1.0)
        .after_ms(0.0, client(100).ip_id(1))
        .after_ms(200.0, client(100).seq(0).ip_id(2))
        .after_ms(1.0, server(10))
        .end();
    let wait = &told.waits[0];
    assert!(wait.is(fact::RETRANSMITTED | fact::OWN_DATA_BEFORE));
    assert_eq!((wait.wait_ns(), wait.rel_seq, wait.len), (200 * MS, 0, 100));
    assert_eq!(told.half(Side::Client).odd().repeats.retransmitted, 1);
    assert_eq!(told.half(Side::Client).bytes(), 100);
}

#[test]
fn a_frame_captured_twice_is_not_a_retransmission() {
    let by_ip_id = Story::new()
        .handshake(0.0, 1.0)
        .after_ms(0.0, client(100).ip_id(7))
        .after_ms(20.0, client(100).seq(0).ip_id(7))
        .end();
    let by_timestamp = Story::new()
        .handshake(0.0, 1.0)
        .after_ms(0.0, client(100).tsval(5))
        .after_ms(20.0, client(100).seq(0).tsval(5))
        .end();
    let by_time = Story::new()
        .handshake(0.0, 1.0)
        .after_ms(0.0, client(100))
        .after_ms(0.1, client(100).seq(0))
        .end();
    for told in [by_ip_id, by_timestamp, by_time] {
        let repeats = told.half(Side::Client).odd().repeats;
        assert_eq!((repeats.duplicated, repeats.retransmitted), (1, 0));
    }
}

#[test]
fn what_was_captured_once_is_no_copy_and_the_older_packet_was_not_lost() {
    // 20 ms behind what overtook it, too late for the clock to tell.
    let late = |overtook: StorySegment, came: StorySegment| {
        let told = Story::new()
            .handshake(0.02, 1.0)
            .after_ms(5.0, overtook.seq(100))
            .after_ms(20.0, came.seq(0))
            .end();
        let Repeats { retransmitted, duplicated, reordered, .. } =
            told.half(Side::Client).odd().repeats;
        (retransmitted, duplicated, reordered)
    };
    let (first, second) = (client(100), client(100));
    assert_eq!(late(second.ip_id(8), first.ip_id(7)), (0, 0, 1));
    assert_eq!(late(second.ip_id(0), first.ip_id(u16::MAX)), (1, 0, 0));
    assert_eq!(late(second.ip_id(7), first.ip_id(8)), (1, 0, 0));
    assert_eq!(late(second.tsval(50), first.tsval(49)), (0, 0, 1));
    // A coarse clock ticks seldom: the identification tells more.
    assert_eq!(late(second.tsval(50), first.tsval(50)), (1, 0, 0));
    assert_eq!(late(second.tsval(50).ip_id(8), first.tsval(50).ip_id(7)), (0, 0, 1));
    assert_eq!(late(second.tsval(50), first.tsval(51).ip_id(7)), (1, 0, 0));
    assert_eq!(late(second, first), (1, 0, 0));
}

#[test]
fn a_copy_of_what_came_before_a_hole_does_not_fill_it() {
    let told = Story::new()
        .handshake(0.02, 1.0)
        .after_ms(5.0, client(100).seq(0).ip_id(7))
        .after_ms(0.0, client(100).seq(200).ip_id(9))
        .after_ms(0.01, client(100).seq(0).ip_id(7))
        .after_ms(0.01, client(100).seq(300).ip_id(10))
        .after_ms(0.01, client(100).seq(100).ip_id(8))
        .end();
    let half = told.half(Side::Client);
    assert_eq!((half.odd().repeats.duplicated, half.odd().repeats.reordered), (1, 1));
    assert_eq!(half.unseen().0, 0);
}

#[test]
fn what_the_network_reordered_is_neither_lost_nor_sent_again() {
    let told = Story::new()
        .handshake(0.0, 10.0)
        .after_ms(0.0, client(100).seq(100).ip_id(2))
        .after_ms(0.1, client(100).seq(0).ip_id(1))
        .end();
    let half = told.half(Side::Client);
    assert_eq!((half.odd().repeats.reordered, half.odd().repeats.retransmitted), (1, 0));
    assert_eq!((half.bytes(), half.unseen().0), (100, 0));
}

#[test]
fn a_stray_number_far_ahead_does_not_move_the_stream() {
    let story = Story::new().handshake(0.0, 1.0).after_ms(0.0, client(100));
    let forged = story.after_ms(0.0, client(100).seq(1 << 30));
    assert_eq!(forged.half(Side::Client).bytes(), 100);
    let believed = forged.after_ms(0.0, client(100));
    assert_eq!(believed.half(Side::Client).bytes(), 200);
}

#[test]
fn what_comes_after_fin_keeps_its_place_in_the_stream() {
    let story = Story::new()
        .handshake(0.0, 1.0)
        .after_ms(0.0, client(100).ip_id(1))
        .after_ms(0.0, client(0).fin().ip_id(2));
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
fn a_fin_sent_again_counts_and_its_copy_is_one() {
    let closed = || Story::new().handshake(0.0, 1.0).after_ms(5.0, client(0).fin().ip_id(9));
    let counts = |story: Story| {
        let repeats = story.half(Side::Client).odd().repeats;
        (repeats.fins, repeats.duplicated, repeats.retransmitted)
    };
    assert_eq!(counts(closed().after_ms(300.0, client(0).seq(0).fin().ip_id(200))), (1, 0, 0));
    assert_eq!(counts(closed().after_ms(0.1, client(0).seq(0).fin().ip_id(9))), (0, 1, 0));
    assert_eq!(counts(closed()), (0, 0, 0));
}

/// A segment as gVisor sends it again: with the timestamp that it had.
#[test]
fn a_syn_that_comes_a_second_later_is_no_copy() {
    let counts = |ms: f64| {
        let syn = || client(0).syn();
        let story = Story::new().after_ms(0.0, syn()).after_ms(ms, syn());
        let repeats = story.half(Side::Client).odd().repeats;
        (repeats.retransmitted, repeats.duplicated)
    };
    assert_eq!([counts(1000.0), counts(0.1)], [(1, 0), (0, 1)]);
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

/// The clock was set: that is not a round trip.
#[test]
fn no_round_trip_takes_more_than_a_day() {
    let far_ms = 25.0 * 3_600_000.0;
    let told = Story::new().handshake(far_ms, 1.0).end();
    assert_eq!(told.half(Side::Client).measured_rtt_ns(), None);
    assert_eq!(told.half(Side::Server).measured_rtt_ns(), Some(MS));
}

/// SMTP, FTP, SSH and database servers greet: late ones look up names first.
#[test]
fn a_late_greeting_is_told_of_the_server_that_speaks_first() {
    let greeted = |ms: f64| Story::new().handshake(0.02, 1.0).after_ms(ms, server(30)).end().waits;
    let late = greeted(90.0);
    assert!(!late[0].is(fact::OWN_DATA_BEFORE));
    assert_eq!((late[0].by, late[0].wait_ns() / 1_000_000), (Side::Server, 89));
    assert!(greeted(1.5).is_empty());
}

#[test]
fn an_ack_of_bytes_that_were_sent_again_is_no_delayed_one() {
    let asked = || Story::new().handshake(0.02, 1.0).after_ms(5.0, client(100).ip_id(1));
    let once = asked().after_ms(90.0, server(0)).end();
    assert!(once.wait().is(fact::ACK_ONLY));
    let again = asked().after_ms(210.0, client(100).again().ip_id(2)).after_ms(90.0, server(0));
    assert!(!again.end().waits.iter().any(|wait| wait.is(fact::ACK_ONLY)));
    let too_late = asked().after_ms(600.0, server(0)).end();
    assert!(!too_late.waits.iter().any(|wait| wait.is(fact::ACK_ONLY)));
}

/// A sender does not fill a window below the MSS before it has waited for more (RFC 1122, section 4.2.3.4).
#[test]
fn a_segment_that_just_fills_a_small_window_waited_for_room() {
    let sent = |len: u32| {
        let small = |story: Story| story.after_ms(1.0, server(0).window(7));
        let story = small(small(Story::new().handshake(0.02, 1.0)).after_ms(1.0, client(400)));
        *story.after_ms(200.0, client(len)).end().waits.last().unwrap()
    };
    // 7 times 128 bytes.
    assert!(sent(896).is(fact::WINDOW_FULL));
    assert!(!sent(500).is(fact::WINDOW_FULL));
}
