//! Words that a field can take.

use crate::judge::capture::point::CapturePoint;
use crate::judge::causes::Cause;
use crate::judge::finding::verdict::Verdict;
use crate::judge::model::Confidence;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::variant::Variant;
use crate::track::Side;
use crate::track::follower::Repeat;

/// One of few names: a category in a table, a string elsewhere.
pub trait Category: Copy {
    fn names() -> Vec<&'static str>;

    /// Its place among the names.
    fn index(self) -> u8;

    fn name(self) -> &'static str;

    fn is_unknown(self) -> bool {
        self.name() == "unknown"
    }
}

impl Category for Side {
    fn names() -> Vec<&'static str> {
        Side::BOTH.map(Side::name).to_vec()
    }

    fn index(self) -> u8 {
        self as u8
    }

    fn name(self) -> &'static str {
        self.name()
    }
}

/// Enums whose names stand in the order of their variants.
macro_rules! by_discriminant {
    ($($kind:ty),*) => {$(
        impl Category for $kind {
            fn names() -> Vec<&'static str> {
                Self::NAMES.to_vec()
            }

            fn index(self) -> u8 {
                self as u8
            }

            fn name(self) -> &'static str {
                self.name()
            }
        }
    )*};
}

by_discriminant!(CapturePoint, Cause, Confidence, Nagle, Repeat, Variant, Verdict);
