//! Segments that bring nothing new (retransmissions, copies of a frame, keep-alives), and payload
//! bytes that the capture lacks.

use crate::decode::{ACK, FIN, Header, RST, SYN, seq};
use crate::track::Mark;
use crate::track::half::{Half, state};
use crate::track::thresholds::{COPY_IDS, FIRST_RTO_NS, LEAST_REORDER_NS};

/// Segments that brought nothing new, or brought it late.
#[derive(Debug, Clone, Copy)]
pub struct Repeats {
    pub retransmitted: u32,
    /// Second copies of a captured frame.
    pub duplicated: u32,
    /// Overtaken by others in the network.
    pub reordered: u32,
    /// Captured once, long after their ACK: two clocks, or two queues, stamped the two directions.
    pub after_ack: u32,
    /// FINs without data that were sent again: no data was late for them.
    pub fins: u32,
}

impl Repeats {
    pub const NONE: Self =
        Self { retransmitted: 0, duplicated: 0, reordered: 0, after_ack: 0, fins: 0 };
}

/// Probes since the other end was last heard of: the first of them, and how many.
#[derive(Debug, Clone, Copy)]
pub struct Probes(Mark, u32);

impl Probes {
    pub const NONE: Self = Self(Mark::NONE, 0);

    /// One more, `now`; the other end was `heard_ns`.
    pub fn add(&mut self, now: Mark, heard_ns: i64) {
        *self = if heard_ns >= self.0.time_ns { Self(now, 1) } else { Self(self.0, self.1 + 1) };
    }
}

/// Tries since the last new data, bytes sent again or probes: how many, the last, and the longest time before one.
#[derive(Debug, Clone, Copy)]
pub struct Tries {
    count: u32,
    last_ns: i64,
    longest_ns: i64,
}

impl Tries {
    pub const NONE: Self = Self { count: 0, last_ns: i64::MIN, longest_ns: 0 };

    fn add(&mut self, now_ns: i64, last_new_ns: i64) {
        if self.last_ns < last_new_ns {
            *self = Self { count: 0, last_ns: last_new_ns, longest_ns: 0 };
        }
        self.count += 1;
        self.longest_ns = self.longest_ns.max(now_ns - self.last_ns);
        self.last_ns = now_ns;
    }
}

#[derive(Debug, Clone)]
pub struct Unseen {
    /// Payload bytes that were acknowledged or jumped over, and those of them that never came.
    jumped: u64,
    bytes: u64,
    /// Last frame before or in which bytes went missing.
    frame: u32,
    /// Where the bytes that went missing last begin and end.
    hole: (u32, u32),
}

impl Unseen {
    pub const NONE: Self = Self { jumped: 0, bytes: 0, frame: 0, hole: (0, 0) };

    fn add(&mut self, hole: (u32, u32), bytes: u64, frame: u32) {
        self.jumped += bytes;
        self.bytes += bytes;
        (self.frame, self.hole) = (frame, hole);
    }

    /// How many of the `len` bytes from `seq` on lie in the hole missed last, and have not come since.
    fn missing(&self, seq: u32, len: u32) -> u64 {
        let (begin, end) = self.hole;
        let skipped = seq::distance(seq, begin).max(0);
        let behind = seq::distance(end, seq.wrapping_add(len)).max(0);
        let inside = i64::from(len) - i64::from(skipped) - i64::from(behind);
        self.bytes.min(inside.max(0) as u64)
    }
}

impl Half {
    /// Is this SYN a copy of the one before? It takes longer until it is sent again (RFC 6298, section 2.1),
    /// which some stacks do with the timestamp that it had (gVisor).
    pub fn is_syn_copy(&self, segment: &Header, now: Mark) -> bool {
        now.time_ns - self.last_data.time_ns < FIRST_RTO_NS && self.is_copy(segment, now)
    }

    /// Were all these bytes acknowledged?
    pub fn is_acked(&self, segment: &Header) -> bool {
        seq::le(segment.seq.wrapping_add(segment.len), self.sequence.una)
    }

    /// Does this segment repeat what was sent before the last data, which was new?
    pub fn repeats_before_last(&self, segment: &Header) -> bool {
        let last_begins = self.sequence.nxt.wrapping_sub(self.last_len);
        !self.state.is(state::NEW_APART) && seq::lt(segment.seq, last_begins)
    }

    /// The receiver reports bytes that arrived twice: if they are those that were sent again last, that was
    /// needless; returns its frame. If nothing was sent since, it is as if it had not happened.
    pub fn take_duplicate(&mut self, report: &Header) -> Option<u32> {
        let is_reported = report.options.is_sack_from(self.odd().repeated.0);
        self.needless(report, is_reported)
    }

    /// An ACK that comes sooner than the bytes sent again last can have drawn it shows, like a report, that
    /// the receiver had them. Its shortest round trip may be a little shorter than any that was measured.
    pub fn take_early_ack(&mut self, ack: &Header, now: Mark, receiver_rtt_ns: i64) -> Option<u32> {
        let is_early = now.time_ns - self.last_data.time_ns < receiver_rtt_ns / 2;
        let is_last = self.last_data.frame == self.odd().repeated.1;
        self.needless(ack, is_early && is_last)
    }

