//! A scan in passes, as Python sees it: records of a capture, a shard of them, and all shards together.

use super::errors::CaptureError;
use super::progress::interruptible;
use super::scan::{PyScan, in_ns};
use crate::capture::progress::Progress;
use crate::result::passes::{self, PassError, Settings, ShardTracker};
use crate::track::reader::Reading;
use crate::track::reader::columns::{Columns, with_columns};
use crate::track::reader::records::Records;
use crate::track::replay::Damaged;
use numpy::{Element, IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

impl From<PassError> for PyErr {
    fn from(error: PassError) -> Self {
        match error {
            PassError::Scan(error) => error.into(),
            error => CaptureError::new_err(error.to_string()),
        }
    }
}

impl From<Damaged> for PyErr {
    fn from(error: Damaged) -> Self {
        PassError::from(error).into()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture that is decoded into records for each shard, batch by batch.
#[pyclass(frozen, name = "CaptureRecords")]
pub struct PyCaptureRecords {
    records: Mutex<Records>,
    progress: Arc<Progress>,
    filter: Option<String>,
}

#[pymethods]
impl PyCaptureRecords {
    /// Opens the capture `path`, which summaries and errors call `label`.
    #[new]
    fn new(py: Python<'_>, path: &str, label: &str, filter: Option<String>) -> PyResult<Self> {
        let progress = Arc::default();
        let open = || Records::open(path, label, filter.as_deref(), &progress);
        let records = Mutex::new(interruptible(py, &progress, open)??);
        Ok(Self { records, progress, filter })
    }

    /// The next records: their shard, and their columns as `NumPy` arrays. `None` when all were given out.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<(usize, Bound<'py, PyDict>)>> {
        let next = || locked(&self.records).next_batch();
        let batch = interruptible(py, &self.progress, next)??;
        let Some((shard, columns)) = batch else { return Ok(None) };
        Ok(Some((shard, into_dict(py, columns)?)))
    }

    /// What the next passes need to know of the capture, once all records were given out.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let capture = locked(&self.records).capture();
        let capture = capture.ok_or_else(|| CaptureError::new_err("not all records were read"))?;
        let packed = passes::pack_capture(capture, self.filter.clone())?;
        Ok(PyBytes::new(py, &packed))
    }
}

/// A shard of the records of some captures, which is tracked.
#[pyclass(frozen, name = "ShardTracker")]
pub struct PyShardTracker {
    /// `None` after its end.
    tracker: Mutex<Option<ShardTracker>>,
    order: Vec<usize>,
}

#[pymethods]
impl PyShardTracker {
    #[new]
    fn new(
        captures: Vec<PyBackedBytes>,
        shard: usize,
        min_wait_ms: f64,
        exchanges: bool,
    ) -> PyResult<Self> {
        let settings = Settings { min_wait_ns: in_ns(min_wait_ms), exchanges };
        let tracker = ShardTracker::new(&captures, shard, settings)?;
        Ok(Self { order: tracker.order.clone(), tracker: Mutex::new(Some(tracker)) })
    }

    /// The captures in the order in which their records must be given, by their places in the list of them.
    #[getter]
    fn order(&self) -> Vec<usize> {
        self.order.clone()
    }

    /// Takes the next records of the capture at this place in `order`.
    fn take(&self, py: Python<'_>, place: usize, records: &Bound<'_, PyDict>) -> PyResult<()> {
        let columns = from_dict(records)?;
        let take = || locked(&self.tracker).as_mut().ok_or(Damaged)?.take(place, &columns);
        Ok(py.detach(take)?)
    }

    /// What it saw, as bytes for `combine_shards`.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let tracker = locked(&self.tracker).take().ok_or(Damaged)?;
        let state = py.detach(|| tracker.end())?;
        Ok(PyBytes::new(py, &state))
    }
}

/// The scan of captures by what each of their shards saw.
#[pyfunction]
#[pyo3(signature = (captures, shards, threads=None))]
fn combine_shards(
    py: Python<'_>,
    captures: Vec<PyBackedBytes>,
    shards: Vec<PyBackedBytes>,
    threads: Option<usize>,
) -> PyResult<PyScan> {
    let reading = Reading::by_some(threads);
    let scan = py.detach(|| passes::combine(&captures, &shards, reading))?;
    Ok(PyScan::new(scan))
}

fn into_dict(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    macro_rules! set {
        ($($name:ident: $kind:ty,)*) => {
            $(dict.set_item(stringify!($name), columns.$name.into_pyarray(py))?;)*
        };
    }
    with_columns!(set);
    Ok(dict)
}

fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Columns> {
    macro_rules! get {
        ($($name:ident: $kind:ty,)*) => {
            Columns { $($name: column(dict, stringify!($name)).ok_or(Damaged)?,)* }
        };
    }
    Ok(with_columns!(get))
}

/// A copy of a column, if it is there and has this type.
fn column<T: Element + Clone>(dict: &Bound<'_, PyDict>, name: &str) -> Option<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = dict.get_item(name).ok()??.extract().ok()?;
    Some(array.as_array().to_vec())
}

/// Adds what this file defines to the Python module.
///
/// # Errors
/// Python's own.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCaptureRecords>()?;
    module.add_class::<PyShardTracker>()?;
    module.add_function(wrap_pyfunction!(combine_shards, module)?)?;
    Ok(())
}
