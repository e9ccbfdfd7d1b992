//! How soon a program reacts to data of the peer while nothing of its own is outstanding.

use crate::track::thresholds::QUICKEST_ONE_OF;

/// Two for each octave from 1 us on; the last one takes all from 2.9 ms on.
const BINS: usize = 24;
const FIRST_NS: i64 = 1_000;

/// Counts of reactions by half octaves; each saturates.
#[derive(Debug, Clone)]
pub struct Reactions {
    bins: [u8; BINS],
    /// Segments that may have waited until data acknowledged all before them, but left later than a
    /// kernel sends. Saturates.
    pub late: u16,
}

impl Reactions {
    pub const NONE: Self = Self { bins: [0; BINS], late: 0 };

    /// Natural logarithm of the ratio of a bin's ends.
    pub const WIDTH: f64 = std::f64::consts::LN_2 / 2.0;

    pub fn add(&mut self, after_ns: i64) {
        let count = &mut self.bins[bin(after_ns)];
        *count = count.saturating_add(1);
    }

    /// Adds those of another connection of the same program.
    pub fn extend(&mut self, more: &Self) {
        for (count, more) in self.bins.iter_mut().zip(more.bins) {
            *count = count.saturating_add(more);
        }
        self.late = self.late.saturating_add(more.late);
    }

    pub fn count(&self) -> u32 {
        self.bins.iter().copied().map(u32::from).sum()
    }

    /// How many were no later than this, or in the same half octave.
    pub fn within(&self, after_ns: i64) -> u32 {
        self.bins[..=bin(after_ns)].iter().copied().map(u32::from).sum()
    }

    /// How many lie about there: half of those in its half octave, and a quarter of those beside it.
    pub fn about(&self, after_ns: i64) -> f64 {
        let at = bin(after_ns);
        let count = |at: Option<usize>| {
            at.and_then(|at| self.bins.get(at)).map_or(0.0, |&count| f64::from(count))
        };
        count(Some(at)) / 2.0 + (count(at.checked_sub(1)) + count(Some(at + 1))) / 4.0
    }

    /// The quickest twentieth is no later than this, in ns; `None` for no reactions.
    pub fn quickest_ns(&self) -> Option<i64> {
        let twentieth = self.count().div_ceil(QUICKEST_ONE_OF);
        let mut sum = 0;
        let reached = |count: &u8| {
            sum += u32::from(*count);
            sum >= twentieth
        };
        let at = self.bins.iter().position(reached).filter(|_| twentieth > 0)?;
        Some((FIRST_NS as f64 * (Self::WIDTH * (at + 1) as f64).exp()) as i64)
    }
}

fn bin(after_ns: i64) -> usize {
    let octaves = (after_ns.max(FIRST_NS) as f64 / FIRST_NS as f64).log2();
    ((2.0 * octaves) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_twentieth_and_what_lies_about_a_place() {
        let mut all = Reactions::NONE;
        assert_eq!((all.quickest_ns(), all.about(9_000)), (None, 0.0));
        (0..39).for_each(|_| all.add(500_000));
        all.add(-7);
        all.add(i64::MAX);
        assert_eq!(all.count(), 41);
        assert!((400_000..800_000).contains(&all.quickest_ns().unwrap()));
        assert!((all.about(500_000) - 19.5).abs() < 1e-9);
        assert_eq!((all.within(100_000), all.within(500_000)), (1, 40));
    }
}
