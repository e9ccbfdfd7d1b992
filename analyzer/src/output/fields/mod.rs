//! The fields of stalls, waits, connections, servers and hops. Each is declared once, in the file
//! of its row, for tables, JSON, CSV and attributes in Python.
//!
//! A row shows its fields to an output, one after the other; the output writes those that are meant
//! for it. All of this is resolved when the program is compiled.

mod call;
mod connection;
mod declared;
mod exchange;
mod hop;
mod open;
mod segment;
mod server;
mod stall;
mod turn;
mod wait;

pub use self::connection::NamedConnection;
pub use self::declared::{Declared, declared, everything};
pub use self::server::HourRow;
pub use self::stall::StallRow;

use crate::named::Named;
use crate::output::values::{Value, ValueKind};
use std::net::IpAddr;

/// Where a field can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Table = 1,
    Json = 2,
    Csv = 4,
    /// The rows that reports read.
    Python = 8,
}

const EVERYWHERE: u8 = 15;

/// The name of a field, what it says, and where it is shown. Names carry their unit: `_ns` is an
/// integer, ns since the epoch; `_ms` a float, a duration in ms.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    /// `,"name":`, ready to be written.
    pub member: &'static str,
    pub doc: &'static str,
    outputs: u8,
    /// In JSON, it stands behind the other fields of its row.
    pub is_late: bool,
    /// In JSON, it is left out where it is 0, false or unknown.
    pub is_sparse: bool,
}

/// Declares a field of all outputs: `field!("name", "What it says.")`.
macro_rules! field {
    ($name:literal, $doc:expr) => {
        $crate::output::fields::Field {
            name: $name,
            member: concat!(",\"", $name, "\":"),
            doc: $doc,
            outputs: $crate::output::fields::EVERYWHERE,
            is_late: false,
            is_sparse: false,
        }
    };
}
use field;

impl Field {
    const fn only(self, output: Output) -> Self {
        Self { outputs: output as u8, ..self }
    }

    const fn except(self, output: Output) -> Self {
        Self { outputs: self.outputs & !(output as u8), ..self }
    }

    const fn late(self) -> Self {
        Self { is_late: true, ..self }
    }

    const fn sparse(self) -> Self {
        Self { is_sparse: true, ..self }
    }

    /// The outputs that show it, by name.
    pub fn outputs(&self) -> Vec<&'static str> {
        let names = [("DataFrame", Output::Table), ("JSON", Output::Json), ("CSV", Output::Csv)];
        names.into_iter().filter(|(_, output)| self.is_in(*output)).map(|(name, _)| name).collect()
    }

    pub const fn is_in(&self, output: Output) -> bool {
        self.outputs & output as u8 != 0
    }
}

/// A row that outputs write.
pub trait Row: Sized {
    const NAME: &'static str;

    /// Shows all fields, in the order of the outputs.
    fn fields(to: &mut impl Fields<Self>);
}

/// An output: how it shows a `field`. A row calls the function of the field's kind.
pub trait Fields<R> {
    fn field(&mut self, field: Field, kind: ValueKind, value: impl Fn(&R) -> Value<'_>);

    /// An object in JSON; columns of a table, with the field's name before theirs. Not in CSV.
    fn nested<S: Row>(&mut self, field: Field, part: impl Fn(&R) -> S) {
        let _ = (field, part);
    }

    /// A value that only JSON can hold; left out where it is `None`.
    fn json<T>(
        &mut self,
        field: Field,
        value: impl Fn(&R) -> Option<T>,
        write: impl Fn(&mut Vec<u8>, T),
    ) {
        let _ = (field, value, write);
    }

    #[inline]
    fn integer<I: Into<u64>>(&mut self, field: Field, value: impl Fn(&R) -> I) {
        self.field(field, ValueKind::Integer, |row| Value::Integer(value(row).into()));
    }

    #[inline]
    fn maybe_integer(&mut self, field: Field, value: impl Fn(&R) -> Option<u64>) {
        self.field(field, ValueKind::MaybeInteger, |row| {
            value(row).map_or(Value::Unknown, Value::Integer)
        });
    }

    /// ns since the epoch.
    #[inline]
    fn time(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.field(field, ValueKind::Time, |row| Value::Time(value_ns(row)));
    }

    /// Given in ns, written in ms.
    #[inline]
    fn duration(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        self.field(field, ValueKind::Duration, |row| Value::Duration(value_ns(row)));
    }

    /// A `duration` that may be unknown.
    #[inline]
    fn maybe_duration(&mut self, field: Field, value_ns: impl Fn(&R) -> Option<i64>) {
        self.field(field, ValueKind::MaybeDuration, |row| {
            value_ns(row).map_or(Value::Unknown, Value::Duration)
        });
    }

    #[inline]
    fn flag(&mut self, field: Field, value: impl Fn(&R) -> bool) {
        self.field(field, ValueKind::Flag, |row| Value::Flag(value(row)));
    }

    #[inline]
    fn category<C: Named>(&mut self, field: Field, value: impl Fn(&R) -> C) {
        self.field(field, ValueKind::Category(C::NAMES), |row| {
            let value = value(row);
            Value::Category(value.index(), value.name())
        });
    }

    /// Words of this program: nothing to escape.
    #[inline]
    fn text(&mut self, field: Field, value: impl Fn(&R) -> &str) {
        self.field(field, ValueKind::Text, |row| Value::Text(value(row)));
    }

    #[inline]
    fn address(&mut self, field: Field, value: impl Fn(&R) -> IpAddr) {
        self.field(field, ValueKind::Address, |row| Value::Address(value(row)));
    }

    /// The user's name for an address, where it has one: nothing to escape. In JSON only.
    #[inline]
    fn name(&mut self, field: Field, value: impl Fn(&R) -> Option<&str>) {
        self.field(field, ValueKind::Text, |row| value(row).map_or(Value::Unknown, Value::Text));
    }
}

#[cfg(test)]
mod tests;
