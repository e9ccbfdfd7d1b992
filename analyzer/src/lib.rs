//! nagle-scan's engine: from captured bytes to verdicts, in one streaming pass.
//!
//! The data's way: `capture -> decode -> flow -> wait -> hold, pace, causes -> judge -> tables, export`.
//! This file is the only one that knows Python.

mod both_cores;
mod capture;
mod causes;
mod decode;
mod error;
mod evidence;
mod export;
mod filter;
mod flow;
mod hold;
mod judge;
mod judging;
mod link;
mod pace;
mod reader;
mod scan;
mod seq;
mod summary;
mod tables;
mod timers;
mod wait;

use error::ScanError;
use evidence::{ms, reasons};
use flow::Side;
use judge::{Finding, Verdict};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{create_exception, exceptions::PyException};
use std::sync::Arc;
use tables::{Column, Table};

create_exception!(_core, NagleScanError, PyException, "A capture could not be analysed.");
create_exception!(_core, CaptureError, NagleScanError, "The input cannot be read.");
create_exception!(_core, FilterError, NagleScanError, "The filter cannot be compiled.");
create_exception!(_core, OutputError, NagleScanError, "A result cannot be written.");

impl From<ScanError> for PyErr {
    fn from(error: ScanError) -> Self {
        let message = error.to_string();
        match error {
            ScanError::BadFilter { .. } => FilterError::new_err(message),
            ScanError::Unwritable { .. } => OutputError::new_err(message),
            ScanError::Unreadable { .. }
            | ScanError::NotACapture { .. }
            | ScanError::UnknownLinkType { .. } => CaptureError::new_err(message),
        }
    }
}

/// Totals; durations in ms.
#[pyclass(frozen, get_all)]
struct Summary {
    connections: u64,
    tcp_packets: u64,
    packets: u64,
    affected_connections: u64,
    stalls: u64,
    stalled_ms: f64,
    verdict: &'static str,
    exchanges: u64,
    one_sided: u64,
    without_handshake: u64,
    waits_not_listed: u64,
    waits_not_listed_ms: f64,
    /// Name of the input and what a reader must know of it.
    warnings: Vec<(String, String)>,
}

/// Stalls of one cause between the same two parties; durations in ms.
#[pyclass(frozen, get_all)]
struct Group {
    cause: &'static str,
    sender: &'static str,
    sender_addr: String,
    receiver_addr: String,
    server_port: u16,
    stalls: u64,
    connections: u64,
    stalled_ms: f64,
    confidence: &'static str,
    nagle: &'static str,
    ack_delay_ms: f64,
    ack_delay_min_ms: f64,
    ack_delay_max_ms: f64,
    consistent_with: &'static str,
}

/// What the wire shows of `TCP_NODELAY` on one party's sockets; proofs are (connection, frame,
/// frame).
#[pyclass(frozen, get_all)]
struct NagleRow {
    side: &'static str,
    addr: String,
    server_port: u16,
    on: u64,
    off: u64,
    unknown: u64,
    on_proof: Option<(u32, u64, u64)>,
    off_proof: Option<(u32, u64, u64)>,
}

/// A connection as reports name it; durations in ms.
#[pyclass(frozen, get_all)]
struct ConnectionRow {
    id: u32,
    client: String,
    server: String,
    client_nagle: &'static str,
    server_nagle: &'static str,
    stalls: u32,
    stalled_ms: f64,
    client_stalls: u32,
    server_stalls: u32,
    exchanges: u32,
    mean_latency_ms: Option<f64>,
    predicted_latency_ms: Option<f64>,
    first_latency_ms: Option<f64>,
    first_exchange_stalled: bool,
    rtt_ms: Option<f64>,
}

/// A wait as reports tell it: from / ack / to are frames; durations in ms, times in ns.
#[pyclass(frozen, get_all)]
struct WaitRow {
    connection: u32,
    cause: &'static str,
    by: &'static str,
    sender: String,
    receiver: String,
    confidence: &'static str,
    frame_from: u64,
    frame_ack: u64,
    frame_to: u64,
    from_ns: i64,
    ack_ns: i64,
    to_ns: i64,
    len_from: u32,
    len_to: u32,
    wait_ms: f64,
    ack_delay_ms: f64,
    release_ms: f64,
    own_data_before: bool,
    evidence: Vec<String>,
}

