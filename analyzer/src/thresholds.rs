//! How a number that verdicts depend on is declared: none without its unit, reason, source and leaning.
//!
//! docs/development.md lists them on the site.

/// A declared number.
pub struct Threshold {
    pub name: &'static str,
    pub value: String,
    pub unit: &'static str,
    pub reason: String,
    pub source: &'static str,
    /// Effect of a larger value.
    pub larger: &'static str,
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident: $type:ty = $value:expr) => {
        #[allow(unused_parens, reason = "a negative number is one token in parentheses")]
        $(#[$doc])* pub const $name: $type = $value;
    };
}
pub(crate) use number;

/// Declares constants, and `declared()`, which lists them.
///
/// A unit of `one_of` makes the number a denominator: 4 is a quarter.
macro_rules! thresholds {
    ($(
        $(#[doc = $reason:literal])+
        $name:ident: $type:ty = $value:tt $unit:ident, from $source:literal, larger $larger:literal;
    )+) => {
        $(crate::thresholds::number! { $(#[doc = $reason])+ $name: $type = $value })+

        pub fn declared() -> Vec<crate::thresholds::Threshold> {
            vec![$(
                crate::thresholds::Threshold {
                    name: stringify!($name),
                    value: format!("{:?}", $name),
                    unit: stringify!($unit),
                    reason: concat!($($reason),+).trim().to_owned(),
                    source: $source,
                    larger: $larger,
                },
            )+]
        }
    };
}
pub(crate) use thresholds;
