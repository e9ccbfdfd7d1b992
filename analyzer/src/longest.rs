//! The longest of more waits than are kept.

use crate::wait::Wait;
use std::collections::BTreeMap;

/// More than any report shows; few, as all of them are looked at after each loss.
pub const MOST: usize = 128;

/// The longest waits seen, [`MOST`] of them at most.
#[derive(Debug, Default)]
pub struct Longest {
    /// By length in ns and the frame that ended them.
    waits: BTreeMap<(i64, u64), Wait>,
}

impl Longest {
    /// Would a wait of this length be one of them?
    pub fn has_room_for(&self, wait_ns: i64) -> bool {
        let shortest = self.waits.first_key_value();
        self.waits.len() < MOST || shortest.is_some_and(|((least_ns, _), _)| wait_ns > *least_ns)
    }

    /// Adds a wait; returns the one that there is no room for any more.
    pub fn push(&mut self, wait: Wait) -> Option<Wait> {
        let twin = self.waits.insert((wait.wait_ns(), wait.to.frame), wait);
        match self.waits.len() {
            ..=MOST => twin,
            _ => self.waits.pop_first().map(|(_, shortest)| shortest),
        }
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Wait> {
        self.waits.values_mut()
    }

    pub fn into_iter(self) -> impl Iterator<Item = Wait> {
        self.waits.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Mark, Side};

    fn wait(length_ns: i64, frame: u64) -> Wait {
        let to = Mark { time_ns: length_ns, frame };
        Wait { to, ..Wait::unknown(0, Side::Server) }
    }

    #[test]
    fn the_longest_stay_and_every_other_one_is_returned() {
        let mut longest = Longest::default();
        // All lengths below 1,009 in some order, some of them twice, at the same frame too.
        let lengths = (0..1009).map(|step| step * 17 % 1009).chain([1008, 7]);
        let waits = lengths.zip(0..).map(|(length_ns, frame)| wait(length_ns, frame % 1009));
        let returned: Vec<i64> = waits
            .filter_map(|wait| {
                let has_room = longest.has_room_for(wait.wait_ns());
                let returned = longest.push(wait);
                assert!(has_room || returned.is_some_and(|it| it.wait_ns() == wait.wait_ns()));
                Some(returned?.wait_ns())
            })
            .collect();
        let mut stayed: Vec<i64> = longest.into_iter().map(|wait| wait.wait_ns()).collect();
        assert_eq!((returned.len(), stayed.len()), (1011 - MOST, MOST));
        stayed.sort_unstable();
        assert_eq!(stayed[..2], [882, 883]);
        assert_eq!(stayed[MOST - 3..], [1007, 1008, 1008]);
        assert!(returned.iter().all(|&length_ns| length_ns <= 882));
    }
}
