//! The fields of a turn, which Python alone sees.

use super::Output::Table;
use super::{Field, Fields, Row, field};
use crate::result::turns::Turn;

const RELEASE: Field =
    field!("release_ms", "From the ACK of the first piece to the next; unknown if it left before.");

impl Row for Turn {
    const NAME: &'static str = "turn";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(field!("connection", "Its connection.").only(Table), |turn| turn.connection);
        to.category(field!("sender", "Who sent it.").only(Table), |turn| turn.by);
        to.category(field!("pace", "How soon the receiver last answered.").only(Table), |turn| {
            turn.pace
        });
        to.flag(field!("begins", "Is it the first of its message?").only(Table), |turn| {
            turn.begins
        });
        let frame = |name: Field| name.only(Table);
        to.integer(frame(field!("frame_first", "Frame of a piece; 0: one write.")), |turn| {
            turn.first.0
        });
        to.integer(frame(field!("first_bytes", "Its length.")), |turn| turn.first.1);
        to.integer(frame(field!("frame_next", "Frame of the piece behind it.")), |turn| {
            turn.next.0
        });
        to.integer(frame(field!("next_bytes", "Its length.")), |turn| turn.next.1);
        to.duration(field!("wait_ms", "From one to the other.").only(Table), |turn| turn.wait_ns);
        to.maybe_duration(RELEASE.only(Table), |turn| turn.release_ns);
        to.integer(field!("bytes", "The whole message.").only(Table), |turn| turn.bytes);
        to.integer(field!("asked_bytes", "The one before it.").only(Table), |turn| {
            turn.asked_bytes
        });
    }
}