/// The result of a scan; it lives on the Rust side and gives out rows, columns and files.
#[pyclass(frozen, name = "Scan")]
struct PyScan {
    scan: Arc<scan::Scan>,
}

#[pymethods]
impl PyScan {
    fn summary(&self) -> Summary {
        let summary = summary::Summary::of(&self.scan);
        let captures = &self.scan.captures;
        Summary {
            connections: summary.connections,
            tcp_packets: summary.tcp_packets,
            packets: captures.iter().map(|capture| capture.packets).sum(),
            affected_connections: summary.affected_connections,
            stalls: summary.stalls,
            stalled_ms: ms(summary.stalled_ns),
            verdict: summary.outcome.name(),
            exchanges: summary.exchanges,
            one_sided: summary.one_sided,
            without_handshake: summary.without_handshake,
            waits_not_listed: summary.unlisted_waits,
            waits_not_listed_ms: ms(summary.unlisted_wait_ns),
            warnings: captures
                .iter()
                .flat_map(|capture| {
                    let path = &capture.path;
                    summary::warnings(capture).into_iter().map(move |text| (path.clone(), text))
                })
                .collect(),
        }
    }

    fn groups(&self) -> Vec<Group> {
        summary::groups(&self.scan).iter().map(Group::new).collect()
    }

    fn nagle(&self, limit: usize) -> Vec<NagleRow> {
        summary::nagle_counts(&self.scan, limit)
            .into_iter()
            .map(|((side, addr, server_port), count)| NagleRow {
                side: side.name(),
                addr: addr.to_string(),
                server_port,
                on: count.on,
                off: count.off,
                unknown: count.unknown,
                on_proof: count.on_proof,
                off_proof: count.off_proof,
            })
            .collect()
    }

    fn affected(&self, limit: usize) -> Vec<ConnectionRow> {
        summary::affected(&self.scan, limit)
            .into_iter()
            .map(|index| {
                ConnectionRow::new(&self.scan.verdicts[index], self.scan.findings_of(index))
            })
            .collect()
    }

    fn clearest(&self) -> Option<WaitRow> {
        summary::clearest(&self.scan).map(|(verdict, finding)| WaitRow::new(finding, verdict))
    }

    fn longest_waits(&self, limit: usize) -> Vec<WaitRow> {
        summary::longest_waits(&self.scan, limit)
            .into_iter()
            .map(|(verdict, finding)| WaitRow::new(finding, verdict))
            .collect()
    }

    /// Columns of `connections`, `stalls`, `waits` or `exchanges`, as a dict of `NumPy` arrays.
    fn columns<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyDict>> {
        let columns = match table {
            "connections" => tables::connections,
            "stalls" => tables::stalls,
            "waits" => tables::waits,
            _ => tables::exchanges,
        };
        let scan = Arc::clone(&self.scan);
        into_dict(py, py.detach(move || columns(&scan)))
    }

    fn write_json(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        Ok(py.detach(|| export::write_json(&self.scan, path))?)
    }

    fn write_csv(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        Ok(py.detach(|| export::write_csv(&self.scan, path))?)
    }
}

/// Scans captures; the interpreter lock is released meanwhile.
#[pyfunction]
fn scan_captures(
    py: Python<'_>,
    paths: Vec<String>,
    filter: Option<String>,
    min_wait_ms: f64,
    exchanges: bool,
) -> PyResult<PyScan> {
    let options = scan::Options { filter, min_wait_ns: (min_wait_ms * 1e6) as i64, exchanges };
    let scan = py.detach(|| scan::scan(&paths, &options))?;
    Ok(PyScan { scan: Arc::new(scan) })
}

/// Reads the captures again for one connection's segments.
#[pyfunction]
fn segments(
    py: Python<'_>,
    paths: Vec<String>,
    filter: Option<String>,
    connection: u32,
) -> PyResult<Bound<'_, PyDict>> {
    let rows = py.detach(|| scan::segments(&paths, filter.as_deref(), connection))?;
    into_dict(py, tables::segments(&rows))
}

