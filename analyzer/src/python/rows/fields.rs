//! The fields of a row as attributes of a Python object.

use crate::judge::words::evidence::ms;
use crate::output::fields::{Category, Field, Fields, Integer, Output, Row};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::net::IpAddr;

/// Sets the fields of `row` on `object`, whose class has a `__dict__`.
///
/// # Errors
/// Python's own, and a field of this name is there already.
pub fn set_fields<R: Row>(object: &Bound<'_, PyAny>, row: &R) -> PyResult<()> {
    set_prefixed(object, row, "")
}

fn set_prefixed<R: Row>(object: &Bound<'_, PyAny>, row: &R, prefix: &str) -> PyResult<()> {
    let mut to = Attributes { object, row, prefix, result: Ok(()) };
    R::fields(&mut to);
    to.result
}

struct Attributes<'a, 'py, R> {
    object: &'a Bound<'py, PyAny>,
    row: &'a R,
    /// Before each name: those of a nested row have its name before theirs.
    prefix: &'a str,
    result: PyResult<()>,
}

impl<'py, R> Attributes<'_, 'py, R> {
    fn set<V: IntoPyObjectExt<'py>>(&mut self, field: Field, value: impl FnOnce(&R) -> V) {
        if self.result.is_ok() && field.is_in(Output::Python) {
            let name = format!("{}{}", self.prefix, field.name);
            let value = value(self.row).into_bound_py_any(self.object.py());
            self.result = value.and_then(|value| self.object.setattr(name, value));
        }
    }
}

impl<R> Fields<R> for Attributes<'_, '_, R> {
    fn integer<I: Integer>(&mut self, field: Field, value: impl Fn(&R) -> I) {
        self.set(field, |row| -> u64 { value(row).into() });
    }

    fn time(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.set(field, value_ns);
    }

    fn duration(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.set(field, |row| ms(value_ns(row)));
    }

    fn maybe_duration(&mut self, field: Field, value_ns: impl Fn(&R) -> Option<i64>) {
        self.set(field, |row| value_ns(row).map(ms));
    }

    fn flag(&mut self, field: Field, value: impl Fn(&R) -> bool) {
        self.set(field, value);
    }

    fn category<C: Category>(&mut self, field: Field, value: impl Fn(&R) -> C) {
        self.set(field, |row| value(row).name());
    }

    fn text(&mut self, field: Field, value: impl Fn(&R) -> &'static str) {
        self.set(field, value);
    }

    fn address(&mut self, field: Field, value: impl Fn(&R) -> IpAddr) {
        self.set(field, |row| value(row).to_string());
    }

    fn nested<S: Row>(&mut self, field: Field, part: impl Fn(&R) -> S) {
        if self.result.is_ok() && field.is_in(Output::Python) {
            let prefix = format!("{}{}_", self.prefix, field.name);
            self.result = set_prefixed(self.object, &part(self.row), &prefix);
        }
    }
}
