//! A trace of system calls as Python sees it.

use super::progress::{PyProgress, interruptible};
use crate::calls::alone::alone;
use crate::calls::stack::Frame;
use crate::calls::trace::Trace;
use crate::track::reader::Reading;
use pyo3::prelude::*;
use std::sync::Arc;

/// A trace of a program, as strace wrote it.
#[pyclass(frozen, name = "Calls")]
pub struct PyCalls {
    pub(super) trace: Arc<Trace>,
}

#[pymethods]
impl PyCalls {
    /// Sums of the trace without a capture, as JSON.
    fn alone(&self) -> String {
        serde_json::to_string(&alone(&self.trace)).unwrap_or_default()
    }
}

/// Reads the files of a trace. Frames of stacks, each with the file and the address of a call and
/// its function, have the functions and lines that `look_up` returns for them.
#[pyfunction(name = "read_calls")]
fn read(
    py: Python<'_>,
    paths: Vec<String>,
    progress: &PyProgress,
    look_up: &Bound<'_, PyAny>,
) -> PyResult<PyCalls> {
    let reading = Reading::of(&paths, Some(1));
    let progress = &progress.0;
    let mut trace = interruptible(py, reading, progress, || Trace::read(&paths, progress))??;
    let frames: Vec<_> = trace.functions.frames.iter().map(Frame::place).collect();
    if !frames.is_empty() {
        trace.functions.look_up(look_up.call1((frames, trace.began_ns()))?.extract()?);
    }
    Ok(PyCalls { trace: Arc::new(trace) })
}

/// Adds what this file defines to the Python module.
///
/// # Errors
/// Python's own.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCalls>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    Ok(())
}
