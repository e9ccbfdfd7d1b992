//! IP identifications: a host that numbers the packets of each connection shows which ones the capture
//! lacks.

use crate::decode::Header;
use crate::track::DEFAULT_MSS;
use crate::track::half::{Half, state};
use crate::track::thresholds::{COPY_IDS, SKIPS_ONE_OF};

/// The IP identifications of a host.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed)]
pub struct IpIds {
    /// The identification of the latest segment; copies that come late aside.
    pub last: u16,
    /// How often numbers were left out; no more are counted once the count is full.
    pub skips: u8,
}

impl IpIds {
    /// How far this one lies before the last, if both are told: Linux answers a SYN without one.
    pub fn behind(self, ip_id: u16) -> Option<u16> {
        (ip_id != 0 && self.last != 0).then(|| self.last.wrapping_sub(ip_id))
    }

    /// Is this one so little before the last that it is a copy that comes late?
    fn is_late(self, ip_id: u16) -> bool {
        self.last != 0 && ip_id.wrapping_sub(self.last) > u16::MAX - COPY_IDS
    }
}

impl Half {
    /// Takes the identification of a segment, after everything else in it; tells whether some before it
    /// are missing. Data may be several packets of `mss` bytes: offloading merges them.
    #[inline]
    pub fn note_id(&mut self, segment: &Header, mss: u32) -> bool {
        let step = segment.ip_id.wrapping_sub(self.ids.last);
        if step <= 1 {
            self.ids.last = segment.ip_id;
            return false;
        }
        self.take_skip(segment, mss)
    }

    #[cold]
    fn take_skip(&mut self, segment: &Header, mss: u32) -> bool {
        if self.ids.is_late(segment.ip_id) {
            return false;
        }
        let skipped = self.skips_ids(segment.ip_id, mss);
        self.ids.last = segment.ip_id;
        if !skipped {
            return false;
        }
        self.ids.skips = self.ids.skips.saturating_add(1);
        if self.ids.skips < u8::MAX {
            let skips_few = u32::from(self.ids.skips) * SKIPS_ONE_OF <= self.segments;
            self.state.put(state::COUNTS_IDS, skips_few);
        }
        self.state.is(state::COUNTS_IDS)
    }

    /// Do its identifications show that (nearly) all of its packets were captured?
    pub fn is_complete_by_ids(&self) -> bool {
        self.ids.last != 0 && (self.ids.skips == 0 || self.counts_ids())
    }

    /// True if identifications are left out before this one, which is newer than the last.
    pub fn skips_ids(&self, ip_id: u16, mss: u32) -> bool {
        let Some(behind) = self.ids.behind(ip_id) else { return false };
        if self.segments <= 1 || self.ids.is_late(ip_id) {
            return false;
        }
        let mss = if mss == 0 { DEFAULT_MSS } else { mss };
        let packets = self.last_len.div_ceil(mss).clamp(1, u16::MAX.into()) as u16;
        behind.wrapping_neg() > packets
    }
}

#[cfg(test)]
mod tests {
    use crate::track::Side;
    use crate::track::story::{Story, client, server};

    /// Two small segments of the client with no ACK between them, and those of the server before and
    /// after them.
    fn two_in_flight(before: u16, after: u16) -> Story {
        Story::new()
            .handshake(0.02, 1.0)
            .after_ms(0.0, client(100))
            .after_ms(1.0, server(0).ip_id(before.wrapping_sub(u16::from(before > 0))))
            .after_ms(0.0, client(100))
            .after_ms(1.0, server(0).ip_id(before))
            .after_ms(1.0, client(100))
            .after_ms(1.0, client(50))
            .after_ms(1.0, server(0).ip_id(after))
    }

    fn contradictions(story: &Story) -> u32 {
        story.half(Side::Client).contradictions()
    }

    #[test]
    fn an_ack_that_the_capture_lacks_may_have_come_between_two_small_segments() {
        let after = |before, after| contradictions(&two_in_flight(before, after));
        assert_eq!([after(7, 8), after(7, 9), after(u16::MAX, 2)], [1, 0, 0]);
        assert_eq!(two_in_flight(7, 9).half(Side::Client).contradiction(), (0, 0));
        // An earlier one stays, before which nothing is missing.
        let story = two_in_flight(7, 8)
            .after_ms(1.0, client(100).ip_id(1))
            .after_ms(1.0, client(50).ip_id(2))
            .after_ms(1.0, server(0).ip_id(11));
        assert_eq!((contradictions(&story), story.half(Side::Client).contradiction()), (1, (8, 9)));
    }

    #[test]
    fn hosts_that_count_otherwise_or_not_at_all_leave_out_nothing() {
        assert_eq!(contradictions(&two_in_flight(0, 0)), 1);
        let after_each = |step: u16| {
            let told = (0..20).fold(two_in_flight(7, 8), |story, time| {
                let story = story.after_ms(1.0, client(100)).after_ms(1.0, client(50));
                story.after_ms(1.0, server(0).ip_id(9_u16.wrapping_add(step.wrapping_mul(time))))
            });
            contradictions(&told)
        };
        // The first few tell whose numbers they are.
        assert_eq!([1, 15, 28_001].map(|step| after_each(step) > 18), [true; 3]);
    }

    /// Offloading merges what was several packets, each with a number.
    #[test]
    fn a_merged_segment_takes_as_many_numbers_as_it_has_packets() {
        let story = |after| {
            two_in_flight(7, 8)
                .after_ms(1.0, server(2920).ip_id(9))
                .after_ms(1.0, client(100))
                .after_ms(1.0, client(50))
                .after_ms(1.0, server(0).ip_id(after))
        };
        assert_eq!([story(11), story(12)].map(|story| contradictions(&story)), [2, 1]);
    }

    #[test]
    fn copies_that_come_late_are_no_gap() {
        let story = two_in_flight(7, 8)
            .after_ms(0.1, server(0).ip_id(7))
            .after_ms(1.0, client(100))
            .after_ms(1.0, client(50))
            .after_ms(1.0, server(0).ip_id(9));
        assert_eq!(contradictions(&story), 2);
    }
}
