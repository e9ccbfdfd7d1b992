//! Files, or standard output, that results are written to.

use crate::capture::error::ScanError;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// The outcome of writing `path`. A closed pipe behind standard output is not an error.
pub(super) fn written(path: &str, result: io::Result<()>) -> Result<(), ScanError> {
    match result {
        Err(error) if path == "-" && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) if path == "-" => Err(ScanError::unwritable("standard output", &error)),
        result => result.map_err(|error| ScanError::unwritable(path, &error)),
    }
}

/// Opens `path` (`-` is standard output) for writing.
pub(super) fn create(path: &str) -> Result<Box<dyn Write>, ScanError> {
    if path == "-" {
        return Ok(Box::new(BufWriter::new(std::io::stdout().lock())));
    }
    let file = emptied(path).map_err(|error| ScanError::unwritable(path, &error))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
}

/// Opens `path`, emptied. An empty file is not truncated: ext4 flushes a truncated one to disk when
/// it is closed (`auto_da_alloc`), which takes nearly as long as everything else.
fn emptied(path: &str) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    Ok(file)
}
