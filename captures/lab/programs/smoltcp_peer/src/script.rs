//! The scripts of `peer.c`, as far as this stack can run them.

use std::error::Error;

/// One step of a script; lengths in bytes, times in microseconds.
#[derive(Clone, Copy)]
pub enum Word {
    Write(usize),
    Read(usize),
    ReadToEnd,
    Pause(u64, u64),
    NoDelay(bool),
    AckDelay(u64),
    BackgroundRead,
    End,
}

/// The words of a script.
pub fn parse(script: &str) -> Result<Vec<Word>, Box<dyn Error>> {
    script.split_whitespace().map(parse_word).collect()
}

fn parse_word(word: &str) -> Result<Word, Box<dyn Error>> {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    Ok(match (name, value) {
        ("read", "eof") => Word::ReadToEnd,
        ("read", _) => Word::Read(value.parse()?),
        ("write", _) => Word::Write(value.parse()?),
        ("pause", _) => {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            Word::Pause(low.parse()?, high.parse()?)
        }
        ("nodelay", _) => Word::NoDelay(value == "1"),
        ("ack-delay", _) => Word::AckDelay(value.parse()?),
        ("background-read", _) => Word::BackgroundRead,
        ("end", _) => Word::End,
        _ => return Err(format!("smoltcp cannot '{word}'").into()),
    })
}
