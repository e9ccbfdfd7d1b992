//! The path between the capture point and a host: the one answer to 'what is the round trip'.
//!
//! The tracker measures (`track::half::path`); here the measurements become an estimate with its
//! doubt. A single sample bounds a round trip from above only, replies may all have been slow, and
//! releases that agree among themselves are a measurement, too. All times in ms.

use crate::judge::statistics;
use crate::judge::thresholds::{
    EARLY_MS, EARLY_ONE_OF, ENOUGH_KNOWN, FEW_RELEASES, KERNEL_LATE, KNOWN_LESS, LONE_SAMPLE,
    NEAR_RTT_MS, NEAR_SENDER_MS, QUICK_BY_CHANCE,
};
use crate::rules;
use crate::track::Side;
use crate::track::band::Band;
use crate::track::half::Half;
use crate::track::thresholds::{JITTERS, KNOWN_ROUND_TRIPS, LOCAL_TOLERANCE_NS, NETWORK_RTT_NS};
use crate::track::wait::Wait;

/// The longest round trip that is assumed where nothing bounds it.
const UNBOUNDED_MS: f64 = 1000.0;

/// The basis of a round trip, the weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Nothing: any release would fit itself.
    #[default]
    Nothing,
    /// Replies, which take the time of their program as well, or releases that agree.
    Estimate,
    /// The handshake of another connection of the same two hosts.
    Shared,
    /// The handshake, or round trips after it.
    Handshake,
}

impl Basis {
    /// Where a round trip was measured, behind its number.
    pub fn elsewhere(self) -> &'static str {
        if self == Self::Shared { " on another connection of these hosts" } else { "" }
    }
}

/// The round trip between the capture point and a host.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Path {
    /// The shortest one; with others of the same hosts, where its own samples are few.
    pub rtt_ms: Option<f64>,
    /// The shortest one that was measured, in ns, as reports print it.
    pub shortest_ns: Option<i64>,
    /// Where releases agree on it, though nothing else measured it; or the fastest reply.
    pub agreed_ms: Option<f64>,
    /// Mean distance of the others from it.
    pub jitter_ms: f64,
    /// It is no longer than this, whatever it is; `None` where nothing bounds it.
    pub longest_ms: Option<f64>,
    pub samples: u16,
    pub basis: Basis,
    /// Step of the clock.
    pub step_ms: f64,
    /// Is there a network in between?
    pub far: bool,
    /// How far behind what they released ACKs are stamped at most.
    pub behind_ms: f64,
}

impl Path {
    /// The path to this host, by its own connection.
    pub fn of(half: &Half, clock_ns: i64) -> Self {
        let shortest_ns = half.measured_rtt_ns();
        let rtt_ms = shortest_ns.map(ms);
        let basis = match rtt_ms {
            None => Basis::Nothing,
            Some(_) if half.is_path_measured() => Basis::Handshake,
            Some(_) => Basis::Estimate,
        };
        Self {
            rtt_ms,
            shortest_ns,
            agreed_ms: None,
            jitter_ms: ms(half.jitter_ns()),
            longest_ms: half.longest_rtt_ns().map(ms),
            samples: half.rtt_samples,
            basis,
            step_ms: ms(clock_ns).max(0.001),
            far: rtt_ms.is_some_and(is_far),
            behind_ms: 0.0,
        }
    }

    /// The path by another one to the same host, where its own round trips are few: each of both bounds it.
    pub fn shared_by(self, other: &Self) -> Self {
        let shortest_ns = self.shortest_ns.into_iter().chain(other.shortest_ns).min();
        let rtt_ms = shortest_ns.map(ms);
        Self {
            rtt_ms,
            shortest_ns,
            jitter_ms: self.jitter_ms.max(other.jitter_ms),
            longest_ms: self.longest_ms.into_iter().chain(other.longest_ms).reduce(f64::min),
            samples: self.samples.max(other.samples),
            basis: Basis::Shared,
            far: rtt_ms.is_some_and(is_far),
            ..self
        }
    }

