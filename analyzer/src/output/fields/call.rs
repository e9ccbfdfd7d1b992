//! The fields of the system call that wrote a held segment: in a table, behind the stall's.

use super::Output::Table;
use super::{Field, Fields, Row, field};
use crate::result::calls::StallCall;

const CALL: Field = field!("call", "The system call that wrote it; empty where none is known.");
const BYTES: Field = field!("call_bytes", "Bytes that it wrote.");
const LINE: Field = field!("call_line", "Its line of the trace; 0 where none is known.");
const FUNCTION: Field = field!("call_function", "The function that called it.");
const WRITTEN: Field =
    field!("written_ns", "When it was called, by the capture's clock; 0 unknown.");
const HOLD: Field = field!("call_hold_ms", "From the call until the segment left.");
const PROOF: Field = field!("proof", "`proven` where it was written before the ACK, or empty.");

impl Row for Option<StallCall> {
    const NAME: &'static str = "call";

    fn fields(to: &mut impl Fields<Self>) {
        to.text(CALL.only(Table), |row| row.as_ref().map_or("", |row| row.call.name));
        to.integer(BYTES.only(Table), |row| row.as_ref().map_or(0, |row| row.call.bytes));
        to.integer(LINE.only(Table), |row| row.as_ref().map_or(0, |row| row.call.line));
        to.text(FUNCTION.only(Table), |row| row.as_ref().map_or("", |row| &row.call.function));
        to.time(WRITTEN.only(Table), |row| {
            row.as_ref().and_then(|row| row.written_ns).unwrap_or(0)
        });
        to.maybe_duration(HOLD.only(Table), |row| row.as_ref()?.hold_ns);
        to.text(PROOF.only(Table), |row| row.as_ref().map_or("", |row| row.proof));
    }
}
