//! The fields of stalls, waits, connections, servers and hops. Each is declared once, in the file of its row,
//! and is then a column of a table, a JSON member, a CSV column and an attribute in Python.
//!
//! A row shows its fields to an output, one after the other; the output writes those that are meant for
//! it. All of this is resolved when the program is compiled.

mod category;
mod connection;
mod declared;
mod exchange;
mod hop;
mod server;
mod stall;
mod wait;

pub use self::category::Category;
pub use self::connection::NamedConnection;
pub use self::declared::{Declared, declared, everything};
pub use self::stall::StallRow;

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
    /// `,"name":`, ready to be written, and the same with the quote that begins a string.
    pub member: &'static str,
    pub string_member: &'static str,
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
            string_member: concat!(",\"", $name, "\":\""),
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

/// Counts, lengths, frames, ports: each is written from the width it has.
pub trait Integer: itoa::Integer + Copy + Into<u64> {}

impl<I: itoa::Integer + Copy + Into<u64>> Integer for I {}

/// A row that outputs write.
pub trait Row: Sized {
    /// Shows all fields, in the order of the outputs.
    fn fields(to: &mut impl Fields<Self>);
}

/// An output: what it does with the fields of a row.
pub trait Fields<R> {
    fn integer<I: Integer>(&mut self, field: Field, value: impl Fn(&R) -> I);

    /// ns since the epoch.
    fn time(&mut self, field: Field, value_ns: impl Fn(&R) -> i64);

    /// Given in ns, written in ms.
    fn duration(&mut self, field: Field, value_ns: impl Fn(&R) -> i64);

    /// A `duration` that may be unknown.
    fn maybe_duration(&mut self, field: Field, value_ns: impl Fn(&R) -> Option<i64>);

    fn flag(&mut self, field: Field, value: impl Fn(&R) -> bool);

    fn category<C: Category>(&mut self, field: Field, value: impl Fn(&R) -> C);

    /// Words of this program: nothing to escape.
    fn text(&mut self, field: Field, value: impl Fn(&R) -> &'static str);

    fn address(&mut self, field: Field, value: impl Fn(&R) -> IpAddr);

    /// The user's name for an address, where it has one: nothing to escape. In JSON only.
    fn name(&mut self, field: Field, value: impl Fn(&R) -> Option<&str>) {
        let _ = (field, value);
    }

    /// An object in JSON; in a table its columns, with the field's name before theirs. CSV has none.
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
}

#[cfg(test)]
mod tests;
