//! The Python module `_core`: everything that knows Python.

mod frame_rows;
mod progress;
mod rows;

use crate::capture::error::ScanError;
use crate::judge::causes;
use crate::output::column::{Column, Table};
use crate::output::{self, tables};
use crate::result::{anonymize, groups, hops, nagle_counts, scan, servers, summary};
use numpy::IntoPyArray;
use progress::{PyProgress, interruptible};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{create_exception, exceptions::PyException};
use rows::{CauseRow, ConnectionRow, Group, HopRow, NagleRow, PyServerRow, Summary, WaitRow};
use std::sync::Arc;

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
            ScanError::Stopped { .. } => PyKeyboardInterrupt::new_err(message),
            ScanError::Unreadable { .. }
            | ScanError::NotACapture { .. }
            | ScanError::NoHeader { .. }
            | ScanError::UnknownLinkType { .. } => CaptureError::new_err(message),
        }
    }
}

type Columns = fn(&scan::Scan) -> Table;

/// What [`PyScan::columns`] gives, by name.
const TABLES: [(&str, Columns); 5] = [
    ("connections", tables::connections),
    ("stalls", tables::stalls),
    ("waits", tables::waits),
    ("servers", tables::servers),
    ("exchanges", tables::exchanges),
];

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
        groups::groups(&self.scan).iter().map(Group::new).collect()
    }

    fn nagle(&self, limit: usize) -> Vec<NagleRow> {
        nagle_counts::nagle_counts(&self.scan, limit)
            .into_iter()
            .map(|(party, count)| NagleRow::new(&self.scan, party, &count))
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
                ConnectionRow::new(&self.scan.connections[index], self.scan.findings_of(index))
            })
            .collect()
    }

    /// One connection; `None` if there is no such id.
    fn connection(&self, id: u32) -> Option<ConnectionRow> {
        let index = self.scan.connections.index_of(id)?;
        Some(ConnectionRow::new(&self.scan.connections[index], self.scan.findings_of(index)))
    }

    /// The stalls of one connection, the clearest first; none if there is no such id.
    fn stalls_of(&self, id: u32, limit: usize) -> Vec<WaitRow> {
        let Some(index) = self.scan.connections.index_of(id) else {
            return Vec::new();
        };
        let judged = &self.scan.connections[index];
        let stalls = summary::clearest_of(&self.scan, index, limit);
        stalls.into_iter().map(|finding| WaitRow::new(finding, judged)).collect()
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
        summary::clearest(&self.scan).map(|(judged, finding)| WaitRow::new(finding, judged))
    }

    fn longest_waits(&self, limit: usize) -> Vec<WaitRow> {
        summary::longest_waits(&self.scan, limit)
            .into_iter()
            .map(|(judged, finding)| WaitRow::new(finding, judged))
            .collect()
    }

    /// Columns of one of [`TABLES`], as a dict of `NumPy` arrays.
    fn columns<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyDict>> {
        let Some((_, columns)) = TABLES.iter().find(|(name, _)| *name == table) else {
            let names = TABLES.map(|(name, _)| name).join(", ");
            return Err(PyValueError::new_err(format!("no table {table:?} (tables: {names})")));
        };
        let scan = Arc::clone(&self.scan);
        into_dict(py, py.detach(move || columns(&scan)))
    }

    /// A copy with all addresses encrypted under `key`, and with captures that are only numbered.
    fn anonymized(&self, py: Python<'_>, key: [u8; anonymize::KEY_LEN]) -> PyResult<PyScan> {
        let anonymizer = frame_rows::anonymizer(key)?;
        let scan = py.detach(|| {
            let mut scan = scan::Scan::clone(&self.scan);
            anonymizer.anonymize(&mut scan);
            scan
        });
        Ok(PyScan { scan: Arc::new(scan) })
    }

    /// The captures in the order of their frames.
    fn captures(&self) -> Vec<String> {
        self.scan.captures.iter().map(|capture| capture.path.clone()).collect()
    }

    /// The output contract without its connections.
    fn json_head(&self) -> String {
        output::json_head(&self.scan)
    }

    /// The output contract, and the members of `extra`, a JSON object.
    #[pyo3(signature = (path, extra=None))]
    fn write_json(&self, py: Python<'_>, path: &str, extra: Option<&str>) -> PyResult<()> {
        Ok(py.detach(|| output::write_json(&self.scan, extra, path))?)
    }

    fn write_csv(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        Ok(py.detach(|| output::write_csv(&self.scan, path))?)
    }
}

/// Scans captures; the interpreter lock is released meanwhile. `progress` tells how far it is, and
/// can stop it.
#[pyfunction]
fn scan_captures(
    py: Python<'_>,
    paths: Vec<String>,
    filter: Option<String>,
    min_wait_ms: f64,
    exchanges: bool,
    progress: &PyProgress,
) -> PyResult<PyScan> {
    let options = scan::Options { filter, min_wait_ns: (min_wait_ms * 1e6) as i64, exchanges };
    let progress = &progress.0;
    let scan = interruptible(py, progress, || scan::scan(&paths, &options, progress))??;
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
    let progress = Arc::default();
    let rows = interruptible(py, &progress, || {
        scan::segments(&paths, filter.as_deref(), connection, &progress)
    })??;
    into_dict(py, tables::segments(&rows))
}

/// The documentation of a cause; `None` if there is no such cause.
#[pyfunction]
fn explain(cause: &str) -> Option<&'static str> {
    causes::explain(cause)
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
    module.add("CAUSES", PyTuple::new(py, causes::Cause::names())?)?;
    module.add_class::<PyScan>()?;
    module.add_class::<PyProgress>()?;
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
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    frame_rows::add_to(module)?;
    Ok(())
}
