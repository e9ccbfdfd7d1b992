//! Releases of one direction, seen with those of its sister connections.

use crate::judge::path::reference::Frame;
use crate::judge::path::releases::Releases;
use crate::judge::pooled::siblings::Sisters;
use crate::judge::pooled::siblings::shown::Shown;
use crate::judge::pooled::siblings::testimony::Testimony;
use crate::judge::thresholds::{SECURE_OVER_NEAR, SECURE_RELEASES};
use crate::track::thresholds::NETWORK_RTT_NS;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};

impl Releases {
    /// Adds what sister connections show, where these releases are too few to show anything by themselves.
    pub fn add_sisters(
        &mut self,
        sisters: &Sisters,
        connection: &Connection,
        by: Side,
        waits: &[Wait],
    ) {
        if waits.is_empty() || sisters.is_empty() || !self.needs_sisters() {
            return;
        }
        let Some(others) = sisters.others(connection, by) else { return };
        let own = Testimony::of(connection, by, waits, self);
        let secure = others.in_band >= SECURE_RELEASES
            && others.in_band > SECURE_OVER_NEAR * others.near
            && others.shows_holds(self.clock_ns);
        let Testimony { connections, frame, .. } = others;
        let with_own = own.in_band > 0 && others.and(&own).shows_holds(self.clock_ns);
        if with_own || (secure && own.near > 0) {
            self.peaks = true;
            self.sisters = Some(Shown { connections, frame, secure });
        }
    }

    /// On one host a relay of all these connections would look the same.
    fn needs_sisters(&self) -> bool {
        let few = self.in_band + self.small_after_window <= 1;
        (few || !self.peaks)
            && self.full_sized <= self.in_band
            && self.is_measured()
            && self.frame == Frame::Fixed
            && !self.made_up
            && self.band.center_ns >= NETWORK_RTT_NS
    }
}
