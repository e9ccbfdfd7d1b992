//! Waits that may have been holds, and what makes one impossible: sequence numbers, flags, windows, echoed
//! timestamps. Nothing else excludes a hold.

use crate::judge::capture::spurious;
use crate::judge::path::Path;
use crate::track::half::{Half, MSS_CUT};
use crate::track::thresholds::{
    JIFFY_NS, LATE_STAMP_NS, LEAST_MSS, LONGEST_DELAYED_ACK_NS, LOOPBACK_MSS, PROBE_NS,
    SHORTEST_DELAYED_ACK_NS,
};
use crate::track::wait::{End, Facts, Wait, fact};
use crate::track::{Connection, Side};

/// These leave at once on all stacks.
const EXEMPT: Facts = Facts::of([fact::FIN, fact::URGENT]);
const REPEATED: Facts = Facts::of([fact::RETRANSMITTED, fact::RECOVERY]);
const NO_WINDOW: Facts = Facts::of([fact::ZERO_WINDOW, fact::WINDOW_FULL]);
const EXCLUDED: Facts = Facts::of([EXEMPT, REPEATED, NO_WINDOW, fact::UNSEEN, fact::PASSED_ON]);

/// Was it a small segment that waited, and did nothing forbid Nagle's algorithm to hold it?
pub fn may_hold(wait: &Wait) -> bool {
    wait.is(fact::SMALL) && !wait.has_any(EXCLUDED)
}

/// How long a segment is: only small ones are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Shorter than the path carries.
    Small,
    /// None of this sender is longer, and nothing shows the MSS.
    Longest,
    /// The segment is as long as the path carries, by where messages were cut.
    Carried,
    /// The segment is as long as the handshake announced, or longer.
    Full,
}

impl Size {
    pub fn of(wait: &Wait, connection: &Connection) -> Self {
        let announced = connection.announced_mss();
        if announced.is_some_and(|mss| wait.len >= mss) {
            return Self::Full;
        }
        let least = if connection.is_loopback() { LOOPBACK_MSS } else { LEAST_MSS };
        match connection.carried(wait.by) {
            Some(carried) if wait.len >= carried => Self::Carried,
            None if wait.len < least || announced.is_some() => Self::Small,
            None if wait.is(fact::CUT) => Self::Carried,
            None if wait.len >= connection.half(wait.by).largest() => Self::Longest,
            _ => Self::Small,
        }
    }
}

