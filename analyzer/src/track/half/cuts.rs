//! Where a sender cuts its messages: the path carries no more at once, whatever the SYN announced.
//!
//! A kernel pushes the end of what the program wrote (RFC 9293, section 3.9.1.2; Linux `tcp_mark_push`, BSD
//! `tcp_output`, Windows). A segment that is not pushed, with more right behind it, was cut in the middle: at the MSS
//! that the path leaves (RFC 1191), less the options that it carries.

use crate::track::half::{Half, state};
use crate::track::thresholds::{CUTS, LEAST_MSS, MOST_CUTS};

impl Half {
    /// The payload that the path carries at once, in bytes, where messages were cut there again and again. Merged by
    /// offloading, several are one.
    pub fn carried(&self) -> Option<u32> {
        (self.cuts >= CUTS).then_some(self.carried.into())
    }

    /// More new data comes, by now with an effective MSS of `mss` bytes: was the last data cut?
    #[inline]
    pub(super) fn note_cut(&mut self, mss: u32) {
        // A window without room cuts, too. Less than none: its scale is not known.
        let by_window = (0..mss as i32).contains(&self.room);
        let unacked = self.sequence.acked_part().is_some();
        if self.is_last_cut() && unacked && !by_window {
            self.count_cut();
        }
    }

    /// Is the last data so long, and not pushed, that it may have been cut?
    #[inline]
    pub fn is_last_cut(&self) -> bool {
        self.last_len >= LEAST_MSS && !self.state.is(state::PUSHED)
    }

    fn count_cut(&mut self) {
        let len = self.last_len.min(u16::MAX.into()) as u16;
        if self.cuts == 0 {
            (self.carried, self.cuts) = (len, 1);
        } else if len == self.carried || len.is_multiple_of(self.carried) {
            self.cuts = (self.cuts + 1).min(MOST_CUTS);
        } else if self.carried.is_multiple_of(len) {
            self.carried = len;
        } else {
            self.cuts -= 1;
        }
    }
}
