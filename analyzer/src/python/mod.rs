//! The Python module `_core`: everything that knows Python.

mod calls;
mod errors;
mod frame_rows;
mod options;
mod progress;
mod rows;
mod scan;
mod why;

use crate::capture::Capture;
use crate::judge::doubts::DOUBTS;
use crate::judge::{self, causes};
use crate::output::fields::{self, Declared};
use crate::result::hops::without;
use crate::track;
use errors::{CaptureError, FilterError, NagleScanError, OutputError};
use progress::PyProgress;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;
use rows::{
    CauseRow, ConnectingRow, ConnectionRow, EndsRow, HopRow, HostPairRow, LateAckRow, NagleRow,
    ServerGroupRow, ServerRow, Summary, WaitRow,
};
use std::io::Cursor;

/// The documentation of a cause; `None` if its name is unknown.
#[pyfunction]
fn explain(cause: &str) -> Option<&'static str> {
    causes::explain(cause)
}

/// Time of a capture's first frame in ns since the epoch; `None` without one, and for a pipe.
#[pyfunction]
fn first_time_ns(path: &str) -> Option<i64> {
    Capture::first_time_ns(path)
}

/// Time of the first frame, as `first_time_ns`, of a capture that begins with these bytes; `None`
/// if they do not reach that far: in zstd, to the end of a block (128 KiB, RFC 8878).
#[pyfunction]
fn first_time_of_bytes(bytes: PyBackedBytes) -> Option<i64> {
    Capture::first_time_of(Cursor::new(bytes), "")
}

/// A field of the outputs: row, name, kind, presence in JSON, words, outputs and what it says.
type DeclaredField = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    Vec<&'static str>,
    &'static str,
);

/// The numbers that verdicts depend on: name, value, unit, reason, source, effect of more.
#[pyfunction]
fn thresholds() -> Vec<(&'static str, String, &'static str, String, &'static str, &'static str)> {
    [judge::thresholds::declared(), track::thresholds::declared(), without::declared()]
        .into_iter()
        .flatten()
        .map(|t| (t.name, t.value, t.unit, t.reason, t.source, t.larger))
        .collect()
}

/// The fields of stalls, waits, connections and their ends.
#[pyfunction(name = "fields")]
fn declared_fields() -> Vec<DeclaredField> {
    let row = |(row, fields): (&'static str, Vec<Declared>)| {
        let described = move |declared: Declared| {
            let (name, doc) = (declared.field.name, declared.field.doc);
            let (kind, presence) = (declared.kind.name(), declared.presence());
            (row, name, kind, presence, declared.words(), declared.field.outputs(), doc)
        };
        fields.into_iter().map(described)
    };
    fields::everything().into_iter().flat_map(row).collect()
}

/// Reasons why a connection cannot be judged, in the order in which they are asked: name, sentence
/// without a full stop, and what to capture instead.
#[pyfunction]
fn reasons() -> Vec<(&'static str, &'static str, &'static str)> {
    DOUBTS.iter().map(|why| (why.hidden.name(), why.sentence, why.remedy)).collect()
}

/// A row of the ledger: its name, what was owed when a wait began, what ended it, and so its cause.
fn ledger_row(row: &causes::ledger::LedgerRow) -> [&'static str; 4] {
    [row.name, row.owed, row.ended_by, row.cause.name()]
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("NagleScanError", py.get_type::<NagleScanError>())?;
    module.add("CaptureError", py.get_type::<CaptureError>())?;
    module.add("FilterError", py.get_type::<FilterError>())?;
    module.add("OutputError", py.get_type::<OutputError>())?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("CAUSES", PyTuple::new(py, causes::Cause::NAMES)?)?;
    module.add("LEDGER", PyTuple::new(py, causes::ledger::ROWS.iter().map(ledger_row))?)?;
    scan::add_to(module)?;
    module.add_class::<PyProgress>()?;
    module.add_class::<Summary>()?;
    module.add_class::<HostPairRow>()?;
    module.add_class::<ServerGroupRow>()?;
    module.add_class::<NagleRow>()?;
    module.add_class::<ServerRow>()?;
    module.add_class::<ConnectionRow>()?;
    module.add_class::<CauseRow>()?;
    module.add_class::<ConnectingRow>()?;
    module.add_class::<EndsRow>()?;
    module.add_class::<LateAckRow>()?;
    module.add_class::<HopRow>()?;
    module.add_class::<WaitRow>()?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(first_time_ns, module)?)?;
    module.add_function(wrap_pyfunction!(first_time_of_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(declared_fields, module)?)?;
    module.add_function(wrap_pyfunction!(reasons, module)?)?;
    module.add_function(wrap_pyfunction!(thresholds, module)?)?;
    #[cfg(feature = "ablation")]
    module.add("RULES", crate::rules::DECLARED.to_vec())?;
    frame_rows::add_to(module)?;
    calls::add_to(module)?;
    why::add_to(module)?;
    Ok(())
}
