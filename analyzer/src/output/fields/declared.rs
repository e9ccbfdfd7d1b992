//! The fields of a row without any row.

use super::connection::{NamedConnection, NamedEnd};
use super::{Category, Field, Fields, Integer, Output, Row, StallRow};
use crate::judge::findings::Finding;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::result::hops::Hop;
use crate::result::parts::TakenApart;
use crate::result::servers::{Percentiles, ServerRow};
use std::net::IpAddr;

/// A field, and what it can hold.
#[derive(Debug)]
pub struct Declared {
    pub field: Field,
    pub kind: ValueKind,
    /// May it be `null` in JSON?
    is_nullable: bool,
    /// All that a category can be.
    pub words: Vec<&'static str>,
}

impl Declared {
    /// Is it in each JSON row, or left out where there is nothing to tell?
    pub fn presence(&self) -> &'static str {
        match (self.field.is_sparse || self.kind == ValueKind::Json, self.is_nullable) {
            (true, _) => "optional",
            (_, true) => "nullable",
            _ => "always",
        }
    }

    fn only(self, output: Output) -> Self {
        Self { field: self.field.only(output), ..self }
    }

    fn except(self, output: Output) -> Self {
        Self { field: self.field.except(output), ..self }
    }
}

/// The kind of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
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

impl ValueKind {
    /// With its unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Time => "integer, ns since the epoch",
            Self::Duration => "float, ms",
            Self::Flag => "true or false",
            Self::Category => "enum",
            Self::Text => "text",
            Self::Address => "IP address",
            Self::Nested => "object",
            Self::Json => "array or object",
        }
    }
}

/// All fields: what they are fields of, and of each row in their order.
pub fn everything() -> [(&'static str, Vec<Declared>); 9] {
    [
        ("connection", without_csv(declared::<NamedConnection<'_>>())),
        ("end", without_csv(declared::<NamedEnd<'_>>())),
        ("stall", declared::<StallRow<'_>>()),
        ("wait", declared::<Finding<'_>>()),
        ("exchange", declared::<TakenApart>()),
        ("hop", only_json(declared::<&Hop>())),
        ("server", without_csv(declared::<ServerRow>())),
        ("percentiles", only_json(declared::<Percentiles>())),
        ("sockets", only_json(declared::<NagleTotals>())),
    ]
}

/// Rows of this kind are written as JSON only.
fn only_json(fields: Vec<Declared>) -> Vec<Declared> {
    fields.into_iter().map(|field| field.only(Output::Json)).collect()
}

/// Rows of this kind are not written as CSV.
fn without_csv(fields: Vec<Declared>) -> Vec<Declared> {
    fields.into_iter().map(|field| field.except(Output::Csv)).collect()
}

/// All fields of a row, in their order.
pub fn declared<R: Row>() -> Vec<Declared> {
    let mut found = Collected(Vec::new());
    <R as Row>::fields(&mut found);
    found.0
}

struct Collected(Vec<Declared>);

impl Collected {
    fn add(&mut self, field: Field, kind: ValueKind) {
        self.0.push(Declared { field, kind, is_nullable: false, words: Vec::new() });
    }
}

impl<R> Fields<R> for Collected {
    fn integer<I: Integer>(&mut self, field: Field, _: impl Fn(&R) -> I) {
        self.add(field, ValueKind::Integer);
    }

    fn time(&mut self, field: Field, _: impl Fn(&R) -> i64) {
        self.add(field, ValueKind::Time);
    }

    fn duration(&mut self, field: Field, _: impl Fn(&R) -> i64) {
        self.add(field, ValueKind::Duration);
    }

    fn maybe_duration(&mut self, field: Field, _: impl Fn(&R) -> Option<i64>) {
        self.0.push(Declared {
            field,
            kind: ValueKind::Duration,
            is_nullable: true,
            words: Vec::new(),
        });
    }

    fn flag(&mut self, field: Field, _: impl Fn(&R) -> bool) {
        self.add(field, ValueKind::Flag);
    }

    fn category<C: Category>(&mut self, field: Field, _: impl Fn(&R) -> C) {
        self.0.push(Declared {
            field,
            kind: ValueKind::Category,
            is_nullable: false,
            words: C::names(),
        });
    }

    fn text(&mut self, field: Field, _: impl Fn(&R) -> &'static str) {
        self.add(field, ValueKind::Text);
    }

    fn address(&mut self, field: Field, _: impl Fn(&R) -> IpAddr) {
        self.add(field, ValueKind::Address);
    }

    fn name(&mut self, field: Field, _: impl Fn(&R) -> Option<&str>) {
        self.add(field.only(Output::Json), ValueKind::Text);
    }

    fn nested<S: Row>(&mut self, field: Field, _: impl Fn(&R) -> S) {
        self.add(field, ValueKind::Nested);
    }

    fn json<T>(&mut self, field: Field, _: impl Fn(&R) -> Option<T>, _: impl Fn(&mut Vec<u8>, T)) {
        self.add(field.only(Output::Json), ValueKind::Json);
    }
}
