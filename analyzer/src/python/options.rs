//! The options of a scan as Python gives them.

use super::calls::PyCalls;
use crate::result::names::Names;
use crate::result::scan::ScanOptions;
use crate::track::reader::Reading;
use crate::track::reader::labels::Labels;
use crate::track::table::key::SHARDS;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The fields of `nagle_scan.result.options.ScanOptions`, which says what each means.
#[derive(FromPyObject)]
pub struct PyOptions {
    pub filter: Option<String>,
    min_wait_ms: f64,
    pub threads: Option<usize>,
    exchanges: bool,
    names: Option<HashMap<IpAddr, String>>,
    calls: Option<Py<PyCalls>>,
    labels: Option<HashMap<String, String>>,
    hourly: bool,
}

impl PyOptions {
    /// The engine's options for a scan of `paths`.
    ///
    /// # Errors
    /// A name has other signs than may be.
    pub fn checked(self, paths: &[String]) -> PyResult<ScanOptions> {
        let names = Names::new(self.names.unwrap_or_default()).ok_or_else(|| {
            PyValueError::new_err("a name has letters, digits, '.', '-' and '_' only")
        })?;
        Ok(ScanOptions {
            labels: Labels::new(self.labels.unwrap_or_default()),
            filter: self.filter,
            min_wait_ns: (self.min_wait_ms * 1e6) as i64,
            exchanges: self.exchanges,
            hourly: self.hourly,
            names,
            calls: self.calls.map(|calls| Arc::clone(&calls.get().trace)),
            reading: Reading::of(paths, self.threads),
            shards: SHARDS,
        })
    }
}
