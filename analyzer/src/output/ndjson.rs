//! `-o stalls.ndjson`: all stalls, each as JSON on a line of its own.

use super::file::{create, written};
use super::json::line;
use super::stalls::write_stalls;
use crate::capture::error::ScanError;
use crate::result::scan::Scan;

/// Writes all stalls of `scan` to `path`.
///
/// # Errors
/// `path` cannot be written.
pub fn write(scan: &Scan, path: &str) -> Result<(), ScanError> {
    let mut writer = create(path)?;
    written(path, write_stalls(scan, &mut writer, line))
}
