//! A scan as Python sees it.

use super::options::PyOptions;
use super::progress::{PyProgress, interruptible};
use super::rows::{
    CauseRow, ConnectingRow, ConnectionRow, EndsRow, ExchangeRow, HopRow, LateAckRow, NagleRow,
    ServerGroupRow, ServerRow, Summary, TenthRow, WaitRow,
};
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::output::table::column::{Column, DataTable};
use crate::output::{self, table};
use crate::result::anonymize::{Anonymizer, KEY_LEN};
use crate::result::ends::{self, Scanned};
use crate::result::parts::{self, PARTS, Tenth};
use crate::result::scan::{Scan, scan};
use crate::result::segments::SegmentExcerpt;
use crate::result::{
    clearest, connecting, groups, hops, late_acks, nagle_counts, segments, servers, turns, worst,
};
use crate::track::reader::Reading;
use crate::track::table::key::SHARDS;
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Rows of one kind.
type PyRows<'py, R> = PyResult<Vec<Bound<'py, R>>>;

const TABLES: &str = "connections, stalls, waits, servers, exchanges, open, hours";

/// The scheme under `key`.
///
/// # Errors
/// The scheme refuses the key.
pub fn anonymizer(key: [u8; KEY_LEN]) -> PyResult<Anonymizer> {
    Anonymizer::new(key)
        .ok_or_else(|| PyValueError::new_err("the two halves of the key must differ"))
}

/// The result of a scan; it lives on the Rust side and gives out rows, columns and files.
#[pyclass(frozen, name = "Scan")]
pub struct PyScan {
    pub(super) scan: Arc<Scan>,
    /// Reports ask several times.
    groups: OnceLock<Vec<groups::ServerGroup>>,
}

impl PyScan {
    pub fn new(scan: Scan) -> Self {
        Self { scan: Arc::new(scan), groups: OnceLock::new() }
    }

    fn wait<'py>(
        &self,
        py: Python<'py>,
        (judged, finding): (&JudgedConnection, Finding<'_>),
    ) -> PyResult<Bound<'py, WaitRow>> {
        WaitRow::whole(py, finding, judged, &self.scan)
    }

    fn server_groups(&self, py: Python<'_>) -> &[groups::ServerGroup] {
        py.detach(|| self.groups.get_or_init(|| groups::server_groups(&self.scan)))
    }
}

#[pymethods]
impl PyScan {
    fn summary(&self) -> Summary {
        Summary::new(&self.scan)
    }

    /// Stalls by server, side and cause, the surest first, of equals those that lose most.
    fn groups(&self, py: Python<'_>) -> Vec<ServerGroupRow> {
        let groups = self.server_groups(py).iter();
        groups.map(|group| ServerGroupRow::new(group, &self.scan.names)).collect()
    }

    /// Kinds of sockets, and how many there are in all.
    fn nagle(&self, limit: usize) -> (Vec<NagleRow>, usize) {
        let (counts, total) = nagle_counts::nagle_counts(&self.scan, limit);
        let rows =
            counts.into_iter().map(|(party, count)| NagleRow::new(&self.scan, party, &count));
        (rows.collect(), total)
    }

    /// How many servers have exchanges.
    fn server_count(&self) -> usize {
        self.scan.servers.len()
    }

