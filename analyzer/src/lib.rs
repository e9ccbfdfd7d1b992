//! nagle-scan's engine: from captured bytes to verdicts, in one streaming pass.
//!
//! The data's way: `capture -> decode -> flow -> wait -> hold, pace, causes -> judge -> tables, export`.
//! This file is the only one that knows Python.

mod capture;
mod causes;
mod decode;
mod error;
mod evidence;
mod export;
mod filter;
mod flow;
mod hold;
mod hops;
mod judge;
mod link;
mod pace;
mod reader;
mod rivals;
mod rows;
mod scan;
mod seq;
mod servers;
mod summary;
mod tables;
mod timers;
mod wait;

use error::ScanError;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{create_exception, exceptions::PyException};
use rows::{CauseRow, ConnectionRow, Group, HopRow, NagleRow, PyServerRow, Summary, WaitRow};
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

/// The result of a scan; it lives on the Rust side and gives out rows, columns and files.
#[pyclass(frozen, name = "Scan")]
struct PyScan {
    scan: Arc<scan::Scan>,
}

#[pymethods]
impl PyScan {
    fn summary(&self) -> Summary {
        Summary::new(&self.scan)
    }

    fn groups(&self) -> Vec<Group> {
        summary::groups(&self.scan).iter().map(Group::new).collect()
    }

    fn nagle(&self, limit: usize) -> Vec<NagleRow> {
        summary::nagle_counts(&self.scan, limit)
            .into_iter()
            .map(|(party, count)| NagleRow::new(party, &count))
            .collect()
    }

    /// Servers with exchanges, those that lose most to stalls first.
    fn servers(&self, limit: usize) -> Vec<PyServerRow> {
        servers::servers(&self.scan, limit).into_iter().map(PyServerRow::new).collect()
    }

    fn affected(&self, limit: usize) -> Vec<ConnectionRow> {
        summary::affected(&self.scan, limit)
            .into_iter()
            .map(|index| {
                ConnectionRow::new(&self.scan.verdicts[index], self.scan.findings_of(index))
            })
            .collect()
    }

    /// One connection; `None` if there is no such id.
    fn connection(&self, id: usize) -> Option<ConnectionRow> {
        let verdict = self.scan.verdicts.get(id)?;
        Some(ConnectionRow::new(verdict, self.scan.findings_of(id)))
    }

    /// The stalls of one connection, the clearest first; none if there is no such id.
    fn stalls_of(&self, id: usize, limit: usize) -> Vec<WaitRow> {
        let Some(verdict) = self.scan.verdicts.get(id) else {
            return Vec::new();
        };
        let stalls = summary::clearest_of(&self.scan, id, limit);
        stalls.into_iter().map(|finding| WaitRow::new(finding, verdict)).collect()
    }

    /// The hops of paths over a host that is called and calls others; none if there is no such host.
    fn hops(&self) -> Vec<HopRow> {
        hops::hops(&self.scan).into_iter().map(HopRow::new).collect()
    }

    /// Listed waits, stalls too, by cause and by who ended them.
    fn causes(&self) -> Vec<CauseRow> {
        summary::causes(&self.scan).iter().map(CauseRow::new).collect()
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

    /// Columns of `connections`, `stalls`, `waits`, `servers` or `exchanges`, as a dict of `NumPy` arrays.
    fn columns<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyDict>> {
        let columns = match table {
            "connections" => tables::connections,
            "stalls" => tables::stalls,
            "waits" => tables::waits,
            "servers" => tables::servers,
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
    module.add_class::<PyServerRow>()?;
    module.add_class::<ConnectionRow>()?;
    module.add_class::<CauseRow>()?;
    module.add_class::<HopRow>()?;
    module.add_class::<WaitRow>()?;
    module.add_function(wrap_pyfunction!(scan_captures, module)?)?;
    module.add_function(wrap_pyfunction!(segments, module)?)?;
    Ok(())
}
