//! In place of `filter.rs` where the engine is built without libpcap. Nothing else is missing then.

use crate::capture::error::ScanError;

/// There is none.
pub enum Filter {}

impl Filter {
    /// # Errors
    /// Always.
    pub fn new(expression: &str) -> Result<Self, ScanError> {
        let reason = "this build of nagle-scan has no libpcap, which compiles filters".to_owned();
        Err(ScanError::BadFilter { expression: expression.to_owned(), reason })
    }

    #[cfg(not(feature = "filter"))]
    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn matches(&mut self, _frame: &crate::capture::Frame<'_>) -> Result<bool, ScanError> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_libpcap_says_so() {
        let error = Filter::new("tcp port 80").err().unwrap().to_string();
        assert!(error.contains("tcp port 80") && error.contains("no libpcap"), "{error}");
    }
}
