//! Doubts: facts of a connection that a capture may not show, in one table. Each row has its name, what it
//! keeps from being judged, its test, and its words. The judge asks what is hidden, and not for a row.

pub mod of_wait;
pub mod size;

use crate::judge::thresholds::LOSSY_ONE_OF;
use crate::track::Connection;
use crate::track::half::Half;

/// Questions that a doubt leaves open, besides whether a connection is clean.
pub mod hides {
    /// Whether a wait was a hold.
    pub const HOLDS: u8 = 1 << 0;
    /// Whether data released what followed it.
    pub const REPLIES: u8 = 1 << 1;
    /// Which data was unacknowledged.
    pub const ACKS: u8 = 1 << 2;
    /// The order of frames.
    pub const ORDER: u8 = 1 << 3;
    /// How long anything took.
    pub const WAITS: u8 = 1 << 4;
    /// Whether small segments left unheld.
    pub const UNHELD: u8 = 1 << 5;
}

use hides::{ACKS, HOLDS, ORDER, REPLIES, UNHELD, WAITS};

/// Something that a capture does not show.
pub struct Doubt {
    pub hidden: Hidden,
    hides: u8,
    /// `None` where it is known only once all waits are judged: see `finding::hidden`.
    test: Option<fn(&Connection) -> bool>,
    /// The doubt in a sentence, of one connection or of several, and what to capture instead.
    pub sentence: &'static str,
    pub remedy: &'static str,
}

macro_rules! doubts {
    ($($hidden:ident $name:literal, $hides:expr, $test:expr, $sentence:literal, $remedy:literal;)+) => {
        /// Why a connection without a stall cannot be called clean, if it cannot.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Hidden { Nothing, $($hidden,)+ }

        impl Hidden {
            pub const NAMES: &[&str] = &["", $($name),+];
            pub const COUNT: usize = Self::NAMES.len();
            /// The doc of the field that has their names.
            pub const DOC: &str = doubts!(@doc $($name)+);
        }

        pub const DOUBTS: &[Doubt] = &[$(Doubt {
            hidden: Hidden::$hidden,
            hides: $hides,
            test: $test,
            sentence: $sentence,
            remedy: $remedy,
        }),+];
    };
    (@doc $first:literal $($name:literal)*) => {
        concat!("Why it cannot be judged: `", $first, $("`, `", $name,)* "`.")
    };
}

// In the order in which they are asked: first the ones that leave the least to be judged.
doubts! {
    Copied "copied", 0, Some(|connection| connection.copies.is_one_itself()),
        "captured again elsewhere on the way",
        "Look at the connection that is judged instead.";
    NoData "no_data", 0, Some(|connection| connection.halves.iter().all(|half| half.bytes() == 0)),
        "no data was sent",
        "Capture while the program sends data.";
    // A stall shows in the ACKs of the other direction.
    OneDirection "one_direction", ACKS,
        Some(|connection| connection.halves.iter().any(|half| half.segments == 0)),
        "captured in one direction only",
        "Capture both directions.";
    MadeUpTimes "made_up_times", HOLDS | ACKS | WAITS, Some(Connection::is_even),
        "the times of its frames are made up: all are round, or the same few distances apart",
        "Use the capture as it was taken, with the times of its frames.";
    OutOfOrder "out_of_order", HOLDS | ORDER, Some(Connection::is_out_of_order),
        "frames are not in the order of time",
        "Sort the file by time (reordercap); capture both directions together.";
    Disordered "disordered", REPLIES | ORDER, Some(Connection::is_disordered),
        "segments appear after their ACKs: two clocks",
        "Capture both directions on one interface, with one clock.";
    AcksBehind "acks_behind", 0, None,
        "ACKs are stamped just behind segments that they may have released",
        "Capture both directions on one interface, with one clock, on the sending host at best.";
    Elided "elided", 0, None,
        "rows of the text were left out ('[...]')",
        "Paste all rows of the connection.";
    // ACKs may be missing that allowed what looks like `TCP_NODELAY`.
    Lossy "lossy", UNHELD, Some(is_lossy),
        "too many frames are missing",
        "Capture with a larger buffer (tcpdump -B) or a filter.";
    // Its clock ticks as seldom as the shortest delayed ACK comes.
    CoarseClock "coarse_clock", 0, None,
        "timestamps are too coarse to reveal a hold",
        "Capture with microsecond timestamps.";
    NoAcks "no_acks", 0, None,
        "pure ACKs seem to be missing, as with a capture filter for data only",
        "Capture with a filter for hosts and ports only ('tcp port ...'): it keeps pure ACKs.";
    Blurred "blurred", 0, None,
        "could be Nagle or the program pausing",
        "Capture more exchanges, on the sending host if this was captured elsewhere.";
    CutOff "cut_off", 0, None,
        "the capture ends too soon after a late ACK",
        "Capture for longer.";
}

/// Is so much data missing that the frames between it must be, too?
fn is_lossy(connection: &Connection) -> bool {
    let bytes: u64 = connection.halves.iter().map(Half::bytes).sum();
    let unseen: u64 = connection.halves.iter().map(|half| half.unseen().0).sum();
    unseen.saturating_mul(LOSSY_ONE_OF) >= unseen.saturating_add(bytes)
}

impl Hidden {
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl Doubt {
    /// Is it known only once all waits are judged?
    pub fn is_late(&self) -> bool {
        self.test.is_none()
    }

    fn bit(&self) -> u16 {
        1 << self.hidden as u8
    }
}

/// The doubts about one connection before it is judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Doubts {
    /// A bit for each of them.
    rows: u16,
    /// All that they hide.
    hides: u8,
}

impl Doubts {
    pub fn of(connection: &Connection) -> Self {
        let mut doubts = Self::default();
        for doubt in DOUBTS {
            if doubt.test.is_some_and(|test| test(connection)) {
                doubts.rows |= doubt.bit();
                doubts.hides |= doubt.hides;
            }
        }
        doubts
    }

    /// Is one of these hidden?
    pub fn hide(self, what: u8) -> bool {
        self.hides & what != 0
    }

    pub fn has(self, doubt: &Doubt) -> bool {
        self.rows & doubt.bit() != 0
    }

    /// The first doubt that hides one of these.
    pub fn about(self, what: u8) -> Option<&'static Doubt> {
        DOUBTS.iter().find(|doubt| self.has(doubt) && doubt.hides & what != 0)
    }

    #[cfg(test)]
    pub fn hiding(hides: u8) -> Self {
        Self { rows: 0, hides }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_gets_no_verdict_is_told_why_and_what_to_capture_instead() {
        for (place, doubt) in (1..).zip(DOUBTS) {
            let name = doubt.hidden.name();
            assert_eq!((doubt.hidden as usize, name.is_empty()), (place, false));
            assert!(!doubt.sentence.is_empty() && !doubt.sentence.ends_with('.'), "{name}");
            assert!(doubt.remedy.len() > 1 && doubt.remedy.ends_with('.'), "{name}");
        }
    }
}
