//! What is ruled on a story: judging as a whole, one behaviour per test.

use crate::judge::capture::point::CapturePoint;
use crate::judge::case::{Confidence, Line};
use crate::judge::causes::Cause;
use crate::judge::conditions::Conditions;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::finding::verdict::Hidden;
use crate::judge::findings::Findings;
use crate::judge::findings::Ruling;
use crate::judge::judge;
use crate::judge::judges::Judges;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::variant::Variant;
use crate::judge::path::reference::{self, Reference};
use crate::judge::words::evidence::reasons;
use crate::judge::words::rivals::rivals;
use crate::track::Side;
use crate::track::story::{CLOCK_NS, MIN_WAIT_NS, Story, StorySegment, Told, client, server};

impl Told {
    /// The judged connection, and a ruling for each of the first waits: those that are left.
    pub fn judge(&mut self) -> (JudgedConnection, Vec<Ruling>) {
        let conditions = Conditions { clock_ns: CLOCK_NS, ..Conditions::alone(MIN_WAIT_NS) };
        let mut rulings = Vec::new();
        let judged = judge(&self.connection, &mut self.waits, conditions, &mut rulings);
        (judged, rulings)
    }

    /// What the releases of the server are compared with.
    pub fn reference(&self) -> Reference {
        let conditions = Conditions { clock_ns: CLOCK_NS, ..Conditions::alone(MIN_WAIT_NS) };
        let mut waits = self.waits.clone();
        reference::share_reactions(&mut waits);
        let judges = Judges::new(&self.connection, &waits, conditions);
        judges.releases(Side::Server).unwrap().evidence.reference
    }
}

/// A request in two pieces: the ACK of the first comes after 40 ms, the second follows it at once.
fn held(story: Story) -> Story {
    held_for(story, 40.0, client(50))
}

fn held_for(story: Story, ack_ms: f64, held: StorySegment) -> Story {
    story
        .after_ms(5.0, client(100))
        .after_ms(ack_ms, server(0))
        .after_ms(0.02, held)
        .after_ms(1.0, server(200))
        .after_ms(0.02, client(0))
}

/// Captured at the client.
fn opened() -> Story {
    Story::new().handshake(0.02, 1.0)
}

fn causes(rulings: &[Ruling]) -> Vec<Cause> {
    rulings.iter().map(|ruling| ruling.cause).collect()
}

/// The doubts about the first finding.
fn doubts(rulings: &[Ruling]) -> Vec<Line> {
    rulings[0].doubts.iter().collect()
}

#[test]
fn a_request_in_two_small_writes_waits_for_the_delayed_ack() {
    let mut told = opened().times(3, held).end();
    let (judged, rulings) = told.judge();
    assert_eq!(causes(&rulings), [Cause::NagleDelack; 3]);
    assert_eq!((judged.stalls, judged.capture_point), (3, CapturePoint::Client));
    assert_eq!(judged.half(Side::Client).nagle, Nagle::On);
    let timer = judged.half(Side::Server).detail().delayed_acks.unwrap();
    assert_eq!((timer.count, timer.median_ns), (3, 39_000_000));
}

#[test]
fn a_prompt_ack_that_releases_costs_the_round_trip() {
    let round_trip = |story: Story| {
        story
            .after_ms(5.0, client(100))
            .after_ms(26.0, server(0))
            .after_ms(0.02, client(50))
            .after_ms(26.5, server(200))
    };
    let mut told = Story::new().handshake(0.02, 26.0).times(3, round_trip).end();
    assert_eq!(causes(&told.judge().1), [Cause::NagleRtt; 3]);
}

#[test]
fn what_leaves_long_after_the_ack_was_the_programs_pause() {
    let pausing = |story: Story| {
        story
            .after_ms(5.0, client(100))
            .after_ms(1.0, server(0))
            .after_ms(39.0, client(50))
            .after_ms(1.0, server(200))
    };
    let mut told = opened().times(3, pausing).end();
    assert_eq!(causes(&told.judge().1), [Cause::SenderApp; 3]);
}

