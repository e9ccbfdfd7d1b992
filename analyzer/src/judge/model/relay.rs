//! May the holds of a direction be what a relay passed on from a connection that the capture lacks? On one host
//! both delayed-ACK timers fire in one tick; and a broker sends, over any network, as its subscribers' ACKs come.

use crate::judge::model::chain::logistic;
use crate::judge::model::density::{Path, log_normal};
use crate::judge::thresholds::{
    FRAME_MS, KERNEL_QUARTILE, LONGEST_WAKE_MS, MOST_BY_SPREAD, MOST_RELAY, ONE_HOST_RTT_NS,
    PATH_SPREAD, RELAY_ASKED, RELAY_LIKELY, RELAY_PROMPT, RELAY_SEEN, RELAY_SPREAD, WAKE_QUARTILE,
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
    is_delayed: impl Fn(&Wait) -> bool,
) -> f64 {
    let count: f64 = holds.iter().map(|(_, held)| held).sum();
    let passes_on = waits.iter().any(|wait| wait.by == side && wait.is(fact::PASSED_ON));
    let is_asked =
        side == Side::Client || f64::from(connection.exchanges.count) + 1.0 >= 0.9 * count;
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
    } else if !is_one_host {
        let prompt = holds.iter().filter(|(wait, _)| !is_delayed(wait));
        let prompt: f64 = prompt.map(|(_, held)| held).sum();
        log_odds -= RELAY_PROMPT * prompt / count.max(1e-9);
    }
    logistic(if passes_on { log_odds } else { log_odds.min(MOST_RELAY) })
}

/// Across a network both timers of a relay fire apart, by their ticks: its releases spread more than the path does. The
/// probability of that for each of the holds, as it comes later than the path explains.
pub fn late(path: &Path, holds: &[(&Wait, f64)]) -> Vec<f64> {
    let release_ms = |wait: &Wait| wait.release_ns() as f64 / 1e6;
    let count: f64 = holds.iter().map(|(_, held)| held).sum();
    if !path.far || count < 3.0 {
        return vec![0.0; holds.len()];
    }
    let mut sorted: Vec<(f64, f64)> =
        holds.iter().map(|(wait, held)| (release_ms(wait), *held)).collect();
    sorted.sort_by(|one, next| one.0.total_cmp(&next.0));
    let at = |part: f64| {
        let mut left = part * count;
        let reaches = |(_, held): &&(f64, f64)| {
            left -= held;
            left <= 0.0
        };
        sorted.iter().find(reaches).map_or(0.0, |(ms, _)| *ms)
    };
    let usual_ms = PATH_SPREAD.0 + at(0.5) / 50.0 + path.step_ms + path.jitter_ms;
    let spread_ms = (at(0.75) - at(0.25)).max(usual_ms);
    let slow = 0.001 * log_normal(spread_ms, 1.0, 2.0);
    let relays = log_normal(spread_ms, RELAY_SPREAD.0.hypot(usual_ms), RELAY_SPREAD.1);
    let kernel = log_normal(spread_ms, usual_ms, PATH_SPREAD.1);
    let most = MOST_BY_SPREAD * (count / 8.0).min(1.0);
    let by_spread = ((relays + slow) / (kernel + slow)).ln().clamp(0.0, most);
    let relay = logistic(RELAY_ASKED + by_spread) - logistic(RELAY_ASKED);
    let rtt_ms = path.yardstick_ms().unwrap_or_else(|| at(0.1));
    let is_late = |(wait, _): &(&Wait, f64)| {
        let off_ms = release_ms(wait) - rtt_ms;
        let relayed = log_normal(off_ms.max(0.01), RELAY_SPREAD.0, RELAY_SPREAD.1);
        relay * relayed / (relayed + path.across(off_ms, rtt_ms) + 1e-6)
    };
    holds.iter().map(is_late).collect()
}

/// The lower quartile of the sender's reactions to ACKs.
fn quartile_ms(connection: &Connection, side: Side, holds: &[(&Wait, f64)]) -> f64 {
    // The path to the sender is not its reaction.
    let half = connection.half(side);
    // A reply takes the time of its program, too.
    let most_ns = if half.is_path_measured() { i64::MAX } else { (ONE_HOST_MS.1 * 1e6) as i64 };
    let path_ns = half.rtt_or_zero_ns().min(most_ns);
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
