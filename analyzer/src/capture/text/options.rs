//! TCP options from `mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7` back to bytes.

/// RFC 9293, section 3.1: the data offset leaves no more room.
const MOST: usize = 40;

/// The options of a segment, as far as they can be made from what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrintedOptions {
    bytes: [u8; MOST],
    len: u8,
    /// Where the blocks of SACK begin and end.
    sack: [u8; 2],
    pub window_shift: Option<u8>,
}

impl PrintedOptions {
    pub const NONE: Self = Self { bytes: [0; MOST], len: 0, sack: [0; 2], window_shift: None };

    /// Leaves out what the analysis does not know: tcpdump does not print all of it.
    pub fn read(printed: &str) -> Self {
        let mut options = Self::NONE;
        for option in printed.split(',') {
            let mut words = option.split_whitespace();
            let mut next = || words.next().unwrap_or_default();
            let _ = match next() {
                "nop" => options.add(&[1]),
                "sackOK" => options.add(&[4, 2]),
                "mss" => next()
                    .parse()
                    .ok()
                    .and_then(|mss: u16| options.add_with(&[2, 4], &mss.to_be_bytes())),
                "wscale" => next().parse().ok().and_then(|shift: u8| options.scale(shift)),
                "TS" | "timestamp" => options.timestamps(option),
                "sack" => options.sack(option),
                _ => None,
            };
        }
        options
    }

    /// The bytes, where each number of SACK is as `sent` says for the printed one.
    pub fn bytes(mut self, sent: impl Fn(u32) -> u32) -> ([u8; MOST], usize) {
        let [begin, end] = self.sack.map(usize::from);
        for number in self.bytes[begin..end].as_chunks_mut::<4>().0 {
            *number = sent(u32::from_be_bytes(*number)).to_be_bytes();
        }
        (self.bytes, self.len.into())
    }

    /// `None` where there is no room.
    fn add(&mut self, option: &[u8]) -> Option<()> {
        let (begin, end) = (usize::from(self.len), usize::from(self.len) + option.len());
        self.bytes.get_mut(begin..end)?.copy_from_slice(option);
        self.len = end as u8;
        Some(())
    }

    fn add_with(&mut self, head: &[u8], value: &[u8]) -> Option<()> {
        (usize::from(self.len) + head.len() + value.len() <= MOST).then_some(())?;
        self.add(head)?;
        self.add(value)
    }

    fn scale(&mut self, shift: u8) -> Option<()> {
        self.window_shift = Some(shift);
        self.add(&[3, 3, shift])
    }

    /// `TS val 1 ecr 2`, and `timestamp 1 2` of old versions.
    fn timestamps(&mut self, option: &str) -> Option<()> {
        let mut numbers = option.split_whitespace().filter_map(|word| word.parse::<u32>().ok());
        let (value, echo) = (numbers.next()?, numbers.next()?);
        let stamps = u64::from(value) << 32 | u64::from(echo);
        self.add_with(&[8, 10], &stamps.to_be_bytes())
    }

    /// `sack 2 {1:2}{3:4}`
    fn sack(&mut self, option: &str) -> Option<()> {
        const MOST_BLOCKS: usize = 4;
        let blocks = option.split(['{', '}']).filter_map(|block| block.split_once(':'));
        let mut bytes = [0; MOST_BLOCKS * 8];
        let mut len = 0;
        for ((begin, end), into) in blocks.zip(bytes.as_chunks_mut::<8>().0) {
            let [begin, end] = [begin, end].map(|number| number.parse::<u32>().ok());
            *into = (u64::from(begin?) << 32 | u64::from(end?)).to_be_bytes();
            len += into.len();
        }
        self.add_with(&[5, len as u8 + 2], &bytes[..len])?;
        self.sack = [self.len - len as u8, self.len];
        Some(())
    }
}