#[test]
fn two_small_segments_in_flight_show_that_nodelay_is_in_effect() {
    let mut told = opened()
        .after_ms(5.0, client(100))
        .after_ms(0.1, client(50))
        .after_ms(1.0, server(200))
        .end();
    let (judged, _) = told.judge();
    assert_eq!(judged.half(Side::Client).nagle, Nagle::Off);
    assert_eq!(judged.half(Side::Client).proof, (4, 5));
    assert_eq!(judged.half(Side::Server).nagle, Nagle::Unknown);
}

#[test]
fn one_direction_only_proves_nothing() {
    let mut told = Story::new().after_ms(0.0, client(100)).after_ms(40.0, client(50)).end();
    let (judged, rulings) = told.judge();
    assert_eq!(
        (judged.stalls, judged.is_conclusive(), judged.hidden),
        (0, false, Hidden::OneDirection)
    );
    assert_eq!(judged.half(Side::Client).nagle, Nagle::Unknown);
    assert_eq!(causes(&rulings), [Cause::Unknown]);
}

#[test]
fn a_programs_quick_writes_do_not_outvote_its_holds() {
    // 1.5 ms after a prompt ACK the program writes of its own; 0.02 ms after a late one a hold ends.
    let quick = |story: Story| {
        story
            .after_ms(5.0, client(100))
            .after_ms(0.03, server(0))
            .after_ms(1.5, client(50))
            .after_ms(0.05, server(200))
    };
    let held = |story| held_for(story, 41.0, client(50));
    let mut told = Story::new().handshake(0.02, 0.03).times(8, |story| held(quick(story))).end();
    let (judged, rulings) = told.judge();
    assert_eq!(causes(&rulings), [Cause::NagleDelack; 8]);
    assert_eq!(judged.half(Side::Client).detail().releases.as_ref().unwrap().evidence.near, 0);
}

#[test]
fn what_repeats_without_a_doubt_is_certain() {
    let mut told = opened().times(3, held).end();
    let (_, rulings) = told.judge();
    assert!(rulings.iter().all(|ruling| ruling.doubts.confidence() == Confidence::Certain));
}

#[test]
fn a_single_hold_that_a_program_may_have_hit_by_accident_is_doubted() {
    let mut told = opened().times(1, |story| held_for(story, 12.0, client(50))).end();
    let (_, rulings) = told.judge();
    assert_eq!(doubts(&rulings), [Line::Coincidence]);
    assert_eq!(rulings[0].doubts.confidence(), Confidence::Likely);
}

#[test]
fn a_tail_behind_a_full_segment_is_held_by_the_classic_rule_only() {
    let tail = |story: Story| {
        story
            .after_ms(5.0, client(1460))
            .after_ms(200.0, server(0))
            .after_ms(0.02, client(50))
            .after_ms(1.0, server(200))
    };
    let mut told = opened().times(2, tail).end();
    assert_eq!(doubts(&told.judge().1), [Line::FullSized]);
    let mut told = opened().times(3, tail).end();
    let (judged, rulings) = told.judge();
    assert_eq!(doubts(&rulings), []);
    assert_eq!(judged.half(Side::Client).detail().variant, Variant::Classic);
}

#[test]
fn without_a_handshake_the_first_holds_show_no_round_trip() {
    let mut told = Story::new().times(2, held).end();
    let (_, rulings) = told.judge();
    assert!(doubts(&rulings).contains(&Line::RoundTripEstimated));
    assert_eq!(rulings[0].doubts.confidence(), Confidence::Likely);
}

/// A sender joined midway: each of its small segments is acknowledged after `acks_ms`, and the next leaves
/// as long after that as `released_ms` says.
fn joined_midway(acks_ms: [f64; 4], released_ms: impl Fn(f64) -> f64) -> Vec<Ruling> {
    let sent = |story: Story, ack_ms: f64| {
        story.after_ms(ack_ms, server(0)).after_ms(released_ms(ack_ms), client(50))
    };
    let begun = Story::new().after_ms(0.0, client(100));
    let rulings = acks_ms.into_iter().fold(begun, sent).end().judge().1;
    rulings.into_iter().filter(|ruling| ruling.cause.is_stall()).collect()
}

