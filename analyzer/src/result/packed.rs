//! What goes to a later process as bytes: for the same version only.
//!
//! A line that tells what it is and the version; then what serde makes of it (postcard), compressed with
//! zstd, whose checksum finds damage. The bytes may come from anyone, and take no more memory than they
//! are worth.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use thiserror::Error;

/// To be raised when a type that is saved changes between two versions.
pub const FORMAT: u32 = 9;
/// The bytes begin with this, then comes the version.
pub const NAME: &str = "nagle-scan ";
pub const LEVEL: i32 = 3;
/// Scans are packed to a tenth or so. From some bytes on, more than so many of one are no scan but an attack:
/// what is packed to less is filled up with zeros.
const MOST_UNPACKED: usize = 64;
pub const SOME_UNPACKED: usize = 1 << 24;

/// Why bytes are not what they should be.
#[derive(Debug, Error)]
pub enum PackedError {
    #[error("not a saved scan")]
    Other,
    #[error("saved by nagle-scan {found}, this is {}: scan the capture again", this())]
    OtherVersion { found: String },
    #[error("the saved scan is damaged")]
    Damaged,
}

/// The version, as everything that is packed has it in its first line.
pub fn this() -> String {
    format!("{} (format {FORMAT})", env!("CARGO_PKG_VERSION"))
}

/// `value` as bytes.
///
/// # Errors
/// zstd's own.
pub fn pack<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let unpacked = postcard::to_stdvec(value).map_err(io::Error::other)?;
    let mut bytes = format!("{NAME}{}\n", this()).into_bytes();
    let least = bytes.len() + unpacked.len().saturating_sub(SOME_UNPACKED).div_ceil(MOST_UNPACKED);
    let mut packed = zstd::Encoder::new(&mut bytes, LEVEL)?;
    packed.include_checksum(true)?;
    packed.write_all(&unpacked)?;
    packed.finish()?;
    bytes.resize(bytes.len().max(least), 0);
    Ok(bytes)
}

/// The value of these bytes.
///
/// # Errors
/// They are something else, another version's, or damaged.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PackedError> {
    let rest = bytes.strip_prefix(NAME.as_bytes()).ok_or(PackedError::Other)?;
    let end = rest.iter().take(64).position(|&byte| byte == b'\n');
    let end = end.ok_or(PackedError::Other)?;
    let found = String::from_utf8_lossy(&rest[..end]);
    if found != this() {
        let found = found.chars().filter(|sign| !sign.is_control()).collect();
        return Err(PackedError::OtherVersion { found });
    }
    let unpacked = unzipped(&rest[end + 1..]).ok_or(PackedError::Damaged)?;
    let value = postcard::take_from_bytes(&unpacked).ok();
    let value = value.and_then(|(value, rest)| rest.is_empty().then_some(value));
    value.ok_or(PackedError::Damaged)
}

fn unzipped(packed: &[u8]) -> Option<Vec<u8>> {
    let most = MOST_UNPACKED * packed.len() + SOME_UNPACKED;
    let mut unpacked = Vec::new();
    let mut decoder = zstd::Decoder::with_buffer(packed).ok()?.single_frame();
    decoder.by_ref().take(most as u64 + 1).read_to_end(&mut unpacked).ok()?;
    let is_filled_up = decoder.finish().iter().all(|&byte| byte == 0);
    (unpacked.len() <= most && is_filled_up).then_some(unpacked)
}