impl Group {
    fn new(group: &summary::Group) -> Self {
        let delays = group.ack_delays.as_ref();
        Self {
            cause: group.cause.name(),
            sender: group.sender.name(),
            sender_addr: group.sender_addr.to_string(),
            receiver_addr: group.receiver_addr.to_string(),
            server_port: group.server_port,
            stalls: group.stalls,
            connections: group.connections,
            stalled_ms: ms(group.stalled_ns),
            confidence: group.confidence.name(),
            nagle: group.nagle.name(),
            ack_delay_ms: delays.map_or(0.0, |timer| ms(timer.median_ns)),
            ack_delay_min_ms: delays.map_or(0.0, |timer| ms(timer.min_ns)),
            ack_delay_max_ms: delays.map_or(0.0, |timer| ms(timer.max_ns)),
            consistent_with: delays.map_or("", |timer| timer.consistent_with()),
        }
    }
}

impl ConnectionRow {
    fn new(verdict: &Verdict, findings: &[Finding]) -> Self {
        let by = |side: Side| {
            findings.iter().filter(|row| row.cause.is_stall() && row.wait.by == side).count() as u32
        };
        let first_end = verdict.first_exchange.map_or(0, |(_, frame)| frame);
        Self {
            id: verdict.id,
            client: verdict.end(Side::Client).endpoint.to_string(),
            server: verdict.end(Side::Server).endpoint.to_string(),
            client_nagle: verdict.end(Side::Client).nagle.name(),
            server_nagle: verdict.end(Side::Server).nagle.name(),
            stalls: verdict.stalls,
            stalled_ms: ms(verdict.stalled_ns),
            client_stalls: by(Side::Client),
            server_stalls: by(Side::Server),
            exchanges: verdict.exchanges,
            mean_latency_ms: verdict.mean_latency_ns().map(ms),
            predicted_latency_ms: verdict.mean_latency_without_stalls_ns().map(ms),
            first_latency_ms: verdict.first_exchange.map(|(latency_ns, _)| ms(latency_ns)),
            first_exchange_stalled: findings
                .iter()
                .any(|row| row.cause.is_stall() && row.wait.to.frame <= first_end),
            rtt_ms: verdict.rtt_ns().map(ms),
        }
    }
}

impl WaitRow {
    fn new(finding: &Finding, verdict: &Verdict) -> Self {
        let wait = &finding.wait;
        let stall = finding.cause.is_stall();
        Self {
            connection: verdict.id,
            cause: finding.cause.name(),
            by: wait.by.name(),
            sender: verdict.end(wait.by).endpoint.to_string(),
            receiver: verdict.end(wait.by.other()).endpoint.to_string(),
            confidence: finding.confidence.name(),
            frame_from: wait.from.frame,
            frame_ack: wait.ack.frame,
            frame_to: wait.to.frame,
            from_ns: wait.from.time_ns,
            ack_ns: wait.ack.time_ns,
            to_ns: wait.to.time_ns,
            len_from: wait.unacked_len,
            len_to: wait.len,
            wait_ms: ms(wait.wait_ns()),
            ack_delay_ms: ms(finding.ack_delay_ns),
            release_ms: ms(wait.release_ns()),
            own_data_before: wait.is(wait::fact::OWN_DATA_BEFORE),
            evidence: match stall {
                true => reasons(finding, verdict).map(|reason| reason.to_string()).collect(),
                false => Vec::new(),
            },
        }
    }
}

/// `NumPy` arrays by column name; texts as a list, categories as (codes, names).
fn into_dict(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
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

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("NagleScanError", py.get_type::<NagleScanError>())?;
    module.add("CaptureError", py.get_type::<CaptureError>())?;
    module.add("FilterError", py.get_type::<FilterError>())?;
    module.add("OutputError", py.get_type::<OutputError>())?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<PyScan>()?;
    module.add_class::<Summary>()?;
    module.add_class::<Group>()?;
    module.add_class::<NagleRow>()?;
    module.add_class::<ConnectionRow>()?;
    module.add_class::<WaitRow>()?;
    module.add_function(wrap_pyfunction!(scan_captures, module)?)?;
    module.add_function(wrap_pyfunction!(segments, module)?)?;
    Ok(())
}
