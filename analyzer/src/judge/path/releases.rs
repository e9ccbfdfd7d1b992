//! Holds: does data leave when the ACK arrives, because it arrives?
//!
//! A pure ACK is invisible to the application, so data that leaves exactly one round trip (between
//! the capture point and the sender) after it was let go by the kernel. One such event can be a
//! coincidence; that they *peak* at the round trip, over all events, cannot.

use crate::judge::case::{Line, Lines};
use crate::judge::path::reference::Reference;
use crate::judge::path::sender_rtt::{self, Basis};
use crate::judge::statistics;
use crate::judge::thresholds::{
    BLURRED_RTT_NS, CHANCE_LIKELY, EARLY_NS, FEW_RELEASES, INDEPENDENT_HOLDS, PEAK_OVER_CHANCE,
    ROUND_TRIP_SAMPLES, SECURE_OVER_NEAR, SECURE_RELEASES,
};
use crate::track::band::Band;
use crate::track::thresholds::{IN_TRANSIT_ONE_OF, JITTERS, LONGEST_DELAYED_ACK_NS};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Half, Side};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// No round trip takes longer: the least upper bound of a retransmission timeout (RFC 6298, section 2.5).
const LONGEST_RTT_NS: i64 = 60_000_000_000;

const EXEMPT: u32 = fact::FIN | fact::URGENT;
const REPEATED: u32 = fact::RETRANSMITTED | fact::RECOVERY;
const NO_WINDOW: u32 = fact::ZERO_WINDOW | fact::WINDOW_FULL;
const EXCLUDED: u32 = EXEMPT | REPEATED | NO_WINDOW | fact::UNSEEN | fact::ACK_ONLY;

/// What is known of the releases of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Releases {
    /// Where releases are expected.
    pub band: Band,
    /// What that place is known from.
    pub basis: Basis,
    /// What each release is compared with.
    pub reference: Reference,
    /// How much sooner than the round trip a release may be: no ACK is answered before it arrives,
    /// but the shortest round trip measured may not be the shortest there is.
    pub early_ns: i64,
    /// Round trip between the capture point and the receiver, in ns; 0 where it is not known.
    pub receiver_rtt_ns: i64,
    /// Step of the clock.
    pub clock_ns: i64,
    /// Waits whose release lies within the tolerance, and those that lie near it.
    pub in_band: u32,
    pub near: u32,
    /// Full-sized segments that waited for an ACK in the same way, a single one in flight.
    pub full_sized: u32,
    /// The same after more than an initial window in flight: small ones and full-sized ones.
    pub small_after_window: u32,
    pub full_after_window: u32,
    /// Does the sender echo the timestamps of pure ACKs?
    pub echoes: bool,
    /// Did a small segment wait as long as the kernel's timer for a cork, with nothing unacknowledged?
    pub corked: bool,
    /// Segments as long as this are not held, whatever the MSS.
    pub as_full: Option<u32>,
    /// Share of the sender's segments, as they cross the path, that are small.
    pub small_share: f64,
    /// Half of the releases in the band lie this close to the round trip, in ns.
    pub spread_ns: i64,
    /// What speaks for and against their being holds.
    pub lines: Lines,
    /// What its sibling connections show, where that counts.
    pub siblings: Option<SiblingReleases>,
}

/// What the sibling connections of a direction show, where its own releases are too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiblingReleases {
    /// How many of them have such releases, and one of the segments released.
    pub connections: u32,
    pub frame: u64,
    /// Is Nagle's algorithm at work there beyond doubt?
    pub secure: bool,
}

/// The releases of one direction: of waits that are evidence, and of all that were seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReleasesOf<R> {
    pub evidence: R,
    /// `None` if no others were seen.
    pub all: Option<R>,
}

impl<R: Deref<Target = Releases>> ReleasesOf<R> {
    /// Those that a wait was judged by.
    pub fn of(&self, wait: &Wait) -> &Releases {
        if wait.is_evidence() { &self.evidence } else { self.all() }
    }

    pub fn all(&self) -> &Releases {
        self.all.as_ref().unwrap_or(&self.evidence)
    }

