//! The fields of an exchange.

use super::Output::{Json, Python};
use super::{Field, Fields, Row, field};
use crate::result::parts::TakenApart;

const CONNECTION: Field = field!("connection", "Its connection: Wireshark's `tcp.stream`.");
const CONNECTING: Field = field!(
    "connecting_ms",
    "From the first SYN until the connection came about, before its first exchange; not part of the latency."
);
const PREDICTED: Field = field!("predicted_latency_ms", "Latency without the stalls.");
const SENDING: Field = field!("sending_ms", "The client was still sending its request.");
const WAY: Field = field!(
    "on_the_way_ms",
    "Round trip to the server, transfer, and pauses for ACKs that are no stalls."
);
const HELD: Field =
    field!("held_ms", "Nagle's algorithm held a segment: certain and likely stalls.");

impl Row for TakenApart {
    const NAME: &'static str = "exchange";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(CONNECTION, |row| row.exchange.connection);
        to.integer(field!("frame_begin", "First data of the request."), |row| {
            row.exchange.begin.frame
        });
        to.integer(field!("frame_end", "Last data of the response."), |row| row.exchange.end.frame);
        to.time(field!("begin_ns", "When it began.").except(Python), |row| {
            row.exchange.begin.time_ns
        });
        // Only where all exchanges are kept these are counted.
        let (request, response) = (
            field!("request_bytes", "What the client sent."),
            field!("response_bytes", "What the server sent."),
        );
        to.integer(request.except(Json).except(Python), |row| row.exchange.request_bytes);
        to.integer(response.except(Json).except(Python), |row| row.exchange.response_bytes);
        to.duration(field!("latency_ms", "First request byte to last response byte."), |row| {
            row.exchange.latency_ns()
        });
        to.integer(field!("stalls", "How many stalls it has that count."), |row| row.stalls);
        to.duration(field!("stalled_ms", "Their total wait."), |row| row.stalled_ns);
        to.duration(PREDICTED.except(Python), |row| {
            (row.exchange.latency_ns() - row.stalled_ns).max(0)
        });
        to.maybe_duration(CONNECTING, |row| row.connecting_ns);
        to.duration(SENDING, |row| row.parts[0]);
        to.duration(WAY, |row| row.parts[1]);
        to.duration(field!("resent_ms", "Bytes had to be sent again."), |row| row.parts[2]);
        to.duration(field!("window_ms", "The receiver's window was full."), |row| row.parts[3]);
        to.duration(HELD, |row| row.parts[4]);
        to.duration(field!("server_ms", "The server's program worked."), |row| row.parts[5]);
    }
}
