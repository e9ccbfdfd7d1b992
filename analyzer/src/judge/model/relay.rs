//! May the holds of a direction be what a relay passed on from a connection that the capture lacks?
//! On one host both delayed-ACK timers fire in one tick; and a broker sends, over any network, as
//! its subscribers' ACKs come.

use crate::judge::direction::Direction;
use crate::judge::model::chain::logistic;
use crate::judge::model::density::kernel;
use crate::judge::model::sets::CandidateSet;
use crate::judge::path::Path;
use crate::judge::statistics;
use crate::judge::statistics::log_normal;
use crate::judge::thresholds::{
    AS_QUICK, ASKED_FOR, FEW_RELEASES, FRAME_MS, KERNEL_MS, KERNEL_QUARTILE, LONGEST_WAKE_MS,
    MOST_BY_SPREAD, MOST_RELAY, ONE_HOST_MS, ONE_HOST_RTT_NS, PATH_SPREAD, PATH_SPREAD_ONE_OF,
    QUICK_PROGRAM, RELAY_ASKED, RELAY_ASKED_HERE, RELAY_LIKELY, RELAY_PROMPT, RELAY_SEEN,
    RELAY_SPREAD, RELAY_UNTOLD, SLOW_HOST, SPREAD_HOLDS, WAKE_QUARTILE,
};
use crate::rules;
use crate::track::reactions::Reactions;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// Probability of a relay in this direction, and of one that is asked across a network, by its
/// candidates, each with the probability that it was a hold.
pub fn relays(set: &CandidateSet<'_>, holds: &[(&Wait, f64)]) -> (f64, LateRelay) {
    let releases = Releases::of(holds);
    (relay(set, &releases, holds), LateRelay::of(set, &releases))
}

fn relay(set: &CandidateSet<'_>, releases: &Releases, holds: &[(&Wait, f64)]) -> f64 {
    let CandidateSet { connection, side, waits, .. } = set;
    let Direction { path, acks, .. } = set.direction();
    if rules::off("relay") {
        return logistic(RELAY_ASKED);
    }
    let passes_on = waits.iter().any(|wait| wait.by == *side && wait.is(fact::PASSED_ON));
    let asked = match side {
        Side::Client => 1.0,
        Side::Server => asked(connection, releases.count),
    };
    // The less of the path is known, the less its releases tell.
    let asked_relay = logistic(RELAY_ASKED * path.known() + RELAY_UNTOLD * (1.0 - path.known()));
    if !passes_on && asked >= 1.0 && !is_one_host(set) {
        return asked_relay;
    }
    let is_timed = path.shows_reactions();
    let quartile_ms = if is_timed { quartile_ms(path, holds) } else { f64::INFINITY };
    // Reactions that take longer came over a network, whatever the handshake says: two captures were merged.
    let is_one_host = is_one_host(set)
        && (!is_timed || connection.is_loopback() || quartile_ms <= LONGEST_WAKE_MS);
    let asked = if is_one_host || passes_on { 0.0 } else { asked };
    let mut log_odds = if passes_on { RELAY_SEEN } else { RELAY_LIKELY };
    if is_timed && !rules::off("reaction") {
        log_odds += reaction(measured_ns(set), quartile_ms);
    } else if path.far && !is_one_host {
        // The timer of a relay follows ticks of its own.
        let is_prompt = |wait| acks.are_on_ticks() || !acks.is_delayed(wait);
        let prompt = holds.iter().filter(|(wait, _)| is_prompt(wait));
        let prompt: f64 = prompt.map(|(_, held)| held).sum();
        let close = rules::weight("prompt", RELAY_PROMPT) * releases.closeness(path);
        log_odds -= close * prompt / releases.count.max(1e-9);
    }
    let unasked = logistic(if passes_on { log_odds } else { log_odds.min(MOST_RELAY) });
    asked * asked_relay + (1.0 - asked) * unasked
}

/// Part of a server's holds that its client asked for, as far as was seen: of nine in ten, all.
fn asked(connection: &Connection, holds: f64) -> f64 {
    ((f64::from(connection.exchanges.count) + 1.0) / (ASKED_FOR * holds).max(1.0)).min(1.0)
}

/// Releases of holds in order, each with the probability that it was one, in ms.
struct Releases {
    sorted: Vec<(f64, f64)>,
    count: f64,
}

impl Releases {
    fn of(holds: &[(&Wait, f64)]) -> Self {
        let one = |&(wait, held): &(&Wait, f64)| (release_ms(wait), held);
        let mut sorted: Vec<(f64, f64)> = holds.iter().map(one).collect();
        sorted.sort_by(|one, next| one.0.total_cmp(&next.0));
        Self { count: sorted.iter().map(|(_, held)| held).sum(), sorted }
    }

    /// The release below which this part of them lies.
    fn quantile(&self, part: f64) -> f64 {
        let mut left = part * self.count;
        let reaches = |(_, held): &&(f64, f64)| {
            left -= held;
            left <= 0.0
        };
        self.sorted.iter().find(reaches).map_or(0.0, |(ms, _)| *ms)
    }

