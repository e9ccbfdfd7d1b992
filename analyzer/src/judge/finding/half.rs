//! One host of a connection, judged together with its waits.

use crate::judge::causes::Cause;
use crate::judge::direction::Direction;
use crate::judge::doubts::{Doubts, hides};
use crate::judge::finding::judged::{Detail, JudgedHalf};
use crate::judge::finding::losses;
use crate::judge::findings::{Finding, Findings};
use crate::judge::model::{DirectionModel, Models};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::nodelay::nagle;
use crate::judge::nagle::timers::{LateAcks, Timer};
use crate::judge::nagle::variant::Variant;
use crate::track::half::repeated::Repeats;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Was Nagle's algorithm at work on each side, and which frames prove it?
pub fn nagle_of_both(
    connection: &Connection,
    findings: Findings<'_>,
    corked: [bool; 2],
    doubts: Doubts,
) -> [(Nagle, (u32, u32)); 2] {
    const UNKNOWN: (Nagle, (u32, u32)) = (Nagle::Unknown, (0, 0));
    // Without the receiver's ACKs, and before they seem to come, everything looks unacknowledged.
    if doubts.hide(hides::ACKS | hides::ORDER) {
        return [UNKNOWN; 2];
    }
    Side::BOTH.map(|side| {
        let half = connection.half(side);
        let contradictions = match half.contradictions() {
            0 => 0,
            _ if doubts.hide(hides::UNHELD) => 0,
            _ if losses::may_release(connection, side, findings) => 0,
            contradictions => contradictions,
        };
        match nagle(half, side, findings, contradictions, corked[side as usize]) {
            (Nagle::Unknown, _) => UNKNOWN,
            proven => proven,
        }
    })
}

impl JudgedHalf {
    /// By all findings on its connection, and by those that are `listed`; by the model's answers on
    /// its waits, and by both directions.
    pub fn of(
        connection: &Connection,
        side: Side,
        (nagle, proof): (Nagle, (u32, u32)),
        findings: Findings<'_>,
        listed: impl Fn(&Wait) -> bool,
        (models, directions): (Models<&DirectionModel>, &[Direction; 2]),
    ) -> Self {
        let half = connection.half(side);
        let path = &directions[side as usize].path;
        let late_acks = late_acks(connection, side, findings, directions);
        let is_small = |finding: &Finding<'_>| {
            !finding.wait.unacked_len.is_multiple_of(connection.effective_mss().0)
        };
        let delayed = match connection.half(side.other()).delayed_acks() {
            0 => late_of(side.other(), findings, directions).filter(is_small).count() as u32,
            delayed => delayed,
        };
        Self {
            endpoint: connection.endpoint(side),
            nagle,
            proof,
            segments: half.segments,
            bytes: half.bytes(),
            contradictions: half.contradictions(),
            opportunities: half.contradictions().saturating_add(delayed),
            is_acked: half.bytes() > half.sequence.in_flight().into(),
            rtt_ns: path.shortest_ns.unwrap_or(i64::MAX),
            rtt_basis: path.basis,
            detail: Detail::of(connection, side, nagle, findings, listed, (models, late_acks)),
        }
    }
}

impl Detail {
    /// Most hosts have nothing to tell.
    fn of(
        connection: &Connection,
        side: Side,
        nagle: Nagle,
        findings: Findings<'_>,
        listed: impl Fn(&Wait) -> bool,
        (models, late_acks): (Models<&DirectionModel>, Option<LateAcks>),
    ) -> Option<Box<Self>> {
        let half = connection.half(side);
        let Repeats { retransmitted, duplicated, reordered, fins, .. } = half.odd().repeats;
        let retransmitted = retransmitted + fins;
        let unseen_bytes = half.unseen().0;
        let is_whole = unseen_bytes == 0 && [retransmitted, duplicated, reordered] == [0; 3];
        if findings.is_empty() && is_whole {
            return None;
        }
        let has_stall = findings.stalls().any(|stall| stall.wait.by == side && listed(stall.wait));
        let connects =
            |finding: Finding<'_>| finding.cause == Cause::Connect && listed(finding.wait);
        let has_connected = side == Side::Server && findings.iter().any(connects);
        let (variant, variant_proof) = Variant::of(nagle, half, side, findings);
        let detail = Self {
            variant,
            variant_proof,
            retransmitted,
            duplicated,
            reordered,
            unseen_bytes,
            late_acks,
            models: models.map(|model| model.filter(|_| has_stall).copied().map(Box::new)),
            connecting: connection.connecting().filter(|_| has_connected),
        };
        (detail != Self::default()).then(|| Box::new(detail))
    }
}

/// The waits for pure ACKs of `side` that its timer delayed, but for those that a retransmission cut short.
fn late_of<'a>(
    side: Side,
    findings: Findings<'a>,
    directions: &[Direction; 2],
) -> impl Iterator<Item = Finding<'a>> {
    let acks = &directions[side.other() as usize].acks;
    findings.iter().filter(move |finding| {
        let wait = finding.wait;
        wait.acknowledged_by() == side
            // Cut short: the timer is longer than that. Or it follows another copy; or was picked for its length.
            && !wait.has_any(fact::RESENT | fact::RECOVERY | fact::LONGEST)
            && acks.is_delayed(wait)
    })
}

/// How late such ACKs of `side` are, as the round trip to it tells.
fn late_acks(
    connection: &Connection,
    side: Side,
    findings: Findings<'_>,
    directions: &[Direction; 2],
) -> Option<LateAcks> {
    let half = connection.half(side);
    let rtt_ns = directions[side as usize].path.shortest_ns?;
    let delay_ns = |finding: &Finding| finding.wait.ack_delay_ns(Some(rtt_ns));
    let found = || late_of(side, findings, directions);
    let timer = Timer::of(&mut found().map(|finding| delay_ns(&finding)).collect::<Vec<i64>>())?;
    let first_frame = found().map(|finding| finding.wait.ack.frame).min()?;
    // The handshake is a round trip, too.
    let of_syn = u16::from(connection.handshake_ns().is_some());
    let prompt = match half.rtt_samples {
        _ if u64::from(half.late_acks) > timer.count => u16::MAX,
        u16::MAX => u16::MAX,
        samples => samples.saturating_sub(of_syn),
    };
    Some(LateAcks { timer, first_frame, prompt })
}
