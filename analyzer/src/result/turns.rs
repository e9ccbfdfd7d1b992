//! Messages read again for what could have stalled: the pieces that they left in, and whether their receiver
//! was about to delay an ACK.

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::decode::seq;
use crate::named::named;
use crate::result::segments::each_segment;
use crate::track::follower::{Repeat, TrackedSegment};
use crate::track::reader::Reading;
use crate::track::{Mark, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::Arc;

/// Linux delays an ACK only while the receiver last sent within `TCP_ATO_MIN`, 40 ms less a jiffy, of data that
/// it had received (`tcp_event_data_sent`).
const ACK_TIMEOUT_NS: i64 = 36_000_000;
/// A sender that is silent for as long begins another message: no ACK is delayed longer.
const SILENCE_NS: i64 = 200_000_000;

named! {
    /// How soon the receiver of a message last answered what it had received.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    enum Pace {
        /// Never: it had received nothing yet, or sent nothing.
        #[default]
        None = "none",
        Quick = "quick",
        Slow = "slow",
    }
}

/// A piece of a message and the small piece behind it, or a message in one write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    pub connection: u32,
    pub by: Side,
    pub pace: Pace,
    /// Is `first` the first piece of its message?
    pub begins: bool,
    /// Frame and length of a piece; 0 of a message in one write.
    pub first: (u32, u32),
    /// Of the small piece behind it.
    pub next: (u32, u32),
    /// From the first piece to the next.
    pub wait_ns: i64,
    /// From the ACK of the first piece to the next; unknown where the next left before it.
    pub release_ns: Option<i64>,
    /// The whole message, and what its receiver had sent before it.
    pub bytes: u64,
    pub asked_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    mark: Mark,
    len: u32,
    /// The sequence number behind it.
    end: u32,
    is_small: bool,
    acked_ns: Option<i64>,
}

/// The message that one side sends.
#[derive(Debug, Default)]
struct Message {
    /// The last piece, also of the message before.
    last: Piece,
    pieces: u32,
    small: u32,
    bytes: u64,
    /// True if the peer has sent since.
    is_answered: bool,
    /// How soon this side last answered.
    pace: Pace,
    /// The pairs of its pieces.
    turns: Vec<Turn>,
    /// What its turns have in common.
    start: Turn,
}

impl Message {
    /// True if a segment at `time_ns` begins another message.
    fn is_over(&self, time_ns: i64) -> bool {
        let is_silent = |acked_ns| time_ns - acked_ns >= SILENCE_NS;
        self.is_answered || self.last.acked_ns.is_some_and(is_silent)
    }

    /// Moves its turns to `turns`.
    fn close(&mut self, turns: &mut Vec<Turn>) {
        let bytes = self.bytes;
        if self.pieces > 0 && self.small == u32::from(self.last.is_small) {
            let next = (self.last.mark.frame, self.last.len);
            turns.push(Turn { next, bytes, ..self.start });
        }
        turns.extend(self.turns.drain(..).map(|turn| Turn { bytes, ..turn }));
        (self.pieces, self.small, self.bytes, self.is_answered) = (0, 0, 0, false);
    }

    fn acknowledge(&mut self, ack: u32, time_ns: i64) {
        let last = &mut self.last;
        if last.len > 0 && last.acked_ns.is_none() && seq::le(last.end, ack) {
            last.acked_ns = Some(time_ns);
        }
    }

    fn add(&mut self, piece: Piece) {
        if self.pieces > 0 && piece.is_small {
            let since_ns = |time_ns| piece.mark.time_ns - time_ns;
            self.turns.push(Turn {
                begins: self.pieces == 1,
                first: (self.last.mark.frame, self.last.len),
                next: (piece.mark.frame, piece.len),
                wait_ns: since_ns(self.last.mark.time_ns),
                release_ns: self.last.acked_ns.map(since_ns),
                ..self.start
            });
        }
        self.last = piece;
        self.pieces += 1;
        self.small += u32::from(piece.is_small);
        self.bytes += u64::from(piece.len);
    }
}

/// The turns of some connections.
#[derive(Debug, Default)]
struct Turns {
    open: HashMap<u32, [Message; 2], RandomState>,
    closed: Vec<Turn>,
}

