//! Properties of the whole scan that judging depends on.

use crate::judge::pooled::false_discoveries::Accidents;
use crate::judge::pooled::host_frames::HostFrames;
use crate::judge::pooled::siblings::Siblings;
use crate::track::clock::Clocks;
use crate::track::wait::Wait;
use std::sync::LazyLock;

/// Properties of the whole scan that judging depends on.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// Resolution of the timestamps.
    pub clock_ns: i64,
    /// The end of the capture, in ns since the epoch.
    pub end_ns: i64,
    /// Shorter waits count as evidence, but are not findings.
    pub min_wait_ns: i64,
    /// Evidence from connections of the same programs.
    pub siblings: &'a Siblings,
    /// The accidental matches to expect on each server's connections.
    pub accidents: &'a Accidents,
    /// What kept each host busy.
    pub frames: &'a HostFrames,
}

impl Conditions<'_> {
    /// A connection judged on its own, with exact timestamps.
    pub fn alone(min_wait_ns: i64) -> Self {
        static SIBLINGS: LazyLock<Siblings> = LazyLock::new(Siblings::default);
        static ACCIDENTS: LazyLock<Accidents> = LazyLock::new(Accidents::default);
        static FRAMES: LazyLock<HostFrames> = LazyLock::new(HostFrames::default);
        let (siblings, accidents, frames) = (&*SIBLINGS, &*ACCIDENTS, &*FRAMES);
        Self { clock_ns: 0, end_ns: i64::MAX, min_wait_ns, siblings, accidents, frames }
    }

    /// For a connection with these `waits`.
    pub fn of(self, clocks: &Clocks, waits: &[Wait]) -> Self {
        Self { clock_ns: clocks.behind_ns(waits), end_ns: clocks.end_ns(waits), ..self }
    }
}