    /// How far a kernel's releases are off on this path.
    fn usual_ms(&self, path: &Path) -> f64 {
        PATH_SPREAD.0 + self.quantile(0.5) / PATH_SPREAD_ONE_OF + path.step_ms + path.jitter_ms
    }

    /// Probability that they come at the round trip, as a kernel's do, rather than later, as a program's.
    fn closeness(&self, path: &Path) -> f64 {
        let Some(rtt_ms) = path.yardstick_ms() else { return 1.0 };
        let usual_ms = self.usual_ms(path);
        let off_ms = (self.quantile(0.5) - rtt_ms).max(usual_ms);
        let program = log_normal(off_ms, RELAY_SPREAD.0.hypot(usual_ms), RELAY_SPREAD.1);
        let kernel = log_normal(off_ms, usual_ms, PATH_SPREAD.1);
        kernel / (kernel + program)
    }
}

fn release_ms(wait: &Wait) -> f64 {
    wait.release_ns() as f64 / 1e6
}

/// Probability that `side` answers data of this kind, which explains all these: as soon as a kernel
/// does, by its reactions to other data, or as soon as a program that wakes up.
pub fn answers(reactions: &Reactions, holds: &[(&Wait, f64)]) -> f64 {
    let mut releases_ns: Vec<i64> = holds.iter().map(|(wait, _)| wait.release_ns()).collect();
    let middle_ns = statistics::upper(&mut releases_ns).unwrap_or(0);
    let as_quick = f64::from(reactions.within(AS_QUICK * middle_ns));
    let quick = (as_quick + QUICK_PROGRAM) / f64::from(reactions.count() + 1);
    // No path is taken off: at the sender's host the shortest reply is the reaction itself.
    let releases = holds.iter().map(|(wait, held)| (release_ms(wait), *held)).collect();
    let wakes = RELAY_LIKELY + reaction(None, lower_quartile(releases));
    1.0 - (1.0 - quick) * (1.0 - logistic(wakes.min(MOST_RELAY)))
}

/// A relay that is asked across a network. It explains what comes later than a kernel's release.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum LateRelay {
    #[default]
    Unknown,
    /// Seen from afar: both of its timers fire apart, by their ticks, so that its releases spread more
    /// than the path does. Its probability by that, and the round trip with which releases are compared.
    Far { relay: f64, rtt_ms: f64 },
    /// At its own host, where a program has to wake up: how likely it passes on each of the [`PARTS`].
    Here([f64; 4]),
}

/// Parts of what looks held that a relay passes on.
const PARTS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

impl LateRelay {
    fn of(set: &CandidateSet<'_>, releases: &Releases) -> Self {
        let path = set.path();
        // A single release may have crossed a network that nothing shows.
        let many = releases.count >= FEW_RELEASES.into();
        if rules::off("late") {
            Self::Unknown
        } else if path.far && many {
            Self::far(path, releases)
        } else if path.shows_reactions() && (path.is_known() || many) && !is_one_host(set) {
            Self::here(path, releases)
        } else {
            Self::Unknown
        }
    }

    fn far(path: &Path, releases: &Releases) -> Self {
        let usual_ms = releases.usual_ms(path);
        let spread_ms = (releases.quantile(0.75) - releases.quantile(0.25)).max(usual_ms);
        let [(_, ms), (share, deviation)] = SLOW_HOST;
        let slow = share * log_normal(spread_ms, ms, deviation);
        let relays = log_normal(spread_ms, RELAY_SPREAD.0.hypot(usual_ms), RELAY_SPREAD.1);
        let kernel = log_normal(spread_ms, usual_ms, PATH_SPREAD.1);
        let most = MOST_BY_SPREAD * (releases.count / SPREAD_HOLDS).min(1.0);
        let by_spread = ((relays + slow) / (kernel + slow)).ln().clamp(0.0, most);
        Self::Far {
            relay: logistic(RELAY_ASKED + by_spread) - logistic(RELAY_ASKED),
            rtt_ms: path.yardstick_ms().unwrap_or_else(|| releases.quantile(0.1)),
        }
    }

    fn here(path: &Path, releases: &Releases) -> Self {
        let each = releases.sorted.iter();
        let reactions: Vec<(ReactionDensities, f64)> =
            each.map(|&(ms, held)| (ReactionDensities::of(path, ms), held)).collect();
        let likelier = PARTS.map(|part| {
            let each = reactions.iter();
            each.map(|(reaction, held)| held * reaction.times(part).ln()).sum::<f64>()
        });
        let best = likelier.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let parts = likelier.map(|log| (log - best).exp());
        let sum: f64 = parts.iter().sum();
        let log_odds = RELAY_ASKED_HERE + best + (sum / PARTS.len() as f64).ln();
        Self::Here(parts.map(|part| logistic(log_odds.min(MOST_RELAY)) * part / sum))
    }

