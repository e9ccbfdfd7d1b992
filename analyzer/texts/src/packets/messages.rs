//! Rows of a packet list that show a message (`HTTP 93 GET /`) instead of ports, Seq, Ack and Len.
//!
//! They follow from other rows of the same hosts. A connection goes on where it was, the frame is
//! longer than its headers by the message, and the rows that follow must have come on by that:
//!
//! ```text
//! 3  0.000030  10.0.0.1 → 10.0.0.2  TCP   66  4000 → 80 [ACK] Seq=1 Ack=1 Len=0     66 bytes of headers; next is 1
//! 4  0.000100  10.0.0.1 → 10.0.0.2  HTTP  93  GET / HTTP/1.1                        Seq=1, Len=93 - 66=27
//! 5  0.000130  10.0.0.2 → 10.0.0.1  HTTP 105  HTTP/1.1 200 OK                       Seq=1, Len=105 - 66=39
//! 6  0.044000  10.0.0.1 → 10.0.0.2  TCP   66  4000 → 80 [ACK] Seq=28 Ack=40 Len=0   1 + 27, and 1 + 39: both fit
//! ```
//!
//! Where several connections fit, the one that went on first is taken, and the message counted.

use super::numbers::{self, PrintedConnections, PrintedDirection};
use super::packet::{PADDED, PrintedPacket, PrintedSegment, TimedPacket};
use crate::ends::{SocketPair, keyed};
use crate::flags::{ACK, PSH};
use std::collections::VecDeque;
use std::iter;
use std::net::SocketAddr;

/// Rows after a message in which its connection must show that it went on.
pub const AHEAD: usize = 256;
/// Connections that a message may belong to; of more, those that go on later are hardly meant.
const MOST_CONNECTIONS: usize = 16;
/// Headers of frames that may be padded: Ethernet and Linux cooked, with IPv4, without TCP options.
const PADDED_HEADERS: [u32; 3] = [54, 56, 60];
/// A difference of sequence numbers that is none forward.
const BEHIND: u32 = 1 << 31;

/// The messages of a packet list.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Messages {
    pub placed: u64,
    pub unplaced: u64,
    /// Placed ones that fit several connections: they went to the one that went on first.
    pub in_doubt: u64,
}

/// Where a message may have been sent.
#[derive(Debug, Clone, Copy)]
struct Placement {
    ends: SocketPair,
    segment: PrintedSegment,
    shown: Continuation,
    /// Which of the rows that follow shows it.
    by_row: usize,
}

/// How the rows that follow show the connection of a placement to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Continuation {
    Nothing,
    /// Its connection came on by more than the message.
    More,
    /// It came on by the message, with others of the list.
    Exactly,
}

impl Messages {
    /// The packet, where it is a message as the segment that it was, by the `connections` before
    /// and the rows that follow, `ahead`.
    pub fn placed(
        &mut self,
        packet: PrintedPacket,
        connections: &PrintedConnections,
        ahead: &VecDeque<TimedPacket>,
    ) -> PrintedPacket {
        let PrintedPacket::Message(ends, wire_len) = packet else { return packet };
        let place = self.place(ends, wire_len, connections, ahead);
        self.placed += u64::from(place.is_some());
        self.unplaced += u64::from(place.is_none());
        place.map_or(PrintedPacket::Unreadable, |place| {
            PrintedPacket::Tcp(place.ends, place.segment)
        })
    }

