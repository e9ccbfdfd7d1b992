//! A second look at single frames: the first bytes of their payload, which may name a program.

use crate::capture::Capture;
use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::decode;
use crate::track::reader::in_order;
use std::sync::Arc;

/// Enough for the head of a message.
const MAX_BYTES: usize = 1024;
/// Frames further on are not looked for: what they could add is not worth reading that much again.
const MAX_FRAMES: u64 = 500_000;

/// The first payload bytes of `frames`, in their order, numbered through all inputs from 1; empty
/// where nothing was captured.
///
/// # Errors
/// An input cannot be read.
pub fn payloads(paths: &[String], frames: &[u64]) -> Result<Vec<Vec<u8>>, ScanError> {
    let mut found = vec![Vec::new(); frames.len()];
    let last = frames.iter().copied().filter(|&frame| frame <= MAX_FRAMES).max().unwrap_or(0);
    let mut number = 0;
    let unseen = Arc::new(Progress::default());
    for path in in_order(paths) {
        if number >= last {
            break;
        }
        let mut capture = Capture::open(path, &unseen)?;
        while number < last
            && let Some(frame) = capture.next_frame()
        {
            number += 1;
            for (_, bytes) in frames.iter().zip(&mut found).filter(|(wanted, _)| **wanted == number)
            {
                let payload = decode::payload(frame.link_type, frame.data);
                *bytes = payload[..payload.len().min(MAX_BYTES)].to_vec();
            }
        }
    }
    Ok(found)
}