    /// The probability that it passed on what this wait held back.
    pub fn probability(&self, path: &Path, wait: &Wait) -> f64 {
        match self {
            Self::Unknown => 0.0,
            Self::Far { relay, rtt_ms } => {
                let off_ms = release_ms(wait) - rtt_ms;
                let relayed = log_normal(off_ms.max(0.01), RELAY_SPREAD.0, RELAY_SPREAD.1);
                relay * relayed / (relayed + path.across(off_ms, *rtt_ms) + 1e-6)
            }
            Self::Here(relays) => {
                let reaction = ReactionDensities::of(path, release_ms(wait));
                let each = PARTS.into_iter().zip(relays);
                each.map(|(part, relay)| relay * part * reaction.wakes / reaction.of_both(part))
                    .sum()
            }
        }
    }
}

/// Densities of a reaction at its own host: of a program that wakes up, and of a kernel.
struct ReactionDensities {
    wakes: f64,
    kernel: f64,
}

impl ReactionDensities {
    fn of(path: &Path, ms: f64) -> Self {
        // A slow host is slow in both: its kernel shows it in the shortest round trip.
        let rtt_ms = if path.is_measured() { path.rtt_or_zero_ms() } else { 0.0 };
        let times = KERNEL_QUARTILE.0 * rtt_ms / KERNEL_MS.0;
        let ms = ms.max(0.001) / times.max(1.0);
        Self {
            wakes: log_normal(ms, WAKE_QUARTILE.0, WAKE_QUARTILE.1) + 1e-9,
            kernel: kernel(ms, path.step_ms) + 1e-9,
        }
    }

    /// Where this part comes from the program.
    fn of_both(&self, part: f64) -> f64 {
        part * self.wakes + (1.0 - part) * self.kernel
    }

    /// How much likelier it is then than where all come from the kernel.
    fn times(&self, part: f64) -> f64 {
        self.of_both(part) / self.kernel
    }
}

/// The lower quartile of the sender's reactions to ACKs.
fn quartile_ms(path: &Path, holds: &[(&Wait, f64)]) -> f64 {
    // The path to the sender is not its reaction, and a reply takes the time of its program, too.
    let path_ms = if path.is_measured() { path.rtt_or_zero_ms() } else { 0.0 };
    let busy_ms =
        |wait: &Wait| FRAME_MS * f64::from(wait.to.frame.saturating_sub(wait.ack.frame + 1));
    let reaction_ms = |wait: &Wait| (release_ms(wait) - path_ms - busy_ms(wait)).max(0.001);
    lower_quartile(holds.iter().map(|(wait, held)| (reaction_ms(wait), *held)).collect())
}

/// How much likelier a program that wakes up reacts so, as a logarithm, than a kernel.
fn reaction(path_of_both_ns: Option<i64>, quartile_ms: f64) -> f64 {
    let rtt_ms = path_of_both_ns.map_or(0.01, |rtt_ns| rtt_ns as f64 / 1e6);
    let usual_ms = KERNEL_QUARTILE.0 * rtt_ms.clamp(ONE_HOST_MS.0, ONE_HOST_MS.1);
    let [(ms, _), (share, deviation)] = SLOW_HOST;
    let slow = share * log_normal(quartile_ms, ms, deviation);
    let wakes = log_normal(quartile_ms, WAKE_QUARTILE.0, WAKE_QUARTILE.1);
    // A kernel that is quicker than usual is a kernel all the more.
    let kernel = log_normal(quartile_ms.max(usual_ms), usual_ms, KERNEL_QUARTILE.1);
    ((wakes + slow) / (kernel + slow)).ln()
}

/// Lower quartile of reactions, weighted by how likely each was a hold: no threshold decides.
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
fn is_one_host(set: &CandidateSet<'_>) -> bool {
    set.connection.is_loopback()
        || path_of_both_ns(set).is_some_and(|rtt_ns| rtt_ns < ONE_HOST_RTT_NS)
}

/// The round trip between both ends, in ns, where handshakes and ACKs alone show it.
fn measured_ns(set: &CandidateSet<'_>) -> Option<i64> {
    let is_measured = set.directions.iter().all(|direction| direction.path.is_measured());
    path_of_both_ns(set).filter(|_| is_measured)
}

/// Round trip between both ends, in ns, as far as it is known.
fn path_of_both_ns(set: &CandidateSet<'_>) -> Option<i64> {
    set.directions.iter().map(|direction| direction.path.shortest_ns).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::model::sets::sets;
    use crate::judge::pooled::paths::SharedPaths;
    use crate::track::clock::Clocks;
    use crate::track::story::{Story, block, client, server};

    #[test]
    fn another_connection_tells_that_both_ends_are_one_host() {
        let held = |story: Story| {
            let sent = story.after_ms(5.0, client(100)).after_ms(40.0, server(0));
            sent.after_ms(0.02, client(50)).after_ms(0.02, server(0))
        };
        let opened = Story::new().handshake(0.02, 0.03).end();
        let blocks = [block([opened, Story::new().times(3, held).end()])];
        let shared = SharedPaths::of(&blocks, 1);
        let both_ns = |paths: &SharedPaths| {
            let sets = sets(&blocks, &Clocks::default(), paths, 1);
            path_of_both_ns(sets.last().unwrap())
        };
        assert_eq!(both_ns(&SharedPaths::default()), None);
        assert_eq!(both_ns(&shared), Some(40_000));
    }
}