/// Why a wait is no candidate, in the words of `--why`: it cannot have been a hold, or the capture does not show what
/// it was.
#[derive(Debug, Clone, Copy)]
pub enum Exclusion {
    Impossible(&'static str),
    NotJudged(&'static str),
}

use Exclusion::{Impossible, NotJudged};

/// Why a wait is no candidate, by the paths of its connection and the waits `before` it; `None` for
/// one.
pub fn exclusion(
    wait: &Wait,
    connection: &Connection,
    paths: &[Path; 2],
    before: &[Wait],
) -> Option<Exclusion> {
    let half = connection.half(wait.by);
    let size = Size::of(wait, connection);
    let receiver_rtt_ns = paths[wait.by.other() as usize].shortest_ns.unwrap_or(0);
    let longest_ns = receiver_rtt_ns + LONGEST_DELAYED_ACK_NS;
    let is_behind = wait.is(fact::ACK_BEHIND);
    let least_release_ns = if is_behind { -LATE_STAMP_NS } else { 0 };
    // Prompt ACKs overtake a program all the time that sends a little more often than the path takes.
    let is_delayed = wait.ack_ns() - receiver_rtt_ns >= SHORTEST_DELAYED_ACK_NS;
    let each = [
        (
            is_within_a_program(connection, wait.by),
            NotJudged(
                "a stack that announces no MSS answered for the host: it may send one block at a time",
            ),
        ),
        (wait.end == End::Ack, NotJudged("no data followed the ACK")),
        (
            !wait.has_pure_ack() && !wait.is(fact::DATA_ACK),
            NotJudged("no pure ACK of everything outstanding came during the wait"),
        ),
        (size == Size::Full, Impossible("the segment is full-sized, and only small ones are held")),
        (size == Size::Carried, NotJudged("the path may carry no more than this at once")),
        (wait.has_any(EXEMPT), Impossible("FIN and urgent data are never held")),
        (wait.has_any(REPEATED), NotJudged("bytes were sent twice during the wait")),
        (
            wait.is(fact::ACK_FIN) && paths[wait.by as usize].is_across_network(),
            NotJudged("a FIN came with the ACK, and an answer takes as long as a release"),
        ),
        (wait.has_any(NO_WINDOW), Impossible("the receiver's window had no room")),
        (
            half.counts_ids() && follows_timer(wait, before),
            NotJudged(
                "packets are missing before the last segment, which a timer may have sent again",
            ),
        ),
        (wait.is(fact::UNSEEN), NotJudged("bytes are missing from the capture around the wait")),
        (wait.is(fact::PASSED_ON), Impossible("the segment was passed on from another connection")),
        (
            left_before_ack(wait, half),
            Impossible("the segment echoes an older timestamp: it left before the ACK"),
        ),
        (
            !(0..=longest_ns).contains(&wait.ack_ns()) || wait.release_ns() < least_release_ns,
            Impossible("no receiver delays an ACK for so long"),
        ),
        (
            is_behind && !(half.has_late_stamps() && is_delayed),
            NotJudged("the ACK came just behind the segment: a late stamp, or an accident"),
        ),
    ];
    each.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why)
}

/// Is the server's stack one within a program, as filters and capture applications on phones have? Its SYN-ACK announces
/// no MSS, though the SYN did.
fn is_within_a_program(connection: &Connection, side: Side) -> bool {
    let [client, server] = &connection.halves;
    side == Side::Server
        && client.has_syn()
        && server.has_syn()
        && server.mss_option == 0
        && (1..MSS_CUT).contains(&client.mss_option)
}

/// Did it leave before the ACK came, by the timestamp that it echoes? Then the program sent it.
fn left_before_ack(wait: &Wait, half: &Half) -> bool {
    half.echoes_acks() && wait.is(fact::ECHOES_EARLIER)
}

/// The places of the candidates of `side` among its connection's `waits`: those that pure ACKs may have released, or
/// those that data may have.
pub fn candidates(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    by_data: bool,
    paths: &[Path; 2],
) -> Vec<u32> {
    let is_own = |at: usize, wait: &Wait| {
        // The condition that most waits fail comes first.
        wait.by == side
            && if by_data { wait.is(fact::DATA_ACK) } else { wait.has_pure_ack() }
            && exclusion(wait, connection, paths, &waits[..at]).is_none()
    };
    let all = (0..).zip(waits).filter(|(at, wait)| is_own(*at as usize, wait));
    let mut places: Vec<u32> = all.map(|(at, _)| at).collect();
    let is_again = |at: &u32| {
        let wait = &waits[*at as usize];
        wait.is(fact::RESENT) && !wait.is(fact::NEEDLESS)
    };
    let own = places.iter().map(|&at| &waits[at as usize]);
    let is_needless = || spurious::is_needless(connection, side, waits, own, paths);
    if places.iter().any(is_again) && !is_needless() {
        places.retain(|at| !is_again(at));
    }
    places
}

/// Was the full-sized segment before the wait sent by a retransmission timer, after packets that were lost before the
/// capture point? Then a congestion window of one segment lets go what follows (RFC 5681, section 3.1). Behind a small
/// one it is Nagle's algorithm all the same.
fn follows_timer(wait: &Wait, before: &[Wait]) -> bool {
    let is_own = |other: &&Wait| other.connection == wait.connection && other.by == wait.by;
    let last = before.iter().rev().find(is_own);
    let is_late = |last: &Wait| last.is(fact::SKIPPED_IDS) && last.span_ns() >= PROBE_NS - JIFFY_NS;
    !wait.is(fact::UNACKED_SMALL) && last.is_some_and(|last| last.to == wait.from && is_late(last))
}

/// Is it a pause between the sender's own data that was no hold, and that the program may have made?
pub fn is_other_pause(wait: &Wait) -> bool {
    const OTHER: Facts =
        Facts::of([REPEATED, fact::DATA_ACK, fact::ACK_FIN, fact::FIN, fact::UNSEEN, fact::RESENT]);
    wait.is(fact::OWN_DATA_BEFORE) && wait.len > 0 && !wait.has_any(OTHER)
}

#[cfg(test)]
mod tests {
    use crate::track::story::{Story, StorySegment, client, server};

    /// Joined midway: a head of 100 bytes, and a body that waits for its ACK.
    fn held(body: StorySegment) -> impl Fn(Story) -> Story {
        move |story: Story| {
            let head = story.after_ms(5.0, client(100)).after_ms(40.0, server(0));
            head.after_ms(0.02, body).after_ms(1.0, server(200))
        }
    }

    fn stalls(story: Story) -> usize {
        story.end().judge().1.iter().filter(|ruling| ruling.cause.is_stall()).count()
    }

    /// An upload of pieces of `len` bytes, cut where the path carries no more.
    fn upload(story: Story, len: u32) -> Story {
        let cut = (0..6).fold(story, |story, _| story.after_ms(0.01, client(len).more()));
        cut.after_ms(0.01, client(90)).after_ms(1.0, server(0)).after_ms(1.0, server(200))
    }

    #[test]
    fn joined_midway_the_largest_segment_may_have_been_held() {
        assert_eq!(stalls(Story::new().times(6, held(client(1300)))), 6);
        assert_eq!(stalls(Story::new().times(6, held(client(8000)))), 6);
        // Its sender had more to send: the first part of that is full-sized.
        assert_eq!(stalls(Story::new().times(6, held(client(1300).more()))), 0);
    }

