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
    has_tsval: bool,
    /// The capture's snap length cut some of them off: what is missing here may have been there.
    pub cut: bool,
}

/// NOP NOP, kind 8, length 10: how nearly every stack begins timestamps (RFC 7323, appendix A).
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];

impl Options {
    /// Reads the options until their end or the first that makes no sense (RFC 9293, section 3.1).
    pub fn read(bytes: &[u8], cut: bool) -> Self {
        Self { cut, ..all_options(bytes) }
    }

    /// Reads no options, or timestamps alone; leaves others to [`Options::read`].
    #[inline]
    pub fn plain(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let [start, tsval, _tsecr] = *<&[[u8; 4]; 3]>::try_from(bytes.as_chunks().0).ok()?;
        (start == TIMESTAMPS).then(|| Self { tsval, has_tsval: true, ..Self::default() })
    }

    /// Timestamp value (RFC 7323). The option takes 12 bytes from each segment.
    #[inline]
    pub fn tsval(&self) -> Option<u32> {
        self.has_tsval.then_some(u32::from_be_bytes(self.tsval))
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
                // RFC 7323, section 2.3: a shift above 14 counts as 14.
                found.window_scale = Some(shift.min(14));
                rest
            }
            &[8, 10, t0, t1, t2, t3, _, _, _, _, ref rest @ ..] => {
                (found.tsval, found.has_tsval) = ([t0, t1, t2, t3], true);
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
