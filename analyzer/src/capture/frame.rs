//! Frames, how they end, and how records count: common to all formats of captures.

use crate::capture::progress::Stopped;
use crate::capture::times::clamped;

/// A larger record is damage. libpcap allows 128 MiB for D-Bus and 256 KiB for everything else; no
/// network frame comes near 16 MiB.
pub(super) const MAX_RECORD: usize = 16 << 20;

/// A frame as it was captured.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Nanoseconds since the epoch, as [`times`](crate::capture::times) has them.
    pub time_ns: i64,
    /// Bytes on the wire; `data` may hold fewer.
    pub wire_len: u32,
    /// A `LINKTYPE_` number.
    pub link_type: u32,
    pub data: &'a [u8],
}

/// How the frames of a capture ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InputEnd {
    /// At the end of the file.
    #[default]
    Complete,
    /// In the middle of a record: the file is truncated or still being written.
    Cut,
    /// At a record that makes no sense.
    Damaged(&'static str),
    /// With a read error.
    Failed(String),
    /// Where the user stopped it.
    Stopped(Stopped),
}

impl From<std::io::Error> for InputEnd {
    /// Truncated compressed data counts as a truncated file.
    fn from(error: std::io::Error) -> Self {
        let stopped = error.get_ref().and_then(|inner| inner.downcast_ref::<Stopped>());
        match (error.kind(), stopped) {
            (_, Some(stopped)) => InputEnd::Stopped(stopped.clone()),
            (std::io::ErrorKind::UnexpectedEof, _) => InputEnd::Cut,
            _ => InputEnd::Failed(error.to_string()),
        }
    }
}

/// The first words of `bytes`; `None` if they are not all there.
#[inline]
pub(super) fn words<const COUNT: usize>(bytes: &[u8], big_endian: bool) -> Option<[u32; COUNT]> {
    let words = bytes.as_chunks().0.first_chunk::<COUNT>()?;
    let words = words.map(u32::from_le_bytes);
    Some(if big_endian { swapped(words) } else { words })
}

/// Rare: kept out of the hot loop.
#[cold]
fn swapped<const COUNT: usize>(words: [u32; COUNT]) -> [u32; COUNT] {
    words.map(u32::swap_bytes)
}

/// How a capture counts fractions of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fraction {
    /// In units of this many ns.
    Whole(i64),
    /// This many units per second, none of them a whole number of ns.
    PerSecond(u64),
}

impl Fraction {
    pub fn new(units_per_second: u64) -> Self {
        match 1_000_000_000 % units_per_second {
            0 => Self::Whole((1_000_000_000 / units_per_second) as i64),
            _ => Self::PerSecond(units_per_second),
        }
    }

    /// An offset and a fraction as ns since the epoch; impossible times saturate.
    #[inline]
    pub fn to_ns(self, offset_ns: i64, fraction: u64) -> i64 {
        let fraction_ns = match self {
            Self::Whole(unit_ns) => {
                i64::try_from(fraction).unwrap_or(i64::MAX).saturating_mul(unit_ns)
            }
            Self::PerSecond(units) => {
                let ns = u128::from(fraction) * 1_000_000_000 / u128::from(units);
                i64::try_from(ns).unwrap_or(i64::MAX)
            }
        };
        clamped(offset_ns.saturating_add(fraction_ns))
    }
}
