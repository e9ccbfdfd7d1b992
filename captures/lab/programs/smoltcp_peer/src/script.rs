//! The scripts of `peer.c`, as far as this stack can run them, with their loops unrolled.

use std::error::Error;
use std::str::SplitWhitespace;

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

/// The words of a script in the order in which they are run.
pub fn parse(script: &str) -> Result<Vec<Word>, Box<dyn Error>> {
    parse_until_bracket(&mut script.split_whitespace())
}

fn parse_until_bracket(words: &mut SplitWhitespace) -> Result<Vec<Word>, Box<dyn Error>> {
    let mut parsed = Vec::new();
    while let Some(word) = words.next() {
        if word == ")" {
            break;
        }
        if let Some(times) = word.strip_suffix('(') {
            let inner = parse_until_bracket(words)?;
            for _ in 0..times.parse::<usize>()? {
                parsed.extend_from_slice(&inner);
            }
        } else {
            parsed.push(parse_word(word)?);
        }
    }
    Ok(parsed)
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
