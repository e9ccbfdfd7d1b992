//! The pauses of a program: waits between data of its own that ended long after an ACK.

use crate::track::wait::Wait;

/// Kinds per direction: 8 KB.
const MOST: usize = 256;
/// Pauses after writes of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub min_ns: i64,
    pub max_ns: i64,
    pub unacked_len: u32,
    pub count: u32,
}

/// The pauses of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pauses {
    kinds: Vec<Pause>,
}

impl Pause {
    pub fn new(wait: &Wait) -> Self {
        Self {
            min_ns: wait.span_ns(),
            max_ns: wait.span_ns(),
            unacked_len: wait.unacked_len,
            count: 1,
        }
    }

    /// Adds another one after a write of this length.
    pub fn add(&mut self, more: &Self) {
        self.min_ns = self.min_ns.min(more.min_ns);
        self.max_ns = self.max_ns.max(more.max_ns);
        self.count = self.count.saturating_add(more.count);
    }
}

impl Pauses {
    pub const NONE: Self = Self { kinds: Vec::new() };

    /// Adds a pause. For one kind too many the first that was seen only once makes room.
    pub fn add(&mut self, pause: Pause) {
        let is_same = |kind: &&mut Pause| kind.unacked_len == pause.unacked_len;
        if let Some(kind) = self.kinds.iter_mut().find(is_same) {
            kind.add(&pause);
            return;
        }
        if self.kinds.len() == MOST {
            let Some(once) = self.kinds.iter().position(|kind| kind.count == 1) else { return };
            self.kinds.remove(once);
        }
        self.kinds.push(pause);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Pause> {
        self.kinds.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_once_makes_room_and_what_comes_again_stays() {
        let pause = |unacked_len, length_ns| Pause {
            min_ns: length_ns,
            max_ns: length_ns,
            unacked_len,
            count: 1,
        };
        let mut pauses = Pauses::NONE;
        pauses.add(pause(1, 40));
        pauses.add(pause(1, 60));
        (2..=MOST as u32 + 9).for_each(|len| pauses.add(pause(len, 20)));
        let kinds: Vec<&Pause> = pauses.iter().collect();
        assert_eq!(kinds.len(), MOST);
        let again = Pause { max_ns: 60, count: 2, ..pause(1, 40) };
        assert_eq!((*kinds[0], kinds[1].unacked_len), (again, 11));
    }
}
