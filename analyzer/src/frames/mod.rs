//! Frames read again from their captures by number: for an evidence file, and to tell what kind of
//! message they carry.

mod checksum;
pub mod excerpt;
pub mod payload;
mod redact;

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::capture::{Capture, Frame};
use crate::decode::layout::Layout;
use crate::result::anonymize::Anonymizer;
use crate::track::reader;
use std::sync::Arc;

/// A captured TCP segment, as it may leave.
#[derive(Debug, Clone)]
pub struct Excerpt {
    /// Wireshark's `frame.number` in the captures.
    pub frame: u64,
    pub time_ns: i64,
    pub wire_len: u32,
    pub link_type: u32,
    pub data: Vec<u8>,
    /// Where the payload begins in `data`, or would begin.
    pub payload_at: usize,
    /// Payload bytes on the wire.
    pub payload_len: u32,
}

/// What may leave.
#[derive(Clone, Copy)]
pub struct Policy<'a> {
    pub payload: bool,
    pub anonymizer: Option<&'a Anonymizer>,
}

/// Reads the frames with these `numbers`, in ascending order. A frame that holds no segment, or
/// that cannot be anonymised, is left out.
///
/// # Errors
/// A capture cannot be read again.
pub fn read(
    paths: &[String],
    numbers: &[u64],
    policy: Policy<'_>,
) -> Result<Vec<Excerpt>, ScanError> {
    let mut wanted = numbers.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let mut wanted = wanted.into_iter().peekable();
    let mut found = Vec::new();
    let mut number = 0;
    let unseen = Arc::new(Progress::default());
    for path in reader::in_order(paths) {
        let mut capture = Capture::open(path, &unseen)?;
        while wanted.peek().is_some() {
            let Some(frame) = capture.next_frame() else { break };
            number += 1;
            if wanted.next_if_eq(&number).is_some() {
                found.extend(excerpt(&frame, number, policy));
            }
        }
    }
    Ok(found)
}

fn excerpt(frame: &Frame<'_>, number: u64, policy: Policy<'_>) -> Option<Excerpt> {
    let layout = Layout::of(frame)?;
    let data = redact::redacted(frame, &layout, policy)?;
    Some(Excerpt {
        frame: number,
        time_ns: frame.time_ns,
        wire_len: frame.wire_len,
        link_type: frame.link_type,
        data,
        payload_at: layout.payload_at,
        payload_len: layout.payload_len,
    })
}