    /// Servers with exchanges, those that lose most to stalls first.
    fn servers<'py>(&self, py: Python<'py>, limit: usize) -> PyRows<'py, ServerRow> {
        let servers = servers::servers(&self.scan, limit);
        servers.iter().map(|server| ServerRow::whole(py, server)).collect()
    }

    /// The slowest exchanges, the slowest first.
    fn slowest<'py>(&self, py: Python<'py>, limit: usize) -> PyRows<'py, ExchangeRow> {
        let rows = py.detach(|| parts::slowest(&self.scan, limit));
        rows.iter().map(|row| ExchangeRow::whole(py, row)).collect()
    }

    /// An exchange in the middle of all; `None` if there is none.
    fn median<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, ExchangeRow>>> {
        parts::median(&self.scan).map(|row| ExchangeRow::whole(py, &row)).transpose()
    }

    /// The slowest tenth of all exchanges, and what it waits for.
    fn tenth(&self, py: Python<'_>) -> TenthRow {
        TenthRow::new(&py.detach(|| Tenth::of(&self.scan)))
    }

    fn affected<'py>(&self, py: Python<'py>, limit: usize) -> PyRows<'py, ConnectionRow> {
        let affected = worst::affected(&self.scan, limit).into_iter();
        affected.map(|index| ConnectionRow::whole(py, &self.scan, index)).collect()
    }

    /// One connection; `None` for an unknown number.
    fn connection<'py>(
        &self,
        py: Python<'py>,
        number: u32,
    ) -> PyResult<Option<Bound<'py, ConnectionRow>>> {
        let index = self.scan.connections.index_of(number);
        index.map(|index| ConnectionRow::whole(py, &self.scan, index)).transpose()
    }

    /// The stalls of one connection, the clearest first; none for an unknown number.
    fn stalls_of<'py>(&self, py: Python<'py>, number: u32, limit: usize) -> PyRows<'py, WaitRow> {
        let Some(index) = self.scan.connections.index_of(number) else {
            return Ok(Vec::new());
        };
        let judged = &self.scan.connections[index];
        let stalls = clearest::clearest_of(&self.scan, self.server_groups(py), index, limit);
        stalls.into_iter().map(|finding| self.wait(py, (judged, finding))).collect()
    }

    /// The hops of all paths over relays.
    fn hops<'py>(&self, py: Python<'py>) -> PyRows<'py, HopRow> {
        hops::hops(&self.scan).iter().map(|hop| HopRow::whole(py, hop, &self.scan.names)).collect()
    }

    /// Listed waits, stalls too, by cause and by who ended them.
    fn causes(&self) -> Vec<CauseRow> {
        self.scan.causes.rows().iter().map(CauseRow::new).collect()
    }

    /// The part of connecting in the time until the first replies; `None` if it never was slow.
    fn connecting(&self) -> Option<ConnectingRow> {
        connecting::connecting(&self.scan).as_ref().map(ConnectingRow::new)
    }

    /// How many requests met RST on a connection that the server had closed, and the first frame.
    fn stale_requests(&self) -> (u64, u32) {
        (self.scan.stale.count, self.scan.stale.first_frame)
    }

    /// Messages in two pieces that nothing held yet, one of each side at most: the connection, its sender,
    /// lengths and frames.
    fn splits(&self) -> Vec<(u32, &'static str, [u32; 2], [u32; 2])> {
        let splits = self.scan.first_splits();
        splits.map(|split| (split.connection, split.by.name(), split.bytes, split.frames)).collect()
    }

    /// Late ACKs: a row for each side that has any.
    fn late_acks(&self) -> Vec<LateAckRow> {
        late_acks::late_acks(&self.scan).iter().map(LateAckRow::new).collect()
    }

    /// Summary of a program's system calls at the stalls, as JSON; `None` without a trace.
    fn calls(&self) -> Option<String> {
        let calls = self.scan.calls.as_ref()?;
        serde_json::to_string(&calls.summary).ok()
    }

    fn clearest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, WaitRow>>> {
        let clearest = clearest::clearest(&self.scan, self.server_groups(py));
        clearest.map(|wait| self.wait(py, wait)).transpose()
    }

    #[pyo3(signature = (limit, connection=None))]
    fn longest_waits<'py>(
        &self,
        py: Python<'py>,
        limit: usize,
        connection: Option<u32>,
    ) -> PyRows<'py, WaitRow> {
        let longest = worst::longest_waits(&self.scan, limit, connection).into_iter();
        longest.map(|wait| self.wait(py, wait)).collect()
    }

    /// Number of the connection with the most bytes; `None` if there is none.
    fn busiest(&self) -> Option<u32> {
        worst::busiest(&self.scan)
    }

    /// The columns of a table, as a dict of `NumPy` arrays. Raises `ValueError` for an unknown one.
    fn columns<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyDict>> {
        let columns = match table {
            "connections" => table::connections,
            "stalls" => table::stalls,
            "waits" => table::waits,
            "servers" => table::servers,
            "exchanges" => table::exchanges,
            "open" => table::open,
            "hours" => table::hours,
            _ => return Err(PyValueError::new_err(format!("no such table: {table} ({TABLES})"))),
        };
        let scan = Arc::clone(&self.scan);
        into_dict(py, py.detach(move || columns(&scan)))
    }

    /// Columns of these names only, of stalls or other waits, of one connection if asked for.
    #[pyo3(signature = (stalls, names, connection=None))]
    fn findings<'py>(
        &self,
        py: Python<'py>,
        stalls: bool,
        names: Vec<String>,
        connection: Option<u32>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let scan = Arc::clone(&self.scan);
        into_dict(py, py.detach(move || table::findings(&scan, stalls, &names, connection)))
    }

    /// A copy with all addresses encrypted under `key`, and with captures that are only numbered.
    fn anonymized(&self, py: Python<'_>, key: [u8; KEY_LEN]) -> PyResult<PyScan> {
        let anonymizer = anonymizer(key)?;
        let scan = py.detach(|| {
            let mut scan = Scan::clone(&self.scan);
            anonymizer.anonymize(&mut scan);
            scan
        });
        Ok(PyScan::new(scan))
    }

    /// The user's names for addresses; by the addresses that outputs hold, if they were replaced.
    fn names(&self) -> HashMap<String, String> {
        self.scan.names.iter().map(|(addr, name)| (addr.to_string(), name.to_owned())).collect()
    }

    /// Captures at both ends; `None` for a scan of one.
    fn ends(&self) -> Option<EndsRow> {
        self.scan.ends.as_ref().map(EndsRow::new)
    }

    /// The captures in the order of their frames.
    fn captures(&self) -> Vec<String> {
        self.scan.captures.iter().map(|capture| capture.path.clone()).collect()
    }

    /// Times of their first frames, as `first_time_ns` tells them.
    fn first_times_ns(&self) -> Vec<i64> {
        self.scan.captures.iter().map(|capture| capture.stamps.first_ns()).collect()
    }

    /// The output contract without its connections.
    fn json_head(&self) -> String {
        output::json_head(&self.scan)
    }

    /// How many connections, servers, stalls and other waits of the tables the JSON does not list.
    fn json_leaves_out(&self) -> [u64; 4] {
        let (scan, listed) = (&self.scan, output::ListedRows::new(&self.scan));
        [
            listed.connections_not_listed(scan) - scan.connections_not_listed(),
            servers::not_listed(scan),
            listed.stalls_not_listed(scan),
            listed.waits_not_listed(scan).0 - scan.unlisted_waits,
        ]
    }

    /// Writes a file in the format of this name, JSON with the members of `extra`, a JSON object.
    /// Raises `ValueError` for an unknown one.
    #[pyo3(signature = (format, path, extra=None))]
    fn write(&self, py: Python<'_>, format: &str, path: &str, extra: Option<&str>) -> PyResult<()> {
        let written = py.detach(|| output::write(&self.scan, format, path, extra));
        Ok(written.ok_or_else(|| PyValueError::new_err(format!("no such format: {format}")))??)
    }
}

