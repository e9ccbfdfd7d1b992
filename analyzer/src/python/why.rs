//! The terms of a wait as Python sees it.

use super::calls::PyCalls;
use super::progress::interruptible;
use super::scan::in_ns;
use crate::result::names::Names;
use crate::result::scan::ScanOptions;
use crate::result::why::{Why, why};
use crate::track::reader::Reading;
use crate::track::reader::labels::Labels;
use crate::track::reader::range::SHARDS;
use pyo3::prelude::*;
use std::sync::Arc;

/// One term: name, value, text.
type WhyTerm = (&'static str, String, String);

/// A wait, what was decided on it, and the terms of its probability; durations in ms.
#[pyclass(frozen, get_all)]
pub struct WhyRow {
    pub connection: u32,
    pub sender: &'static str,
    pub frame_from: u64,
    pub frame_ack: u64,
    pub frame_to: u64,
    pub wait_ms: f64,
    pub cause: &'static str,
    /// The ledger's words for what was owed when it began, and what ended it.
    pub owed: &'static str,
    pub ended_by: &'static str,
    /// `held`, `not held` or `cannot tell`.
    pub verdict: &'static str,
    /// The probability that it was held; else empty.
    pub confidence: &'static str,
    pub probability: f64,
    pub terms: Vec<WhyTerm>,
    /// Lines of the trace of the program's calls.
    pub calls: Vec<String>,
}

impl WhyRow {
    fn new(why: Why) -> Self {
        let (wait, probability) = (&why.wait, f64::from(why.held.probability));
        let (verdict, confidence) = match why.held.confidence() {
            Some(confidence) => ("held", confidence.name()),
            None if why.held.is_unsure() => ("cannot tell", ""),
            None => ("not held", ""),
        };
        Self {
            connection: why.connection,
            sender: wait.by.name(),
            frame_from: wait.from.frame.into(),
            frame_ack: wait.ack.frame.into(),
            frame_to: wait.to.frame.into(),
            wait_ms: wait.wait_ns() as f64 / 1e6,
            cause: why.cause.name(),
            owed: why.entry[0],
            ended_by: why.entry[1],
            verdict,
            confidence,
            probability,
            terms: why.rows.into_iter().map(|row| (row.name, row.value, row.text)).collect(),
            calls: why.calls,
        }
    }
}

/// Reads the captures again for the terms of the wait that a frame is of; `None` if it is of none.
#[pyfunction(name = "why")]
#[pyo3(signature = (paths, filter, min_wait_ms, frame, threads=None, calls=None))]
fn why_row(
    py: Python<'_>,
    paths: Vec<String>,
    filter: Option<String>,
    min_wait_ms: f64,
    frame: u64,
    threads: Option<usize>,
    calls: Option<&PyCalls>,
) -> PyResult<Option<WhyRow>> {
    let options = ScanOptions {
        labels: Labels::default(),
        filter,
        min_wait_ns: in_ns(min_wait_ms),
        exchanges: false,
        hourly: false,
        names: Names::default(),
        calls: calls.map(|calls| Arc::clone(&calls.trace)),
        reading: Reading::of(&paths, threads),
        shards: SHARDS,
    };
    let progress = Arc::default();
    let found =
        interruptible(py, options.reading, &progress, || why(&paths, &options, frame, &progress))??;
    Ok(found.map(WhyRow::new))
}

/// Adds what this file defines to the Python module.
///
/// # Errors
/// Python's own.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<WhyRow>()?;
    module.add_function(wrap_pyfunction!(why_row, module)?)?;
    Ok(())
}
