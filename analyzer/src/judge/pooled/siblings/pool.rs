//! Evidence for and against holds in one direction, of one connection or of several.

use crate::judge::case::Line;
use crate::judge::path::releases::Releases;
use crate::judge::statistics;
use crate::judge::thresholds::{FEW_RELEASES, HOLDS_PER_CONTRADICTION, PEAK_OVER_CHANCE, STEADIER};
use crate::track::thresholds::NEAR;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Pause, Side};

/// Releases of one direction, of one connection or of several.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// How many have releases in the band.
    pub connections: u32,
    /// Releases near the band, but not in it.
    pub near: u32,
    /// Waits of small segments that no ACK explains.
    pub elsewhere: u32,
    /// Small segments sent without waiting, and releases that came too soon.
    pub against: u32,
    /// The first segment that was let go; 0 for none.
    pub frame: u64,
    matches: Vec<Match>,
}

/// A release in the band.
#[derive(Debug, Clone, Copy)]
struct Match {
    lens: (u32, u32),
    off_ns: i64,
    wait_ns: i64,
}

impl Pool {
    /// Of one direction with so many `waits`.
    pub fn of(connection: &Connection, by: Side, waits: &[Wait], releases: &Releases) -> Self {
        let half = connection.half(by);
        let pauses = half.pauses().iter().map(|pause: &Pause| pause.count).sum();
        let mut one = Self { against: half.contradictions(), elsewhere: pauses, ..Self::default() };
        if !releases.is_measured() || releases.lines.has(Line::MadeUpTimes) {
            return one;
        }
        let freed = |wait: &&Wait| wait.by == by && wait.is_freed();
        waits.iter().filter(freed).for_each(|wait| one.add(wait, releases));
        one.connections = u32::from(!one.matches.is_empty());
        one
    }

    fn add(&mut self, wait: &Wait, releases: &Releases) {
        if wait.has_any(fact::ACK_FIN | fact::LARGE_FLIGHT) {
            return;
        }
        match (releases.is_in_band(wait), releases.is_near(wait)) {
            (true, _) if releases.is_candidate(wait) => {
                self.matches.push(Match {
                    lens: (wait.unacked_len, wait.len),
                    off_ns: releases.off_ns(wait),
                    wait_ns: wait.wait_ns(),
                });
                self.frame = if self.frame == 0 { wait.to.frame } else { self.frame };
            }
            (true, _) => {}
            (false, true) => {
                self.near += 1;
                self.against += u32::from(releases.is_too_soon(wait));
            }
            (false, false) => self.elsewhere += u32::from(Releases::may_hold(wait)),
        }
    }

    /// How many releases are in the band.
    pub fn in_band(&self) -> u32 {
        self.matches.len() as u32
    }

    /// Both together.
    pub fn and(mut self, more: &Self) -> Self {
        self.connections += more.connections;
        self.near += more.near;
        self.elsewhere += more.elsewhere;
        self.against += more.against;
        self.frame = if self.frame == 0 { more.frame } else { self.frame };
        self.matches.extend(&more.matches);
        self
    }

    /// Do so many connections have releases that peak at the round trip, and do these keep to the ACK, not
    /// to a timer that the programs share?
    pub fn shows_holds(&self, clock_ns: i64) -> bool {
        let in_band = self.in_band();
        let by_chance = f64::from(self.near) * 2.0 / NEAR as f64;
        self.connections >= FEW_RELEASES
            && f64::from(in_band) > PEAK_OVER_CHANCE * by_chance
            && self.elsewhere < in_band
            && self.against <= in_band / HOLDS_PER_CONTRADICTION
            && self.follows_acks(clock_ns)
    }

    /// Between the same two writes: the wait for an ACK is as uneven as the ACK, and the release keeps to
    /// it; after a pause of the program it is the reverse.
    fn follows_acks(&self, clock_ns: i64) -> bool {
        let mut matches = self.matches.clone();
        matches.sort_by_key(|held| held.lens);
        let same = || matches.windows(2).filter(|two| two[0].lens == two[1].lens);
        let steps = |of: fn(&Match) -> i64| {
            let mut steps: Vec<i64> = same().map(|two| (of(&two[1]) - of(&two[0])).abs()).collect();
            statistics::upper(&mut steps).unwrap_or(0)
        };
        let (off_ns, wait_ns) = (steps(|held| held.off_ns), steps(|held| held.wait_ns));
        same().count() >= 2 && wait_ns > clock_ns && off_ns as f64 <= STEADIER * wait_ns as f64
    }
}
