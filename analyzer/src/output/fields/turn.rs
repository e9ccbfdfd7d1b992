//! The fields of a turn, which Python alone sees.

use super::Output::Table;
use super::{Field, Fields, Row, field};
use crate::result::turns::Turn;

const RELEASE: Field =
    field!("release_ms", "From the ACK of the first piece to the next; unknown if it left before.");
const FIRST: Field = field!("first_bytes", "Length of a piece; 0: a message in one write.");

impl Row for Turn {
    const NAME: &'static str = "turn";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(field!("connection", "Its connection.").only(Table), |turn| turn.connection);
        to.category(field!("sender", "Who sent it.").only(Table), |turn| turn.by);
        to.category(field!("pace", "Did its receiver answer?").only(Table), |turn| turn.pace);
        to.integer(FIRST.only(Table), |turn| turn.first_bytes);
        to.integer(field!("next_bytes", "Of the next.").only(Table), |turn| turn.next_bytes);
        to.integer(field!("frame_next", "Its frame.").only(Table), |turn| turn.frame_next);
        to.duration(field!("wait_ms", "From one to the other.").only(Table), |turn| turn.wait_ns);
        to.maybe_duration(RELEASE.only(Table), |turn| turn.release_ns);
        to.integer(field!("bytes", "The message.").only(Table), |turn| turn.bytes);
        to.integer(field!("asked_bytes", "Before it.").only(Table), |turn| turn.asked_bytes);
    }
}
