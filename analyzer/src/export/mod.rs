//! Results as files: the JSON of the output contract and a CSV of the stalls, written row by row.

mod connection;
mod csv;
mod json;
mod parts;
mod rows;
mod values;

pub use self::csv::write_csv;
pub use self::json::{json_head, write_json};

use crate::error::ScanError;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Opens `path` (`-` is standard output) for writing.
fn create(path: &str) -> Result<Box<dyn Write>, ScanError> {
    if path == "-" {
        return Ok(Box::new(BufWriter::new(std::io::stdout().lock())));
    }
    let file = File::create(path).map_err(|error| ScanError::unwritable(path, &error))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
}
