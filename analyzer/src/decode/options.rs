//! The TCP options of a segment.

use texts::flags::SYN;

/// The TCP options the analysis uses. Bytes need no alignment: with the flags they take eight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Timestamp value as on the wire.
    tsval: [u8; 4],
    /// Two bytes of the wire. In a SYN, its maximum segment size in bytes; with SACK, which no SYN
    /// has, the end of where the first block begins; else the end of the timestamp echo.
    detail: [u8; 2],
    /// Which options are present. The upper four bits: of a SYN, the window scale's shift count
    /// plus 1, 0 for none; of any other segment, [`INFERRED`], [`ANNOUNCES`], and two that are free.
    present: u8,
}

/// Bits of [`Options::present`].
const TSVAL: u8 = 1 << 0;
const SACK: u8 = 1 << 1;
const ECHO: u8 = 1 << 2;
/// The snap length cut the options: one that is missing here may have been sent.
const CUT: u8 = 1 << 3;
/// Not of a SYN: the segment was inferred.
const INFERRED: u8 = 1 << 4;
/// Not of a SYN: its payload announces a length.
const ANNOUNCES: u8 = 1 << 5;
const SCALE_AT: u8 = 4;

/// NOP, NOP, timestamps: the layout of nearly every stack (RFC 7323, appendix A).
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
/// SACK permitted, timestamps: in Linux' SYN, after MSS, before NOP, scale (`tcp_options_write`).
const SACK_TIMESTAMPS: [u8; 4] = [4, 2, 8, 10];

/// RFC 7323, section 2.3: larger shifts count as 14.
const MAX_SHIFT: u8 = 14;

impl Options {
    /// Reads the options of a segment with these flags, up to the end of the list or the first
    /// malformed one (RFC 9293, section 3.1).
    pub fn read(bytes: &[u8], cut: bool, flags: u8) -> Self {
        let mut found = all_options(bytes);
        if flags & SYN == 0 {
            // Only a SYN scales windows (RFC 7323, section 2.2).
            found.present &= (1 << SCALE_AT) - 1;
        }
        found.present |= if cut { CUT } else { 0 };
        found
    }

    /// Reads the three usual layouts: none, only timestamps, a Linux SYN.
    #[inline]
    pub fn plain(bytes: &[u8], flags: u8) -> Option<Self> {
        match *bytes.as_chunks().0 {
            [] => Some(Self::default()),
            [kinds, tsval, [_, _, high, low]] if kinds == TIMESTAMPS => {
                Some(Self { tsval, detail: [high, low], present: TSVAL | ECHO })
            }
            [[2, 4, high, low], SACK_TIMESTAMPS, tsval, _tsecr, [1, 3, 3, shift]]
                if flags & SYN != 0 =>
            {
                Some(Self { tsval, detail: [high, low], present: TSVAL | scale(shift) })
            }
            _ => None,
        }
    }

    /// Window scale shift count (SYN segments).
    pub fn window_scale(self) -> Option<u8> {
        (self.present >> SCALE_AT).checked_sub(1)
    }

    /// May an option that is missing here have been sent?
    pub fn is_cut(self) -> bool {
        self.present & CUT != 0
    }

    /// Marks a segment that printed text did not show: it proves nothing.
    pub fn infer(&mut self) {
        self.present |= INFERRED;
    }

    /// True if any segment but a SYN was inferred.
    #[inline]
    pub fn is_inferred(self) -> bool {
        self.present & INFERRED != 0
    }

    /// Marks a segment, not a SYN, whose payload announces a length.
    pub fn announce(&mut self) {
        self.present |= ANNOUNCES;
    }

    /// Does the payload of this segment, which is no SYN, announce a length?
    #[inline]
    pub fn announces(self) -> bool {
        self.present & ANNOUNCES != 0
    }

    /// `TSval` (RFC 7323). The option takes 12 bytes of each segment.
    #[inline]
    pub fn tsval(self) -> Option<u32> {
        (self.present & TSVAL != 0).then_some(u32::from_be_bytes(self.tsval))
    }

    /// The last 16 bits of `TSecr`, the newest `TSval` of the peer (RFC 7323, section 4.3).
    pub fn echo(self) -> Option<u16> {
        (self.present & ECHO != 0).then_some(u16::from_be_bytes(self.detail))
    }

    /// The last 16 bits of `TSval`; 0 where there is none.
    #[inline]
    pub fn tsval_end(self) -> u16 {
        let [_, _, high, low] = self.tsval;
        u16::from_be_bytes([high, low])
    }

    /// Is there a SACK block? Few segments have one.
    #[inline]
    pub fn has_sack(self) -> bool {
        self.present & SACK != 0
    }

    /// Does the first SACK block (RFC 2018) begin at `seq`? Its last 16 bits tell. Below the
    /// acknowledged number it names bytes that arrived twice (RFC 2883).
    pub fn is_sack_from(self, seq: u32) -> bool {
        let [.., high, low] = seq.to_be_bytes();
        self.has_sack() && self.detail == [high, low]
    }