impl Turns {
    fn take(&mut self, connection: u32, segment: &TrackedSegment) {
        let TrackedSegment { by, header, mark, is_small, .. } = *segment;
        let [client, server] = self.open.entry(connection).or_default();
        let (own, peer) = if by == Side::Client { (client, server) } else { (server, client) };
        peer.acknowledge(header.ack, mark.time_ns);
        if header.len == 0 || segment.repeat != Repeat::No {
            return;
        }
        if own.is_over(mark.time_ns) {
            own.close(&mut self.closed);
        }
        if own.pieces == 0 {
            let asked_bytes = if peer.is_answered { 0 } else { peer.bytes };
            own.start = Turn { connection, by, pace: peer.pace, asked_bytes, ..Turn::default() };
        }
        let end = header.seq.wrapping_add(header.len);
        own.add(Piece { mark, len: header.len, end, is_small, acked_ns: None });
        own.pace = match peer.last.mark {
            Mark::NONE => Pace::None,
            received if mark.time_ns - received.time_ns < ACK_TIMEOUT_NS => Pace::Quick,
            _ => Pace::Slow,
        };
        peer.is_answered = true;
    }

    /// The turns of all messages in the order of their frames; the last ones are still open.
    fn end(mut self) -> Vec<Turn> {
        for message in self.open.values_mut().flatten() {
            message.close(&mut self.closed);
        }
        self.closed.sort_unstable_by_key(|turn| turn.next.0);
        self.closed
    }
}

/// Reads the captures again for the turns of some connections.
///
/// # Errors
/// As of a scan.
pub fn turns(
    paths: &[String],
    filter: Option<&str>,
    connections: &[u32],
    reading: Reading,
    progress: &Arc<Progress>,
) -> Result<Vec<Turn>, ScanError> {
    let mut turns = Turns::default();
    let see = |number, segment: TrackedSegment| turns.take(number, &segment);
    each_segment(paths, filter, connections, reading, progress, see)?;
    Ok(turns.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{ACK, Header, Options};

    /// One connection, without its handshake: (ms after the segment before, sender, bytes).
    fn turns(segments: &[(i64, Side, u32)]) -> Vec<Turn> {
        let (mut turns, mut sent, mut time_ns) = (Turns::default(), [0, 0], 0);
        for (frame, &(ms, by, len)) in (1..).zip(segments) {
            time_ns += ms * 1_000_000;
            let (seq, ack) = (sent[by as usize], sent[by.other() as usize]);
            let (window, ip_id, options) = (0, 0, Options::default());
            let header = Header { seq, ack, len, flags: ACK, window, ip_id, options };
            let mark = Mark { time_ns, frame };
            let (rel_seq, repeat) = (seq.into(), Repeat::No);
            let is_small = len < 1460;
            let segment =
                TrackedSegment { mark, by, header, rel_seq, repeat, window: None, is_small };
            turns.take(0, &segment);
            sent[by as usize] += len;
        }
        turns.end()
    }

    use Side::{Client, Server};

    #[test]
    fn what_the_receiver_did_before_is_known() {
        let all = turns(&[
            (0, Client, 80),
            (1, Server, 50),
            (0, Server, 20),
            (60, Client, 80),
            (1, Server, 70),
            (1, Client, 80),
            (1, Server, 50),
            (0, Client, 0),
            (2, Server, 20),
        ]);
        let of_server = all.iter().filter(|turn| turn.by == Server);
        let seen = of_server.map(|turn| (turn.pace, turn.first.1, turn.next.1, turn.release_ns));
        let expected = [
            (Pace::None, 50, 20, None),
            (Pace::Slow, 0, 70, None),
            (Pace::Quick, 50, 20, Some(2_000_000)),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert!(all.iter().all(|turn| turn.by == Client || turn.asked_bytes == 80));
        assert!(all.iter().all(|turn| turn.by == Client || turn.bytes == 70));
    }

    #[test]
    fn full_segments_are_part_of_one_write_and_silence_ends_a_message() {
        let all = turns(&[(0, Client, 1460), (0, Client, 40), (1, Server, 0), (300, Client, 30)]);
        let seen = |turn: &Turn| (turn.first.1, turn.next.1, turn.bytes);
        assert_eq!(
            all.iter().map(seen).collect::<Vec<_>>(),
            [(0, 40, 1500), (1460, 40, 1500), (0, 30, 30),]
        );
    }
}