#[test]
fn joined_midway_a_steady_pace_is_no_round_trip() {
    let heartbeat = joined_midway([0.5, 0.6, 0.5, 0.4], |ack_ms| 999.2 - ack_ms);
    assert!(!heartbeat.is_empty());
    assert!(heartbeat.iter().all(|ruling| ruling.doubts.has(Line::OwnYardstick)));
    // Where each wait is as long as its ACK was late, the releases follow the ACKs.
    let held = joined_midway([40.0, 43.0, 36.0, 41.5], |_| 20.0);
    assert!(!held.is_empty());
    assert!(held.iter().all(|ruling| !ruling.doubts.has(Line::OwnYardstick)));
}

/// `then` is released once alone, and once where the kernel was seen to hold three others.
fn alone_and_among_holds(then: impl Fn(Story) -> Story) -> [(Cause, Vec<Line>); 2] {
    [0, 3].map(|holds| {
        let (_, rulings) = then(opened().times(holds, held)).end().judge();
        let last = rulings.last().unwrap();
        (last.cause, last.doubts.iter().collect())
    })
}

#[test]
fn what_follows_a_fin_may_be_the_answer_of_the_program() {
    let closing = |fin: StorySegment| {
        alone_and_among_holds(|story| {
            story.after_ms(5.0, client(100)).after_ms(40.0, fin).after_ms(0.02, client(50))
        })
    };
    let [alone, among_holds] = closing(server(0).fin());
    assert_eq!(alone.0, Cause::SenderApp);
    assert_eq!(among_holds, (Cause::NagleDelack, vec![Line::Answerable]));
    let pure = closing(server(0)).map(|(cause, _)| cause);
    assert_eq!(pure, [Cause::NagleDelack; 2]);
}

/// The server sends something that crosses the client's segment, and acknowledges that later.
#[test]
fn what_acknowledges_new_data_of_the_peer_may_be_the_answer_to_it() {
    let crossing = |story: Story, ack_ms: f64| {
        let sent = story.half(Side::Client).bytes() as i64;
        story
            .after_ms(5.0, client(100))
            .after_ms(1.0, server(20).ack(sent))
            .after_ms(ack_ms, server(0))
            .after_ms(0.02, client(50))
    };
    let [alone, among_holds] = alone_and_among_holds(|story| crossing(story, 12.0));
    assert_eq!(alone.0, Cause::SenderApp);
    assert_eq!(among_holds, (Cause::NagleDelack, vec![Line::Answerable]));
    // An answer that takes its time seldom comes within half a millisecond of the ACK.
    let [late, _] = alone_and_among_holds(|story| crossing(story, 40.0));
    assert_eq!(late.0, Cause::NagleDelack);
}

/// A program that happens to write half a millisecond after the ACK looks the same once.
#[test]
fn what_a_program_may_have_done_by_accident_proves_nothing_of_nodelay() {
    let verdict = |release_ms: f64| {
        let story = opened().after_ms(5.0, client(100)).after_ms(40.0, server(0));
        let mut told = story.after_ms(release_ms, client(50)).after_ms(1.0, server(200)).end();
        let (judged, rulings) = told.judge();
        (rulings[0].cause, judged.half(Side::Client).nagle)
    };
    assert_eq!(verdict(0.45), (Cause::NagleDelack, Nagle::Unknown));
    assert_eq!(verdict(0.02), (Cause::NagleDelack, Nagle::On));
}

/// As SSH sets it after the login.
#[test]
fn nodelay_that_is_set_later_is_an_answer_of_its_own() {
    let at_once = |story: Story| {
        story.after_ms(5.0, client(100)).after_ms(0.1, client(50)).after_ms(1.0, server(200))
    };
    let mut told = opened().times(3, held).times(5, at_once).end();
    let (judged, rulings) = told.judge();
    let half = judged.half(Side::Client);
    let last = told.waits[rulings.iter().rposition(|ruling| ruling.cause.is_stall()).unwrap()];
    assert_eq!((half.nagle, half.proof.0), (Nagle::Switched, last.to.frame));
    assert!(half.proof.1 > half.proof.0);
}

