//! Rulings on whole stories, one behaviour per test.

mod connecting;
mod far;
mod nodelay;
mod stamps;
mod words;

use crate::judge::capture::point::CapturePoint;
use crate::judge::causes::Cause;
use crate::judge::conditions::Conditions;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Ruling;
use crate::judge::model::{Confidence, by_data};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::variant::Variant;
use crate::judge::pooled::servers::Servers;
use crate::judge::{Weighed, judge, weigh_all};
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::exchange::exchanged::Stale;
use crate::track::story::{MIN_WAIT_NS, Story, StorySegment, Told, block, client, server};
use crate::track::wait::{Wait, fact};

impl Told {
    /// The judged connection, and a ruling for each of the first waits: those that are left.
    pub fn judge(&mut self) -> (JudgedConnection, Vec<Ruling>) {
        self.judge_where(|conditions| conditions)
    }

    /// Judges under other conditions than a plain scan.
    pub fn judge_where(
        &mut self,
        differ: impl Fn(Conditions<'_>) -> Conditions<'_>,
    ) -> (JudgedConnection, Vec<Ruling>) {
        judge_all([self], differ).remove(0)
    }
}

/// Connections of one capture, judged together.
fn judge_all<'a>(
    all: impl IntoIterator<Item = &'a mut Told>,
    differ: impl Fn(Conditions<'_>) -> Conditions<'_>,
) -> Vec<(JudgedConnection, Vec<Ruling>)> {
    let all: Vec<&mut Told> = all.into_iter().collect();
    let copies = all.iter().map(|told| Told {
        connection: told.connection.clone(),
        waits: told.waits.clone(),
        by_data: told.by_data.clone(),
        exchanges: Vec::new(),
        stale: Stale::default(),
        splits: Vec::new(),
        unasked: 0,
    });
    let mut blocks = [block(copies)];
    let clocks = Clocks::default();
    let Weighed { mut models, paths, .. } = weigh_all(&mut blocks, &clocks, None, 1);
    let mut model = models.remove(0);
    by_data::drop_unlikely(&mut blocks[0], &mut model);
    let servers = Servers::default();
    let mut begin = 0;
    let judge_one = |(place, told): (usize, &mut Told)| {
        let is_own = |wait: &&Wait| wait.connection == place as u32;
        told.waits = blocks[0].waits.iter().filter(is_own).copied().collect();
        let own = begin..begin + told.waits.len();
        begin = own.end;
        let of_connection = model.of_connection(place, own);
        let seen = (&told.connection, &told.waits[..]);
        let known = (&paths, &servers);
        let conditions = differ(Conditions::of(MIN_WAIT_NS, &clocks, known, seen));
        let mut rulings = Vec::new();
        let judged =
            judge(&told.connection, &mut told.waits, of_connection, conditions, &mut rulings);
        (judged, rulings)
    };
    all.into_iter().enumerate().map(judge_one).collect()
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

/// How sure each stall is.
fn stalls(rulings: &[Ruling]) -> Vec<Confidence> {
    let held = rulings.iter().filter(|ruling| ruling.cause.is_stall());
    held.filter_map(|ruling| ruling.held.confidence()).collect()
}

fn stalls_of(story: Story) -> Vec<Confidence> {
    stalls(&story.end().judge().1)
}

/// How many are likely or certain.
fn sure(stalls: &[Confidence]) -> usize {
    stalls.iter().filter(|&&stall| stall > Confidence::Possible).count()
}

#[test]
fn a_request_in_two_small_writes_waits_for_the_delayed_ack() {
    let mut told = opened().times(3, held).end();
    let (judged, rulings) = told.judge();
    assert_eq!(causes(&rulings), [Cause::NagleDelack; 3]);
    assert_eq!(stalls(&rulings), [Confidence::Certain; 3]);
    assert_eq!((judged.stalls, judged.capture_point), (3, CapturePoint::Client));
    assert_eq!(judged.half(Side::Client).nagle, Nagle::On);
    let timer = judged.half(Side::Server).detail().late_acks.unwrap().timer;
    assert_eq!((timer.count, timer.median_ns), (3, 39_000_000));
}

#[test]
fn a_program_with_a_period_is_no_stall() {
    let periodic = |story: Story, at: u32| {
        let ack_ms = 42.0 + f64::from(at % 5) * 0.4;
        let acked = story.after_ms(300.0, client(100)).after_ms(ack_ms, server(0));
        acked.after_ms(44.0 - ack_ms, client(50)).after_ms(1.0, server(200))
    };
    assert_eq!(stalls_of((0..30).fold(opened(), periodic)), []);
}

/// How sure the stalls are of connections of one server, where the capture was taken: each has one
/// reply in two pieces, the second so long after the ACK of the first.
fn server_replies(releases_ms: &[f64]) -> Vec<Confidence> {
    let story = |(at, &ms): (usize, &f64)| {
        let syn = Story::new().after_ms(at as f64 * 300.0, client(0).syn());
        let connected = syn.after_ms(0.02, server(0).syn()).after_ms(1.0, client(0));
        let asked = connected.after_ms(5.0, client(100)).after_ms(0.1, server(100));
        asked.after_ms(40.0, client(0)).after_ms(ms, server(50)).after_ms(1.0, client(0)).end()
    };
    let mut all: Vec<Told> = releases_ms.iter().enumerate().map(story).collect();
    let judged = judge_all(&mut all, |conditions| conditions);
    judged.iter().flat_map(|(_, rulings)| stalls(rulings)).collect()
}

#[test]
fn of_many_pauses_some_end_just_after_an_ack_by_accident() {
    let mut pauses: Vec<f64> = (2..=400).map(|step| 0.05 * f64::from(step * 7 % 401)).collect();
    pauses.insert(200, 0.05);
    assert_eq!(sure(&server_replies(&pauses)), 0);
    let mut held = vec![0.02; 50];
    held.extend((1..=10).map(|step| 1.5 * f64::from(step)));
    assert_eq!(sure(&server_replies(&held)), 50);
}

/// Reactions were measured of a plain relay and of a server that holds, both under load.
#[test]
fn on_one_host_a_program_that_passes_on_looks_like_a_slow_kernel() {
    let surely_held = |releases_us: [f64; 5]| {
        let one = |story: Story, us: f64| {
            let asked = story.after_ms(300.0, client(300)).after_ms(0.1, server(100));
            asked.after_ms(40.0, client(0)).after_ms(us / 1e3, server(50)).after_ms(0.02, client(0))
        };
        let begun = Story::between([127, 0, 0, 1], [127, 0, 0, 1]).handshake(0.02, 0.02);
        sure(&stalls_of(releases_us.into_iter().fold(begun, one)))
    };
    assert_eq!(surely_held([41.0, 85.0, 107.0, 166.0, 198.0]), 0);
    assert_eq!(surely_held([7.0, 8.0, 11.0, 17.0, 120.0]), 5);
}

#[test]
fn what_nagle_never_holds_is_no_stall() {
    for last in [client(50).fin(), client(50).urg(), client(1460)] {
        let mut told = held_for(opened().times(3, held), 40.0, last).end();
        assert_eq!(told.judge().0.stalls, 3);
    }
    let mut told = opened().times(3, held).end();
    told.waits[2].facts |= fact::PASSED_ON;
    assert_eq!(causes(&told.judge().1)[1..], [Cause::NagleDelack, Cause::PassedOn]);
}

#[test]
fn one_late_release_leaves_the_others_certain() {
    for late_ms in [0.7, 5.0, 30.0] {
        let late = |story: Story| {
            let acked = story.after_ms(5.0, client(100)).after_ms(40.0, server(0));
            acked.after_ms(late_ms, client(50)).after_ms(1.0, server(200))
        };
        let all = stalls_of(late(opened().times(4, held)).times(4, held));
        let certain = all.iter().filter(|&&stall| stall == Confidence::Certain);
        assert_eq!(certain.count(), 8, "{late_ms}: {all:?}");
    }
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
    let mut told = opened().times(3, tail).end();
    let (judged, rulings) = told.judge();
    assert_eq!(sure(&stalls(&rulings)), 3);
    assert_eq!(judged.half(Side::Client).detail().variant, Variant::Classic);
}

/// `then` is released once alone, and once where the kernel was seen to hold three others.
fn alone_and_among_holds(then: impl Fn(Story) -> Story) -> [Option<Confidence>; 2] {
    [0, 3].map(|holds| {
        let (_, rulings) = then(opened().times(holds, held)).end().judge();
        stalls(&rulings[holds as usize..]).pop()
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
    assert!(alone < Some(Confidence::Likely), "{alone:?}");
    assert!(among_holds < Some(Confidence::Certain), "{among_holds:?}");
    assert_eq!(closing(server(0)), [Some(Confidence::Likely), Some(Confidence::Certain)]);
}

#[test]
fn what_acknowledges_new_data_of_the_peer_may_be_the_answer_to_it() {
    let crossing = |story: Story, release_ms: f64| {
        let sent = story.half(Side::Client).bytes() as i64;
        let crossed = story.after_ms(5.0, client(100)).after_ms(1.0, server(20).ack(sent));
        crossed.after_ms(12.0, server(0)).after_ms(release_ms, client(50))
    };
    let [alone, among_holds] = alone_and_among_holds(|story| crossing(story, 0.1));
    assert!(alone < Some(Confidence::Likely), "{alone:?}");
    assert!(among_holds < Some(Confidence::Certain), "{among_holds:?}");
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
        (judged.stalls, rulings.last().map(|ruling| ruling.cause))
    };
    // No wait is known there, either.
    assert_eq!(stalls(50.0), (0, None));
    assert_eq!(stalls(90.0), (1, Some(Cause::NagleDelack)));
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
    let all = stalls(&rulings);
    assert!(all.len() == 1 && all[0] < Confidence::Certain, "{all:?}");
    assert_eq!(judged.half(Side::Client).contradictions, 1);
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
    assert_eq!(sure(&stalls(&rulings)), 3);
}
