//! The fields of a row as the members of a JSON object.

use crate::output::fields::{Category, Field, Fields, Integer, Output, Row};
use crate::output::values::{self, enclosed, opened};
use std::net::IpAddr;

/// Writes `rows` as an array.
pub fn array<R: Row>(out: &mut Vec<u8>, rows: impl IntoIterator<Item = R>) {
    out.push(b'[');
    for row in rows {
        separate(out);
        whole(out, &row);
    }
    out.push(b']');
}

/// Writes `row` as a member of an array, which goes on unless it has just been opened; the object stays open
/// for more members.
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
    fn integer<I: Integer>(&mut self, field: Field, value: impl Fn(&R) -> I) {
        if !Self::is_due(field) {
            return;
        }
        let value = value(self.row);
        if value.into() != 0 || !field.is_sparse {
            values::integer(self.out, field.member, value);
        }
    }

    #[inline]
    fn time(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        if Self::is_due(field) {
            values::integer(self.out, field.member, value_ns(self.row));
        }
    }

    #[inline]
    fn duration(&mut self, field: Field, value_ns: impl Fn(&R) -> i64) {
        if !Self::is_due(field) {
            return;
        }
        let value_ns = value_ns(self.row);
        if value_ns != 0 || !field.is_sparse {
            values::duration(self.out, field.member, value_ns);
        }
    }

    #[inline]
    fn maybe_duration(&mut self, field: Field, value_ns: impl Fn(&R) -> Option<i64>) {
        if !Self::is_due(field) {
            return;
        }
        match value_ns(self.row) {
            Some(value_ns) => values::duration(self.out, field.member, value_ns),
            None if field.is_sparse => {}
            None => values::name(self.out, field.member, "null"),
        }
    }

    #[inline]
    fn flag(&mut self, field: Field, value: impl Fn(&R) -> bool) {
        if !Self::is_due(field) {
            return;
        }
        let value = value(self.row);
        if value || !field.is_sparse {
            values::flag(self.out, field.member, value);
        }
    }

    #[inline]
    fn category<C: Category>(&mut self, field: Field, value: impl Fn(&R) -> C) {
        if !Self::is_due(field) {
            return;
        }
        let value = value(self.row);
        if !(field.is_sparse && value.is_unknown()) {
            string(self.out, field, value.name());
        }
    }

    #[inline]
    fn text(&mut self, field: Field, value: impl Fn(&R) -> &'static str) {
        if Self::is_due(field) {
            string(self.out, field, value(self.row));
        }
    }

    fn address(&mut self, field: Field, value: impl Fn(&R) -> IpAddr) {
        if Self::is_due(field) {
            values::address(self.out, field.string_member, value(self.row));
            self.out.push(b'"');
        }
    }

    fn name(&mut self, field: Field, value: impl Fn(&R) -> Option<&str>) {
        if !Self::is_due(field) {
            return;
        }
        if let Some(name) = value(self.row) {
            string(self.out, field, name);
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

#[inline]
fn string(out: &mut Vec<u8>, field: Field, text: &str) {
    values::name(out, field.string_member, text);
    out.push(b'"');
}