/// Scripts write captures in which every frame comes so much after the one before.
#[test]
fn times_that_are_made_up_show_no_stall() {
    let stalls = |ack_ms: f64| {
        let mut told = Story::new()
            .after_ms(0.0, client(0).syn())
            .after_ms(50.0, server(0).syn())
            .after_ms(50.0, client(0))
            .after_ms(50.0, client(100))
            .after_ms(ack_ms, server(0))
            .after_ms(50.0, client(50))
            .end();
        let (judged, rulings) = told.judge();
        (judged.stalls, rulings.last().unwrap().cause)
    };
    assert_eq!(stalls(50.0), (0, Cause::Unknown));
    assert_eq!(stalls(90.0), (1, Cause::NagleDelack));
}

#[test]
fn a_contradiction_after_a_single_hold_leaves_it_likely() {
    let mut told = opened()
        .after_ms(5.0, client(100))
        .after_ms(12.0, server(0))
        .after_ms(0.02, client(50))
        .after_ms(5.0, client(10))
        .end();
    let (judged, rulings) = told.judge();
    assert_eq!(doubts(&rulings), [Line::Contradicted, Line::Coincidence]);
    assert_eq!(rulings[0].doubts.confidence(), Confidence::Likely);
    assert_eq!(judged.half(Side::Client).contradictions, 1);
}

/// Pieces of 1024 bytes: with an MSS of 1460 they are small, unless the path carries no more.
#[test]
fn segments_that_go_like_full_ones_are_not_held() {
    let slow_start = |pieces: u32| {
        opened()
            .after_ms(5.0, client(1024))
            .after_ms(40.0, server(0))
            .after_ms(0.02, client(1024))
            .times(pieces - 1, |story| story.after_ms(0.01, client(1024)))
            .after_ms(1.0, server(200))
    };
    assert_eq!(slow_start(1).end().judge().0.stalls, 1);
    assert_eq!(slow_start(2).end().judge().0.stalls, 0);
    // A small tail behind them is.
    let mut told = slow_start(2)
        .after_ms(5.0, client(1024))
        .after_ms(40.0, server(0))
        .after_ms(0.02, client(100))
        .end();
    assert_eq!(told.judge().0.stalls, 1);
    assert_eq!(told.half(Side::Client).contradictions(), 0);
}

#[test]
fn a_segment_sent_again_while_its_ack_was_delayed_is_not_counted_as_lost() {
    // lwIP delays for up to 250 ms; Linux sends again after 200. Captured at the receiver.
    let resent = |story: Story| {
        story
            .after_ms(5.0, client(100))
            .after_ms(205.0, client(100).again())
            .after_ms(40.0, server(0))
            .after_ms(1.02, client(50))
            .after_ms(0.1, server(200))
    };
    let mut told = Story::new().handshake(1.0, 0.02).times(3, resent).end();
    let (_, rulings) = told.judge();
    assert_eq!(causes(&rulings), [Cause::NagleDelack; 3]);
    assert_eq!(doubts(&rulings), [Line::Resent]);
}

#[test]
fn a_loss_is_no_stall() {
    let lost = |story: Story| {
        story
            .after_ms(5.0, client(100))
            .after_ms(205.0, client(100).again())
            .after_ms(1.0, server(200))
    };
    let mut told = opened().times(3, lost).end();
    let (judged, rulings) = told.judge();
    assert_eq!(judged.stalls, 0);
    assert!(causes(&rulings).contains(&Cause::Retransmission));
}

