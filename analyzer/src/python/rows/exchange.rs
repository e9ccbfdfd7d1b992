//! An exchange as Python sees it.

use super::fields::set_fields;
use super::row::row;
use crate::judge::words::evidence::ms;
use crate::result::parts::{PARTS, TakenApart, Tenth};
use pyo3::prelude::*;

/// An exchange: the fields of [`TakenApart`] and its parts in ms, in the order of `PARTS`.
#[pyclass(frozen, get_all, dict)]
pub struct ExchangeRow {
    pub parts_ms: [f64; PARTS.len()],
}

impl ExchangeRow {
    /// # Errors
    /// Python's own.
    pub fn new<'py>(py: Python<'py>, row: &TakenApart) -> PyResult<Bound<'py, Self>> {
        let made = Bound::new(py, Self { parts_ms: row.parts.map(ms) })?;
        set_fields(&made, row)?;
        Ok(made)
    }
}

row! {
    /// The slowest tenth of all exchanges, or what is kept of it; times are sums.
    TenthRow(tenth: &Tenth) {
        exchanges: u64 = tenth.exchanges,
        /// Are these all of it?
        is_whole: bool = tenth.is_whole,
        latency_ms: f64 = ms(tenth.latency_ns),
        /// In the order of `PARTS`.
        parts_ms: [f64; PARTS.len()] = tenth.parts.map(ms),
    }
}
