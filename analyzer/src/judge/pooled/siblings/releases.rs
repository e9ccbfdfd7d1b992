//! Releases of one direction, seen with those of its sibling connections.

use crate::judge::case::Line;
use crate::judge::path::reference::Reference;
use crate::judge::path::releases::{Releases, SiblingReleases};
use crate::judge::pooled::siblings::Siblings;
use crate::judge::pooled::siblings::pool::Pool;
use crate::judge::thresholds::{SECURE_OVER_NEAR, SECURE_RELEASES};
use crate::track::thresholds::NETWORK_RTT_NS;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};

impl Releases {
    /// Adds what sibling connections show, where these releases are too few to show anything by themselves.
    pub fn add_siblings(
        &mut self,
        siblings: &Siblings,
        connection: &Connection,
        by: Side,
        waits: &[Wait],
    ) {
        if waits.is_empty() || siblings.is_empty() || !self.needs_siblings() {
            return;
        }
        let Some(others) = siblings.others(connection, by) else { return };
        let own = Pool::of(connection, by, waits, self);
        let secure = others.in_band >= SECURE_RELEASES
            && others.in_band > SECURE_OVER_NEAR * others.near
            && others.shows_holds(self.clock_ns);
        let Pool { connections, frame, .. } = others;
        let with_own = own.in_band > 0 && others.and(&own).shows_holds(self.clock_ns);
        if with_own || (secure && own.near > 0) {
            self.lines = self.lines.with(Line::SiblingPeak, true);
            self.siblings = Some(SiblingReleases { connections, frame, secure });
        }
    }

    /// On one host a relay of all these connections would look the same.
    fn needs_siblings(&self) -> bool {
        let few = self.matches() <= 1;
        (few || !self.show_holds())
            && self.full_sized <= self.in_band
            && self.is_measured()
            && self.reference == Reference::RoundTrip
            && !self.lines.has(Line::MadeUpTimes)
            && self.band.center_ns >= NETWORK_RTT_NS
    }
}