    /// A copy to keep.
    pub fn boxed(&self) -> ReleasesOf<Box<Releases>> {
        let boxed = |releases: &R| Box::new(**releases);
        ReleasesOf { evidence: boxed(&self.evidence), all: self.all.as_ref().map(boxed) }
    }
}

impl Releases {
    /// Measures the releases of `side` from all its waits that an ACK ended; the clock behind
    /// them ticks every `clock_ns`.
    pub fn measure(connection: &Connection, side: Side, waits: &[Wait], clock_ns: i64) -> Self {
        let freed = || waits.iter().filter(|wait| wait.by == side && wait.is_freed());
        let half = connection.half(side);
        let found = sender_rtt::find(half, freed().map(Wait::release_ns), clock_ns);
        let mut releases = Self::due(half, found, clock_ns);
        releases.receiver_rtt_ns = connection.half(side.other()).rtt_or_zero_ns();
        releases.as_full = half.as_full();
        releases.lines = Lines::default().with(Line::MadeUpTimes, connection.is_even());
        releases.echoes = half.echoes_acks();
        releases.small_share = small_share(half, connection.effective_mss().0);
        // The answer to a FIN comes soon after it, as what the kernel releases does.
        let evident = || freed().filter(|wait| !wait.is(fact::ACK_FIN));
        let fixed = releases.counting(evident());
        if !fixed.is_measured() || fixed.band.center_ns < BLURRED_RTT_NS {
            return fixed;
        }
        let against = half.contradictions();
        let own = waits.iter().filter(|wait| wait.by == side);
        let varying = releases.on_varying_path(fixed, against, evident());
        let varying = releases.by_sender_clock(varying, against, own, evident());
        match releases.waits_follow_ack(side, waits) {
            true => releases.following(varying, against, side, waits),
            false => varying,
        }
    }