    fn place(
        &mut self,
        ends: SocketPair,
        wire_len: u32,
        connections: &PrintedConnections,
        ahead: &VecDeque<TimedPacket>,
    ) -> Option<Placement> {
        (wire_len > 0).then_some(())?;
        let hosts = numbers::hosts(ends);
        let following: Vec<&PrintedPacket> = ahead
            .iter()
            .take(AHEAD)
            .map(|row| &row.packet)
            .filter(|packet| packet.ends().is_some_and(|ends| numbers::hosts(ends) == hosts))
            .collect();
        let known = connections.between(hosts);
        // Several directions fit: the one that goes on first is taken.
        let mut keys = if let [only] = known { vec![*only] } else { Vec::new() };
        // The rows of each connection.
        let mut rows: Vec<Vec<Row<'_>>> = keys.iter().map(|_| Vec::new()).collect();
        for (at, packet) in following.iter().enumerate() {
            let Some((ends, segment)) = packet.segment() else { continue };
            let key = keyed(ends).0;
            let mut of_key = keys.iter().position(|known| *known == key);
            if of_key.is_none() && known.len() != 1 && keys.len() < MOST_CONNECTIONS {
                keys.push(key);
                rows.push(Vec::new());
                of_key = Some(keys.len() - 1);
            }
            if let Some(of_key) = of_key {
                rows[of_key].push(Row { at, ends, segment });
            }
        }
        let is_alone = keys.len() == 1;
        let may_be = |of: &SocketPair| {
            iter::zip(ends, of)
                .all(|(end, of)| end.ip() == of.ip() && [0, of.port()].contains(&end.port()))
        };
        let mut places: Vec<Placement> = Vec::new();
        for ([one, other], rows) in iter::zip(keys, &rows) {
            let message = Message { ends, wire_len, following: &following, rows };
            let directions = [[one, other], [other, one]].into_iter().filter(may_be);
            places.extend(directions.filter_map(|of| message.sent(of, connections.known(of))));
        }
        let best = places.iter().map(|place| place.shown).max()?;
        let fitting = || places.iter().filter(|place| place.shown == best);
        let is_only = fitting().count() == 1;
        let is_placed = match best {
            Continuation::Nothing => is_only && is_alone,
            Continuation::More => is_only,
            Continuation::Exactly => true,
        };
        self.in_doubt += u64::from(is_placed && !is_only);
        let mut place = *fitting().min_by_key(|place| place.by_row).filter(|_| is_placed)?;
        place.segment.is_inferred = !is_only || !is_alone && best != Continuation::Exactly;
        Some(place)
    }
}

/// A segment that follows a message, at this place among the packets of its hosts.
struct Row<'a> {
    at: usize,
    ends: SocketPair,
    segment: &'a PrintedSegment,
}

/// A message, with the packets of its hosts that follow, and those of a connection among them.
struct Message<'a> {
    ends: SocketPair,
    wire_len: u32,
    following: &'a [&'a PrintedPacket],
    rows: &'a [Row<'a>],
}

