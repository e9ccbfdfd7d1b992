//! Results as files: the JSON of the output contract and a CSV of the stalls, written row by row.

mod csv;
mod fields;
mod json;
pub mod table;
mod values;

pub use self::csv::write_csv;
pub use self::json::{json_head, write_json};

use crate::capture::error::ScanError;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Opens `path` (`-` is standard output) for writing.
fn create(path: &str) -> Result<Box<dyn Write>, ScanError> {
    if path == "-" {
        return Ok(Box::new(BufWriter::new(std::io::stdout().lock())));
    }
    let file = emptied(path).map_err(|error| ScanError::unwritable(path, &error))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
}

/// Opens `path` and takes out what is in it. What is empty is not truncated: a file that was is written
/// to the disk before ext4 closes it (`auto_da_alloc`), which takes nearly as long as all the rest.
fn emptied(path: &str) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_an_older_and_longer_file_stays() {
        let path = std::env::temp_dir().join(format!("nagle-scan-export-{}", std::process::id()));
        let name = path.to_str().unwrap();
        for content in ["long content", "short"] {
            create(name).unwrap().write_all(content.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        std::fs::remove_file(path).unwrap();
    }
}