    /// The path to the sender of releases: they tell whether there is a network where nothing else
    /// does, and whether a round trip was none. ACKs that are stamped behind what they released
    /// show beside the sender only.
    pub fn with_releases(self, releases_ns: &mut [i64], behind_ns: Option<i64>) -> Self {
        match (behind_ns, self.is_known()) {
            (Some(behind_ns), _) => Self { far: false, behind_ms: ms(behind_ns), ..self },
            (None, true) if self.far && self.is_refuted(releases_ns) => self.unknown(),
            (None, true) => self,
            (None, false) => Self { far: self.are_far(releases_ns), ..self },
        }
    }

    /// The path as if no round trip had been measured.
    fn unknown(self) -> Self {
        Self { step_ms: self.step_ms, ..Self::default() }
    }

    /// Do most releases come sooner than a round trip seen once or twice? Then that answer was late.
    fn is_refuted(&self, releases_ns: &mut [i64]) -> bool {
        let few = FEW_RELEASES as usize;
        usize::from(self.samples) < few
            && releases_ns.len() >= few
            && statistics::upper(releases_ns)
                .is_some_and(|middle_ns| 2.0 * ms(middle_ns) < self.rtt_or_zero_ms())
    }

    /// Did releases come over a network, by their middle? Where most are pauses, a few as quick as
    /// a kernel tell that its host is here: by chance data seldom follows an ACK so soon.
    fn are_far(&self, releases_ns: &mut [i64]) -> bool {
        let Some(middle_ns) = statistics::upper(releases_ns) else { return false };
        let quick_ms = KERNEL_LATE[0].1 + self.step_ms;
        let is_quick = |ns: &&i64| (0.0..=quick_ms).contains(&ms(**ns));
        let quick = releases_ns.iter().filter(is_quick).count() as f64;
        let by_chance = releases_ns.len() as f64 * quick_ms / ms(middle_ns).max(quick_ms);
        ms(middle_ns) > NEAR_SENDER_MS && QUICK_BY_CHANCE * quick <= by_chance
    }

    /// The path with what releases of `side` agree on, where no handshake shows it: the shortest of the
    /// largest group, the shortest within a host, or else the fastest reply.
    pub fn agreeing(self, side: Side, waits: &[Wait]) -> Self {
        if self.is_measured() {
            return self;
        }
        let longest_ms = self.bound_ms() + self.late_ms_after(self.bound_ms());
        let own = waits.iter().filter(|wait| wait.by == side && wait.is_freed());
        // Clocks may step back: a negative time is no measurement.
        let mut releases: Vec<f64> = own
            .map(|wait| ms(wait.release_ns()))
            .filter(|release_ms| (0.0..=longest_ms).contains(release_ms))
            .collect();
        releases.sort_by(f64::total_cmp);
        let (first_ms, agreeing) = self.densest(&releases);
        let shortest_ms = releases.first().copied();
        let is_local = |ms: &f64| *ms <= LOCAL_TOLERANCE_NS as f64 / 1e6 + self.step_ms;
        let agreed_ms = match (agreeing >= FEW_RELEASES as usize, shortest_ms.filter(is_local)) {
            (true, _) => Some(first_ms),
            (false, Some(shortest_ms)) => Some(shortest_ms),
            (false, None) => self.rtt_ms,
        };
        Self { agreed_ms, ..self }
    }

    /// The shortest of the largest group within one tolerance, and how many they are; of groups as
    /// large that of the shorter ones.
    fn densest(&self, sorted_ms: &[f64]) -> (f64, usize) {
        let (mut best, mut end) = ((0.0, 0), 0);
        for (begin, &first_ms) in sorted_ms.iter().enumerate() {
            let last_ms = first_ms + self.late_ms_after(first_ms);
            end += sorted_ms[end..].iter().take_while(|&&release_ms| release_ms <= last_ms).count();
            if end - begin > best.1 {
                best = (first_ms, end - begin);
            }
        }
        best
    }

    /// Was the round trip measured apart from replies and releases?
    pub fn is_measured(&self) -> bool {
        self.basis >= Basis::Shared
    }

