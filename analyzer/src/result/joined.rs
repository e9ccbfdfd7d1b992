//! A connection that two captures hold, one at each end: what each says is put together.
//!
//! The **near** capture lists the connection; what the **far** one found on it comes in here. Each
//! wait is judged where its sender is: there its kernel is seen to act on an ACK, without the way.
//! How long an ACK was kept back is measured where its sender is, for the same reason. Both captures
//! are judged by themselves before, so that nothing counts as evidence twice, and no clock is needed:
//! waits are paired by the bytes that ended them.

use crate::capture::times::sum_ns;
use crate::judge::capture::point::CapturePoint;
use crate::judge::doubts::Hidden;
use crate::judge::finding::judged::{Elsewhere, FarEnd, JudgedConnection, JudgedHalf};
use crate::judge::findings::{Findings, Ruling};
use crate::judge::model::Confidence;
use crate::judge::nagle::nodelay::Nagle;
use crate::result::clock_difference::ClockDifference;
use crate::track::wait::{End, Wait, fact};
use crate::track::{Connection, Side};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// Captures at both ends, as a scan of both has them.
#[derive(Debug, Clone, Serialize)]
pub struct BothEnds {
    /// Captures of the first end; the others are of the second.
    pub first_captures: u64,
    /// Both captures were taken at the same place.
    pub is_same_place: bool,
    /// Where the first end is, for most of the connections.
    pub first_at: &'static str,
    /// The number of the second end's first frame.
    pub first_frame_of_second: u64,
    /// Connections that both ends hold.
    pub shared: u64,
    /// Connections with data that only the first end holds.
    pub only_first: u64,
    /// Connections with data that only the second end holds.
    pub only_second: u64,
    /// How far their clocks are apart, where segments of both directions tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockDifference>,
}

/// Findings of one of two captures on a connection that the other one holds, too.
#[derive(Debug)]
pub struct Far {
    pub judged: JudgedConnection,
    streams: [Stream; 2],
    waits: Vec<Wait>,
    rulings: Vec<Ruling>,
}

/// Where the near capture was taken, and how many frames come before those of the far one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub near: Side,
    /// The far one was taken at the same place.
    pub is_same: bool,
    pub frames_before: u32,
}

impl Place {
    /// Is the near capture at the sender of a wait, or as near to it as the far one?
    fn is_at(self, by: Side) -> bool {
        self.is_same || by == self.near
    }
}

/// Which connections another capture holds, too, and where they are judged.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// None.
    Whole,
    /// Connections of these numbers: they count there.
    Far(&'a HashSet<u32>),
    /// Connections of these numbers.
    Near(&'a HashMap<u32, (Place, Far)>),
}

impl Part<'_> {
    /// How many findings may come from elsewhere to the connections of these numbers.
    pub fn room(self, numbers: impl Iterator<Item = u32>) -> usize {
        let Self::Near(all) = self else { return 0 };
        numbers.filter_map(|number| all.get(&number)).map(|(_, far)| far.len()).sum()
    }
}

/// The bytes of one direction that a capture reaches: the sequence number of the first, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    pub first_seq: u32,
    pub len: u64,
    /// Are some of them missing?
    pub has_holes: bool,
}

/// Clocks of two captures measure the same time as far apart, at most: to the millisecond.
const MOST_APART_NS: i64 = 1_000_000;

/// The event that ended a wait, whichever capture shows it.
type Event = (Side, u8, bool, u32);

impl Stream {
    pub fn of(connection: &Connection, side: Side) -> Self {
        let half = connection.half(side);
        let has_holes = half.unseen().0 > 0;
        Self { first_seq: half.first_seq(), len: half.stream_len(), has_holes }
    }

    /// Where in the stream this sequence number is, if the capture reaches it.
    pub fn offset(self, seq: u32) -> Option<u64> {
        let offset = u64::from(seq.wrapping_sub(self.first_seq));
        (offset <= self.len).then_some(offset)
    }

    /// True if the capture reaches the byte that a wait ended with, and what was unacknowledged before it.
    fn reaches(self, wait: &Wait, seq: u32) -> bool {
        self.offset(seq).is_some() && self.offset(seq.wrapping_sub(wait.unacked_len)).is_some()
    }

