//! The fields of a segment.

use super::Output::Table;
use super::{Field, Fields, Row, field};
use crate::result::segments::TrackedSegment;

const FRAME: Field = field!("frame", "Its frame: Wireshark's `frame.number`.");
const REL_SEQ: Field =
    field!("rel_seq", "Stream offset of its first byte; FIN takes a number behind the last one.");
const SEQ: Field = field!("seq", "Sequence number, as on the wire.");
const ACK: Field = field!("ack", "Acknowledgment number, as on the wire.");
const WINDOW: Field = field!("window", "Window as on the wire, not scaled.");
const WINDOW_BYTES: Field =
    field!("window_bytes", "Window in bytes, scaled; unknown without the handshake.");
const REPEAT: Field =
    field!("repeat", "Is it sent again, captured again (`duplicated`) or overtaken (`reordered`)?");

impl Row for TrackedSegment {
    const NAME: &'static str = "segment";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(FRAME.only(Table), |row| row.mark.frame);
        to.time(field!("time_ns", "When it was captured.").only(Table), |row| row.mark.time_ns);
        to.category(field!("sender", "Who sent it.").only(Table), |row| row.by);
        to.integer(REL_SEQ.only(Table), |row| row.rel_seq);
        to.integer(field!("len", "Payload, in bytes.").only(Table), |row| row.header.len);
        to.integer(SEQ.only(Table), |row| row.header.seq);
        to.integer(ACK.only(Table), |row| row.header.ack);
        to.integer(field!("flags", "Its flags, as a number.").only(Table), |row| row.header.flags);
        to.integer(WINDOW.only(Table), |row| row.header.window);
        to.maybe_integer(WINDOW_BYTES.only(Table), |row| row.window.map(u64::from));
        to.category(REPEAT.only(Table), |row| row.repeat);
    }
}