/// Scans captures without the interpreter lock. `progress` reports how far it is and can stop it.
/// `trial` (tests only): bytes per range and number of shards.
#[pyfunction]
#[pyo3(signature = (paths, options, progress, trial=None))]
fn scan_captures(
    py: Python<'_>,
    paths: Vec<String>,
    options: PyOptions,
    progress: &PyProgress,
    trial: Option<(u64, usize)>,
) -> PyResult<PyScan> {
    let mut options = options.checked(&paths)?;
    if let Some((range_len, shards)) = trial {
        options.reading.range_len = range_len.max(1);
        options.shards = shards.clamp(1, SHARDS).next_power_of_two();
    }
    let progress = &progress.0;
    let scan = interruptible(py, options.reading, progress, || scan(&paths, &options, progress))??;
    Ok(PyScan::new(scan))
}

/// Scans two captures without the interpreter lock: as one if they hold the same connections, else
/// each, or neither if `only_both`. Returns the scans, and whether the second capture comes first.
#[pyfunction]
fn scan_ends(
    py: Python<'_>,
    first: Vec<String>,
    second: Vec<String>,
    options: PyOptions,
    progress: &PyProgress,
    only_both: bool,
) -> PyResult<(Vec<PyScan>, bool)> {
    let options = options.checked(&[first.as_slice(), second.as_slice()].concat())?;
    let progress = &progress.0;
    let scanned = interruptible(py, options.reading, progress, || {
        ends::scan_ends([&first, &second], &options, progress, only_both)
    })??;
    Ok(match scanned {
        Scanned::Both { scan, swapped } => (vec![PyScan::new(*scan)], swapped),
        Scanned::Apart(scans) => (scans.into_iter().map(PyScan::new).collect(), false),
    })
}

