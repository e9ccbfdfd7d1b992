//! The verdict on one connection, when all of it is known.

pub mod causes;
pub mod confidence;
mod direction;
pub mod evidence;
pub mod findings;
mod half;
pub mod judged;
pub mod median;
mod nodelay;
mod pace;
pub mod releases;
mod resent;
pub mod rivals;
#[cfg(test)]
mod ruled;
pub mod timers;
pub mod variant;

use crate::judge::direction::Judge;
use crate::judge::findings::{Findings, Ruling};
use crate::judge::judged::{JudgedConnection, capture_point};
use crate::judge::releases::Releases;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Judges `connection` by all its `waits`, in the order of their ends; the clock behind them ticks
/// every `clock_ns`. Adds a ruling for each of the waits less those that are superseded, and leaves
/// out the latter: the first of `waits` have the new `rulings`.
pub fn judge(
    connection: &Connection,
    waits: &mut [Wait],
    clock_ns: i64,
    rulings: &mut Vec<Ruling>,
) -> JudgedConnection {
    let before = rulings.len();
    let mut releases = [Releases::default(); 2];
    if !waits.is_empty() {
        let mut judges = Side::BOTH.map(|side| Judge::new(connection, side, waits, clock_ns));
        rulings.extend(waits.iter().map(|wait| judges[wait.by as usize].rule(wait)));
        resent::drop_superseded(waits, rulings, before);
        releases = judges.map(|judge| judge.direction.releases);
    }
    let findings = Findings::new(waits, &rulings[before..]);
    let stalls = findings.stalls();
    let (mss, mss_inferred) = connection.effective_mss();
    JudgedConnection {
        id: connection.id,
        halves: Side::BOTH
            .map(|side| half::judged(connection, side, findings, &releases[side as usize])),
        first_ns: connection.first_ns,
        last_ns: connection.last_ns(),
        mss,
        mss_inferred,
        handshake: connection.has_handshake(),
        capture_point: capture_point(connection),
        exchanges: connection.exchanges.count,
        latency_ns: connection.exchanges.latency_ns,
        first_exchange: connection.first_exchange(),
        stalls: stalls.clone().count() as u32,
        stalled_ns: stalls.clone().map(|stall| stall.wait.wait_ns()).sum(),
        exchanges_stalled_ns: stalls
            .filter(|stall| stall.wait.is(fact::IN_EXCHANGE))
            .map(|stall| stall.wait.wait_ns())
            .sum(),
    }
}
