//! How long the handshake took, as Wireshark's `tcp.analysis.initial_rtt` has it.

use crate::capture::times::DAY_NS;
use crate::decode::{Header, SYN};
use crate::track::connection::Connection;
use crate::track::{Mark, Side};

/// The client has not yet acknowledged the server's SYN; and it has, at times that make no sense, or later
/// than with what was captured first.
pub const NOT_YET: i64 = -1;
const UNKNOWN: i64 = -2;

impl Connection {
    /// From the client's last SYN to its ACK of the server's, in ns: both ways, and what the hosts took.
    /// `None` where one of the three was not captured, but in captures of one direction.
    pub fn handshake_ns(&self) -> Option<i64> {
        Some(self.handshake_ns).filter(|&ns| ns >= 0)
    }

    /// Takes an ACK.
    #[inline]
    pub(super) fn note_handshake(&mut self, side: Side, segment: &Header, now: Mark) {
        if self.handshake_ns == NOT_YET && !segment.has(SYN) {
            self.end_handshake(side, segment, now);
        }
    }

    /// Takes the client's first ACK, or any where its SYN was not captured.
    #[cold]
    fn end_handshake(&mut self, side: Side, segment: &Header, now: Mark) {
        let [client, server] = &self.halves;
        if side == Side::Server && client.has_syn() {
            return;
        }
        // Captured in one direction, only an ACK without data is surely the one of the SYN.
        let is_first = if server.has_syn() {
            server.sequence.in_flight() == 1 && segment.ack == server.sequence.nxt
        } else {
            server.segments == 0 && segment.len == 0
        };
        let took_ns = now.time_ns - client.last_data.time_ns;
        self.handshake_ns = match is_first && client.has_syn() && client.bytes() == 0 {
            true if (0..=DAY_NS).contains(&took_ns) => took_ns,
            _ => UNKNOWN,
        };
    }
}
