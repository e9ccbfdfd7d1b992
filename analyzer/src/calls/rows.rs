//! Calls as outputs show them.

use super::name::NAMES;
use super::sockets::Write;
use super::trace::Trace;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;

/// Kinds of calls that set options; reports list no more.
const MOST_KINDS: usize = 20;
/// Kinds among which these are sought.
const MOST_SOUGHT: usize = 500;

/// A call that wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedCall {
    pub name: &'static str,
    pub bytes: u32,
    /// Its line of the trace.
    pub line: u32,
    /// The file of that line, where the trace has several.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub file: String,
    /// Empty where no stack tells. Its line of code stands behind it where that is known.
    pub function: String,
    /// The caller that parts it from the call beside it, through one wrapper.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub caller: String,
}

impl NamedCall {
    pub fn anonymize(&mut self) {
        self.function.clear();
        self.caller.clear();
        self.file.clear();
    }

    /// `beside`: the other call of the same message.
    pub fn of(trace: &Trace, write: &Write, beside: Option<&Write>) -> Self {
        let (function, caller) =
            trace.functions.names(write.stack, beside.map_or(0, |beside| beside.stack));
        Self {
            name: NAMES[usize::from(write.name)].0,
            bytes: write.bytes,
            line: write.line,
            file: file_of(trace, write.file),
            function: function.to_owned(),
            caller: caller.to_owned(),
        }
    }
}

/// Calls that set an option alike.
#[derive(Debug, Clone, Serialize)]
pub struct OptionRow {
    pub name: &'static str,
    pub value: i64,
    pub descriptor: i32,
    /// The number of other descriptors.
    pub others: u64,
    /// For what the descriptor stood.
    pub what: String,
    /// Empty where it worked.
    pub error: String,
    /// The line of the first such call.
    pub line: u32,
    pub function: String,
    pub count: u64,
    pub taken_back: bool,
}

/// All calls that set options, those alike together.
pub fn options(trace: &Trace) -> Vec<OptionRow> {
    let mut rows: Vec<OptionRow> = Vec::new();
    let mut numbers = HashSet::new();
    for call in &trace.options {
        let (function, _) = trace.functions.names(call.stack, 0);
        let is_same = |row: &&mut OptionRow| {
            (row.name, row.value, row.taken_back) == (call.name, call.value, call.taken_back)
                && (row.what.as_str(), row.error.as_str(), row.function.as_str())
                    == (call.what.as_str(), call.error.as_str(), function)
        };
        let kind =
            (call.name, call.value, call.taken_back, &call.what, &call.error, call.descriptor);
        let is_other = numbers.insert(kind);
        if let Some(row) = rows.iter_mut().find(is_same) {
            row.count += 1;
            row.others += u64::from(is_other);
        } else if rows.len() < MOST_SOUGHT {
            rows.push(OptionRow {
                name: call.name,
                value: call.value,
                descriptor: call.descriptor,
                others: 0,
                what: call.what.clone(),
                error: call.error.clone(),
                line: call.line,
                function: function.to_owned(),
                count: 1,
                taken_back: call.taken_back,
            });
        }
    }
    // First those that explain: it failed, was taken back, or went elsewhere.
    let explains =
        |row: &OptionRow| !row.error.is_empty() || row.taken_back || !row.name.starts_with("TCP_");
    rows.sort_by_key(|row| !explains(row));
    rows.truncate(MOST_KINDS);
    rows
}

/// Can the trace show that an option was never set?
pub fn traces_options(trace: &Trace) -> bool {
    let is_traced = ["setsockopt", "mmap", "munmap", "brk"].iter().any(|name| trace.has(name));
    is_traced && !has_ring(trace)
}

/// The name of one of several files.
fn file_of(trace: &Trace, file: u16) -> String {
    let path = trace.paths.get(usize::from(file)).filter(|_| trace.paths.len() > 1);
    let name = path.and_then(|path| Path::new(path).file_name());
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

pub fn has_ring(trace: &Trace) -> bool {
    trace.has("io_uring_enter") || trace.has("io_uring_setup")
}

/// Beyond what a trace is not looked at.
pub fn bounded(trace: &Trace) -> &'static str {
    match (trace.more_writes, trace.more_sockets) {
        (0, 0) => "",
        (0, _) => "only the first 200,000 sockets of the trace were looked at",
        _ => "only the first two million writes of the trace were looked at",
    }
}

/// Why calls are missing from a trace, with the remedy.
pub fn missing(trace: &Trace) -> &'static str {
    let has = |names: &[&str]| names.iter().any(|name| trace.has(name));
    if has_ring(trace) {
        "the program writes by io_uring, which strace does not see: run it without, if it can"
    } else if !has(&["write", "writev", "sendfile"])
        && has(&["socket", "accept", "accept4", "connect", "sendto", "recvfrom"])
    {
        "the trace seems to leave out write, writev and sendfile (-e trace=network does): take the command that `nagle-scan --calls` prints"
    } else if trace.has_unix && trace.sockets.iter().all(|socket| socket.bytes == 0) {
        "the sockets that it writes to are UNIX sockets: there is no TCP, and no Nagle's algorithm"
    } else {
        "bytes of the connections are not in the trace: it began later or ended earlier, lines are missing, or another thread or process wrote them (strace -f)"
    }
}
