//! How sure a stall is, and why not more.

/// How sure a stall is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Possible,
    Likely,
    Certain,
}

impl Confidence {
    pub const NAMES: [&'static str; 3] = ["possible", "likely", "certain"];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
