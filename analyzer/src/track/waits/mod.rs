//! The waits that a shard keeps, and how many it only counts.

mod longest;

use crate::track::arrivals::Arrivals;
use crate::track::by_block::ByBlock;
use crate::track::table::key::SHARDS;
use crate::track::wait::{End, Facts, Wait, fact};
use crate::track::waits::longest::Longest;
use crate::track::{Mark, Side};
use std::mem;

/// All waits that look like stalls while streaming are kept. Of the others a shard keeps this many of
/// each kind and side, then only the [`Longest`], and counts the rest: memory does not grow with the
/// packets, and the waits of a slow server are not lost among those of its clients.
const MAX_OTHER_WAITS: usize = (1 << 17) / SHARDS;
/// Fewer pauses of clients, as they are no problem; most waits are.
const MAX_PAUSES: usize = (1 << 15) / SHARDS;

/// Kinds of waits, by what each was for: every kind has room of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitKind {
    /// The client had its answer, and nothing kept it from asking more.
    Pause,
    /// An answer was due to the other end.
    Answer,
    AfterOwnData,
    AckOnly,
}

impl WaitKind {
    const COUNT: usize = 4;

    fn of(by: Side, end: End, facts: Facts) -> Self {
        let has = |fact| facts.has_any(fact);
        match by {
            _ if has(fact::OWN_DATA_BEFORE) => Self::AfterOwnData,
            _ if end == End::Ack => Self::AckOnly,
            // Data that never came is owed, by whomever.
            Side::Client if !has(fact::HINDERED) && !matches!(end, End::InVain(_)) => Self::Pause,
            _ => Self::Answer,
        }
    }

    fn most(self) -> usize {
        if self == Self::Pause { MAX_PAUSES } else { MAX_OTHER_WAITS }
    }
}

/// The waits of a shard. Those of a block of connections are in the order of their ends; the longest
/// ones follow at the [`end`](Self::end).
#[derive(Debug, Default)]
pub struct Waits {
    /// Judged in place at the end of the capture.
    pub kept: ByBlock<Wait>,
    /// How many were kept, by who ended them, and by their kind.
    others: [[usize; WaitKind::COUNT]; 2],
    /// By who ended them.
    longest: [Longest; 2],
    /// Waits that data of the peer ended as soon as a kernel would: holds, or answers. As many are kept as of
    /// a kind of the others.
    pub by_data: ByBlock<Wait>,
    by_data_count: usize,
    /// Arrivals that may have ended waits on other connections.
    pub arrivals: Arrivals,
    pub unlisted: u64,
    pub unlisted_ns: i64,
}

impl Waits {
    /// Adds facts to the waits that ended with `frame`, if they were kept.
    pub fn mark(&mut self, connection: u32, by: Side, frame: u32, facts: Facts) {
        self.ended(connection, by, frame).for_each(|wait| wait.facts |= facts);
    }

    /// Takes an ACK at `ack`, just behind `frame`, which it may have let go; returns the wait that ended with
    /// that frame, if it was kept.
    pub fn free_behind(
        &mut self,
        connection: u32,
        by: Side,
        frame: u32,
        ack: Mark,
    ) -> Option<&Wait> {
        let is_own = |wait: &&mut Wait| wait.is(fact::OWN_DATA_BEFORE) && !wait.has_ack();
        let wait = self.ended(connection, by, frame).find(is_own)?;
        wait.ack = ack;
        wait.facts = wait.facts.without(fact::UNACKED_AT_SEND) | fact::PURE_ACK | fact::ACK_BEHIND;
        Some(wait)
    }

    /// The recent waits of `by` that ended with `frame`.
    pub fn ended(
        &mut self,
        connection: u32,
        by: Side,
        frame: u32,
    ) -> impl Iterator<Item = &mut Wait> {
        /// Waits of neighbouring connections that may have ended since.
        const RECENT: usize = 64;
        let waits = self.kept.of(connection).iter_mut().rev().take(RECENT);
        let longest = self.longest[by as usize].iter_mut();
        let is_own = move |wait: &&mut Wait| (wait.connection, wait.by) == (connection, by);
        waits.chain(longest).filter(is_own).filter(move |wait| wait.to.frame == frame)
    }

