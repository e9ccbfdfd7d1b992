//! The fields of a row as the members of a JSON object.

use crate::output::fields::{Field, Fields, Output, Row};
use crate::output::values::{self, Value, ValueKind, enclosed, opened};

/// Writes `rows` as an array.
pub fn array<R: Row>(out: &mut Vec<u8>, rows: impl IntoIterator<Item = R>) {
    out.push(b'[');
    for row in rows {
        separate(out);
        whole(out, &row);
    }
    out.push(b']');
}

/// Writes `row` as the next member of an array; its object stays open for more members.
pub fn open_object<R: Row>(out: &mut Vec<u8>, row: &R) {
    separate(out);
    let begin = out.len();
    members(out, row);
    opened(out, begin, b'{');
}

fn separate(out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
}

fn whole<R: Row>(out: &mut Vec<u8>, row: &R) {
    enclosed(out, *b"{}", |out| members(out, row));
}

fn members<R: Row>(out: &mut Vec<u8>, row: &R) {
    R::fields(&mut MemberWriter::<R, false> { out, row });
    R::fields(&mut MemberWriter::<R, true> { out, row });
}

/// Writes the members that are late, or the others; each after a comma.
struct MemberWriter<'a, R, const LATE: bool> {
    out: &'a mut Vec<u8>,
    row: &'a R,
}

impl<R, const LATE: bool> MemberWriter<'_, R, LATE> {
    #[inline]
    const fn is_due(field: Field) -> bool {
        field.is_in(Output::Json) && field.is_late == LATE
    }
}

impl<R, const LATE: bool> Fields<R> for MemberWriter<'_, R, LATE> {
    #[inline]
    fn field(&mut self, field: Field, kind: ValueKind, value: impl Fn(&R) -> Value<'_>) {
        if !Self::is_due(field) {
            return;
        }
        let value = value(self.row);
        if field.is_sparse && value.is_nothing(kind) {
            return;
        }
        self.out.extend_from_slice(field.member.as_bytes());
        match value {
            Value::Unknown => self.out.extend_from_slice(b"null"),
            Value::Category(..) | Value::Text(_) | Value::Address(_) => {
                self.out.push(b'"');
                values::value(self.out, value);
                self.out.push(b'"');
            }
            _ => values::value(self.out, value),
        }
    }

    fn nested<S: Row>(&mut self, field: Field, part: impl Fn(&R) -> S) {
        if Self::is_due(field) {
            self.out.extend_from_slice(field.member.as_bytes());
            whole(self.out, &part(self.row));
        }
    }

    #[inline]
    fn json<T>(
        &mut self,
        field: Field,
        value: impl Fn(&R) -> Option<T>,
        write: impl Fn(&mut Vec<u8>, T),
    ) {
        if !Self::is_due(field) {
            return;
        }
        if let Some(value) = value(self.row) {
            self.out.extend_from_slice(field.member.as_bytes());
            write(self.out, value);
        }
    }
}