    /// As they are when all that an ACK ended are counted.
    pub fn counting<'a>(mut self, freed: impl Iterator<Item = &'a Wait> + Clone) -> Self {
        freed.clone().for_each(|wait| self.count(wait));
        self.spread_ns = self.median_distance(freed);
        self.lines = self.lines.and(self.of_peak());
        self
    }

    /// How late a release is.
    pub fn off_ns(&self, wait: &Wait) -> i64 {
        let off_ns = self.reference.off_ns(wait, self.band.off_ns(wait.release_ns()));
        match self.reference {
            Reference::Ack => self.followed_off_ns(wait, off_ns),
            _ => off_ns,
        }
    }

    /// Does it lie in the band or in its neighbourhood?
    pub fn is_near(&self, wait: &Wait) -> bool {
        self.band.reaches(self.off_ns(wait))
    }

    /// Can this wait be a hold, whatever the release time says?
    pub fn is_candidate(&self, wait: &Wait) -> bool {
        wait.is_freed() && self.before_release(wait).is_empty()
    }

    /// What the path, and the segments themselves, say of a wait.
    pub fn lines_of(&self, wait: &Wait) -> Lines {
        let freed = wait.is_freed();
        let window = wait.is(fact::LARGE_FLIGHT) && !self.stops_before_small();
        self.lines.and(self.before_release(wait)).and(Lines::of([
            (Line::OffTheAck, freed && !self.follows_ack(wait)),
            (Line::CongestionWindow, freed && window),
            (Line::Reply, freed && self.is_reply(wait)),
        ]))
    }

    /// The same, without what the time of the release says.
    fn before_release(&self, wait: &Wait) -> Lines {
        let freed = wait.is_freed();
        let as_full = self.as_full.is_some_and(|len| wait.len >= len);
        Lines::of([
            (Line::NoPureAck, !wait.has_pure_ack()),
            (Line::NothingFollowed, wait.is(fact::ACK_ONLY)),
            (Line::NotSmall, !wait.is(fact::SMALL) || as_full),
            (Line::Exempt, wait.has_any(EXEMPT)),
            (Line::Retransmitted, wait.has_any(REPEATED)),
            (Line::WindowClosed, wait.has_any(NO_WINDOW)),
            (Line::BytesMissing, wait.is(fact::UNSEEN)),
            (Line::PassedOn, wait.is(fact::PASSED_ON)),
            (Line::OwnPause, wait.is(fact::OWN_PAUSE)),
            (Line::LeftBeforeAck, freed && self.left_before_ack(wait)),
            (Line::TooLong, freed && self.is_too_long(wait)),
        ])
    }

    /// Was its ACK later than receivers delay any, or the release longer than round trips take?
    fn is_too_long(&self, wait: &Wait) -> bool {
        let longest_ns = self.longest_ack_ns();
        let longest_rtt_ns = match self.basis {
            Basis::Nothing => LONGEST_DELAYED_ACK_NS,
            _ => LONGEST_RTT_NS,
        };
        !(0..=longest_ns).contains(&wait.ack_ns())
            || wait.ack.time_ns - wait.from.time_ns > longest_ns
            || !(0..=longest_rtt_ns).contains(&wait.release_ns())
    }

    /// The longest that an ACK can take.
    pub fn longest_ack_ns(&self) -> i64 {
        self.receiver_rtt_ns + LONGEST_DELAYED_ACK_NS
    }

    /// Was it a small segment that waited, and did nothing forbid Nagle's algorithm to hold it?
    pub fn may_hold(wait: &Wait) -> bool {
        wait.is(fact::SMALL) && !wait.has_any(EXCLUDED)
    }

    /// Did it leave before the ACK came, by the timestamp that it echoes? Then the program sent it.
    pub fn left_before_ack(&self, wait: &Wait) -> bool {
        self.echoes && wait.is(fact::ECHOES_EARLIER)
    }

    /// Where the releases should lie, and how far off they may be.
    fn due(half: &Half, (center_ns, basis): (i64, Basis), clock_ns: i64) -> Self {
        let center_ns = if center_ns == i64::MAX { 0 } else { center_ns };
        let band = Band::new(center_ns, half.jitter_ns(), clock_ns);
        let measured = basis == Basis::Handshake;
        let quarter_ns = center_ns / IN_TRANSIT_ONE_OF;
        let early_ns = EARLY_NS + JITTERS * half.jitter_ns() + clock_ns;
        Self {
            band,
            basis,
            early_ns: match measured && half.rtt_samples() >= ROUND_TRIP_SAMPLES {
                true => early_ns.min(band.tolerance_ns).min(EARLY_NS + clock_ns + quarter_ns),
                false => band.tolerance_ns,
            },
            clock_ns,
            ..Self::default()
        }
    }

    fn count(&mut self, wait: &Wait) {
        if !self.is_in_band(wait) || self.left_before_ack(wait) {
            self.near += u32::from(self.is_near(wait));
            return;
        }
        if wait.is(fact::SMALL) && !self.is_candidate(wait) {
            return;
        }
        let counter = match (wait.is(fact::SMALL), wait.is(fact::LARGE_FLIGHT)) {
            (true, true) => &mut self.small_after_window,
            (false, true) => &mut self.full_after_window,
            (false, false) => &mut self.full_sized,
            (true, false) => &mut self.in_band,
        };
        *counter += 1;
    }

    fn median_distance<'a>(&self, freed: impl Iterator<Item = &'a Wait>) -> i64 {
        let distance = |wait: &Wait| self.off_ns(wait).abs();
        let mut distances: Vec<i64> = freed
            .filter(|wait| self.is_candidate(wait))
            .map(distance)
            .filter(|&off| off <= self.band.tolerance_ns)
            .collect();
        statistics::upper(&mut distances).unwrap_or(0)
    }

    /// Held segments crowd around the round trip; a program's own writes are as dense outside the
    /// band.
    fn of_peak(&self) -> Lines {
        let matches = self.matches();
        Lines::of([
            (Line::FullSizedToo, self.full_sized > matches),
            (Line::RoundTripUnknown, self.basis == Basis::Nothing),
            (Line::Crowded, f64::from(matches) <= PEAK_OVER_CHANCE * self.by_chance()),
        ])
    }

    /// Small segments that left where an ACK would release them.
    pub fn matches(&self) -> u32 {
        self.in_band + self.small_after_window
    }

    /// How many the neighbourhood beyond the tolerance makes likely in the core, which has at least half of
    /// the releases in the band.
    pub fn by_chance(&self) -> f64 {
        let core_ns = (2 * self.spread_ns).clamp(EARLY_NS, self.band.tolerance_ns.max(EARLY_NS));
        f64::from(self.near) * (2 * core_ns) as f64 / self.band.near_ns() as f64
    }

    /// Do the releases of this direction show holds?
    pub fn show_holds(&self) -> bool {
        self.lines.is_hold()
    }

    pub fn holds(&self, wait: &Wait) -> bool {
        self.show_holds() && wait.is_freed() && self.lines_of(wait).is_hold()
    }

    /// Is it as likely the reply of a program? To a FIN, unless others are held as well; to data that came
    /// before the ACK, if the reply falls into the band by accident.
    fn is_reply(&self, wait: &Wait) -> bool {
        let share = 2.0 * self.band.tolerance_ns as f64 / wait.span_ns().max(1) as f64;
        let holds = self.in_band.clamp(1, INDEPENDENT_HOLDS);
        (wait.is(fact::ACK_FIN) && self.in_band < FEW_RELEASES)
            || (wait.is(fact::DATA_CAME) && share.powi(holds as i32) >= CHANCE_LIKELY)
    }

    pub fn is_in_band(&self, wait: &Wait) -> bool {
        // Sooner than the shortest round trip no ACK was answered, whatever was seen near by.
        let sooner_ns = self.band.off_ns(wait.release_ns());
        let off_ns = self.off_ns(wait);
        sooner_ns >= -self.early_ns && off_ns.abs() <= self.band.tolerance_ns
    }

    /// Near by, but sooner than any ACK could be answered: the program wrote it.
    pub fn is_too_soon(&self, wait: &Wait) -> bool {
        self.band.off_ns(wait.release_ns()) < -self.early_ns && self.is_near(wait)
    }

    /// Does the segment follow the ACK by the round trip to the sender? Where Nagle's algorithm is at
    /// work beyond doubt, a late one does, too, unless by accident it would be as late as often as not.
    pub fn follows_ack(&self, wait: &Wait) -> bool {
        let late = || self.off_ns(wait) > 0 && self.is_near(wait) && self.chance(wait) < 1.0;
        self.basis != Basis::Nothing && (self.is_in_band(wait) || (self.is_secure() && late()))
    }

    /// Was the round trip measured apart from the releases themselves?
    pub fn is_measured(&self) -> bool {
        self.basis == Basis::Handshake
    }

    /// A full congestion window stops a sender anywhere in its stream; only Nagle's algorithm stops
    /// it, time and again, before the small tail of a message.
    fn stops_before_small(&self) -> bool {
        let stops = self.small_after_window + self.full_after_window;
        let by_chance = f64::from(stops) * self.small_share;
        f64::from(self.small_after_window) > PEAK_OVER_CHANCE * by_chance
            || self.small_after_window > self.full_after_window
    }

    fn is_secure(&self) -> bool {
        let own = self.in_band >= SECURE_RELEASES && self.in_band > SECURE_OVER_NEAR * self.near;
        self.show_holds() && (own || self.siblings.is_some_and(|siblings| siblings.secure))
    }
}

fn small_share(half: &Half, mss: u32) -> f64 {
    let small = f64::from(half.small_segments());
    small / (small + half.bytes() as f64 / f64::from(mss)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_spread_around_the_ack_are_no_peak() {
        let spread = Releases {
            band: Band { center_ns: 0, tolerance_ns: 2_000_000 },
            spread_ns: 1_000_000,
            basis: Basis::Handshake,
            in_band: 8,
            near: 24,
            ..Releases::default()
        };
        let peak = Releases { spread_ns: 50_000, ..spread };
        assert!(!spread.of_peak().is_hold());
        assert!(peak.of_peak().is_hold());
        assert!(Releases { near: 0, ..spread }.of_peak().is_hold());
    }
}