#[test]
fn the_evidence_names_the_frames_and_exactly_the_doubts() {
    let stories = [opened().times(3, held), opened().times(1, held), Story::new().times(2, held)];
    for story in stories {
        let mut told = story.end();
        let (judged, rulings) = told.judge();
        for finding in Findings::new(&told.waits, &rulings).stalls() {
            let told = reasons(finding, &judged);
            let facts =
                if judged.half(Side::Client).detail().releases.as_ref().unwrap().evidence.in_band
                    > 1
                {
                    4
                } else {
                    3
                };
            assert_eq!(told.len(), facts + finding.doubts.iter().count(), "{told:?}");
            let frames = [finding.wait.from, finding.wait.ack, finding.wait.to];
            for frame in frames.map(|mark| format!("frame {} ", mark.frame)) {
                assert!(told[..3].iter().any(|sentence| sentence.contains(&frame)), "{told:?}");
            }
        }
    }
}

#[test]
fn rivals_are_ruled_out_by_what_was_captured() {
    let mut told = opened().times(3, held).end();
    let (judged, rulings) = told.judge();
    let finding = Findings::new(&told.waits, &rulings).stalls().next().unwrap();
    assert!(rivals(finding, &judged).iter().all(|rival| rival.ruled_out));
    let mut told = Story::new().times(3, held).end();
    let (judged, rulings) = told.judge();
    let finding = Findings::new(&told.waits, &rulings).stalls().next().unwrap();
    let left = rivals(finding, &judged);
    let left: Vec<&str> =
        left.iter().filter(|rival| !rival.ruled_out).map(|rival| rival.name).collect();
    assert!(left.contains(&"receiver's window closed or full"), "{left:?}");
}

/// Without a handshake, and `release_ms` after its late ACK.
fn late_capture(story: Story, release_ms: f64) -> Story {
    story
        .after_ms(500.0, server(100))
        .after_ms(41.0, client(0))
        .after_ms(release_ms, server(50))
        .after_ms(1.0, client(0))
}

#[test]
fn a_release_is_never_its_own_yardstick() {
    for release_ms in [[56.0, 170.0], [49.5, 49.6]] {
        let mut told = release_ms.into_iter().fold(Story::new(), late_capture).end();
        let (judged, _) = told.judge();
        assert_eq!((judged.stalls, judged.hidden), (0, Hidden::Blurred));
    }
    // No path is that long.
    let mut told = late_capture(Story::new(), 6212.0).end();
    let (judged, _) = told.judge();
    assert_eq!((judged.stalls, judged.hidden), (0, Hidden::Nothing));
}

#[test]
fn releases_that_agree_show_the_round_trip_without_a_handshake() {
    let mut told = [49.5, 49.6, 49.4, 50.2].into_iter().fold(Story::new(), late_capture).end();
    let (judged, rulings) = told.judge();
    assert_eq!(causes(&rulings).iter().filter(|&&cause| cause == Cause::NagleDelack).count(), 4);
    let finding = Findings::new(&told.waits, &rulings).stalls().next().unwrap();
    let sentences = reasons(finding, &judged);
    assert!(sentences.iter().any(|text| text.contains("on which such waits agree, is 49.400 ms")));
}

#[test]
fn an_ack_bounds_the_round_trip_that_releases_would_show() {
    let acked = Story::new().after_ms(0.0, client(100)).after_ms(30.0, server(0));
    let mut told = [56.1, 56.2, 56.3].into_iter().fold(acked, late_capture).end();
    assert_eq!(told.judge().0.stalls, 0);
}

/// Full-sized segments one by one, captured at the sender, 26 ms away from the receiver.
#[test]
fn a_sender_that_waits_for_each_ack_stops_before_full_sized_segments_too() {
    let block = |story: Story| story.after_ms(0.02, client(1460)).after_ms(26.0, server(0));
    let opened = || Story::new().handshake(0.02, 26.0).after_ms(5.0, client(1460));
    let mut alone = opened().after_ms(26.0, server(0)).times(6, block).end();
    assert_eq!(causes(&alone.judge().1), [Cause::StopAndWait; 6]);
    // Once it had two in flight.
    let two = opened().after_ms(0.02, client(1460)).after_ms(26.0, server(0));
    let mut able = two.times(6, block).end();
    assert!(!causes(&able.judge().1).contains(&Cause::StopAndWait));
}

