//! TCP options from `mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7` back to bytes.

use super::numbers::Sent;

/// RFC 9293, section 3.1: the data offset leaves no more room.
const MOST: usize = 40;

/// The options of a segment, as far as they can be made from what is printed.
#[derive(Debug)]
pub struct PrintedOptions {
    bytes: [u8; MOST],
    len: usize,
}

impl PrintedOptions {
    /// Leaves out what the analysis does not know: tcpdump does not print all of it.
    pub fn read(printed: &str, sent: &Sent) -> Self {
        let mut options = Self { bytes: [0; MOST], len: 0 };
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
                "wscale" => next().parse().ok().and_then(|shift: u8| options.add(&[3, 3, shift])),
                "TS" => options.timestamps(option),
                "sack" => options.sack(option, sent),
                _ => None,
            };
        }
        options
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// `None` where there is no room.
    fn add(&mut self, option: &[u8]) -> Option<()> {
        let end = self.len + option.len();
        self.bytes.get_mut(self.len..end)?.copy_from_slice(option);
        self.len = end;
        Some(())
    }

    fn add_with(&mut self, head: &[u8], value: &[u8]) -> Option<()> {
        (self.len + head.len() + value.len() <= MOST).then_some(())?;
        self.add(head)?;
        self.add(value)
    }

    /// `TS val 1 ecr 2`
    fn timestamps(&mut self, option: &str) -> Option<()> {
        let (value, echo) = option.strip_prefix("TS val ")?.split_once(" ecr ")?;
        let (value, echo): (u32, u32) = (value.parse().ok()?, echo.trim_end().parse().ok()?);
        let stamps = u64::from(value) << 32 | u64::from(echo);
        self.add_with(&[8, 10], &stamps.to_be_bytes())
    }

    /// `sack 2 {1:2}{3:4}`
    fn sack(&mut self, option: &str, sent: &Sent) -> Option<()> {
        const MOST_BLOCKS: usize = 4;
        let blocks = option.split(['{', '}']).filter_map(|block| block.split_once(':'));
        let mut bytes = [0; MOST_BLOCKS * 8];
        let mut len = 0;
        for ((begin, end), into) in blocks.zip(bytes.as_chunks_mut::<8>().0) {
            let [begin, end] =
                [begin, end].map(|number| number.parse().ok().map(|number| sent.sack(number)));
            *into = (u64::from(begin?) << 32 | u64::from(end?)).to_be_bytes();
            len += into.len();
        }
        self.add_with(&[5, len as u8 + 2], &bytes[..len])
    }
}
