//! A hop as Python sees it.

use super::fields::set_fields;
use crate::result::hops::Hop;
use crate::result::names::Names;
use pyo3::prelude::*;

/// A hop of a path over relays: the fields of [`Hop`] and these. `client` is one of the `clients`.
#[pyclass(frozen, get_all, dict)]
pub struct HopRow {
    pub client: String,
    /// The relays that were seen to be its clients, as they are called themselves.
    pub called_by: Vec<String>,
    pub server: String,
}

impl HopRow {
    /// # Errors
    /// Python's own.
    pub fn new<'py>(py: Python<'py>, hop: &Hop, names: &Names) -> PyResult<Bound<'py, Self>> {
        let row = Self {
            client: hop.clients.first().map_or_else(String::new, |&addr| names.addr(addr)),
            called_by: hop.called_by.iter().map(|&relay| names.endpoint(relay)).collect(),
            server: names.endpoint(hop.endpoint()),
        };
        let row = Bound::new(py, row)?;
        set_fields(&row, &hop)?;
        Ok(row)
    }
}
