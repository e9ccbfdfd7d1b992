//! A capture filter as a program: libpcap compiles it, and says whether a frame passes.

use pcap::{Capture, Error, Linktype};

pub struct BpfProgram(pcap::BpfProgram);

impl BpfProgram {
    /// `dlt` is libpcap's number of the link type.
    ///
    /// # Errors
    /// libpcap's own message for an expression it refuses.
    pub fn compile(expression: &str, dlt: i32) -> Result<Self, String> {
        let compiled = Capture::dead(Linktype(dlt)).and_then(|it| it.compile(expression, true));
        compiled.map(Self).map_err(|error| match error {
            Error::PcapError(message) => message,
            other => other.to_string(),
        })
    }

    /// Does a frame of this length pass?
    pub fn filter(&self, frame: &[u8]) -> bool {
        self.0.filter(frame)
    }
}
