//! Columns, each made by a function of the row.

use crate::judge::words::evidence::ms;
use crate::output::values::{Value, ValueKind};
use std::borrow::Cow;
use std::thread;

/// One column of a table. A category is stored as an index into its names.
pub enum Column {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Flags(Vec<bool>),
    Texts(Vec<String>),
    Categories(Vec<u8>, &'static [&'static str]),
}

/// Columns in their order, by name.
pub type DataTable = Vec<(Cow<'static, str>, Column)>;

/// Rows in blocks, and how many of them the table keeps, of either half of the blocks.
pub struct Halves<B> {
    pub blocks: Vec<B>,
    pub kept: [usize; 2],
}

impl<B: Copy + Default + Sync> Halves<B> {
    /// The table of all rows, each half of it written by a thread of its own: most of the time goes
    /// into memory that is touched for the first time.
    pub fn table(&self, of_block: impl Fn(B) -> DataTable + Sync) -> DataTable {
        if let [block] = self.blocks[..] {
            return of_block(block);
        }
        let [first_rows, second_rows] = self.kept;
        let mut whole = of_block(B::default());
        for (_, column) in &mut whole {
            *column = column.zeros(first_rows + second_rows);
        }
        let halves = whole.iter_mut().map(|(_, column)| column.split_at_mut(first_rows));
        let (first_half, second_half): (Vec<_>, Vec<_>) = halves.unzip();
        let (first_blocks, second_blocks) = self.blocks.split_at(self.blocks.len() / 2);
        thread::scope(|scope| {
            scope.spawn(|| write(second_half, second_blocks, &of_block));
            write(first_half, first_blocks, &of_block);
        });
        whole
    }
}

/// Writes the rows of `blocks` into `columns`.
fn write<B: Copy>(
    mut columns: Vec<Unwritten<'_>>,
    blocks: &[B],
    of_block: &impl Fn(B) -> DataTable,
) {
    for block in blocks {
        for (rows, (_, column)) in columns.iter_mut().zip(of_block(*block)) {
            rows.write(column);
        }
    }
}

/// Rows of a column that are not written yet.
enum Unwritten<'a> {
    Integers(&'a mut [i64]),
    Floats(&'a mut [f64]),
    Flags(&'a mut [bool]),
    Texts(&'a mut [String]),
    Categories(&'a mut [u8]),
}

impl Column {
    /// A column of the same kind with this many rows, all of them zero or empty.
    fn zeros(&self, rows: usize) -> Self {
        match self {
            Self::Integers(_) => Self::Integers(vec![0; rows]),
            Self::Floats(_) => Self::Floats(vec![0.0; rows]),
            Self::Flags(_) => Self::Flags(vec![false; rows]),
            Self::Texts(_) => Self::Texts(vec![String::new(); rows]),
            Self::Categories(_, names) => Self::Categories(vec![0; rows], names),
        }
    }

    fn split_at_mut(&mut self, at: usize) -> (Unwritten<'_>, Unwritten<'_>) {
        fn parts<'a, T>(
            values: &'a mut [T],
            at: usize,
            rows: fn(&'a mut [T]) -> Unwritten<'a>,
        ) -> (Unwritten<'a>, Unwritten<'a>) {
            let (first, second) = values.split_at_mut(at);
            (rows(first), rows(second))
        }
        match self {
            Self::Integers(values) => parts(values, at, Unwritten::Integers),
            Self::Floats(values) => parts(values, at, Unwritten::Floats),
            Self::Flags(values) => parts(values, at, Unwritten::Flags),
            Self::Texts(values) => parts(values, at, Unwritten::Texts),
            Self::Categories(values, _) => parts(values, at, Unwritten::Categories),
        }
    }
}

impl Unwritten<'_> {
    /// Writes the next rows, those of a column of the same kind.
    fn write(&mut self, next: Column) {
        match (self, next) {
            (Self::Integers(rows), Column::Integers(next)) => fill(rows, next),
            (Self::Floats(rows), Column::Floats(next)) => fill(rows, next),
            (Self::Flags(rows), Column::Flags(next)) => fill(rows, next),
            (Self::Texts(rows), Column::Texts(next)) => fill(rows, next),
            (Self::Categories(rows), Column::Categories(next, _)) => fill(rows, next),
            _ => unreachable!("the same function made both"),
        }
    }
}

/// Moves `values` to the first `rows`, and leaves the others.
///
/// # Panics
/// There are more values than rows: with miscounted rows, a whole table is wrong.
#[expect(clippy::mut_mut, reason = "what is written goes from the slice")]
fn fill<T>(rows: &mut &mut [T], values: Vec<T>) {
    let (next, rest) = std::mem::take(rows).split_at_mut(values.len());
    *rows = rest;
    next.iter_mut().zip(values).for_each(|(row, value)| *row = value);
}

/// The column of this `kind` that has the `value` of each row.
pub fn column<T>(rows: &[T], kind: ValueKind, value: impl Fn(&T) -> Value<'_>) -> Column {
    let each = rows.iter().map(value);
    match kind {
        ValueKind::Integer | ValueKind::Time => Column::Integers(each.map(integer).collect()),
        ValueKind::MaybeInteger | ValueKind::Duration | ValueKind::MaybeDuration => {
            Column::Floats(each.map(float).collect())
        }
        ValueKind::Flag => {
            Column::Flags(each.map(|value| matches!(value, Value::Flag(true))).collect())
        }
        ValueKind::Category(names) => Column::Categories(each.map(index).collect(), names),
        ValueKind::Text | ValueKind::Address | ValueKind::Nested(_) | ValueKind::Json => {
            Column::Texts(each.map(text).collect())
        }
    }
}

fn integer(value: Value<'_>) -> i64 {
    match value {
        Value::Integer(number) => number as i64,
        Value::Time(time_ns) => time_ns,
        _ => 0,
    }
}

fn float(value: Value<'_>) -> f64 {
    match value {
        Value::Integer(number) => number as f64,
        Value::Duration(duration_ns) => ms(duration_ns),
        _ => f64::NAN,
    }
}

fn index(value: Value<'_>) -> u8 {
    match value {
        Value::Category(index, _) => index,
        _ => 0,
    }
}

fn text(value: Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_owned(),
        Value::Address(addr) => addr.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[u32]) -> DataTable {
        let kept: Vec<u32> = rows.iter().copied().filter(|row| row.is_multiple_of(3)).collect();
        let names = kept.iter().map(u32::to_string).collect();
        let rows = column(&kept, ValueKind::Integer, |&row| Value::Integer(row.into()));
        vec![("row".into(), rows), ("name".into(), Column::Texts(names))]
    }

    #[test]
    fn two_threads_write_what_one_would() {
        let all: Vec<u32> = (0..1000).collect();
        for size in [1, 7, 500, 999, 1000] {
            let blocks: Vec<&[u32]> = all.chunks(size).collect();
            let first = (blocks.len() / 2 * size).div_ceil(3);
            let whole = Halves { blocks, kept: [first, 334 - first] }.table(table);
            let [(_, Column::Integers(rows)), (_, Column::Texts(names))] = &whole[..] else {
                panic!("other columns");
            };
            let expected = || all.iter().filter(|row| row.is_multiple_of(3));
            assert!(rows.iter().copied().eq(expected().map(|&row| i64::from(row))));
            assert!(names.iter().eq(expected().map(u32::to_string).collect::<Vec<_>>().iter()));
        }
    }
}