impl Message<'_> {
    /// The message as sent from the first of these ends to the other, unless later rows contradict.
    fn sent(
        &self,
        [from, to]: SocketPair,
        [own, other]: [PrintedDirection; 2],
    ) -> Option<Placement> {
        let headers_len = own.headers_len.or_else(|| self.headers_len(|ends| ends == [from, to]));
        let headers_len = headers_len.or(other.headers_len);
        let headers_len = headers_len.or_else(|| self.headers_len(|ends| ends == [to, from]));
        match headers_len {
            Some(headers_len) => self.sent_after(headers_len, [from, to], own, other),
            // All rows were padded: the length is known from the next ACK.
            None => PADDED_HEADERS
                .into_iter()
                .filter_map(|headers_len| self.sent_after(headers_len, [from, to], own, other))
                .find(|place| place.shown == Continuation::Exactly),
        }
    }

    /// The message behind headers of this length.
    fn sent_after(
        &self,
        headers_len: u32,
        [from, to]: SocketPair,
        own: PrintedDirection,
        other: PrintedDirection,
    ) -> Option<Placement> {
        let mut len = self.wire_len.checked_sub(headers_len).filter(|len| *len > 0)?;
        // Text that is pasted from the middle may begin with a message.
        let next =
            own.next.or_else(|| Some(self.before(from, to, headers_len)?.wrapping_sub(len)))?;
        let (mut shown, mut by_row) = (Continuation::Nothing, usize::MAX);
        if let Some((at, on)) = self.came_on([from, to], next, len) {
            if PADDED.contains(&self.wire_len) && (1..len).contains(&on) {
                // The frame was padded.
                len = on;
            }
            let rest = on.checked_sub(len).filter(|_| on < BEHIND)?;
            by_row = at;
            shown = match rest {
                _ if self.add_up(at, rest, headers_len) => Continuation::Exactly,
                _ => Continuation::More,
            };
        }
        let received = other.next.or_else(|| self.before(to, from, headers_len));
        let later = self.rows.iter().find(|row| row.ends == [from, to]);
        let ack = match later.map(|row| row.segment) {
            // This row did not acknowledge the bytes that a pure ACK acknowledges first.
            Some(later) if later.len == 0 && later.ack == received => own.acked,
            _ => received,
        };
        let segment = PrintedSegment {
            flags: PSH | ACK,
            seq: Some(next),
            ack: ack.or(received).or(Some(0)),
            // Not printed, it is not known: there is room.
            window: own.window.unwrap_or(u16::MAX.into()),
            is_listed: true,
            len,
            wire_len: self.wire_len,
            ..PrintedSegment::default()
        };
        Some(Placement { ends: [from, to], segment, shown, by_row })
    }

    fn headers_len(&self, is_wanted: impl Fn(SocketPair) -> bool) -> Option<u32> {
        let rows = self.rows.iter().filter(|row| is_wanted(row.ends));
        rows.filter_map(|row| row.segment.headers_len()).min()
    }

    /// How far the connection has come since `next`, by the first row that shows it, and which row
    /// that is. An ACK may be one of what was sent before, and the same bytes may be sent again.
    fn came_on(&self, ends: SocketPair, next: u32, len: u32) -> Option<(usize, u32)> {
        let back = [ends[1], ends[0]];
        self.rows.iter().find_map(|&Row { at, ends: of, segment }| {
            let number = if of == ends { segment.seq } else { segment.ack.filter(|_| of == back) };
            match number?.wrapping_sub(next) {
                0 if of == ends && segment.len == len => Some((at, len)),
                on if of == ends || (1..BEHIND).contains(&on) => Some((at, on)),
                _ => None,
            }
        })
    }

    /// Is `rest` the length of some of the messages up to that row?
    fn add_up(&self, at: usize, rest: u32, headers_len: u32) -> bool {
        /// Each doubles the number of sums.
        const MOST: usize = 10;
        let mut sums = vec![0];
        for len in self.messages(at, self.ends, headers_len).take(MOST) {
            sums.extend(sums.clone().iter().map(|sum| sum + u64::from(len)));
            sums.sort_unstable();
            sums.dedup();
        }
        sums.contains(&u64::from(rest))
    }

    /// Lengths of the messages between these ends up to a row.
    fn messages(
        &self,
        at: usize,
        wanted: SocketPair,
        headers_len: u32,
    ) -> impl Iterator<Item = u32> {
        self.following[..at].iter().filter_map(move |packet| match packet {
            PrintedPacket::Message(ends, wire_len) if *ends == wanted => {
                wire_len.checked_sub(headers_len)
            }
            _ => None,
        })
    }

    /// Where `end` was before the next row of the connection: that row less the messages until
    /// then. `None` on one host, where rows do not show the direction of a message.
    fn before(&self, end: SocketAddr, peer: SocketAddr, headers_len: u32) -> Option<u32> {
        let mut rows = self.following.iter().enumerate();
        let (at, (ends, row)) = rows.find_map(|(at, packet)| Some((at, packet.segment()?)))?;
        (end.ip() != peer.ip() && keyed(ends).0 == keyed([end, peer]).0).then_some(())?;
        let is_sender = self.ends[0].ip() == end.ip();
        let wanted = if is_sender { self.ends } else { [self.ends[1], self.ends[0]] };
        let messages = self.messages(at, wanted, headers_len).fold(0, u32::wrapping_add);
        let at = if ends[0] == end { row.seq } else { row.ack };
        Some(at?.wrapping_sub(messages))
    }
}
