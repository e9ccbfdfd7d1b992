//! Judges one connection, when all of it is known.

pub mod capture;
pub mod case;
pub mod causes;
pub mod conditions;
mod direction;
pub mod finding;
pub mod findings;
pub mod judges;
pub mod nagle;
pub mod path;
pub mod pooled;
mod program;
pub mod statistics;
pub mod thresholds;
pub mod words;

use crate::capture::times::sum_ns;
use crate::judge::capture::point::capture_point;
use crate::judge::conditions::Conditions;
use crate::judge::finding::judged::{Detail, JudgedConnection, JudgedHalf};
use crate::judge::finding::short::Short;
use crate::judge::finding::{half, hidden, short, superseded};
use crate::judge::findings::{Findings, Ruling};
use crate::judge::judges::Judges;
use crate::judge::path::reference;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Judges `connection` by all its `waits`, in the order of their ends. Adds a ruling for each of the
/// waits less those that are superseded or too short to be listed, and leaves out the latter: the first
/// of `waits` have the new `rulings`.
pub fn judge(
    connection: &Connection,
    waits: &mut [Wait],
    conditions: Conditions<'_>,
    rulings: &mut Vec<Ruling>,
) -> JudgedConnection {
    let first = rulings.len();
    reference::share_reactions(waits);
    let releases = if waits.is_empty() {
        [None, None]
    } else {
        let mut judges = Judges::new(connection, waits, conditions);
        rulings.extend(waits.iter().map(|wait| judges.rule(wait)));
        judges.releases()
    };
    superseded::drop(waits, rulings, first);
    let all = Findings::new(waits, &rulings[first..]);
    let of = |side: Side| releases[side as usize].as_ref();
    let mut halves = Side::BOTH.map(|side| half::judged(connection, side, all, of(side)));
    let hidden = hidden::hidden(connection, &halves, &releases, all, conditions);
    let listed = |wait: &Wait| is_listed(wait, &halves, conditions.min_wait_ns);
    let nagle = halves.each_ref().map(|half| half.nagle);
    let short = Short::of(connection, nagle, all, |finding| listed(finding.wait));
    let nothing_held = short == Short::default() && short::nothing_was_held(connection);
    let details = Side::BOTH
        .map(|side| Detail::of(connection, side, nagle[side as usize], all, listed, of(side)));
    findings::retain(waits, rulings, first, |wait, _| listed(wait));
    let findings = Findings::new(waits, &rulings[first..]);
    for (half, detail) in halves.iter_mut().zip(details) {
        half.detail = detail;
    }
    let stalls = findings.stalls();
    let (mss, mss_inferred) = connection.effective_mss();
    JudgedConnection {
        id: connection.id,
        halves,
        first_ns: connection.first_ns,
        last_ns: connection.last_ns(),
        mss,
        mss_inferred,
        handshake: connection.has_handshake(),
        handshake_ns: connection.handshake_ns().unwrap_or(-1),
        hidden,
        short,
        nothing_held,
        capture_point: capture_point(connection),
        exchanges: connection.exchanges.count,
        latency_ns: connection.exchanges.latency_ns,
        first_exchange: connection.first_exchange(),
        stalls: stalls.clone().count() as u32,
        surely_stalls: stalls.clone().any(|stall| stall.is_sure()),
        stalled_ns: sum_ns(stalls.map(|stall| stall.wait.wait_ns())),
        exchanges_stalled_ns: 0,
    }
}

/// Is a wait long enough to be listed? Of an ACK that nothing followed, its delay counts, and of the
/// answer to a SYN what other round trips do not take.
fn is_listed(wait: &Wait, halves: &[JudgedHalf; 2], min_wait_ns: i64) -> bool {
    let receiver_rtt_ns = halves[wait.acknowledged_by() as usize].rtt_ns();
    if wait.is(fact::ACK_ONLY) {
        return wait.ack_delay_ns(receiver_rtt_ns) >= min_wait_ns;
    }
    let answers_syn = wait.is(fact::CONNECTING) && !wait.is(fact::RETRANSMITTED);
    let way_ns = match answers_syn {
        true => halves[wait.by as usize].rtt_ns().unwrap_or(0),
        false => 0,
    };
    wait.wait_ns() - way_ns >= min_wait_ns
}

#[cfg(test)]
mod tests;
