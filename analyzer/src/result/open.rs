//! Debts that were open when connections or the capture ended.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::ending::Ending;
use crate::track::wait::fact;

/// A debt that was never paid.
#[derive(Debug, Clone, Copy)]
pub struct Open<'a>(pub Finding<'a>, &'a JudgedConnection);

impl Open<'_> {
    /// The receiver, of a wait for room; else the side that should have ended it.
    pub fn owed_by(&self) -> Side {
        let is_room = self.0.wait.has_any(fact::ZERO_WINDOW | fact::WINDOW_FULL);
        if is_room { self.0.wait.by.other() } else { self.0.wait.by }
    }

    pub fn ending(&self) -> Ending {
        self.0.wait.ending().unwrap_or(Ending::Capture)
    }

    /// How long nothing came from the end that owed it, if anything ever came.
    pub fn silent_ns(&self) -> Option<i64> {
        let (heard_ns, wait) = (self.0.wait.heard_ns(), self.0.wait);
        (heard_ns >= self.1.first_ns).then(|| (wait.to.time_ns - heard_ns).max(0))
    }

    /// How long nothing came from the other end, if the capture shows that.
    pub fn other_silent_ns(&self) -> Option<i64> {
        let (last_ns, wait) = (self.1.last_ns, self.0.wait);
        (last_ns > wait.heard_ns()).then(|| (wait.to.time_ns - last_ns).max(0))
    }

    pub fn is_host_alive(&self) -> bool {
        self.0.wait.heard_ns() > self.0.wait.from.time_ns
    }
}

/// All of them, connection by connection. A SYN that was turned down was answered.
pub fn open(scan: &Scan) -> impl Iterator<Item = Open<'_>> {
    let never_came = |row: &Finding<'_>| row.wait.ending().is_some() && !row.wait.is_connecting();
    scan.connections.findings().filter(never_came).filter_map(|row| {
        let index = scan.connections.index_of(row.wait.connection)?;
        Some(Open(row, &scan.connections[index]))
    })
}
