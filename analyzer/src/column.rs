//! Columns, from what a function says of each row.

use crate::both_cores::in_order;
use crate::evidence::ms;
use crate::flow::Side;
use std::convert::Infallible;

/// One column of a table. A category is stored as an index into its names.
pub enum Column {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Flags(Vec<bool>),
    Texts(Vec<String>),
    Categories(Vec<u8>, Vec<&'static str>),
}

/// Columns in their order, by name.
pub type Table = Vec<(&'static str, Column)>;

/// Rows whose columns are worked out at once: they are read once for each column, and stay in cache.
pub const BLOCK: usize = 4096;

/// The table of all rows in `blocks`, worked out on both cores.
pub fn in_blocks<T: Sync>(blocks: Vec<&[T]>, table: impl Fn(&[T]) -> Table + Sync) -> Table {
    if let [block] = blocks[..] {
        return table(block);
    }
    let rows = blocks.iter().map(|block| block.len()).sum();
    let mut whole = table(&[]);
    for (_, column) in &mut whole {
        column.reserve(rows);
    }
    let Ok(()) = in_order(
        blocks.len(),
        |block| table(blocks[block]),
        |part| {
            for ((_, column), (_, rows)) in whole.iter_mut().zip(part) {
                column.append(rows);
            }
            Ok::<(), Infallible>(())
        },
    );
    whole
}

impl Column {
    fn reserve(&mut self, rows: usize) {
        match self {
            Self::Integers(values) => values.reserve_exact(rows),
            Self::Floats(values) => values.reserve_exact(rows),
            Self::Flags(values) => values.reserve_exact(rows),
            Self::Texts(values) => values.reserve_exact(rows),
            Self::Categories(values, _) => values.reserve_exact(rows),
        }
    }

    /// Adds the rows of a column of the same kind.
    fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Integers(values), Self::Integers(more)) => values.extend_from_slice(&more),
            (Self::Floats(values), Self::Floats(more)) => values.extend_from_slice(&more),
            (Self::Flags(values), Self::Flags(more)) => values.extend_from_slice(&more),
            (Self::Texts(values), Self::Texts(more)) => values.extend(more),
            (Self::Categories(values, _), Self::Categories(more, _)) => {
                values.extend_from_slice(&more);
            }
            _ => unreachable!("the same function made both"),
        }
    }
}

pub fn integers<T>(rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    Column::Integers(rows.iter().map(|row| value(row) as i64).collect())
}

pub fn times<T>(rows: &[T], value: impl Fn(&T) -> i64) -> Column {
    Column::Integers(rows.iter().map(value).collect())
}

pub fn floats<T>(rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::Floats(rows.iter().map(value).collect())
}

pub fn durations<T>(rows: &[T], value_ns: impl Fn(&T) -> i64) -> Column {
    Column::Floats(rows.iter().map(|row| ms(value_ns(row))).collect())
}

/// Unknown durations are NaN.
pub fn maybe<T>(rows: &[T], value_ns: impl Fn(&T) -> Option<i64>) -> Column {
    Column::Floats(rows.iter().map(|row| value_ns(row).map_or(f64::NAN, ms)).collect())
}

pub fn texts<T>(rows: &[T], value: impl Fn(&T) -> String) -> Column {
    Column::Texts(rows.iter().map(value).collect())
}

/// `index` is that of a name.
pub fn categories<T>(rows: &[T], names: Vec<&'static str>, index: impl Fn(&T) -> u8) -> Column {
    Column::Categories(rows.iter().map(index).collect(), names)
}

pub fn sides<T>(rows: &[T], value: impl Fn(&T) -> Side) -> Column {
    categories(rows, Side::BOTH.map(Side::name).to_vec(), |row| value(row) as u8)
}
