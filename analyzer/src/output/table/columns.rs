//! The fields of rows as columns.

use super::column::{DataTable, column};
use crate::output::fields::{Field, Fields, Output, Row};
use crate::output::values::{Value, ValueKind};
use std::borrow::Cow;

/// The table of `rows`.
pub fn columns<R: Row>(rows: &[R]) -> DataTable {
    some_columns(rows, None)
}

/// The `columns` that have these names.
pub fn some_columns<R: Row>(rows: &[R], names: Option<&[String]>) -> DataTable {
    let mut columns = ColumnWriter { rows, names, table: DataTable::new() };
    R::fields(&mut columns);
    columns.table
}

struct ColumnWriter<'a, R> {
    rows: &'a [R],
    /// `None`: all of them.
    names: Option<&'a [String]>,
    table: DataTable,
}

impl<R> Fields<R> for ColumnWriter<'_, R> {
    fn field(&mut self, field: Field, kind: ValueKind, value: impl Fn(&R) -> Value<'_>) {
        let is_wanted = self.names.is_none_or(|names| names.iter().any(|name| name == field.name));
        if is_wanted && field.is_in(Output::Table) {
            self.table.push((Cow::Borrowed(field.name), column(self.rows, kind, value)));
        }
    }

    fn nested<S: Row>(&mut self, field: Field, part: impl Fn(&R) -> S) {
        if field.is_in(Output::Table) {
            let parts: Vec<S> = self.rows.iter().map(part).collect();
            let own = columns(&parts).into_iter();
            self.table.extend(
                own.map(|(name, column)| (format!("{}_{name}", field.name).into(), column)),
            );
        }
    }
}
