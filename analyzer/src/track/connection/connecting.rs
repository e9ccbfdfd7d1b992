//! How long a connection took to come about, and its first reply with it; and its handshake, as Wireshark's
//! `tcp.analysis.initial_rtt` has it.

use crate::capture::times::DAY_NS;
use crate::decode::{Header, SYN};
use crate::track::connection::{Connection, Recorder, Sent};
use crate::track::ending::Ending;
use crate::track::half::{ConnectTimes, Half};
use crate::track::thresholds::PROBE_NS;
use crate::track::wait::{End, Facts};
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
    pub(super) fn note_handshake(&mut self, sent: Sent<'_>) {
        if self.handshake_ns == NOT_YET && !sent.segment.has(SYN) {
            self.end_handshake(sent);
        }
    }

    /// Takes the client's first ACK, or any where its SYN was not captured.
    #[cold]
    fn end_handshake(&mut self, Sent { side, segment, now }: Sent<'_>) {
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
        // With TCP Fast Open data came with the SYN.
        let is_silent = client.bytes() == 0 || client.last_data.time_ns == self.first_ns;
        self.handshake_ns = match is_first && client.has_syn() && is_silent {
            true if (0..=DAY_NS).contains(&took_ns) => took_ns,
            _ => UNKNOWN,
        };
    }

    /// Takes a SYN that follows one of the same side. Nobody waited for it where another connection begins.
    #[cold]
    pub(super) fn take_syn_again(&mut self, sent: Sent<'_>, recorder: &mut Recorder) {
        let Sent { side, segment, now } = sent;
        let begins_anew = self.begins_anew(side, segment);
        let asked_ns = self.half(side.other()).last_data.time_ns;
        let from = self.halves[side as usize].repeat(segment.seq, now);
        if begins_anew {
            return;
        }
        self.note_connecting(now);
        // The server answers a SYN that came again: the wait is the client's.
        if side == Side::Client || asked_ns <= from.time_ns {
            self.push_repeat(sent, from, Facts::NONE, recorder);
        }
    }

    /// Does another connection begin between the same ports, after FIN or RST ended this one?
    fn begins_anew(&self, side: Side, segment: &Header) -> bool {
        let [client, server] = &self.halves;
        let was_opened = server.has_syn() || client.bytes() > 0 || server.bytes() > 0;
        let is_over = |half: &Half| half.has_reset() || half.has_finished();
        match side {
            Side::Client => was_opened && self.halves.iter().any(is_over),
            Side::Server => segment.seq.wrapping_add(1) != server.first_seq(),
        }
    }

    /// The end of a wait that this segment of `side` brings, which comes again. The SYN of the
    /// client may have been turned down: an ACK of another number, which the client answers with
    /// RST, is of a connection that the server still has between these ports (RFC 5961, section 4).
    pub(super) fn end_by_repeat(&self, side: Side, segment: &Header) -> End {
        let [client, server] = &self.halves;
        match segment.has(SYN) {
            false => End::Data,
            true if side == Side::Server => End::Syn,
            true if server.has_syn() => End::InVain(Ending::AnswerLost),
            true if server.has_reset() => End::InVain(Ending::Refused),
            true if client.has_reset() && server.segments > 0 => End::InVain(Ending::OldConnection),
            true => End::Syn,
        }
    }

    /// Takes a SYN that came after the first one, or an answer to it. Once the client has acknowledged an
    /// answer it waits for none, though the server may send one again (Linux `TCP_DEFER_ACCEPT`).
    #[cold]
    pub(super) fn note_connecting(&mut self, now: Mark) {
        let [client, server] = &mut self.halves;
        let acknowledged =
            server.has_syn() && (server.sequence.in_flight() == 0 || server.bytes() > 0);
        if client.has_syn() && !acknowledged && now.time_ns - self.first_ns >= PROBE_NS {
            server.odd_mut().connecting.connected_ns = now.time_ns;
        }
    }

    /// Takes the end of the first reply.
    #[inline]
    pub(super) fn note_first_reply(&mut self, end: Mark) {
        let server = &mut self.halves[Side::Server as usize];
        // Most connections come about sooner.
        if end.time_ns - self.first_ns >= PROBE_NS && server.odd().connecting != ConnectTimes::NONE
        {
            server.odd_mut().connecting.replied_ns = end.time_ns;
        }
    }

    /// From the first SYN until the connection came about, and until the end of the first reply, in ns.
    /// `None` where either was not seen, or was soon there; and where bytes are missing: they may have
    /// been that reply.
    pub fn connecting(&self) -> Option<(i64, i64)> {
        let ConnectTimes { connected_ns, replied_ns } = self.half(Side::Server).odd().connecting;
        let is_whole = self.halves.iter().all(|half| half.unseen().0 == 0);
        let is_told = is_whole && connected_ns != 0 && replied_ns >= connected_ns;
        is_told.then_some((connected_ns - self.first_ns, replied_ns - self.first_ns))
    }
}
