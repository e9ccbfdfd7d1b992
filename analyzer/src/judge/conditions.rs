//! Properties of the whole scan that judging depends on.

use crate::judge::direction::Direction;
use crate::judge::doubts::Doubts;
use crate::judge::pooled::paths::SharedPaths;
use crate::judge::pooled::servers::Servers;
use crate::track::Connection;
use crate::track::clock::Clocks;
use crate::track::wait::Wait;

/// Properties of the whole scan that judging depends on.
#[derive(Clone, Copy)]
pub struct Conditions<'a> {
    /// Resolution of the timestamps.
    pub clock_ns: i64,
    /// The end of the capture, in ns since the epoch.
    pub end_ns: i64,
    /// Shorter waits count as evidence, but are not findings.
    pub min_wait_ns: i64,
    /// Rows of a printed text were left out.
    pub is_elided: bool,
    /// Paths that connections of the same hosts show.
    pub paths: &'a SharedPaths,
    /// How long servers usually take for an answer.
    pub servers: &'a Servers<'a>,
}

impl<'a> Conditions<'a> {
    /// For a connection with these `waits`.
    pub fn of(
        min_wait_ns: i64,
        clocks: &Clocks,
        (paths, servers): (&'a SharedPaths, &'a Servers<'a>),
        (connection, waits): (&Connection, &[Wait]),
    ) -> Self {
        Self {
            clock_ns: clocks.behind_ns(waits),
            end_ns: clocks.end_ns(connection.last_known_frame()),
            min_wait_ns,
            is_elided: clocks.is_elided,
            paths,
            servers,
        }
    }

    /// Both directions of a connection without a candidate.
    pub fn directions(&self, connection: &Connection, waits: &[Wait]) -> [Direction; 2] {
        let paths = self.paths.of_both(connection, waits, self.clock_ns);
        Direction::of_both(Doubts::of(connection), waits, &paths)
    }
}
