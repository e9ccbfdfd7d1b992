//! The fields of rows as columns.

use super::column::{
    Column, DataTable, categories, durations, flags, integers, maybe_durations, texts, times,
};
use crate::output::fields::{Category, Field, Fields, Integer, Output, Row};
use std::borrow::Cow;
use std::net::IpAddr;

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

impl<R> ColumnWriter<'_, R> {
    fn push(&mut self, field: Field, column: impl FnOnce(&[R]) -> Column) {
        let is_wanted = self.names.is_none_or(|names| names.iter().any(|name| name == field.name));
        if is_wanted && field.is_in(Output::Table) {
            self.table.push((Cow::Borrowed(field.name), column(self.rows)));
        }
    }
}

impl<R> Fields<R> for ColumnWriter<'_, R> {
    fn integer<I: Integer>(&mut self, field: Field, value: impl Fn(&R) -> I) {
        self.push(field, |rows| integers(rows, |row| value(row).into()));
    }

    fn time(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.push(field, |rows| times(rows, value_ns));
    }

    fn duration(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.push(field, |rows| durations(rows, value_ns));
    }

    fn maybe_duration(&mut self, field: Field, value_ns: impl Fn(&R) -> Option<i64>) {
        self.push(field, |rows| maybe_durations(rows, value_ns));
    }

    fn flag(&mut self, field: Field, value: impl Fn(&R) -> bool) {
        self.push(field, |rows| flags(rows, value));
    }

    fn category<C: Category>(&mut self, field: Field, value: impl Fn(&R) -> C) {
        self.push(field, |rows| categories(rows, value));
    }

    fn text(&mut self, field: Field, value: impl Fn(&R) -> &'static str) {
        self.push(field, |rows| texts(rows, |row| value(row).to_owned()));
    }

    fn address(&mut self, field: Field, value: impl Fn(&R) -> IpAddr) {
        self.push(field, |rows| texts(rows, |row| value(row).to_string()));
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
