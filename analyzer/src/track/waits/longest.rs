//! The longest of more waits than are kept.

use crate::track::wait::Wait;

/// More than any report shows, but few: all of them are looked at after each loss.
pub const MOST: usize = 128;

/// The longest waits seen, [`MOST`] of them at most.
#[derive(Debug, Default)]
pub struct Longest {
    /// The shortest comes first.
    waits: Vec<Wait>,
}

impl Longest {
    /// True if a wait of this length is one of them. Of equally long ones the first stay.
    pub fn has_room_for(&self, wait_ns: i64) -> bool {
        self.waits.len() < MOST || self.waits[0].wait_ns() < wait_ns
    }

    /// Adds a wait; returns the one that it displaces.
    pub fn push(&mut self, wait: Wait) -> Option<Wait> {
        if !self.has_room_for(wait.wait_ns()) {
            return Some(wait);
        }
        let at = self.waits.partition_point(|other| other.wait_ns() < wait.wait_ns());
        self.waits.insert(at, wait);
        (self.waits.len() > MOST).then(|| self.waits.remove(0))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Wait> {
        self.waits.iter_mut()
    }

    pub fn into_iter(self) -> impl Iterator<Item = Wait> {
        self.waits.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Mark, Side};

    fn wait(length_ns: i64) -> Wait {
        let to = Mark { time_ns: length_ns, frame: 1 };
        Wait { to, ..Wait::unknown(0, Side::Server) }
    }

    #[test]
    fn the_longest_stay_and_every_other_one_is_returned() {
        let mut longest = Longest::default();
        // All lengths below 1,009 in some order, two of them twice.
        let lengths = (0..1009).map(|step| step * 17 % 1009).chain([1008, 7]);
        let returned = lengths.filter_map(|length_ns| {
            let has_room = longest.has_room_for(length_ns);
            let returned = longest.push(wait(length_ns)).map(|wait| wait.wait_ns());
            assert!(has_room || returned == Some(length_ns));
            returned
        });
        let mut returned: Vec<i64> = returned.collect();
        let stayed: Vec<i64> = longest.into_iter().map(|wait| wait.wait_ns()).collect();
        returned.sort_unstable();
        assert!(returned.into_iter().eq((0..8).chain(7..882)));
        assert!(stayed.into_iter().eq((882..1009).chain([1008])));
    }
}