    /// Keeps a wait, whatever room there is.
    pub fn keep(&mut self, wait: Wait) {
        if !wait.is_possible() {
            return;
        }
        self.kept.push(wait.connection, wait);
    }

    /// Keeps a wait that data ended, while there is room.
    pub fn keep_by_data(&mut self, wait: Wait) {
        if self.by_data_count < MAX_OTHER_WAITS {
            self.by_data_count += 1;
            self.by_data.push(wait.connection, wait);
        }
    }

    /// True if there is room for a wait that data of `by` ended, with these facts.
    pub fn has_room_for(&self, by: Side, facts: Facts, wait_ns: i64) -> bool {
        let (kind, by) = (WaitKind::of(by, End::Data, facts), by as usize);
        let is_long = || kind != WaitKind::Pause && self.longest[by].has_room_for(wait_ns);
        self.others[by][kind as usize] < kind.most() || is_long()
    }

    /// Keeps any other wait. Without room it is counted, if it is long enough to be listed.
    pub fn push_other(&mut self, wait: Wait, listed_ns: i64) {
        if !wait.is_possible() {
            return;
        }
        let (kind, by) = (WaitKind::of(wait.by, wait.end, wait.facts), wait.by as usize);
        let kept = &mut self.others[by][kind as usize];
        if *kept < kind.most() {
            *kept += 1;
            self.keep(wait);
            return;
        }
        let left = match kind {
            WaitKind::Pause => Some(wait),
            _ => self.longest[by].push(wait),
        };
        if let Some(left) = left.filter(|left| left.wait_ns() >= listed_ns) {
            self.count_other(left.wait_ns());
        }
    }

    /// The capture has ended: keeps the longest of those for which there was no room.
    pub fn end(&mut self) {
        for mut wait in mem::take(&mut self.longest).into_iter().flat_map(Longest::into_iter) {
            wait.facts |= fact::LONGEST;
            self.keep(wait);
        }
    }

    /// Counts a wait for which there is no room.
    pub fn count_other(&mut self, wait_ns: i64) {
        self.unlisted += 1;
        self.unlisted_ns = self.unlisted_ns.saturating_add(wait_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_did_takes_no_room_from_the_other() {
        let from = Mark { time_ns: 0, frame: 1 };
        let slow_server = Wait { from, ..Wait::unknown(0, Side::Server) };
        let of_client = |facts| Wait { facts, from, ..Wait::unknown(0, Side::Client) };
        let most = MAX_OTHER_WAITS + longest::MOST;
        let kinds = [
            (of_client(Facts::NONE), MAX_PAUSES),
            (of_client(fact::OWN_DATA_BEFORE), most),
            (Wait { end: End::Ack, ..of_client(fact::PURE_ACK) }, most),
            (of_client(fact::WINDOW_FULL), most),
        ];
        for (many, most_of_many) in kinds {
            let mut waits = Waits::default();
            for frame in 0..=most as u32 {
                let to = Mark { time_ns: 0, frame };
                waits.push_other(Wait { to, ..many }, 0);
                waits.push_other(Wait { to, ..slow_server }, 0);
            }
            waits.end();
            let kept = waits.kept.of(0);
            let of_server = kept.iter().filter(|row| row.by == Side::Server).count();
            assert_eq!((kept.len() - of_server, of_server), (most_of_many, most));
            assert_eq!(waits.unlisted as usize, 2 * (most + 1) - kept.len());
        }
    }

    #[test]
    fn a_long_wait_for_what_was_lost_is_marked_wherever_it_is() {
        let mut waits = Waits::default();
        for frame in 1..=MAX_OTHER_WAITS as u32 + 1 {
            let to = Mark { time_ns: 0, frame };
            waits.push_other(Wait { from: to, to, ..Wait::unknown(7, Side::Server) }, 0);
        }
        let last = MAX_OTHER_WAITS as u32 + 1;
        for frame in [last, last - 1, 1] {
            waits.mark(7, Side::Server, frame, fact::LOST_BEFORE);
        }
        waits.mark(7, Side::Client, 2, fact::LOST_BEFORE);
        waits.end();
        let marked = waits.kept.of(7).iter().filter(|row| row.is(fact::LOST_BEFORE));
        // The first was too long ago.
        assert!(marked.map(|row| row.to.frame).eq([last - 1, last]));
    }
}
