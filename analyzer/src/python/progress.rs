//! Watching and stopping a scan from Python.

use crate::capture::progress::Progress;
use crate::track::reader::Reading;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Signals are looked for this often while the engine works.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// How far a scan is. Bytes are as stored; the total is `None` unless all inputs are plain files.
#[pyclass(frozen, name = "Progress")]
pub struct PyProgress(pub Arc<Progress>);

#[pymethods]
impl PyProgress {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Asks the scan to end soon, with what it has.
    fn stop(&self) {
        self.0.stop();
    }

    #[getter]
    fn stopped(&self) -> bool {
        self.0.is_stopped()
    }

    #[getter]
    fn packets(&self) -> u64 {
        self.0.packets()
    }

    #[getter]
    fn connections(&self) -> u64 {
        self.0.connections()
    }

    #[getter]
    fn read_bytes(&self) -> u64 {
        self.0.read_bytes()
    }

    #[getter]
    fn total_bytes(&self) -> Option<u64> {
        self.0.total_bytes()
    }
}

/// Does `work` without the interpreter lock, in a thread of its own unless it is short, while this
/// one lets Python handle signals. If a handler raises (Ctrl-C), the work is stopped.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    reading: Reading,
    progress: &Progress,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if reading.is_short {
        return Ok(py.detach(work));
    }
    py.detach(|| {
        thread::scope(|scope| {
            let (working, finished) = channel::<()>();
            let worker = scope.spawn(move || {
                let result = work();
                drop(working);
                result
            });
            let mut outcome = Ok(());
            while finished.recv_timeout(SIGNALS_EVERY) == Err(RecvTimeoutError::Timeout) {
                if outcome.is_ok() {
                    outcome =
                        Python::attach(|py| py.check_signals().inspect_err(|_| progress.stop()));
                }
            }
            match worker.join() {
                Ok(result) => outcome.map(|()| result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
}