#[test]
fn small_pieces_that_wait_for_each_ack_are_held_by_nagle() {
    let piece = |story: Story| story.after_ms(0.02, client(100)).after_ms(40.0, server(0));
    let opened = opened().after_ms(5.0, client(100)).after_ms(40.0, server(0));
    let mut told = opened.times(6, piece).end();
    assert_eq!(causes(&told.judge().1)[..6], [Cause::NagleDelack; 6]);
}

#[test]
fn a_syn_that_was_lost_or_answered_late_is_the_connections_wait() {
    let asked = || Story::new().after_ms(0.0, client(0).syn());
    let replied = |story: Story| {
        let story = story.after_ms(0.02, client(0)).after_ms(5.0, client(100));
        story.after_ms(3.0, server(0)).after_ms(0.02, client(0))
    };
    let again = asked().after_ms(1000.0, client(0).syn().ip_id(1)).after_ms(3.0, server(0).syn());
    assert_eq!(causes(&replied(again).end().judge().1), [Cause::Connect]);
    let late = asked().after_ms(350.0, server(0).syn());
    assert_eq!(causes(&replied(late).end().judge().1), [Cause::Connect]);
    // It is that far away.
    let far = asked().after_ms(350.0, server(0).syn()).after_ms(0.02, client(0));
    let mut far = far.after_ms(5.0, client(100)).after_ms(352.0, server(200)).end();
    assert!(far.judge().1.is_empty());
}

/// A story that begins with a SYN, sent again after 1 s, and answered.
fn asked_twice() -> Story {
    let asked = Story::new().after_ms(0.0, client(0).syn());
    asked.after_ms(1000.0, client(0).syn().ip_id(1)).after_ms(3.0, server(0).syn())
}

#[test]
fn slow_connecting_is_told_with_the_time_until_the_first_reply() {
    let acknowledged = || asked_twice().after_ms(0.02, client(0));
    let answered =
        |story: Story| story.after_ms(0.0, client(100)).after_ms(97.0, server(200)).end();
    let took = |mut told: Told| told.judge().0.connecting_ns();
    let both = |connect_us: i64, reply_us: i64| Some((connect_us * 1000, reply_us * 1000));
    assert_eq!(took(answered(acknowledged())), both(1_003_000, 1_100_020));
    let late = Story::new().after_ms(0.0, client(0).syn()).after_ms(350.0, server(0).syn());
    assert_eq!(took(answered(late.after_ms(0.0, client(0)))), both(350_000, 447_000));
    // The answer was lost and is sent again.
    let again = asked_twice().after_ms(1000.0, server(0).syn().ip_id(1));
    assert_eq!(took(answered(again.after_ms(0.0, client(0)))), both(2_003_000, 2_100_000));
    // There is no reply, or it may be among what is missing.
    assert_eq!(took(acknowledged().after_ms(0.0, client(100)).end()), None);
    let missing = acknowledged().after_ms(0.0, client(100)).after_ms(3.0, server(200).seq(100));
    assert_eq!(took(missing.after_ms(0.0, client(0)).end()), None);
}

#[test]
fn connecting_ends_when_the_client_acknowledges_an_answer() {
    let prompt = Story::new().handshake(0.02, 3.0);
    // The server drops the bare ACK, and answers again while the client is idle (`TCP_DEFER_ACCEPT`).
    let again = prompt.after_ms(1000.0, server(0).syn().ip_id(1)).after_ms(0.02, client(0));
    let mut told = again.after_ms(0.0, client(100)).after_ms(97.0, server(200)).end();
    assert_eq!(told.judge().0.connecting_ns(), None);
    // A long way is not slow connecting.
    let far = Story::new().handshake(0.02, 350.0);
    let mut far = far.after_ms(0.0, client(100)).after_ms(352.0, server(200)).end();
    assert_eq!(far.judge().0.connecting_ns(), None);
}
