//! The terms of a wait as Python sees it.

use super::options::PyOptions;
use super::progress::interruptible;
use crate::judge::model::Confidence;
use crate::judge::words::evidence::ms;
use crate::output::row::row;
use crate::result::why::{Why, why};
use pyo3::prelude::*;
use std::sync::Arc;

/// One term: name, value, text.
type WhyTerm = (&'static str, String, String);

row! {
    /// A wait, what was decided on it, and the terms of its probability; durations in ms.
    #[pyclass(frozen, get_all)]
    WhyRow(why: Why) with {
        let (wait, held) = (&why.wait, &why.held);
        let [owed, ended_by] = why.entry;
    } {
        connection: u32 = why.connection,
        sender: &'static str = wait.by.name(),
        frame_from: u64 = wait.from.frame.into(),
        frame_ack: u64 = wait.ack.frame.into(),
        frame_to: u64 = wait.to.frame.into(),
        wait_ms: f64 = ms(wait.wait_ns()),
        cause: &'static str = why.cause.name(),
        /// The ledger's words for what was owed when it began, and what ended it.
        owed: &'static str = owed,
        ended_by: &'static str = ended_by,
        /// `held`, `not held` or `cannot tell`.
        verdict: &'static str = match held.confidence() {
            Some(_) => "held",
            None if held.is_unsure() => "cannot tell",
            None => "not held",
        },
        /// The probability that it was held; else empty.
        confidence: &'static str = held.confidence().map_or("", Confidence::name),
        probability: f64 = held.probability.into(),
        terms: Vec<WhyTerm> =
            why.rows.into_iter().map(|row| (row.name, row.value, row.text)).collect(),
        /// Lines of the trace of the program's calls.
        calls: Vec<String> = why.calls,
    }
}

/// Reads the captures again for the terms of the wait that a frame is of; `None` if it is of none.
#[pyfunction(name = "why")]
fn why_row(
    py: Python<'_>,
    paths: Vec<String>,
    options: PyOptions,
    frame: u64,
) -> PyResult<Option<WhyRow>> {
    let options = options.checked(&paths)?;
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
