//! A segment as tcpdump printed it before version 4: `P 1:28(27) ack 1 win 502 <nop,nop,timestamp 1 2> (DF)`,
//! and with `-vv` `P, cksum 0xf7b2 (correct), 1:28(27) ack 1 win 502`.

use super::line::{PrintedSegment, flags, number};
use super::options::PrintedOptions;

/// The segment after `from > to:`; `None` for what is none.
pub fn segment(text: &str) -> Option<PrintedSegment> {
    let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
    let flags = flags(words.next()?.trim_end_matches(','))?;
    if words.next_if_eq(&"cksum").is_some() {
        words.find(|word| word.ends_with("),"))?;
    }
    let mut segment = PrintedSegment { flags, ..PrintedSegment::NONE };
    if let Some((seq, len)) = words.peek().and_then(|word| numbers(word)) {
        (segment.seq, segment.len) = (Some(seq), len);
        words.next();
    }
    while let Some(word) = words.next() {
        match word {
            "ack" => segment.ack = words.next()?.parse().ok(),
            "win" => segment.window = number(words.next()?)?.0,
            _ => {}
        }
    }
    if segment.ack.is_some() {
        // It was told by its number alone.
        segment.flags |= 0x10;
    }
    let options = text.split_once('<').and_then(|(_, options)| options.split_once('>'));
    segment.options =
        options.map_or(PrintedOptions::NONE, |(options, _)| PrintedOptions::read(options));
    let is_told = segment.seq.is_some() || segment.ack.is_some();
    (is_told && text.contains(" win ")).then_some(segment)
}

/// `1:28(27)`, or of a segment without data `1:1(0)`.
fn numbers(word: &str) -> Option<(u32, u32)> {
    let (seq, rest) = number(word)?;
    let (end, rest) = number(rest.strip_prefix(':')?)?;
    let (len, _) = number(rest.strip_prefix('(')?)?;
    (end.wrapping_sub(seq) == len).then_some((seq, len))
}