/// Reads the captures again for segments by connection; of those in `excerpts`, around a frame.
#[pyfunction(name = "segments")]
#[pyo3(signature = (paths, options, connections, excerpts=None))]
fn segment_columns(
    py: Python<'_>,
    paths: Vec<String>,
    options: PyOptions,
    connections: Vec<u32>,
    excerpts: Option<HashMap<u32, (usize, u64)>>,
) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let reading = Reading::of(&paths, options.threads);
    let filter = options.filter.as_deref();
    let excerpts = excerpts.unwrap_or_default().into_iter();
    let excerpts =
        excerpts.map(|(number, (limit, center))| (number, SegmentExcerpt { limit, center }));
    let excerpts = excerpts.collect();
    let progress = Arc::default();
    let rows = interruptible(py, reading, &progress, || {
        segments::segments(&paths, filter, &connections, &excerpts, reading, &progress)
    })??;
    // Rows that are tables already make room.
    rows.into_iter().map(|rows| into_dict(py, table::read_again(&rows))).collect()
}

/// Reads the captures again for what could have stalled on some connections.
#[pyfunction(name = "turns")]
fn turn_columns(
    py: Python<'_>,
    paths: Vec<String>,
    options: PyOptions,
    connections: Vec<u32>,
) -> PyResult<Bound<'_, PyDict>> {
    let reading = Reading::of(&paths, options.threads);
    let progress = Arc::default();
    let rows = interruptible(py, reading, &progress, || {
        turns::turns(&paths, options.filter.as_deref(), &connections, reading, &progress)
    })??;
    into_dict(py, table::read_again(&rows))
}

/// `NumPy` arrays by column name; texts as a list, categories as (codes, names).
fn into_dict(py: Python<'_>, table: DataTable) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in table {
        match column {
            Column::Integers(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::Floats(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::Flags(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::Texts(values) => dict.set_item(name, PyList::new(py, values)?)?,
            Column::Categories(codes, names) => {
                dict.set_item(name, (codes.into_pyarray(py), names))?;
            }
        }
    }
    Ok(dict)
}

/// Adds what this file defines to the Python module.
///
/// # Errors
/// Python's own.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScan>()?;
    module.add("PARTS", PARTS)?;
    module.add_function(wrap_pyfunction!(scan_captures, module)?)?;
    module.add_function(wrap_pyfunction!(scan_ends, module)?)?;
    module.add_function(wrap_pyfunction!(segment_columns, module)?)?;
    module.add_function(wrap_pyfunction!(turn_columns, module)?)?;
    Ok(())
}
