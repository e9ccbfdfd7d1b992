//! Results as files: the JSON of the output contract and CSVs, written row by row.

mod csv;
pub mod fields;
mod file;
mod json;
pub mod row;
pub mod table;
pub mod values;

pub use self::json::{ListedRows, json_head};

use crate::capture::error::ScanError;
use crate::result::scan::Scan;

/// Writes `scan` to `path` in the format of this name, with the members of `extra`, a JSON object,
/// where that is JSON; `None` for an unknown format.
pub fn write(
    scan: &Scan,
    format: &str,
    path: &str,
    extra: Option<&str>,
) -> Option<Result<(), ScanError>> {
    match format {
        "csv" => Some(csv::write(scan, path)),
        "waits" => Some(csv::write_waits(scan, path)),
        "exchanges" => Some(csv::write_exchanges(scan, path)),
        "json" => Some(json::write(scan, path, extra)),
        _ => None,
    }
}

#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod tests;
