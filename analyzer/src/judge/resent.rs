//! Retransmissions that were not needed: the receiver had the segment, and kept its ACK back for
//! longer than the sender's retransmission timer runs (lwIP: up to 250 ms; Linux sends again after
//! 200 ms). The copy draws the ACK, and the ACK frees what Nagle's algorithm held.

use crate::judge::findings::{self, Findings, Ruling};
use crate::judge::judged::{CapturePoint, capture_point};
use crate::judge::thresholds::{NEARLY_RTO_NS, NEEDLESS_ONE_OF, NEEDLESS_RESENDS};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Does this sender's retransmission timer run out before the receiver's delayed-ACK timer, with
/// nothing lost?
///
/// At the receiver both copies are seen to arrive. Elsewhere a loss is told by chance: it hits
/// any segment, and few; a timer hits the one that a held segment waits for, and time and again, or
/// the receiver is known to delay its ACKs for nearly as long as retransmission timers take.
pub fn is_needless<'a>(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    held: impl Iterator<Item = &'a Wait>,
) -> bool {
    let at_receiver = match side {
        Side::Client => CapturePoint::Server,
        Side::Server => CapturePoint::Client,
    };
    let receiver_rtt_ns = connection.half(side.other()).measured_rtt_ns().unwrap_or(0);
    let (mut all, mut resent, mut longest_ns) = (0, 0, 0);
    for wait in held {
        all += 1;
        match wait.is(fact::RESENT) {
            true => resent += 1,
            false => longest_ns = longest_ns.max(wait.ack_ns() - receiver_rtt_ns),
        }
    }
    let often = resent >= NEEDLESS_RESENDS && resent * NEEDLESS_ONE_OF >= all;
    let counts = |wait: &&Wait| wait.is(fact::RESENT) && !wait.is(fact::LONGEST);
    let over = waits.iter().filter(|wait| wait.by == side).filter(counts).count();
    let nearly_all = connection.half(side).repeats().retransmitted as usize * NEEDLESS_ONE_OF
        <= over * (NEEDLESS_ONE_OF + 1);
    (nearly_all && (often || longest_ns >= NEARLY_RTO_NS))
        || capture_point(connection) == at_receiver
}

/// Of a hold that a retransmission ended, and the waits within it, leaves one or the other: the first
/// of `waits`, those of one connection, with their `rulings`, which begin at `first`.
pub fn drop_superseded(waits: &mut [Wait], rulings: &mut Vec<Ruling>, first: usize) {
    if !waits.iter().any(|wait| wait.is(fact::RESENT)) {
        return;
    }
    // In the order of their ends; those of one sender do not overlap.
    let holds = Side::BOTH.map(|side| {
        let stalls = Findings::new(waits, &rulings[first..]).stalls().map(|stall| *stall.wait);
        stalls.filter(|wait| wait.by == side && wait.is(fact::RESENT)).collect::<Vec<Wait>>()
    });
    let is_swallowed = |wait: &Wait| {
        let holds = &holds[wait.by as usize];
        let next = holds.partition_point(|hold| hold.to.frame < wait.to.frame);
        holds.get(next).is_some_and(|hold| wait.is_within(hold))
    };
    findings::retain(waits, rulings, first, |wait, ruling| match wait.is(fact::RESENT) {
        true => ruling.cause.is_stall(),
        false => !is_swallowed(wait),
    });
}
