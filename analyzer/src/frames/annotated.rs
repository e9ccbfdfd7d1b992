//! The whole capture again, with comments.

use crate::capture::Capture;
use crate::capture::error::ScanError;
use crate::capture::link::RAW;
use crate::frames::pcapng::{self, FileComments};
use crate::frames::{Excerpt, Policy, excerpt};
use crate::track::reader;
use std::sync::Arc;

/// Writes all frames of the captures to `path`, as [`pcapng::Writer`] does. Without a segment, time
/// and length remain, so that frames keep their numbers. Printed text is only counted.
///
/// # Errors
/// A capture cannot be read again, or the file cannot be written.
pub fn write(
    paths: &[String],
    path: &str,
    file_comments: &FileComments<'_>,
    policy: Policy<'_>,
) -> Result<(), ScanError> {
    pcapng::write(path, file_comments, |writer| {
        let mut number = 0;
        for path in reader::in_order(paths) {
            let mut capture = match Capture::open(path, &Arc::default()) {
                // The scan took it as a part of a rotated set.
                Err(ScanError::NoHeader { .. }) => continue,
                opened => opened?,
            };
            let is_text = capture.about_text().is_some();
            while let Some(frame) = capture.next_frame() {
                number += 1;
                if !is_text {
                    let no_segment = || Excerpt {
                        frame: number,
                        time_ns: frame.time_ns,
                        wire_len: frame.wire_len,
                        link_type: if policy.anonymizer.is_some() { RAW } else { frame.link_type },
                        ..Excerpt::default()
                    };
                    writer.frame(&excerpt(&frame, number, policy).unwrap_or_else(no_segment))?;
                }
            }
        }
        Ok(())
    })
}
