//! The fields of a wait that is not a stall.

use super::Output::{Json, Python};
use super::{Field, Fields, Row, field};
use crate::judge::findings::Finding;
use crate::result::cause_totals::Turn;

const CONNECTION: Field = field!("connection", "Its connection: Wireshark's `tcp.stream`.");
const LOST: Field =
    field!("lost_before_capture", "Lost upstream of the capture point and retransmitted.");
const REL_SEQ: Field = field!("rel_seq", "Stream offset of the first byte after the wait.");
const TURN: Field = field!(
    "turn",
    "Whose turn it was: `asked` for the reply to an open request, or the next request of an idle client; \
     `midway` behind data of its own; `idle`: no request was open; `first`: nothing was sent yet; `open`: \
     the capture ended."
);

impl Row for Finding<'_> {
    const NAME: &'static str = "wait";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(CONNECTION.except(Json).except(Python), |row| row.wait.connection);
        to.category(field!("cause", "Why: see `nagle-scan --explain`."), |row| row.cause);
        to.category(field!("sender", "Who kept the other end waiting."), |row| row.wait.by);
        to.category(TURN.except(Python), |row| Turn::of(*row));
        to.integer(field!("frame_from", "Last frame before the wait."), |row| row.wait.from.frame);
        to.integer(field!("frame_to", "Frame that ended the wait."), |row| row.wait.to.frame);
        to.integer(REL_SEQ.only(Json), |row| row.wait.rel_seq);
        to.time(field!("time_ns", "When it ended.").except(Python), |row| row.wait.to.time_ns);
        to.flag(LOST.except(Python), |row| row.lost_before_capture() == Some(true));
        to.duration(field!("wait_ms", "How long it was."), |row| row.wait.wait_ns());
    }
}