    /// How far the round trip is known, from 0 to 1.
    pub fn known(&self) -> f64 {
        if rules::off("doubt") {
            return f64::from(self.rtt_ms.is_some());
        }
        let samples = f64::from(self.samples);
        let by_samples = samples.max(1.0) / (samples.max(1.0) + LONE_SAMPLE.0);
        match self.basis {
            Basis::Nothing => 0.0,
            Basis::Estimate => KNOWN_LESS.0 * samples / (samples + LONE_SAMPLE.1),
            Basis::Shared => KNOWN_LESS.1 * by_samples,
            Basis::Handshake => by_samples,
        }
    }

    /// Is it known well enough to compare releases with it?
    pub fn is_known(&self) -> bool {
        self.known() > ENOUGH_KNOWN
    }

    /// Do releases show the sender's reaction: beside the capture point, by one clock for both directions?
    pub fn shows_reactions(&self) -> bool {
        !self.far && self.behind_ms == 0.0
    }

    /// The round trip, if releases are to be compared with it.
    pub fn yardstick_ms(&self) -> Option<f64> {
        self.rtt_ms.filter(|_| self.far && self.is_known())
    }

    /// The round trip in ms; 0 where nothing shows it.
    pub fn rtt_or_zero_ms(&self) -> f64 {
        self.rtt_ms.unwrap_or(0.0)
    }

    /// The round trip in ms by which waits are explained that Nagle's algorithm cannot have made.
    pub fn usual_ms(&self) -> Option<f64> {
        self.agreed_ms.or(self.rtt_ms)
    }

    /// How much sooner than the shortest round trip measured an ACK may release.
    pub fn early_ms(&self) -> f64 {
        self.early_ms_before(self.rtt_or_zero_ms())
    }

    fn early_ms_before(&self, rtt_ms: f64) -> f64 {
        let is_known = self.is_measured() && self.samples >= KNOWN_ROUND_TRIPS;
        // The shortest of many is nearer to what there is.
        let part = match is_known {
            true => EARLY_ONE_OF.1 * f64::from(self.samples) / f64::from(KNOWN_ROUND_TRIPS),
            false => EARLY_ONE_OF.0,
        };
        EARLY_MS + JITTERS as f64 * self.jitter_ms + self.step_ms + rtt_ms / part
    }

    /// How much later than a round trip an ACK may release.
    fn late_ms_after(&self, rtt_ms: f64) -> f64 {
        let ns = |ms: f64| (ms * 1e6) as i64;
        ms(Band::new(ns(rtt_ms), ns(self.jitter_ms), ns(self.step_ms)).tolerance_ns)
    }

    /// An ACK releases nothing later than this, as far as anything bounds the round trip.
    pub fn latest_release_ms(&self) -> f64 {
        let rtt_ms = self.longest_ms.unwrap_or(0.0);
        rtt_ms + self.late_ms_after(rtt_ms)
    }

    /// How late this wait ended, in ms after its ACK and a round trip.
    pub fn off_ms(&self, wait: &Wait) -> f64 {
        ms(wait.release_ns()) - self.rtt_or_zero_ms()
    }

    /// Does the segment follow the ACK by the round trip to the sender? Asked for waits that
    /// Nagle's algorithm cannot have made: a full window, or a sender with one segment in flight,
    /// waits for ACKs, too.
    pub fn follows_ack(&self, wait: &Wait) -> bool {
        let Some(rtt_ms) = self.usual_ms() else { return false };
        let off_ms = ms(wait.release_ns()) - rtt_ms;
        (-self.early_ms_before(rtt_ms)..=self.late_ms_after(rtt_ms)).contains(&off_ms)
    }

    /// The longest that the round trip can be, in ms.
    pub fn bound_ms(&self) -> f64 {
        self.longest_ms.unwrap_or(UNBOUNDED_MS)
    }

    /// Is its host known to be across a network?
    pub fn is_across_network(&self) -> bool {
        self.shortest_ns.is_some_and(|shortest_ns| shortest_ns >= NETWORK_RTT_NS)
    }
}

fn is_far(rtt_ms: f64) -> bool {
    rtt_ms >= NEAR_RTT_MS
}

fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}
