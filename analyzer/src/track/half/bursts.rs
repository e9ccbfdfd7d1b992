//! Which burst the peer had seen when it sent something: the newest one that its ACK covers.
//! Where several segments are in flight, that need not be the last one.

use crate::decode::seq;
use crate::rules;
use crate::track::Mark;
use crate::track::half::{Half, state};
use crate::track::thresholds::LOCAL_DISTINCT_NS;
use std::iter;

/// Bursts in flight that are distinguished besides the newest: more than one is seldom on its way.
const MOST_OLDER: usize = 3;

/// Where in the sequence space a burst began, and its first frame; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Burst {
    begin: u32,
    first: Mark,
}

impl Burst {
    const NONE: Self = Self { begin: 0, first: Mark::NONE };
}

/// The bursts in flight.
#[derive(Debug, Clone)]
pub struct Bursts {
    newest: Burst,
    /// Oldest first. Few directions ever have any.
    older: Option<Box<[Burst; MOST_OLDER]>>,
}

impl Bursts {
    pub const NONE: Self = Self { newest: Burst::NONE, older: None };

    /// The only one.
    fn begin(&mut self, begin: u32, first: Mark) {
        self.newest = Burst { begin, first };
        if let Some(older) = &mut self.older {
            **older = [Burst::NONE; MOST_OLDER];
        }
    }

    fn push(&mut self, begin: u32, first: Mark) {
        let older = self.older.get_or_insert_with(|| Box::new([Burst::NONE; MOST_OLDER]));
        older.rotate_left(1);
        older[MOST_OLDER - 1] = std::mem::replace(&mut self.newest, Burst { begin, first });
    }

    /// The first segment of the newest burst of which `ack` acknowledges something.
    fn acknowledged(&self, ack: u32) -> Option<Mark> {
        let older = self.older.iter().flat_map(|older| older.iter().rev());
        let mut begun = iter::once(&self.newest).chain(older).filter(|burst| burst.first.is_set());
        begun.find(|burst| seq::lt(burst.begin, ack)).map(|burst| burst.first)
    }
}

impl Half {
    /// Has it ever sent something new while something was unacknowledged?
    pub fn has_pipelined(&self) -> bool {
        self.rare().bursts.newest.first.is_set()
    }

    /// New data leaves `now`: with what is in flight it makes bursts.
    #[inline]
    pub(super) fn note_burst(&mut self, now: Mark) {
        if seq::lt(self.sequence.una, self.sequence.nxt) && self.offset > 0 {
            self.add_to_bursts(now);
        } else {
            self.state.clear(state::BURSTS);
        }
    }

    #[inline]
    fn add_to_bursts(&mut self, now: Mark) {
        let (begin, before) = (self.sequence.nxt, self.last_new());
        let last = (begin.wrapping_sub(self.last_len), before);
        let again = !self.state.is(state::BURSTS);
        self.state.set(state::BURSTS);
        let bursts = &mut self.rare_mut().bursts;
        if again {
            bursts.begin(last.0, last.1);
        }
        // Times are those of the capture, whatever they are.
        if now.time_ns.saturating_sub(bursts.newest.first.time_ns) >= LOCAL_DISTINCT_NS {
            bursts.push(begin, now);
        }
    }

    /// The last data left before all of the peer's had come, and acknowledged this much: `None` for all.
    #[inline]
    pub fn cross(&mut self, last_ack: Option<u32>) {
        if let Some(last_ack) = last_ack {
            self.state.set(state::CROSSED);
            self.rare_mut().last_ack = last_ack;
        }
    }

    /// Did the last data leave before all that `ack` acknowledges of the peer had come? Asked of what
    /// was captured before it.
    pub fn crossed(&self, ack: u32) -> bool {
        self.state.is(state::CROSSED) && seq::lt(self.rare().last_ack, ack)
    }

    /// The newest data that `ack` acknowledges, or the first segment of its burst; `None` where that is
    /// not known any more.
    pub fn acknowledged_data(&self, ack: u32) -> Option<Mark> {
        if rules::off("bursts") {
            return Some(self.last_new());
        }
        let fin = i32::from(self.has_finished());
        let missing = seq::distance(ack, self.sequence.nxt).wrapping_sub(fin);
        match missing <= 0 || (missing as u32) < self.last_len {
            true => Some(self.last_new()),
            false if self.state.is(state::BURSTS) => self.rare().bursts.acknowledged(ack),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::track::Side;
    use crate::track::story::{Story, client};

    /// Four segments of ten bytes: frames 4 to 7, the second right behind the first.
    fn four_in_flight() -> Story {
        [0.0, 0.1, 5.0, 5.0]
            .into_iter()
            .fold(Story::new().handshake(0.02, 1.0), |story, ms| story.after_ms(ms, client(10)))
    }

    fn frame(story: &Story, acknowledged: u32) -> Option<u32> {
        let half = story.half(Side::Client);
        let ack = half.sequence.nxt.wrapping_sub(half.offset as u32).wrapping_add(acknowledged);
        half.acknowledged_data(ack).map(|mark| mark.frame)
    }

    #[test]
    fn an_ack_names_the_burst_that_was_seen() {
        let story = four_in_flight();
        let frames = [10, 20, 25, 30, 31, 40].map(|ack| frame(&story, ack));
        assert_eq!(frames, [4, 4, 6, 6, 7, 7].map(Some));
        assert_eq!(frame(&story, 0), None);
    }

    #[test]
    fn what_is_older_than_the_bursts_that_are_kept_is_not_known() {
        let story = four_in_flight().times(5, |story| story.after_ms(2.0, client(10)));
        let frames = [10, 50, 51, 90].map(|ack| frame(&story, ack));
        assert_eq!(frames, [None, None, Some(9), Some(12)]);
    }

    #[test]
    fn an_ack_from_the_far_side_of_the_sequence_numbers_names_nothing() {
        let story = four_in_flight().after_ms(1.0, client(0).fin());
        let half = story.half(Side::Client);
        assert_eq!(half.acknowledged_data(half.sequence.nxt.wrapping_add(1 << 31)), None);
    }

    #[test]
    fn of_data_that_was_acknowledged_before_the_last_left_nothing_is_kept() {
        let acked = four_in_flight().after_ms(1.0, crate::track::story::server(0));
        let story = acked.after_ms(5.0, client(10));
        assert_eq!([40, 45].map(|ack| frame(&story, ack)), [None, Some(9)]);
        let story = story.after_ms(5.0, client(10));
        assert_eq!([45, 50, 51].map(|ack| frame(&story, ack)), [9, 9, 10].map(Some));
    }
}
