//! The TCP options of a segment.

/// The TCP options the analysis uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes (SYN segments); 0 where none is announced.
    pub mss: u16,
    /// Window scale shift count (SYN segments).
    pub window_scale: Option<u8>,
    /// Timestamp value as on the wire: four bytes need no padding.
    tsval: [u8; 4],
    /// Which of those that the analysis asks for are there, as bits: another one takes no room.
    present: u8,
    /// The capture's snap length cut some of them off: what is missing here may have been there.
    pub cut: bool,
}

/// Bit of [`Options::present`].
const TSVAL: u8 = 1 << 0;

/// NOP NOP, kind 8, length 10: how nearly every stack begins timestamps (RFC 7323, appendix A).
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
/// SACK permitted, then timestamps, in a SYN of Linux (`tcp_options_write`): after the MSS, before
/// NOP and the window scale.
const SACK_TIMESTAMPS: [u8; 4] = [4, 2, 8, 10];

/// RFC 7323, section 2.3: a larger shift counts as this.
const MAX_SHIFT: u8 = 14;

impl Options {
    /// Reads the options until their end or the first that makes no sense (RFC 9293, section 3.1).
    pub fn read(bytes: &[u8], cut: bool) -> Self {
        Self { cut, ..all_options(bytes) }
    }

    /// Reads no options, timestamps alone, or those of Linux's SYN; leaves others to [`Options::read`].
    #[inline]
    pub fn plain(bytes: &[u8]) -> Option<Self> {
        match *bytes.as_chunks().0 {
            [] => Some(Self::default()),
            [TIMESTAMPS, tsval, _tsecr] => Some(Self { tsval, present: TSVAL, ..Self::default() }),
            [[2, 4, high, low], SACK_TIMESTAMPS, tsval, _tsecr, [1, 3, 3, shift]] => {
                let mss = u16::from_be_bytes([high, low]);
                let window_scale = Some(shift.min(MAX_SHIFT));
                Some(Self { mss, window_scale, tsval, present: TSVAL, cut: false })
            }
            _ => None,
        }
    }

    /// Timestamp value (RFC 7323). The option takes 12 bytes from each segment.
    #[inline]
    pub fn tsval(&self) -> Option<u32> {
        (self.present & TSVAL != 0).then_some(u32::from_be_bytes(self.tsval))
    }
}

fn all_options(mut bytes: &[u8]) -> Options {
    let mut found = Options::default();
    loop {
        bytes = match bytes {
            [1, rest @ ..] => rest,
            &[2, 4, high, low, ref rest @ ..] => {
                found.mss = u16::from_be_bytes([high, low]);
                rest
            }
            &[3, 3, shift, ref rest @ ..] => {
                found.window_scale = Some(shift.min(MAX_SHIFT));
                rest
            }
            &[8, 10, t0, t1, t2, t3, _, _, _, _, ref rest @ ..] => {
                found.tsval = [t0, t1, t2, t3];
                found.present |= TSVAL;
                rest
            }
            &[kind, length, ..]
                if kind > 0 && length >= 2 && usize::from(length) <= bytes.len() =>
            {
                &bytes[usize::from(length)..]
            }
            // The end, or nonsense.
            _ => return found,
        };
    }
}
