//! What judging needs to know of the scan.

use crate::judge::pooled::false_discoveries::Accidents;
use crate::judge::pooled::host_frames::HostFrames;
use crate::judge::pooled::siblings::Siblings;
use std::sync::LazyLock;

/// What judging needs to know of the scan.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// Step of the clock behind the waits.
    pub clock_ns: i64,
    /// Shorter waits are evidence, and no finding.
    pub min_wait_ns: i64,
    /// What connections of the same programs say of each other.
    pub siblings: &'a Siblings,
    /// What the connections of each server make likely by accident.
    pub accidents: &'a Accidents,
    /// What kept each host busy.
    pub frames: &'a HostFrames,
}

impl Conditions<'_> {
    /// No connection says anything of another; the clock is fine.
    pub fn alone(min_wait_ns: i64) -> Self {
        static SIBLINGS: LazyLock<Siblings> = LazyLock::new(Siblings::default);
        static ACCIDENTS: LazyLock<Accidents> = LazyLock::new(Accidents::default);
        static FRAMES: LazyLock<HostFrames> = LazyLock::new(HostFrames::default);
        let (siblings, accidents, frames) = (&*SIBLINGS, &*ACCIDENTS, &*FRAMES);
        Self { clock_ns: 0, min_wait_ns, siblings, accidents, frames }
    }
}
