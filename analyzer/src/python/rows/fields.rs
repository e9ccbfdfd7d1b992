//! The fields of a row as attributes of a Python object.

use crate::judge::words::evidence::ms;
use crate::output::fields::{Field, Fields, Output, Row};
use crate::output::values::{Value, ValueKind};
use pyo3::prelude::*;

/// Declares a row as `row!` does, which has the fields of other rows, too:
/// `row_with_fields! { /// Docs. HopRow(hop: &Hop) and (hop) { name: Type = value, .. } }`.
macro_rules! row_with_fields {
    ($(#[$meta:meta])* $row:ident($($from:ident: $source:ty),+) and ($($of:expr),+)
    $(with { $(let $local:pat = $common:expr;)+ })?
    {
        $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)+
    }) => {
        $crate::output::row::row! {
            $(#[$meta])*
            #[pyo3::pyclass(frozen, get_all, dict)]
            $row($($from: $source),+) $(with { $(let $local = $common;)+ })? {
                $($(#[$doc])* $name: $type = $value,)+
            }
        }

        impl $row {
            /// The row with all its fields.
            ///
            /// # Errors
            /// Python's own.
            pub fn whole<'py>(
                py: pyo3::Python<'py>, $($from: $source),+
            ) -> pyo3::PyResult<pyo3::Bound<'py, Self>> {
                let row = pyo3::Bound::new(py, Self::new($($from),+))?;
                $($crate::python::rows::fields::set_prefixed(&row, &$of, "")?;)+
                Ok(row)
            }
        }
    };
}
pub(super) use row_with_fields;

/// Sets the fields of `row` on `object`, which needs a `__dict__`.
///
/// # Errors
/// Python's own, and a field of this name is there already.
pub fn set_prefixed<R: Row>(object: &Bound<'_, PyAny>, row: &R, prefix: &str) -> PyResult<()> {
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

impl<R> Fields<R> for Attributes<'_, '_, R> {
    fn field(&mut self, field: Field, _: ValueKind, value: impl Fn(&R) -> Value<'_>) {
        if self.result.is_ok() && field.is_in(Output::Python) {
            let name = format!("{}{}", self.prefix, field.name);
            self.result = match value(self.row) {
                Value::Integer(number) => self.object.setattr(name, number),
                Value::Time(time_ns) => self.object.setattr(name, time_ns),
                Value::Duration(duration_ns) => self.object.setattr(name, ms(duration_ns)),
                Value::Flag(is_true) => self.object.setattr(name, is_true),
                Value::Category(_, text) | Value::Text(text) => self.object.setattr(name, text),
                Value::Address(addr) => self.object.setattr(name, addr.to_string()),
                Value::Unknown => self.object.setattr(name, None::<f64>),
            };
        }
    }

    fn nested<S: Row>(&mut self, field: Field, part: impl Fn(&R) -> S) {
        if self.result.is_ok() && field.is_in(Output::Python) {
            let prefix = format!("{}{}_", self.prefix, field.name);
            self.result = set_prefixed(self.object, &part(self.row), &prefix);
        }
    }
}