    /// Do both hold some of the same bytes, or begin at one that the other reaches?
    pub fn meets(self, other: Self) -> bool {
        self.offset(other.first_seq).is_some() || other.offset(self.first_seq).is_some()
    }
}

/// Sequence number of the byte that a wait ended with.
pub fn seq_of(streams: [Stream; 2], wait: &Wait) -> u32 {
    let by = if wait.end == End::Ack { wait.by.other() } else { wait.by };
    streams[by as usize].first_seq.wrapping_add(wait.rel_seq as u32)
}

fn event(streams: [Stream; 2], wait: &Wait) -> Event {
    let end = match wait.end {
        End::Syn => 0,
        End::Data => 1,
        End::Ack => 2,
        End::InVain(_) => 3,
    };
    (wait.by, end, wait.is(fact::RETRANSMITTED), seq_of(streams, wait))
}

impl Far {
    /// Takes the findings of a connection, which are to count at its other end.
    pub fn take(
        connection: &Connection,
        judged: &mut JudgedConnection,
        findings: Findings<'_>,
    ) -> Self {
        let far = Self {
            judged: judged.clone(),
            streams: Side::BOTH.map(|side| Stream::of(connection, side)),
            waits: findings.waits().to_vec(),
            rulings: findings.rulings().to_vec(),
        };
        judged.hidden = Hidden::Copied;
        (judged.stalls, judged.stalled_ns, judged.surely_stalls) = (0, 0, false);
        far
    }

    /// How many findings it may add.
    pub fn len(&self) -> usize {
        self.rulings.len()
    }

    /// Joins what the near capture found on a connection, `found` of the last rulings and the first
    /// `waits`, and returns how many there are then; for [`Self::len`] more waits there is room.
    pub fn join(
        &self,
        place: Place,
        connection: &Connection,
        judged: &mut JudgedConnection,
        (waits, found): (&mut [Wait], usize),
        rulings: &mut Vec<Ruling>,
    ) -> usize {
        let first = rulings.len() - found;
        let streams = Side::BOTH.map(|side| Stream::of(connection, side));
        let events = self.waits.iter().map(|wait| event(self.streams, wait));
        let mut only_far: HashMap<Event, usize> = events.zip(0..).collect();
        let mut seen = Vec::new();
        let mut kept = 0;
        for at in 0..found {
            let (wait, mut ruling) = (waits[at], rulings[first + at]);
            if let Some(other) = only_far.remove(&event(streams, &wait)) {
                let their = (&self.waits[other], self.rulings[other]);
                let is_near = place.is_at(wait.by);
                let delay_ns = if place.is_same {
                    None
                } else {
                    self.ack_delay_ns(is_near, judged, &wait, their.0)
                };
                seen.push(Elsewhere::new(&wait, their.0, place.frames_before, delay_ns));
                ruling = if is_near {
                    by_both((&wait, ruling), their)
                } else {
                    by_both(their, (&wait, ruling))
                };
            } else if ruling.cause.is_stall()
                && !place.is_at(wait.by)
                && self.shows_no_wait(&wait, seq_of(streams, &wait))
            {
                continue;
            }
            (waits[kept], rulings[first + kept]) = (wait, ruling);
            kept += 1;
        }
        rulings.truncate(first + kept);
        let mut only_far: Vec<usize> = only_far.into_values().collect();
        only_far.sort_unstable();
        for at in only_far {
            let (wait, ruling) = (&self.waits[at], self.rulings[at]);
            let stream = streams[wait.by as usize];
            let is_reached = stream.reaches(wait, seq_of(self.streams, wait));
            let may_be_missed = ruling.cause.is_stall() && stream.has_holes;
            if !place.is_at(wait.by) || !is_reached || may_be_missed {
                waits[kept] = wait.moved(place.frames_before);
                rulings.push(ruling);
                kept += 1;
            }
        }
        self.put_together(place, judged, seen);
        let findings = Findings::new(&waits[..kept], &rulings[first..]);
        judged.stalls = findings.stalls().count() as u32;
        judged.surely_stalls = findings.stalls().any(|stall| stall.is_sure());
        judged.stalled_ns = sum_ns(findings.stalls().map(|stall| stall.lost_ns()));
        kept
    }

