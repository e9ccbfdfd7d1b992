//! The fields of a row without any row.

use super::connection::{NamedConnection, NamedEnd};
use super::{Field, Fields, Output, Row, StallRow};
use crate::judge::findings::Finding;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::output::values::{Value, ValueKind};
use crate::result::calls::StallCall;
use crate::result::hops::Hop;
use crate::result::open::Open;
use crate::result::parts::TakenApart;
use crate::result::segments::TrackedSegment;
use crate::result::servers::{NamedServer, Percentiles};
use std::convert::identity;

/// A field, and what it can hold.
#[derive(Debug)]
pub struct Declared {
    pub field: Field,
    pub kind: ValueKind,
}

impl Declared {
    /// Is it in each JSON row, or left out where there is nothing to tell?
    pub fn presence(&self) -> &'static str {
        match self.kind {
            ValueKind::Json => "optional",
            _ if self.field.is_sparse => "optional",
            ValueKind::MaybeInteger | ValueKind::MaybeDuration => "nullable",
            _ => "always",
        }
    }

    /// All that a category can be.
    pub fn words(&self) -> &'static [&'static str] {
        match self.kind {
            ValueKind::Category(names) => names,
            _ => &[],
        }
    }
}

/// All fields: what they are fields of, and of each row in their order.
pub fn everything() -> [(&'static str, Vec<Declared>); 12] {
    let without_csv = |field: Field| field.except(Output::Csv);
    let in_json = |field: Field| field.only(Output::Json);
    [
        shown::<NamedConnection<'_>>(without_csv),
        shown::<NamedEnd<'_>>(without_csv),
        shown::<StallRow<'_>>(identity),
        shown::<Option<StallCall>>(identity),
        shown::<Finding<'_>>(identity),
        shown::<TakenApart>(identity),
        shown::<Open<'_>>(without_csv),
        shown::<&Hop>(in_json),
        shown::<NamedServer<'_>>(without_csv),
        shown::<Percentiles>(without_csv),
        shown::<NagleTotals>(in_json),
        shown::<TrackedSegment>(identity),
    ]
}

/// The fields of a row, each by what it is in the outputs that have such rows.
fn shown<R: Row>(there: fn(Field) -> Field) -> (&'static str, Vec<Declared>) {
    let fields = declared::<R>().into_iter();
    (R::NAME, fields.map(|row| Declared { field: there(row.field), ..row }).collect())
}

/// All fields of a row, in their order.
pub fn declared<R: Row>() -> Vec<Declared> {
    let mut found = Collected(Vec::new());
    <R as Row>::fields(&mut found);
    found.0
}

struct Collected(Vec<Declared>);

impl<R> Fields<R> for Collected {
    fn field(&mut self, field: Field, kind: ValueKind, _: impl Fn(&R) -> Value<'_>) {
        self.0.push(Declared { field, kind });
    }

    fn nested<S: Row>(&mut self, field: Field, _: impl Fn(&R) -> S) {
        self.0.push(Declared { field, kind: ValueKind::Nested(S::NAME) });
    }

    fn json<T>(&mut self, field: Field, _: impl Fn(&R) -> Option<T>, _: impl Fn(&mut Vec<u8>, T)) {
        self.0.push(Declared { field: field.only(Output::Json), kind: ValueKind::Json });
    }
}
