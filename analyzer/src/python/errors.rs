//! Errors of a scan as exceptions.

use crate::capture::error::ScanError;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::{PyErr, create_exception};

create_exception!(nagle_scan, NagleScanError, PyException, "A capture could not be analysed.");
create_exception!(nagle_scan, CaptureError, NagleScanError, "The input cannot be read.");
create_exception!(nagle_scan, FilterError, NagleScanError, "The filter cannot be compiled.");
create_exception!(nagle_scan, OutputError, NagleScanError, "A result cannot be written.");

impl From<ScanError> for PyErr {
    fn from(error: ScanError) -> Self {
        let message = error.to_string();
        match error {
            ScanError::BadFilter { .. } => FilterError::new_err(message),
            ScanError::Unwritable { .. } => OutputError::new_err(message),
            ScanError::Stopped { .. } => PyKeyboardInterrupt::new_err(message),
            ScanError::Unreadable { .. }
            | ScanError::NotACapture { .. }
            | ScanError::NoHeader { .. }
            | ScanError::UnknownLinkType { .. } => CaptureError::new_err(message),
        }
    }
}
