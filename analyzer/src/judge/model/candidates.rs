//! Waits that may have been holds, and what makes one impossible: sequence numbers, flags, windows, echoed
//! timestamps. Nothing else excludes a hold.

use crate::judge::capture::spurious;
use crate::track::thresholds::LONGEST_DELAYED_ACK_NS;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Half, Side};

/// These leave at once on all stacks.
const EXEMPT: u32 = fact::FIN | fact::URGENT;
const REPEATED: u32 = fact::RETRANSMITTED | fact::RECOVERY;
const NO_WINDOW: u32 = fact::ZERO_WINDOW | fact::WINDOW_FULL;
const EXCLUDED: u32 =
    EXEMPT | REPEATED | NO_WINDOW | fact::UNSEEN | fact::ACK_ONLY | fact::PASSED_ON;

/// Was it a small segment that waited, and did nothing forbid Nagle's algorithm to hold it?
pub fn may_hold(wait: &Wait) -> bool {
    wait.is(fact::SMALL) && !wait.has_any(EXCLUDED)
}

/// Why a wait is no candidate, in the words of `--why`: it cannot have been a hold, or the capture does not show what
/// it was.
#[derive(Debug, Clone, Copy)]
pub enum Exclusion {
    Impossible(&'static str),
    NotJudged(&'static str),
}

use Exclusion::{Impossible, NotJudged};

/// Why a wait is no candidate; `None` for one.
pub fn exclusion(wait: &Wait, connection: &Connection) -> Option<Exclusion> {
    let half = connection.half(wait.by);
    let as_full = half.as_full().is_some_and(|len| wait.len >= len);
    let receiver_rtt_ns = connection.half(wait.by.other()).rtt_or_zero_ns();
    let longest_ns = receiver_rtt_ns + LONGEST_DELAYED_ACK_NS;
    let each = [
        (
            connection.is_even(),
            NotJudged("all frames are equally far apart: the times are made up"),
        ),
        (wait.is(fact::ACK_ONLY), NotJudged("no data followed the ACK")),
        (
            !wait.has_pure_ack(),
            NotJudged("no pure ACK of everything outstanding came during the wait"),
        ),
        (
            !wait.is(fact::SMALL) || as_full,
            Impossible("the segment is full-sized, and only small ones are held"),
        ),
        (wait.has_any(EXEMPT), Impossible("FIN and urgent data are never held")),
        (wait.has_any(REPEATED), NotJudged("bytes were sent twice during the wait")),
        (wait.has_any(NO_WINDOW), Impossible("the receiver's window had no room")),
        (wait.is(fact::UNSEEN), NotJudged("bytes are missing from the capture around the wait")),
        (wait.is(fact::PASSED_ON), Impossible("the segment was passed on from another connection")),
        (
            left_before_ack(wait, half),
            Impossible("the segment echoes an older timestamp: it left before the ACK"),
        ),
        (
            !(0..=longest_ns).contains(&wait.ack_ns()) || wait.release_ns() < 0,
            Impossible("no receiver delays an ACK for so long"),
        ),
    ];
    each.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why)
}

/// Did it leave before the ACK came, by the timestamp that it echoes? Then the program sent it.
pub fn left_before_ack(wait: &Wait, half: &Half) -> bool {
    half.echoes_acks() && wait.is(fact::ECHOES_EARLIER)
}

/// The places of the candidates of `side` among its connection's `waits`.
pub fn candidates(connection: &Connection, side: Side, waits: &[Wait]) -> Vec<u32> {
    let is_own = |wait: &Wait| {
        // What most waits are not comes first.
        wait.by == side && wait.has_pure_ack() && exclusion(wait, connection).is_none()
    };
    let all = (0..).zip(waits).filter(|(_, wait)| is_own(wait));
    let mut places: Vec<u32> = all.map(|(at, _)| at).collect();
    let is_again = |at: &u32| {
        let wait = &waits[*at as usize];
        wait.is(fact::RESENT) && !wait.is(fact::NEEDLESS)
    };
    let own = places.iter().map(|&at| &waits[at as usize]);
    if places.iter().any(is_again) && !spurious::is_needless(connection, side, waits, own) {
        places.retain(|at| !is_again(at));
    }
    places
}

/// Is it a pause between the sender's own data that was no hold, and that the program may have made?
pub fn is_other_pause(wait: &Wait) -> bool {
    const OTHER: u32 = fact::RETRANSMITTED
        | fact::DATA_ACK
        | fact::ACK_ONLY
        | fact::FIN
        | fact::RECOVERY
        | fact::UNSEEN
        | fact::RESENT
        | fact::CONNECTING;
    wait.is(fact::OWN_DATA_BEFORE) && wait.len > 0 && !wait.has_any(OTHER)
}
