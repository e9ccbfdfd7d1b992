//! An exchange as Python sees it.

use super::fields::row_with_fields;
use crate::judge::words::evidence::ms;
use crate::output::row::row;
use crate::result::parts::{PARTS, TakenApart, Tenth};
use pyo3::prelude::*;

row_with_fields! {
    /// An exchange: the fields of [`TakenApart`] and its parts in ms, in the order of `PARTS`.
    ExchangeRow(exchange: &TakenApart) and (*exchange) {
        parts_ms: [f64; PARTS.len()] = exchange.parts.map(ms),
    }
}

row! {
    /// The slowest tenth of all exchanges, or what is kept of it; times are sums.
    #[pyclass(frozen, get_all)]
    TenthRow(tenth: &Tenth) {
        exchanges: u64 = tenth.exchanges,
        /// Are these all of it?
        is_whole: bool = tenth.is_whole,
        /// Is the way to their servers known, or surely the lesser part of each?
        is_way_known: bool = tenth.is_way_known,
        latency_ms: f64 = ms(tenth.latency_ns),
        /// In the order of `PARTS`.
        parts_ms: [f64; PARTS.len()] = tenth.parts.map(ms),
    }
}
