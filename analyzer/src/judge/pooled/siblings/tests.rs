use crate::judge::case::{Confidence, Line};
use crate::judge::causes::Cause;
use crate::judge::conditions::Conditions;
use crate::judge::findings::{Findings, Ruling};
use crate::judge::judge;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::pooled::siblings::Siblings;
use crate::judge::words::evidence::reasons;
use crate::track::Side;
use crate::track::clock::Clocks;
use crate::track::story::{CLOCK_NS, MIN_WAIT_NS, Story, Told, block, client, server};

/// Captured at the client, a network away from its server.
fn opened() -> Story {
    Story::new().handshake(0.02, 30.0)
}

/// The server answers in two pieces: the ACK of the first comes after `ack_ms`, the second so long after it.
fn exchange(story: Story, ack_ms: f64, release_ms: f64) -> Story {
    story
        .after_ms(5.0, client(100))
        .after_ms(30.0, server(100))
        .after_ms(ack_ms, client(0))
        .after_ms(release_ms, server(50))
        .after_ms(0.02, client(0))
}

/// Two small segments in flight.
fn at_once(story: Story) -> Story {
    story
        .after_ms(5.0, client(100))
        .after_ms(30.0, server(100))
        .after_ms(0.1, server(50))
        .after_ms(0.02, client(0))
}

/// One hold, a little late, and one release beside the band.
fn small_peak() -> Story {
    exchange(exchange(opened(), 47.0, 31.5), 41.0, 36.0)
}

/// One hold each.
fn siblings() -> Vec<Story> {
    [(41.0, 30.1), (95.0, 30.3), (62.0, 30.0)]
        .map(|(ack_ms, release_ms)| exchange(opened(), ack_ms, release_ms))
        .into()
}

/// What is ruled on the last of these connections: how many stalls, and the doubts of the first.
fn ruled(stories: Vec<Story>) -> (usize, Vec<Line>) {
    let (_, rulings, _) = judged(stories);
    let mut stalls = rulings.iter().filter(|ruling| ruling.cause.is_stall());
    let count = stalls.clone().count();
    (count, stalls.next().map(|stall| stall.doubts.iter().collect()).unwrap_or_default())
}

fn judged(stories: Vec<Story>) -> (Nagle, Vec<Ruling>, Vec<String>) {
    judged_by(stories, |_, _| {})
}

fn judged_by(
    stories: Vec<Story>,
    change: impl Fn(usize, &mut Told),
) -> (Nagle, Vec<Ruling>, Vec<String>) {
    let told = stories.into_iter().enumerate().map(|(id, story)| {
        let mut told = story.end();
        change(id, &mut told);
        told
    });
    let blocks = [block(told)];
    let siblings = Siblings::of(&blocks, &Clocks::default());
    let conditions =
        Conditions { clock_ns: CLOCK_NS, siblings: &siblings, ..Conditions::alone(MIN_WAIT_NS) };
    let connection = blocks[0].connections.last().unwrap();
    let own = blocks[0].waits.iter().filter(|wait| wait.connection == connection.id);
    let (mut own, mut rulings) = (own.copied().collect::<Vec<_>>(), Vec::new());
    let judged = judge(connection, &mut own, conditions, &mut rulings);
    let first = Findings::new(&own, &rulings).stalls().next();
    let sentences = first.map(|stall| reasons(stall, &judged));
    let sentences = sentences.unwrap_or_default();
    (judged.half(Side::Server).nagle, rulings, sentences)
}

fn with(mut siblings: Vec<Story>, last: Story) -> Vec<Story> {
    siblings.push(last);
    siblings
}

#[test]
fn one_neighbour_does_not_kill_a_peak_that_siblings_have() {
    assert_eq!(ruled(vec![small_peak()]), (0, vec![]));
    let (nagle, rulings, sentences) = judged(with(siblings(), small_peak()));
    let stall = rulings.iter().find(|ruling| ruling.cause == Cause::NagleDelack).unwrap();
    assert_eq!(stall.doubts.confidence(), Confidence::Likely);
    assert!(stall.doubts.has(Line::Siblings));
    // What another connection shows is no proof of this socket's options.
    assert_eq!(nagle, Nagle::Unknown);
    let told = sentences.iter().find(|sentence| sentence.contains("other connections")).unwrap();
    assert!(told.contains("3 other connections") && told.contains("such as frame 7"), "{told}");
}

