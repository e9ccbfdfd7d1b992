//! Results as files: the JSON of the output contract and a CSV of the stalls, written row by row.

mod csv;
pub mod fields;
mod json;
pub mod table;
mod values;

pub use self::json::{json_head, not_explained, not_listed};

use crate::capture::error::ScanError;
use crate::result::scan::Scan;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Writes `scan` to `path` in the format of this name, with the members of `extra`, a JSON object, where
/// that is JSON; `None` if there is no such format.
pub fn write(
    scan: &Scan,
    format: &str,
    path: &str,
    extra: Option<&str>,
) -> Option<Result<(), ScanError>> {
    match format {
        "csv" => Some(csv::write(scan, path)),
        "json" => Some(json::write(scan, path, extra)),
        _ => None,
    }
}

/// What became of writing `path`. A closed pipe behind standard output is not an error.
fn written(path: &str, result: io::Result<()>) -> Result<(), ScanError> {
    match result {
        Err(error) if path == "-" && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) if path == "-" => Err(ScanError::unwritable("standard output", &error)),
        result => result.map_err(|error| ScanError::unwritable(path, &error)),
    }
}

/// Opens `path` (`-` is standard output) for writing.
fn create(path: &str) -> Result<Box<dyn Write>, ScanError> {
    if path == "-" {
        return Ok(Box::new(BufWriter::new(std::io::stdout().lock())));
    }
    let file = emptied(path).map_err(|error| ScanError::unwritable(path, &error))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
}

/// Opens `path`, emptied. An empty file is not truncated: ext4 flushes a truncated one to disk when it is
/// closed (`auto_da_alloc`), which takes nearly as long as everything else.
fn emptied(path: &str) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod tests;
