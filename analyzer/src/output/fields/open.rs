//! The fields of what was still owed when its connection, or the capture, ended.

use super::{Field, Fields, Row, field};
use crate::result::open::Open;

const OWED: Field = field!("owed", "What was owed, in words.");
const BY: Field = field!("owed_by", "Who owed it.");
const FROM: Field = field!("frame_from", "The last frame before: since then it was owed.");
const TO: Field = field!("frame_to", "The frame that ended it; of a capture, the last one known.");
const BYTES: Field = field!(
    "unacked_bytes",
    "Bytes in flight, of which no ACK came; or that are missing of a message that announced its length."
);
const TRIES: Field = field!("tries", "How often the other end sent again, or probed.");
const LONGEST_TRY: Field = field!("longest_try_ms", "At most how long it waited before it did so.");
const OTHER_SILENT: Field = field!(
    "other_silent_ms",
    "How long nothing had come from the other end; `null` where that is not known."
);
const SILENT: Field = field!(
    "silent_ms",
    "How long nothing at all had come from the end that owed it; `null` where nothing ever came."
);
const ALIVE: Field = field!(
    "host_alive",
    "Did the host that owed it still send something, such as ACKs? Then its program, or what it drops, is the place to look."
);

impl Row for Open<'_> {
    const NAME: &'static str = "open";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(field!("connection", "Its connection: Wireshark's `tcp.stream`."), |row| {
            row.0.wait.connection
        });
        to.text(OWED, |row| row.0.entry.owed);
        to.category(BY, Self::owed_by);
        to.integer(FROM, |row| row.0.wait.from.frame);
        to.integer(TO, |row| row.0.wait.to.frame);
        to.time(field!("since_ns", "Since when."), |row| row.0.wait.from.time_ns);
        to.duration(field!("open_ms", "How long, at least."), |row| row.0.wait.wait_ns());
        to.category(field!("ending", "The event that ended it."), Self::ending);
        to.integer(BYTES, |row| row.0.wait.unacked_len);
        to.maybe_duration(SILENT, Self::silent_ns);
        to.maybe_duration(OTHER_SILENT, Self::other_silent_ns);
        to.integer(TRIES, |row| row.0.wait.tries().0);
        to.duration(LONGEST_TRY, |row| i64::from(row.0.wait.tries().1) * 1_000_000);
        to.flag(ALIVE, Self::is_host_alive);
    }
}