    /// Keeps one thing in the room that there is.
    fn say(&mut self, detail: [u8; 2], what: u8) {
        self.detail = detail;
        self.present = self.present & !ECHO | what;
    }

    /// Maximum segment size in bytes; 0 where none is announced.
    pub fn mss(self) -> u16 {
        if self.present & (SACK | ECHO) == 0 { u16::from_be_bytes(self.detail) } else { 0 }
    }
}

/// The window's scale as [`Options::present`] keeps it.
fn scale(shift: u8) -> u8 {
    (shift.min(MAX_SHIFT) + 1) << SCALE_AT
}

const END: u8 = 0;
const NOP: u8 = 1;

/// Overwrites with NOPs every option that may hold an address: all but MSS, window scale, SACK and
/// timestamps. MPTCP's `ADD_ADDR` does (RFC 8684), and the client address that load balancers add
/// (TOA). Bytes after the end of the list become zeros.
pub fn blank_addresses(mut options: &mut [u8]) {
    while let [kind, rest @ ..] = &*options {
        let claimed = rest.first().map_or(0, |&len| usize::from(len));
        let (len, keep) = match (*kind, claimed) {
            (END, _) => return options.fill(END),
            (NOP, _) => (1, true),
            (2, 4) | (3, 3) | (4, 2) | (8, 10) | (5, 10 | 18 | 26 | 34) => (claimed, true),
            (_, 2..) => (claimed, false),
            // Malformed: no reader can go on from here.
            _ => (options.len(), false),
        };
        let (option, after) = options.split_at_mut(len.min(options.len()));
        if !keep {
            option.fill(NOP);
        }
        options = after;
    }
}

fn all_options(mut bytes: &[u8]) -> Options {
    let mut found = Options::default();
    loop {
        bytes = match bytes {
            [1, rest @ ..] => rest,
            &[2, 4, high, low, ref rest @ ..] => {
                found.say([high, low], 0);
                rest
            }
            &[3, 3, shift, ref rest @ ..] => {
                found.present = found.present & ((1 << SCALE_AT) - 1) | scale(shift);
                rest
            }
            &[8, 10, t0, t1, t2, t3, _, _, high, low, ref rest @ ..] => {
                found.tsval = [t0, t1, t2, t3];
                found.present |= TSVAL;
                // A SYN echoes nothing, but its answer does: the MSS counts more, SACK the most.
                if found.detail == [0; 2] && found.present & SACK == 0 {
                    found.say([high, low], ECHO);
                }
                rest
            }
            &[5, length @ (10 | 18 | 26 | 34), _, _, high, low, ..]
                if usize::from(length) <= bytes.len() =>
            {
                found.say([high, low], SACK);
                &bytes[usize::from(length)..]
            }
            &[kind, length, ..]
                if kind > 0 && length >= 2 && usize::from(length) <= bytes.len() =>
            {
                &bytes[usize::from(length)..]
            }
            // The end of the list, or malformed.
            _ => return found,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPS: [u8; 10] = [8, 10, 1, 2, 3, 4, 5, 6, 7, 8];

    fn blanked(options: &[&[u8]]) -> Vec<u8> {
        let mut bytes = options.concat();
        blank_addresses(&mut bytes);
        bytes
    }

    #[test]
    fn options_that_the_analysis_or_wireshark_needs_stay() {
        let sack = [&[5, 10][..], &[9; 8]].concat();
        let kept: [&[u8]; 6] = [&[2, 4, 5, 0xb4], &[3, 3, 7], &[4, 2], &STAMPS, &sack, &[1, 1, 0]];
        assert_eq!(blanked(&kept), kept.concat());
    }

    #[test]
    fn an_option_that_may_hold_an_address_becomes_nops_and_those_after_it_stay() {
        let add_addr = [30, 8, 0x30, 1, 10, 0, 0, 9];
        let client = [254, 8, 0x1f, 0x90, 10, 0, 0, 9];
        let no_mss = [2, 6, 10, 0, 0, 9];
        assert_eq!(blanked(&[&add_addr, &STAMPS]), [&[1; 8][..], &STAMPS].concat());
        assert_eq!(blanked(&[&client, &no_mss, &STAMPS]), [&[1; 14][..], &STAMPS].concat());
    }

    #[test]
    fn nothing_hides_after_the_end_or_in_what_cannot_be_read() {
        assert_eq!(blanked(&[&[0, 10, 0, 0, 9]]), [0; 5]);
        for broken in [&[30, 0, 10, 0, 0, 9][..], &[30, 1, 10, 0, 0, 9], &[30, 20, 10, 0], &[30]] {
            assert_eq!(blanked(&[&STAMPS, broken]), [&STAMPS, &vec![1; broken.len()][..]].concat());
        }
        assert_eq!(blanked(&[&STAMPS[..5]]), STAMPS[..5]);
    }
}
