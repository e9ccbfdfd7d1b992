//! How long a connection took to come about, and its first reply with it.

use crate::track::connection::Connection;
use crate::track::half::ConnectTimes;
use crate::track::thresholds::PROBE_NS;
use crate::track::{Mark, Side};

impl Connection {
    /// Takes a SYN that came after the first one, or an answer to it. Once the client has acknowledged an
    /// answer it waits for none, though the server may send one again (Linux `TCP_DEFER_ACCEPT`).
    #[cold]
    pub(super) fn note_connecting(&mut self, now: Mark) {
        let [client, server] = &mut self.halves;
        let acknowledged =
            server.has_syn() && (server.sequence.in_flight() == 0 || server.bytes() > 0);
        if client.has_syn() && !acknowledged && now.time_ns - self.first_ns >= PROBE_NS {
            server.connecting_mut().connected_ns = now.time_ns;
        }
    }

    /// Takes the end of the first reply.
    #[inline]
    pub(super) fn note_first_reply(&mut self, end: Mark) {
        let server = &mut self.halves[Side::Server as usize];
        // Most connections come about sooner.
        if end.time_ns - self.first_ns >= PROBE_NS && server.connecting() != ConnectTimes::NONE {
            server.connecting_mut().replied_ns = end.time_ns;
        }
    }

    /// From the first SYN until the connection came about, and until the end of the first reply, in ns.
    /// `None` where either was not seen, or was soon there; and where bytes are missing: they may have
    /// been that reply.
    pub fn connecting(&self) -> Option<(i64, i64)> {
        let ConnectTimes { connected_ns, replied_ns } = self.half(Side::Server).connecting();
        let is_whole = self.halves.iter().all(|half| half.unseen().0 == 0);
        let is_told = is_whole && connected_ns != 0 && replied_ns >= connected_ns;
        is_told.then_some((connected_ns - self.first_ns, replied_ns - self.first_ns))
    }
}
