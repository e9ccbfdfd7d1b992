//! The answer in one word, and the reasons why there may be none: a capture must show what it does not hold.

use crate::judge::finding::hidden::{self, Seen};
use crate::judge::finding::losses;
use crate::judge::thresholds::BLINDING_CLOCK_NS;
use crate::named::named;
use serde::Serialize;

named! {
    /// The answer on a connection, or on all of them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Verdict {
        /// One stall at least is likely or certain.
        Stalls = "stalls",
        /// There are stalls, and each is only possible.
        Possible = "possible",
        /// No stall of the shortest wait listed or longer, and the capture would show one.
        Clean = "clean",
        /// It would not.
        Inconclusive = "inconclusive",
    }
}

/// A reason why the stalls of a connection may not show.
pub struct Reason {
    pub hidden: Hidden,
    /// Does it apply?
    pub applies: fn(&Seen<'_>) -> bool,
    /// The reason in a sentence, of one connection or of several, and what to capture instead.
    pub sentence: &'static str,
    pub remedy: &'static str,
}

macro_rules! reasons {
    ($($hidden:ident $name:literal, $applies:expr, $sentence:literal, $remedy:literal;)+) => {
        /// Why a connection without a stall cannot be called clean, if it cannot.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Hidden { Nothing, $($hidden,)+ }

        impl Hidden {
            pub const NAMES: &[&str] = &["", $($name),+];
            pub const COUNT: usize = Self::NAMES.len();
            /// The doc of the field that has their names.
            pub const DOC: &str = reasons!(@doc $($name)+);
        }

        pub const REASONS: &[Reason] = &[$(Reason {
            hidden: Hidden::$hidden,
            applies: $applies,
            sentence: $sentence,
            remedy: $remedy,
        }),+];
    };
    (@doc $first:literal $($name:literal)*) => {
        concat!("Why it cannot be judged: `", $first, $("`, `", $name,)* "`.")
    };
}

// In the order in which they are asked: first the ones that leave the least to be judged.
reasons! {
    Copied "copied", |seen| seen.connection.copies.is_one_itself(),
        "captured again elsewhere on the way",
        "Look at the connection that is judged instead.";
    NoData "no_data", |seen| seen.connection.halves.iter().all(|half| half.bytes() == 0),
        "no data was sent",
        "Capture while the program sends data.";
    // A stall shows in the ACKs of the other direction.
    OneDirection "one_direction", |seen| seen.connection.halves.iter().any(|half| half.segments == 0),
        "captured in one direction only",
        "Capture both directions.";
    MadeUpTimes "made_up_times", |seen| seen.connection.is_even(),
        "the times of its frames are made up: they lie the same few distances apart, again and again",
        "Use the capture as it was taken, with the times of its frames.";
    OutOfOrder "out_of_order", |seen| seen.connection.is_out_of_order(),
        "frames are not in the order of time",
        "Sort the file by time (reordercap); capture both directions together.";
    Disordered "disordered", |seen| seen.connection.is_disordered(),
        "segments appear after their ACKs: two clocks",
        "Capture both directions on one interface, with one clock.";
    AcksBehind "acks_behind", hidden::has_acks_behind,
        "ACKs are stamped just behind segments that they may have released",
        "Capture both directions on one interface, with one clock, on the sending host at best.";
    Lossy "lossy", |seen| losses::is_lossy(seen.connection),
        "too many frames are missing",
        "Capture with a larger buffer (tcpdump -B) or a filter.";
    Elided "elided", |seen| seen.conditions.is_elided,
        "rows of the text were left out ('[...]')",
        "Paste all rows of the connection.";
    // Its clock ticks as seldom as the shortest delayed ACK comes.
    CoarseClock "coarse_clock", |seen| seen.conditions.clock_ns >= BLINDING_CLOCK_NS,
        "timestamps are too coarse to reveal a hold",
        "Capture with microsecond timestamps.";
    NoAcks "no_acks", hidden::lacks_acks,
        "pure ACKs seem to be missing, as with a capture filter for data only",
        "Capture with a filter for hosts and ports only ('tcp port ...'): it keeps pure ACKs.";
    Blurred "blurred", hidden::is_blurred,
        "could be Nagle or the program pausing",
        "Capture more exchanges, on the sending host if this was captured elsewhere.";
    CutOff "cut_off", hidden::is_cut_off,
        "the capture ends too soon after a late ACK",
        "Capture for longer.";
}

impl Hidden {
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_gets_no_verdict_is_told_why_and_what_to_capture_instead() {
        for (place, reason) in (1..).zip(REASONS) {
            let name = reason.hidden.name();
            assert_eq!((reason.hidden as usize, name.is_empty()), (place, false));
            assert!(!reason.sentence.is_empty() && !reason.sentence.ends_with('.'), "{name}");
            assert!(reason.remedy.len() > 1 && reason.remedy.ends_with('.'), "{name}");
            assert!(Hidden::DOC.contains(&format!("`{name}`")), "{name}");
        }
        assert_eq!(REASONS.len() + 1, Hidden::COUNT);
    }
}