    /// How long the ACK of a wait was kept back, by the capture at its sender: the far one, if the
    /// wait is of the near end. `None` where that capture seems to lack frames of it.
    fn ack_delay_ns(
        &self,
        is_near: bool,
        judged: &JudgedConnection,
        near: &Wait,
        far: &Wait,
    ) -> Option<i64> {
        let (at_receiver, wait, at_sender) =
            if is_near { (&self.judged, far, near) } else { (judged, near, far) };
        // Only between the two is there a way from the capture point to the receiver.
        let is_between = at_receiver.capture_point == CapturePoint::Between;
        let way_ns = at_receiver.half(wait.acknowledged_by()).rtt_ns().filter(|_| is_between);
        let delay_ns = wait.ack_delay_ns(way_ns);
        let is_whole = wait.has_ack()
            && at_sender.has_ack()
            && wait.unacked_len == at_sender.unacked_len
            && !wait.is(fact::UNSEEN)
            && delay_ns <= at_sender.ack_ns() + MOST_APART_NS;
        is_whole.then_some(delay_ns)
    }

    /// True if the far capture holds these bytes, and no wait before them.
    fn shows_no_wait(&self, wait: &Wait, seq: u32) -> bool {
        let stream = self.streams[wait.by as usize];
        !stream.has_holes && stream.reaches(wait, seq)
    }

    /// Each end is known best by the capture there; the waits that it has `seen` are kept.
    fn put_together(&self, place: Place, judged: &mut JudgedConnection, seen: Vec<Elsewhere>) {
        for side in Side::BOTH {
            let (own, their) = (judged.half(side), self.judged.half(side));
            let is_better = if place.is_at(side) {
                own.nagle == Nagle::Unknown
            } else {
                their.nagle != Nagle::Unknown
            };
            if is_better {
                // Addresses, round trips and what explains waits are those of the near capture.
                let (endpoint, rtt_ns, rtt_basis) = (own.endpoint, own.rtt_ns, own.rtt_basis);
                let models = own.detail().models.clone();
                let mut half = JudgedHalf { endpoint, rtt_ns, rtt_basis, ..their.clone() };
                half.move_frames(place.frames_before);
                if let Some(detail) = &mut half.detail {
                    detail.models = models;
                }
                judged.halves[side as usize] = half;
            }
        }
        if self.judged.hidden == Hidden::Nothing {
            judged.hidden = Hidden::Nothing;
        }
        judged.nothing_held |= self.judged.nothing_held;
        let mut other = self.judged.clone();
        for half in &mut other.halves {
            half.move_frames(place.frames_before);
        }
        let near = place.near;
        judged.far = Some(Box::new(FarEnd {
            near,
            frames_before: place.frames_before,
            judged: other,
            seen,
        }));
    }
}

/// The ruling on a wait that both captures show: by the one at its sender, unless frames are missing
/// there. Whether its ACK was late, the one at the receiver knows.
fn by_both(sender: (&Wait, Ruling), receiver: (&Wait, Ruling)) -> Ruling {
    let (sender_stalls, receiver_stalls) = (sender.1.cause.is_stall(), receiver.1.cause.is_stall());
    match (sender_stalls, receiver_stalls) {
        (true, true)
            if sender.1.held.probability < receiver.1.held.probability
                && lacks_frames(sender.0, &receiver) =>
        {
            receiver.1
        }
        (true, true) => receiver.1.with(sender.1.held),
        (false, true) if lacks_frames(sender.0, &receiver) => receiver.1,
        _ => sender.1,
    }
}

/// True if the capture at the sender lacks frames of a wait: bytes, or the ACK. An ACK that was lost on
/// its way would be missing there, too; but then hardly anything would leave as if it had come.
fn lacks_frames(wait: &Wait, (at_receiver, ruling): &(&Wait, Ruling)) -> bool {
    let is_sure =
        ruling.held.confidence().is_some_and(|confidence| confidence > Confidence::Possible);
    wait.is(fact::UNSEEN) || !wait.has_ack() && at_receiver.has_pure_ack() && is_sure
}