    /// The frame that sent them again, if the receiver `had` them by then.
    fn needless(&mut self, ack: &Header, had: bool) -> Option<u32> {
        let (begin, frame) = self.odd().repeated;
        if frame == 0 || !seq::lt(begin, ack.ack) || !had {
            return None;
        }
        self.odd_mut().repeated = (0, 0);
        if self.last_data.frame == frame && self.state.is(state::NEW_APART) {
            self.last_data = self.last_new();
            self.state.clear(state::NEW_APART | state::RECOVERING);
        }
        Some(frame)
    }

    /// This host retransmitted from `seq` on; returns the mark of its data before that.
    pub fn repeat(&mut self, seq: u32, now: Mark) -> Mark {
        self.stop_timing();
        let (before, last_new) = (self.last_data, self.last_new());
        let odd = self.odd_mut();
        odd.repeats.retransmitted += 1;
        odd.repeated = (seq, now.frame);
        odd.last_new = last_new;
        self.state.set(state::NEW_APART);
        self.last_data = now;
        self.note_try(now);
        before
    }

    /// This host retransmitted data and has sent nothing new since.
    pub fn set_recovering(&mut self) {
        self.state.set(state::RECOVERING);
    }

    /// Was this segment sent before the last one that was captured? Its timestamp or its IP identification
    /// is older.
    pub fn is_older(&self, segment: &Header) -> bool {
        match segment.options.tsval() {
            Some(tsval) if self.state.is(state::TSVAL) && tsval != self.last_tsval => {
                seq::lt(tsval, self.last_tsval)
            }
            _ => {
                self.ids.behind(segment.ip_id).is_some_and(|behind| (1..COPY_IDS).contains(&behind))
            }
        }
    }

    /// Is this segment, which brings nothing new, a second copy of a captured frame (a mirror port,
    /// `-i any`, two taps in one file) and not a retransmission? A retransmission is a packet of
    /// its own: its timestamp and its IP identification are newer.
    pub fn is_copy(&self, segment: &Header, now: Mark) -> bool {
        match (segment.options.tsval(), self.ids.behind(segment.ip_id)) {
            (Some(tsval), _) if self.state.is(state::TSVAL) => !seq::lt(self.last_tsval, tsval),
            (_, Some(behind)) if !self.state.is(state::SAME_IDS) => behind < COPY_IDS,
            _ => {
                now.time_ns - self.last_data.time_ns < LEAST_REORDER_NS
                    && segment.len == self.last_len
            }
        }
    }

    /// A keep-alive repeats the byte before `snd_nxt`, or none (RFC 9293, section 3.8.4).
    pub fn is_keep_alive(&self, segment: &Header) -> bool {
        segment.len <= 1
            && segment.seq == self.sequence.nxt.wrapping_sub(1)
            && segment.has(ACK)
            && !segment.has(SYN | FIN | RST)
    }

    /// Sends again, or probes, `now`.
    pub fn note_try(&mut self, now: Mark) {
        let last_new_ns = self.last_new().time_ns;
        self.odd_mut().tries.add(now.time_ns, last_new_ns);
    }

    /// How often it did so since its last new data, and at most how long after the time before, in ns;
    /// nothing if not `since_ns`.
    pub fn tries(&self, since_ns: i64) -> (u32, i64) {
        let Tries { count, last_ns, longest_ns } = self.odd().tries;
        if last_ns < self.last_new().time_ns.max(since_ns) { (0, 0) } else { (count, longest_ns) }
    }

    /// Probes that the other end, heard of until `heard_ns`, has not answered: how many, and the first.
    pub fn probes(&self, heard_ns: i64) -> (u32, Mark) {
        let Probes(first, count) = self.odd().probes;
        if heard_ns < first.time_ns { (count, first) } else { (0, Mark::NONE) }
    }

    /// The last probe that was answered, or the first one that was not.
    pub fn last_probed(&self) -> Mark {
        self.odd().probes.0
    }

    /// Bytes up to `seq` were never captured.
    pub fn jump_to(&mut self, seq: u32, frame: u32) {
        let from = self.sequence.nxt;
        let missing = seq::distance(from, seq).max(0) as u64;
        self.offset += missing;
        self.state.set(state::ODD_COUNTS);
        self.odd_mut().unseen.add((from, seq), missing, frame);
        self.sequence.nxt = seq;
        self.stop_timing();
    }

    /// Payload bytes captured, each once.
    #[inline]
    pub fn bytes(&self) -> u64 {
        if self.state.is(state::ODD_COUNTS) {
            self.offset - self.odd().unseen.jumped
        } else {
            self.offset
        }
    }

    /// Payload bytes that were never captured, and the last frame at which some went missing.
    pub fn unseen(&self) -> (u64, u32) {
        if self.state.is(state::ODD_COUNTS) {
            (self.odd().unseen.bytes, self.odd().unseen.frame)
        } else {
            (0, 0)
        }
    }

    /// How many of this segment's bytes lie in the hole that was missed last, and have not come since.
    pub fn missing(&self, segment: &Header) -> u64 {
        self.odd().unseen.missing(segment.seq, segment.len)
    }

    /// Some of the unseen bytes arrived after all.
    pub fn fill(&mut self, bytes: u64) {
        self.odd_mut().unseen.bytes -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_in_the_last_hole_are_missing() {
        let mut unseen = Unseen::NONE;
        unseen.add((100, 130), 30, 4);
        let missing = |seq, len| unseen.missing(seq, len);
        assert_eq!([missing(100, 30), missing(90, 20), missing(120, 50)], [30, 10, 10]);
        assert_eq!([missing(80, 20), missing(130, 20), missing(90, 90)], [0, 0, 30]);
    }
}
