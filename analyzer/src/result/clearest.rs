//! The stalls to show: those in which the pattern is clearest.

use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::{Finding, Findings};
use crate::judge::model::Confidence;
use crate::result::connections::JudgedConnections;
use crate::result::first::first_by_key;
use crate::track::Side;
use std::cmp::Reverse;
use std::ops::AddAssign;

/// The stalls of each kind: what they cost, and the clearest of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clearest([OfKind; Cause::STALLS.len() * Side::BOTH.len()]);

#[derive(Debug, Clone, Copy, Default)]
struct OfKind {
    lost_ns: i64,
    clearest: Option<Clear>,
}

/// A stall, told by its connection and its place among the findings there.
/// The clearest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Clear {
    clearness: Clearness,
    connection: u32,
    at: usize,
}

impl Clearest {
    /// The stall to show: the surest kind's, the costliest of equals, with the release closest to the usual.
    pub fn among<'a>(
        &self,
        connections: &'a JudgedConnections,
    ) -> Option<(&'a JudgedConnection, Finding<'a>)> {
        let Clear { connection, at, .. } = self.main().1.clearest?;
        let index = connections.index_of(connection)?;
        Some((&connections[index], connections.findings_of(index).iter().nth(at)?))
    }

    /// Adds a connection with its findings.
    pub fn add(&mut self, judged: &JudgedConnection, findings: Findings<'_>) {
        for (at, finding) in findings.iter().enumerate() {
            let Some(kind) = kind(finding) else { continue };
            let (clearness, connection) = (clearness(judged, finding), judged.id);
            let kind = &mut self.0[kind];
            kind.lost_ns = kind.lost_ns.saturating_add(finding.lost_ns());
            kind.offer(Clear { clearness, connection, at });
        }
    }

    /// The kind that a headline names first: the surest, of equals the costliest.
    fn main(&self) -> (usize, OfKind) {
        let all = self.0.into_iter().enumerate();
        let surest = all.filter_map(|(at, kind)| {
            kind.clearest.map(|clear| ((clear.clearness.0, -kind.lost_ns), (at, kind)))
        });
        surest.min_by_key(|(key, _)| *key).map(|(_, kind)| kind).unwrap_or_default()
    }
}

impl OfKind {
    fn offer(&mut self, other: Clear) {
        if self.clearest.is_none_or(|known| other < known) {
            self.clearest = Some(other);
        }
    }
}

impl AddAssign for Clearest {
    fn add_assign(&mut self, more: Self) {
        for (kind, more) in self.0.iter_mut().zip(more.0) {
            kind.lost_ns = kind.lost_ns.saturating_add(more.lost_ns);
            more.clearest.into_iter().for_each(|other| kind.offer(other));
        }
    }
}

/// The stalls among the findings of a connection: the surest kind first, and of each the clearest first.
pub fn clearest_of<'a>(
    judged: &JudgedConnection,
    findings: Findings<'a>,
    limit: usize,
) -> Vec<Finding<'a>> {
    let mut all = Clearest::default();
    all.add(judged, findings);
    let main = all.main().0;
    let order = |stall: &Finding<'a>| (kind(*stall) != Some(main), clearness(judged, *stall));
    first_by_key(findings.stalls(), limit, order)
}

/// Causes and sides, as a headline names them: a place for each, if it is a stall.
fn kind(finding: Finding<'_>) -> Option<usize> {
    let first = match finding.cause {
        Cause::NagleDelack => 0,
        Cause::NagleRtt => Side::BOTH.len(),
        Cause::NagleReply => 2 * Side::BOTH.len(),
        _ => return None,
    };
    Some(first + finding.wait.by as usize)
}

pub type Clearness = (Reverse<Confidence>, i64, u64);

/// The clearest stall has the least: of the surest, the release closest to the usual.
pub fn clearness(judged: &JudgedConnection, finding: Finding<'_>) -> Clearness {
    let usual_ns = (judged.half(finding.wait.by).model().release_ms * 1e6) as i64;
    let off_ns = (finding.wait.release_ns() - usual_ns).abs();
    (Reverse(finding.confidence()), off_ns, finding.wait.to.frame)
}
