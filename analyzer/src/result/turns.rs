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
/// A message that never ends is cut into parts, and turns beyond the first ones (some 300 MB) are left out: far
/// fewer show what there is to see.
const MOST_OF_MESSAGE: usize = 4096;
const MOST_TURNS: usize = 2_000_000;

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
    /// Length of a piece; 0: a message in one write.
    pub first_bytes: u32,
    /// The small piece behind it.
    pub next_bytes: u32,
    pub frame_next: u32,
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
    /// True if a small piece came before the last one.
    is_split: bool,
    bytes: u64,
    /// True if the peer has sent since.
    is_answered: bool,
    /// How soon this side last answered.
    pace: Pace,
    /// The pairs of its pieces.
    turns: Vec<Turn>,
    /// All that its turns have in common.
    start: Turn,
}

impl Message {
    /// True if a segment at `time_ns` begins another message.
    fn is_over(&self, time_ns: i64) -> bool {
        let is_silent = |acked_ns| time_ns - acked_ns >= SILENCE_NS;
        self.is_answered
            || self.turns.len() >= MOST_OF_MESSAGE
            || self.last.acked_ns.is_some_and(is_silent)
    }

    /// Moves its turns to `turns`.
    fn close(&mut self, turns: &mut Vec<Turn>) {
        let bytes = self.bytes;
        if self.pieces > 0 && !self.is_split {
            turns.push(Turn { bytes, ..self.start });
        }
        turns.extend(self.turns.drain(..).map(|turn| Turn { bytes, ..turn }));
        (self.pieces, self.is_split, self.bytes, self.is_answered) = (0, false, 0, false);
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
                first_bytes: self.last.len,
                next_bytes: piece.len,
                frame_next: piece.mark.frame,
                wait_ns: since_ns(self.last.mark.time_ns),
                release_ns: self.last.acked_ns.map(since_ns),
                ..self.start
            });
        }
        self.is_split |= self.pieces > 0 && self.last.is_small;
        self.last = piece;
        self.pieces += 1;
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
        let is_full = self.closed.len() >= MOST_TURNS;
        if header.len == 0 || segment.repeat != Repeat::No || is_full {
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

    /// The turns of all messages, by the frames of later pieces.
    fn end(mut self) -> Vec<Turn> {
        for message in self.open.values_mut().flatten() {
            message.close(&mut self.closed);
        }
        self.closed.sort_unstable_by_key(|turn| turn.frame_next);
        self.closed
    }
}

/// Reads the captures again for the turns of some connections.
///
/// # Errors
/// The errors of a scan.
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
    use Side::{Client, Server};

    /// Pace, lengths of the pieces, and of the message, of what the server sends on a connection: (ms after the
    /// segment before, sender, bytes).
    fn of_server(segments: &[(i64, Side, u32)]) -> Vec<(Pace, u32, u32, u64)> {
        let (mut turns, mut sent, mut time_ns) = (Turns::default(), [0, 0], 0);
        for (frame, &(ms, by, len)) in (1..).zip(segments) {
            time_ns += ms * 1_000_000;
            let (seq, ack) = (sent[by as usize], sent[by.other() as usize]);
            let (window, ip_id, options) = (0, 0, Options::default());
            let header = Header { seq, ack, len, flags: ACK, window, ip_id, options };
            let (mark, rel_seq, repeat) = (Mark { time_ns, frame }, seq.into(), Repeat::No);
            let (window, is_small) = (None, len < 1460);
            let segment = TrackedSegment { mark, by, header, rel_seq, repeat, window, is_small };
            turns.take(0, &segment);
            sent[by as usize] += len;
        }
        let all = turns.end().into_iter().filter(|turn| turn.by == Server);
        all.map(|turn| (turn.pace, turn.first_bytes, turn.next_bytes, turn.bytes)).collect()
    }

    #[test]
    fn how_soon_the_receiver_answered_before_is_known() {
        let reply = [(1, Server, 50), (0, Server, 20)];
        let after_ms = |ms| [(ms, Client, 80), reply[0], reply[1]];
        let found = of_server(&[after_ms(0), after_ms(60), after_ms(1)].concat());
        let paces = [Pace::None, Pace::Slow, Pace::Quick];
        assert_eq!(found, paces.map(|pace| (pace, 50, 20, 70)));
    }

    #[test]
    fn full_segments_are_part_of_one_write_and_silence_ends_a_message() {
        let found =
            of_server(&[(0, Server, 1460), (0, Server, 40), (1, Client, 0), (300, Server, 30)]);
        let one_write = |bytes| (Pace::None, 0, 0, bytes);
        assert_eq!(found, [one_write(1500), one_write(30), (Pace::None, 1460, 40, 1500)]);
    }
}
