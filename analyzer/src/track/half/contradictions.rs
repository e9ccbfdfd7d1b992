//! Small segments that left while a small one was unacknowledged: they contradict Nagle's algorithm.

use crate::rules;
use crate::track::Mark;
use crate::track::half::{Half, state};
use crate::track::thresholds::{
    AT_ONCE_NS, FEW_PAIRS, LATE_STAMP_NS, LATE_STAMPS, SHORT_HOLD_NS, SHORTEST_DELAYED_ACK_NS,
};

#[derive(Debug, Clone)]
pub struct Contradictions {
    count: u32,
    /// Contradictions after which a delayed ACK may have come that the capture lacks.
    late: u32,
    /// Did one of them leave later than in one instant with the segment before, which one call may write?
    is_apart: bool,
    /// Were some withdrawn?
    has_excused: bool,
    /// Contradictions since the receiver's latest segment, and its segments captured up to then.
    fresh: u32,
    received: u32,
    /// Frames of the last one, and of the last one before the fresh ones.
    last: (u32, u32),
    before: (u32, u32),
}

impl Contradictions {
    pub const NONE: Self = Self {
        count: 0,
        late: 0,
        is_apart: false,
        has_excused: false,
        fresh: 0,
        received: 0,
        last: (0, 0),
        before: (0, 0),
    };

    /// A segment left `now` while the one of `last` was unacknowledged; `received` segments of the receiver
    /// were captured so far.
    fn add(&mut self, last: Mark, now: Mark, received: u32) {
        if self.received != received || self.fresh == 0 {
            (self.received, self.fresh, self.before) = (received, 0, self.last);
        }
        self.fresh += 1;
        self.count += 1;
        self.late += u32::from(now.time_ns - last.time_ns >= SHORTEST_DELAYED_ACK_NS);
        self.is_apart |= now.time_ns - last.time_ns > AT_ONCE_NS;
        self.last = (last.frame, now.frame);
    }

    /// Takes back the one of `frame`, if it is the only one since the receiver's latest segment.
    fn take_back(&mut self, frame: u32, is_late: bool) -> bool {
        let is_last = self.fresh == 1 && self.last.1 == frame;
        if is_last {
            self.count -= 1;
            self.late -= u32::from(is_late);
            (self.fresh, self.last) = (0, self.before);
        }
        is_last
    }

    /// Takes back those since the receiver's segment number `received`.
    fn excuse(&mut self, received: u32) {
        if self.fresh > 0 && self.received == received {
            self.count -= self.fresh;
            self.has_excused = true;
            (self.fresh, self.last) = (0, self.before);
        }
    }
}

impl Half {
    /// A small segment left `now` while a small one was unacknowledged. `received`: receiver segments
    /// captured so far.
    #[inline]
    pub fn contradict(&mut self, now: Mark, received: u32) {
        let last = self.last_data;
        self.state.set(state::CONTRADICTED);
        self.rare_mut().contradictions.add(last, now, received);
    }

    /// The capture lost the receiver's segment number `received`. It may have been the ACK that freed the
    /// data sent since, so those contradictions are withdrawn.
    pub fn excuse(&mut self, received: u32) {
        if self.has_contradicted() && !rules::off("excuse") {
            let all = &mut self.rare_mut().contradictions;
            all.excuse(received);
            let count = all.count;
            self.state.put(state::CONTRADICTED, count > 0);
        }
    }

    /// Does an ACK of what preceded the last data, which measured a round trip of `sample_ns`, come
    /// `now`, just behind that data? A capture point that stamps each direction by itself may see what
    /// the ACK released before the ACK. Data that followed sooner was sent as quickly as most ACKs come.
    #[inline]
    pub fn is_freed_behind(&self, ack: u32, sample_ns: i64, now: Mark) -> bool {
        let behind_ns = now.time_ns - self.last_data.time_ns;
        (0..=LATE_STAMP_NS).contains(&behind_ns)
            && sample_ns - behind_ns >= SHORT_HOLD_NS
            && ack == self.sequence.nxt.wrapping_sub(self.last_len)
            && self.is_last_small()
            && !self.is_recovering()
    }

    /// It did: the last data proves no contradiction, and may have been held.
    #[cold]
    pub fn take_ack_behind(&mut self, sample_ns: i64) {
        let frame = self.last_data.frame;
        self.note_may_be_held();
        let behind = &mut self.odd_mut().acks_behind;
        *behind = behind.saturating_add(1);
        if self.has_contradicted() {
            let all = &mut self.rare_mut().contradictions;
            let is_taken = all.take_back(frame, sample_ns >= SHORTEST_DELAYED_ACK_NS);
            let count = all.count;
            self.state.put(state::CONTRADICTED, count > 0);
            self.odd_mut().taken_back += u32::from(is_taken);
        }
    }

    /// Contradictions that prove nothing, since their ACKs came just behind them, and still speak
    /// against Nagle's algorithm: it is by accident that those did.
    pub fn doubtful_contradictions(&self) -> u32 {
        if self.has_late_stamps() { 0 } else { self.odd().taken_back }
    }

    /// How many ACKs came just behind what they may have released.
    pub fn acks_behind(&self) -> u32 {
        self.odd().acks_behind
    }

    /// Is that how the capture point stamps them? They recur, and hardly anything else contradicts Nagle's
    /// algorithm.
    pub fn has_late_stamps(&self) -> bool {
        self.acks_behind() >= LATE_STAMPS && self.acks_behind() > self.contradictions()
    }

    /// Small segments sent while a small one was unacknowledged.
    pub fn contradictions(&self) -> u32 {
        if self.has_contradicted() { self.rare().contradictions.count } else { 0 }
    }

    /// Were most at least 10 ms late? Then an uncaptured delayed ACK may have allowed them.
    pub fn contradicts_late(&self) -> bool {
        let Contradictions { late, count, .. } = self.rare().contradictions;
        2 * late > count
    }

    /// Are they one pair or two, each in one instant?
    pub fn contradicts_at_once(&self) -> bool {
        let Contradictions { is_apart, count, .. } = self.rare().contradictions;
        self.has_contradicted() && count <= FEW_PAIRS && !is_apart
    }

    /// Were some seen that a lost ACK may have allowed?
    pub fn has_excused(&self) -> bool {
        self.rare().contradictions.has_excused
    }

    /// Was the segment of this frame sent so, the last of them?
    pub fn left_unheld(&self, segment: Mark) -> bool {
        self.has_contradicted() && self.contradiction().1 == segment.frame
    }

    /// Frames of the last two such segments.
    pub fn contradiction(&self) -> (u32, u32) {
        self.rare().contradictions.last
    }
}
