//! The fields of a row without any row.

use super::connection::End;
use super::{Category, Field, Fields, Integer, Output, Row, Stall};
use crate::judge::findings::Finding;
use crate::judge::judged::JudgedConnection;
use crate::result::hops::Hop;
use std::net::IpAddr;

/// What the values of a field are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Time,
    Duration,
    Flag,
    Category,
    Text,
    Address,
    /// An object in JSON; in a table its columns.
    Nested,
    /// An array or an object, in JSON only.
    Json,
}

impl Kind {
    /// With its unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Time => "integer, ns since the epoch",
            Self::Duration => "float, ms",
            Self::Flag => "true or false",
            Self::Category => "one of few words",
            Self::Text => "text",
            Self::Address => "IP address",
            Self::Nested => "object",
            Self::Json => "array or object",
        }
    }
}

/// All fields: what they are fields of, and of each row in their order.
pub fn everything() -> [(&'static str, Vec<(Field, Kind)>); 5] {
    [
        ("connection", without_csv(declared::<&JudgedConnection>())),
        ("end", without_csv(declared::<End<'_>>())),
        ("stall", declared::<Stall<'_>>()),
        ("wait", without_csv(declared::<Finding<'_>>())),
        ("hop", only_json(declared::<&Hop>())),
    ]
}

/// Rows of this kind are written as JSON only.
fn only_json(fields: Vec<(Field, Kind)>) -> Vec<(Field, Kind)> {
    fields.into_iter().map(|(field, kind)| (field.only(Output::Json), kind)).collect()
}

/// Rows of this kind are not written as CSV.
fn without_csv(fields: Vec<(Field, Kind)>) -> Vec<(Field, Kind)> {
    fields.into_iter().map(|(field, kind)| (field.except(Output::Csv), kind)).collect()
}

/// All fields of a row, in their order.
pub fn declared<R: Row>() -> Vec<(Field, Kind)> {
    let mut found = Declared(Vec::new());
    <R as Row>::fields(&mut found);
    found.0
}

struct Declared(Vec<(Field, Kind)>);

impl<R> Fields<R> for Declared {
    fn integer<I: Integer>(&mut self, field: Field, _: impl Fn(&R) -> I) {
        self.0.push((field, Kind::Integer));
    }

    fn time(&mut self, field: Field, _: impl Fn(&R) -> i64) {
        self.0.push((field, Kind::Time));
    }

    fn duration(&mut self, field: Field, _: impl Fn(&R) -> i64) {
        self.0.push((field, Kind::Duration));
    }

    fn maybe_duration(&mut self, field: Field, _: impl Fn(&R) -> Option<i64>) {
        self.0.push((field, Kind::Duration));
    }

    fn flag(&mut self, field: Field, _: impl Fn(&R) -> bool) {
        self.0.push((field, Kind::Flag));
    }

    fn category<C: Category>(&mut self, field: Field, _: impl Fn(&R) -> C) {
        self.0.push((field, Kind::Category));
    }

    fn text(&mut self, field: Field, _: impl Fn(&R) -> &'static str) {
        self.0.push((field, Kind::Text));
    }

    fn address(&mut self, field: Field, _: impl Fn(&R) -> IpAddr) {
        self.0.push((field, Kind::Address));
    }

    fn nested<S: Row>(&mut self, field: Field, _: impl Fn(&R) -> S) {
        self.0.push((field, Kind::Nested));
    }

    fn json<T>(&mut self, field: Field, _: impl Fn(&R) -> Option<T>, _: impl Fn(&mut Vec<u8>, T)) {
        self.0.push((field.only(Output::Json), Kind::Json));
    }
}
