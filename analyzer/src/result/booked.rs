//! The time that waits are booked with: no instant of a connection counts for two of them.

use crate::judge::causes::Cause;
use crate::judge::findings::{Finding, Findings};
use crate::track::Side;
use crate::track::wait::fact;
use std::collections::BTreeSet;

/// The part that an instant belongs to: where several fit, the first one. Of the last two, which
/// the exchange's own marks tell, one always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Held,
    Resent,
    Window,
    Way,
    Sending,
    Server,
    /// Between request and response: the server, and the way to it.
    Turn,
    Response,
}

pub const KINDS_OF_PARTS: usize = Part::Response as usize + 1;

/// All findings of a connection, which come in the order of their ends, each with the time that is its own, in ns.
pub fn booked(findings: Findings<'_>) -> impl Iterator<Item = (Finding<'_>, i64)> {
    let shared = if overlap(findings) { own_ns(findings) } else { Vec::new() };
    findings.iter().enumerate().map(move |(at, row)| {
        let own_ns = shared.get(at).copied().unwrap_or_else(|| row.lost_ns());
        (row, own_ns)
    })
}

/// Does any of them begin before one before it has ended?
fn overlap(findings: Findings<'_>) -> bool {
    let mut until_ns = i64::MIN;
    findings.iter().any(|row| {
        let began = row.begin_ns() < until_ns;
        until_ns = until_ns.max(row.wait.to.time_ns);
        began
    })
}

/// Puts each instant down to the finding with the least rank of those that it lies in.
fn own_ns(findings: Findings<'_>) -> Vec<i64> {
    let mut edges: Vec<(i64, bool, (u8, usize))> = Vec::with_capacity(2 * findings.len());
    for (at, row) in findings.iter().enumerate().filter(|(_, row)| row.lost_ns() > 0) {
        let place = (rank(&row), at);
        edges.extend([(row.begin_ns(), true, place), (row.wait.to.time_ns, false, place)]);
    }
    edges.sort_unstable();
    let mut own_ns = vec![0; findings.len()];
    let (mut open, mut since_ns) = (BTreeSet::new(), 0);
    for (at_ns, opens, place) in edges {
        if let Some(&(_, first)) = open.first() {
            own_ns[first] += at_ns - since_ns;
        }
        since_ns = at_ns;
        if opens {
            open.insert(place);
        } else {
            open.remove(&place);
        }
    }
    own_ns
}

/// The part that a wait belongs to; `None` leaves it to the exchange's marks.
pub fn part_of(finding: &Finding<'_>) -> Option<Part> {
    let by_program = Some([Part::Sending, Part::Server][finding.wait.by as usize]);
    match finding.cause {
        _ if finding.wait.is(fact::AWAITS_LEAVE) => Some(Part::Server),
        Cause::Retransmission => Some(Part::Resent),
        Cause::ZeroWindow => Some(Part::Window),
        Cause::SlowLink | Cause::StopAndWait | Cause::CongestionWindow => Some(Part::Way),
        // A late ACK alone delays nobody.
        Cause::Connect | Cause::Unanswered | Cause::Unknown | Cause::DelayedAck => None,
        Cause::NagleDelack | Cause::NagleReply | Cause::NagleRtt if finding.is_sure() => {
            Some(Part::Held)
        }
        // A program may as well have written late what was only possibly held.
        Cause::NagleDelack
        | Cause::NagleReply
        | Cause::NagleRtt
        | Cause::Cork
        | Cause::PassedOn
        | Cause::SenderApp => by_program,
    }
}

/// The order of the parts of an exchange, so that tables and sums agree. A debt at the end is told with what was
/// tried meanwhile, and what delays nobody comes last.
fn rank(row: &Finding<'_>) -> u8 {
    let wait = row.wait;
    let is_idle = row.cause == Cause::SenderApp
        && wait.by == Side::Client
        && !wait.has_any(fact::IN_EXCHANGE | fact::AWAITS_LEAVE);
    match part_of(row) {
        Some(Part::Held) => 0,
        _ if wait.ending().is_some() => 1,
        Some(part) if !is_idle => 2 + part as u8,
        _ if is_idle || row.cause == Cause::DelayedAck => u8::MAX,
        _ => u8::MAX - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::findings::Ruling;
    use crate::judge::model::Held;
    use crate::track::Mark;
    use crate::track::ending::Ending;
    use crate::track::wait::{End, Wait};

    #[test]
    fn no_instant_counts_for_two_waits() {
        let wait = |from_ms: i64, to_ms: i64| {
            let mark = |ms: i64| Mark { time_ns: ms * 1_000_000, frame: ms as u32 };
            Wait::between(0, Side::Client, mark(from_ms), mark(to_ms))
        };
        let end = End::InVain(Ending::Capture);
        let waits =
            [wait(10, 20), wait(15, 30), wait(30, 40), wait(60, 80), Wait { end, ..wait(50, 90) }];
        let causes = [
            Cause::SenderApp,
            Cause::Retransmission,
            Cause::SenderApp,
            Cause::Retransmission,
            Cause::Unanswered,
        ];
        let rulings = causes.map(|cause| Ruling::of(cause, Held::NOT));
        let ms = |findings| booked(findings).map(|(_, ns)| ns / 1_000_000).collect::<Vec<i64>>();
        assert_eq!(ms(Findings::new(&waits, &rulings)), [5, 15, 10, 0, 40]);
        assert_eq!(ms(Findings::new(&waits[2..], &rulings[2..4])), [10, 20]);
    }
}
