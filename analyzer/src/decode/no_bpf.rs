//! In place of `bpf.rs` where the engine is built without libpcap. Nothing else is missing then.

/// There is none.
pub enum BpfProgram {}

impl BpfProgram {
    /// # Errors
    /// Always.
    pub fn compile(_expression: &str, _dlt: i32) -> Result<Self, String> {
        Err("this build of nagle-scan has no libpcap, which compiles filters".to_owned())
    }

    /// Never called.
    #[cfg(not(feature = "filter"))]
    pub fn filter(&self, _frame: &[u8]) -> bool {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_libpcap_says_so() {
        let reason = BpfProgram::compile("tcp port 80", 1).err().unwrap();
        assert!(reason.contains("no libpcap"), "{reason}");
    }
}