    #[test]
    fn where_messages_were_cut_a_segment_as_long_is_full_sized() {
        for (carried, body) in [(1300, 1300), (524, 524), (8948, 8948)] {
            let story = upload(Story::new(), carried).times(6, held(client(body)));
            assert_eq!(stalls(story), 0, "{carried}");
        }
        assert_eq!(stalls(upload(Story::new(), 8948).times(6, held(client(2000)))), 6);
        // With a handshake that announced 1,460 bytes.
        let opened = || Story::new().handshake(0.02, 1.0);
        assert_eq!(stalls(opened().times(6, held(client(1024)))), 6);
        assert_eq!(stalls(upload(opened(), 1024).times(6, held(client(1024)))), 0);
    }

    /// The path carries 1,400 bytes, whatever the SYN announced.
    #[test]
    fn a_path_that_carries_less_than_the_syn_said_proves_no_nodelay() {
        let told = |cut: StorySegment| {
            let story = upload(Story::new().handshake(0.02, 1.0), 1360);
            let sent = story.after_ms(5.0, client(147)).after_ms(0.1, cut);
            sent.after_ms(0.01, client(1360)).after_ms(1.0, server(0)).end()
        };
        let contradictions = |cut| told(cut).half(crate::track::Side::Client).contradictions();
        assert_eq!(
            [client(1360).more(), client(1360), client(1200)].map(contradictions),
            [0, 0, 1]
        );
        assert_eq!(told(client(1360)).connection.effective_mss(), (1360, true));
    }

    /// The option of Multipath TCP takes 20 bytes of the first segment, which is full-sized.
    #[test]
    fn a_tail_behind_a_segment_that_options_shortened_proves_no_nodelay() {
        let opened = Story::new().handshake(0.02, 1.0).after_ms(5.0, client(100));
        let answered = opened.after_ms(30.0, server(1440).more()).after_ms(0.01, server(43));
        assert_eq!(answered.half(crate::track::Side::Server).contradictions(), 0);
    }

    /// The server's numbers show that two packets were lost before the capture: its timer sent the head again.
    #[test]
    fn what_follows_a_segment_that_a_timer_sent_again_is_no_stall() {
        let held = |lost: u16| {
            let asked = |story: Story, at: u16| {
                let story = story.after_ms(5.0, client(100));
                story.after_ms(1.0, server(200).ip_id(at)).after_ms(0.02, client(0))
            };
            let story = (1..=8).fold(Story::new().handshake(0.02, 1.0), asked);
            let sent =
                story.after_ms(5.0, client(100)).after_ms(203.0, server(1460).ip_id(9 + lost));
            let late = sent.after_ms(200.0, client(0));
            stalls(late.after_ms(1.0, server(700).ip_id(10 + lost)).after_ms(1.0, client(0)))
        };
        assert_eq!([0, 2].map(held), [1, 0]);
    }

    /// Ten full-sized segments fill the initial window, so that their tail waits for room.
    #[test]
    fn a_tail_behind_a_full_window_is_no_stall_by_itself() {
        let tail = |segments: u32| {
            let opened = Story::new().handshake(0.02, 160.0).after_ms(5.0, client(100));
            let first = opened.after_ms(170.0, server(1460).more());
            let more =
                first.times(segments - 1, |story| story.after_ms(0.001, server(1460).more()));
            let acked = more.after_ms(0.2, client(0)).after_ms(160.0, server(173));
            stalls(acked.after_ms(0.2, client(0)))
        };
        assert_eq!([3, 10].map(tail), [1, 0]);
    }

    /// A TLS session ends: the server answers the FIN, whatever that acknowledges. At its own host no program is as
    /// quick as the kernel.
    #[test]
    fn the_answer_to_a_fin_from_afar_is_no_stall() {
        let ended = |last: StorySegment, rtt_ms: f64| {
            let story = Story::new().handshake(0.02, rtt_ms).times(3, |story| {
                let asked = story.after_ms(5.0, client(100)).after_ms(rtt_ms, server(285));
                let held = asked.after_ms(40.0, client(0)).after_ms(rtt_ms, server(50));
                held.after_ms(0.02, client(0))
            });
            let sent = story.after_ms(5.0, client(100)).after_ms(rtt_ms, server(285));
            let answered = sent.after_ms(40.0, last).after_ms(rtt_ms, server(42));
            stalls(answered.after_ms(0.0, server(0).fin()))
        };
        let both = [client(0), client(0).fin()];
        assert_eq!(both.map(|last| ended(last, 37.0)), [4, 3]);
        assert_eq!(both.map(|last| ended(last, 0.02)), [4, 4]);
    }
}
