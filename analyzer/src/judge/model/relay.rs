//! May the holds of a direction be what a relay passed on from a connection that the capture lacks? On one host
//! both delayed-ACK timers fire in one tick; and a broker sends, over any network, as its subscribers' ACKs come.

use crate::judge::model::chain::logistic;
use crate::judge::model::density::log_normal;
use crate::judge::thresholds::{
    FRAME_MS, KERNEL_QUARTILE, LONGEST_WAKE_MS, MOST_RELAY, ONE_HOST_RTT_NS, RELAY_ASKED,
    RELAY_LIKELY, RELAY_SEEN, WAKE_QUARTILE,
};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Half, Side};

/// The shortest and the longest round trip within a host that a kernel's reaction is measured by, in ms.
const ONE_HOST_MS: (f64, f64) = (0.007, 0.05);

/// Probability of a relay, of `side` with these candidates among its connection's waits; with each the probability
/// that it was a hold.
pub fn relay(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    holds: &[(&Wait, f64)],
    is_far: bool,
) -> f64 {
    let count: f64 = holds.iter().map(|(_, held)| held).sum();
    let passes_on = waits.iter().any(|wait| wait.by == side && wait.is(fact::PASSED_ON));
    let is_asked = side == Side::Client || f64::from(connection.exchanges.count) >= count;
    if !passes_on && is_asked && !is_one_host(connection) {
        return logistic(RELAY_ASKED);
    }
    let quartile_ms = if is_far { f64::INFINITY } else { quartile_ms(connection, side, holds) };
    // What takes longer came over a network, whatever the handshake says: two captures were merged.
    let is_one_host = is_one_host(connection)
        && (is_far || connection.is_loopback() || quartile_ms <= LONGEST_WAKE_MS);
    let mut log_odds = match (passes_on, is_asked && !is_one_host) {
        (true, _) => RELAY_SEEN,
        (_, true) => return logistic(RELAY_ASKED),
        _ => RELAY_LIKELY,
    };
    if !is_far {
        log_odds += reaction(connection, quartile_ms);
    }
    logistic(if passes_on { log_odds } else { log_odds.min(MOST_RELAY) })
}

/// The lower quartile of the sender's reactions to ACKs.
fn quartile_ms(connection: &Connection, side: Side, holds: &[(&Wait, f64)]) -> f64 {
    // The path to the sender is not its reaction.
    let path_ns = connection.half(side).rtt_or_zero_ns();
    let busy_ms =
        |wait: &Wait| FRAME_MS * f64::from(wait.to.frame.saturating_sub(wait.ack.frame + 1));
    let reaction_ms =
        |wait: &Wait| ((wait.release_ns() - path_ns) as f64 / 1e6 - busy_ms(wait)).max(0.001);
    lower_quartile(holds.iter().map(|(wait, held)| (reaction_ms(wait), *held)).collect())
}

/// How much likelier a program that wakes up reacts so, as a logarithm, than a kernel.
fn reaction(connection: &Connection, quartile_ms: f64) -> f64 {
    let rtt_ms = path_of_both_ns(connection).map_or(0.01, |rtt_ns| rtt_ns as f64 / 1e6);
    let usual_ms = KERNEL_QUARTILE.0 * rtt_ms.clamp(ONE_HOST_MS.0, ONE_HOST_MS.1);
    let slow = 0.001 * log_normal(quartile_ms, 0.05, 2.0);
    let wakes = log_normal(quartile_ms, WAKE_QUARTILE.0, WAKE_QUARTILE.1);
    // A kernel that is quicker than usual is a kernel all the more.
    let kernel = log_normal(quartile_ms.max(usual_ms), usual_ms, KERNEL_QUARTILE.1);
    ((wakes + slow) / (kernel + slow)).ln()
}

/// Median of reactions, each weighted by the probability that it was a hold: no threshold decides which count.
fn lower_quartile(mut reactions: Vec<(f64, f64)>) -> f64 {
    reactions.sort_by(|one, next| one.0.total_cmp(&next.0));
    let quarter = reactions.iter().map(|(_, held)| held).sum::<f64>() / 4.0;
    let (mut below, mut last): (f64, Option<(f64, f64)>) = (0.0, None);
    for (reaction_ms, held) in reactions {
        let middle = below + held / 2.0;
        if middle >= quarter {
            let Some((before, before_ms)) = last else { return reaction_ms };
            let part = (quarter - before) / (middle - before).max(1e-9);
            return before_ms * (reaction_ms / before_ms).powf(part);
        }
        below += held;
        last = Some((middle, reaction_ms));
    }
    last.map_or(0.0, |(_, reaction_ms)| reaction_ms)
}

/// May both ends be on one host?
fn is_one_host(connection: &Connection) -> bool {
    connection.is_loopback()
        || path_of_both_ns(connection).is_some_and(|rtt_ns| rtt_ns < ONE_HOST_RTT_NS)
}

/// Round trip between both ends, in ns.
fn path_of_both_ns(connection: &Connection) -> Option<i64> {
    connection.halves.iter().map(Half::measured_rtt_ns).sum()
}