#[test]
fn a_single_match_is_more_than_possible_if_siblings_show_the_same() {
    let single = || exchange(opened(), 77.0, 30.4);
    assert_eq!(ruled(vec![single()]).1, [Line::Single, Line::Coincidence]);
    assert_eq!(ruled(with(siblings(), single())).1, [Line::Siblings, Line::Coincidence]);
}

#[test]
fn where_siblings_hold_beyond_doubt_a_late_release_is_one() {
    let late = || exchange(opened(), 170.0, 34.0);
    let mut many = siblings();
    assert_eq!(ruled(with(siblings(), late())).0, 0);
    many.extend(siblings());
    assert_eq!(ruled(with(many, late())).0, 1);
}

#[test]
fn one_sibling_is_not_enough() {
    let mut one = siblings();
    one.truncate(1);
    assert_eq!(ruled(with(one, small_peak())).0, 0);
}

/// The program sends its second piece 75 ms after the first, whatever the ACK does.
#[test]
fn a_pause_that_all_siblings_share_is_no_hold() {
    let pause = |ack_ms| exchange(opened(), ack_ms, 75.0 - ack_ms);
    let siblings = [44.0, 45.5, 44.7, 46.0].map(pause).into();
    let last = || exchange(pause(45.2), 39.0, 36.0);
    assert_eq!(ruled(with(siblings, last())), ruled(vec![last()]));
}

/// On a grid of 10 ms: 30 ms after each prompt ACK, as others come 20 or 40 ms after it.
#[test]
fn a_grid_that_all_siblings_share_is_no_hold() {
    let pause = |steps| exchange(opened(), 0.1, f64::from(steps) * 10.0 - 0.1);
    let siblings = [3, 3, 3, 3].map(pause).into();
    let last = || exchange(pause(3), 0.1, 36.0);
    assert_eq!(ruled(with(siblings, last())), ruled(vec![last()]));
}

#[test]
fn a_sibling_that_does_not_wait_speaks_against_it() {
    let mut siblings = siblings();
    siblings[1] = at_once(exchange(opened(), 95.0, 30.3));
    assert_eq!(ruled(with(siblings, small_peak())).0, 0);
}

#[test]
fn what_a_sibling_pauses_of_its_own_speaks_against_it() {
    let mut siblings = siblings();
    for sibling in &mut siblings {
        let paused = std::mem::replace(sibling, opened());
        *sibling = exchange(exchange(paused, 0.1, 90.0), 0.1, 90.0);
    }
    assert_eq!(ruled(with(siblings, small_peak())).0, 0);
}

#[test]
fn another_server_or_another_client_is_no_sibling() {
    let all = || with(siblings(), small_peak());
    let stalls = |change: fn(usize, &mut Told)| {
        let (_, rulings, _) = judged_by(all(), change);
        rulings.iter().filter(|ruling| ruling.cause.is_stall()).count()
    };
    assert_eq!(stalls(|_, _| {}), 1);
    assert_eq!(stalls(|id, told| told.connection.ends.client.port += id as u16), 1);
    assert_eq!(stalls(|id, told| told.connection.ends.server.port += id as u16), 0);
    assert_eq!(
        stalls(|id, told| told.connection.ends.client.addr = [10, 0, 1, id as u8].into()),
        0
    );
}

/// A relay on the host of the capture would look the same on each of its connections.
#[test]
fn on_one_host_siblings_tell_nothing() {
    let local = |ack_ms, release_ms| {
        let story = Story::new().handshake(0.02, 0.05).after_ms(5.0, client(100));
        story
            .after_ms(0.1, server(100))
            .after_ms(ack_ms, client(0))
            .after_ms(release_ms, server(50))
    };
    let last = || {
        local(41.0, 0.07)
            .after_ms(5.0, client(100))
            .after_ms(0.1, server(100))
            .after_ms(12.0, client(0))
            .after_ms(0.7, server(50))
    };
    let alone = ruled(vec![last()]);
    let siblings =
        [(41.0, 0.07), (95.0, 0.06), (62.0, 0.08)].map(|(ack, ms)| local(ack, ms)).into();
    assert_eq!(ruled(with(siblings, last())), alone);
}
