//! A trace: what strace saw of sockets, with the line of each call.

use super::files::File;
use super::line::{TraceClock, without_strings};
use super::name::place;
use super::sockets::{Socket, Write};
use super::stack::Functions;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use std::sync::Arc;

/// A call that set an option of TCP, or tried to.
#[derive(Debug)]
pub struct OptionCall {
    /// `TCP_NODELAY`, `TCP_CORK` or `TCP_QUICKACK`; or `SO_DEBUG` or `IP_TOS`, as whoever gives
    /// `TCP_NODELAY` the wrong level sets.
    pub name: &'static str,
    pub value: i64,
    pub descriptor: i32,
    /// In words what the descriptor stood for.
    pub what: String,
    pub error: String,
    pub socket: Option<u32>,
    pub line: u32,
    pub stack: u32,
    /// A later call unset it.
    pub taken_back: bool,
}

/// The sockets of a trace, and the calls that it has.
#[derive(Debug, Default)]
pub struct Trace {
    pub paths: Vec<String>,
    pub sockets: Vec<Socket>,
    pub options: Vec<OptionCall>,
    pub functions: Functions,
    pub lines: u64,
    pub calls: u64,
    pub clock: Option<TraceClock>,
    pub threads: usize,
    /// The calls that it has: a bit for each place of `name::NAMES`.
    pub seen: u64,
    /// Another tracer, which printed one of its first lines, and what to do.
    pub foreign: Option<(&'static str, &'static str)>,
    /// Writes, and sockets, that were not kept.
    pub more_writes: u64,
    pub more_sockets: u64,
    pub has_unix: bool,
}

impl Trace {
    /// The lines of a write and of the one before it, without what their strings hold.
    ///
    /// # Errors
    /// The file cannot be read again.
    pub fn lines_of(
        &self,
        before: Option<&Write>,
        write: &Write,
        progress: &Arc<Progress>,
    ) -> Result<Vec<String>, ScanError> {
        let path = &self.paths[usize::from(write.file)];
        if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(vec![format!("{}: this trace cannot be read a second time", write.line)]);
        }
        let first = before.filter(|before| before.file == write.file && before.line < write.line);
        let numbers = [first.map(|first| first.line), Some(write.line)];
        let mut file = File::open(path, false, progress)?;
        let mut lines = Vec::new();
        while file.number < write.line && file.advance() {
            if numbers.contains(&Some(file.number)) {
                lines.push(format!("{}: {}", file.number, without_strings(&file.line)));
            }
        }
        Ok(lines)
    }

    /// When its first write was called, if it tells that.
    pub fn began_ns(&self) -> Option<i64> {
        let first = self.sockets.iter().filter_map(|socket| Some(socket.writes.first()?.time_ns));
        first.min().filter(|_| self.clock == Some(TraceClock::Unix))
    }

    pub fn has(&self, name: &str) -> bool {
        place(name).is_some_and(|at| self.seen >> at & 1 == 1)
    }
}
