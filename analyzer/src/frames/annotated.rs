//! The whole capture again, with comments.

use crate::capture::error::ScanError;
use crate::frames::pcapng::{self, FileComments};
use crate::frames::{Excerpt, Policy, each, excerpt};

/// Writes all frames of the captures to `path`, as [`pcapng::Writer`] does. Of one that holds no segment only
/// time and length remain, so that frames keep their numbers.
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
        each(paths, |frame, number| {
            let kept = excerpt(frame, number, policy);
            writer.frame(&kept.unwrap_or_else(|| Excerpt::empty(frame, number, policy)))
        })
    })
}
