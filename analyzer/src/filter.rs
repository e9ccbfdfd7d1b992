//! Capture filters (BPF), compiled by libpcap for each link type that occurs.

use crate::capture::Frame;
use crate::error::ScanError;
use pcap::{BpfProgram, Capture, Linktype};

/// A frame can claim any length on the wire; no real one is longer (TSO frames reach 512 kB).
const MAX_WIRE_LEN: usize = 1 << 20;

pub struct Filter {
    expression: String,
    programs: Vec<(u32, BpfProgram)>,
    scratch: Vec<u8>,
}

impl Filter {
    /// Checks `expression` by compiling it for Ethernet.
    ///
    /// # Errors
    /// libpcap's own message for an expression it refuses.
    pub fn new(expression: &str) -> Result<Self, ScanError> {
        let mut filter = Self {
            expression: expression.to_owned(),
            programs: Vec::new(),
            scratch: Vec::new(),
        };
        filter.compile(crate::link::ETHERNET)?;
        Ok(filter)
    }

    /// Does the filter let this frame through?
    ///
    /// `pcap::BpfProgram::filter` takes the buffer's length for the wire length, so a frame cut by
    /// the snap length is filled up with zeros: `greater 200` then means what it means to tcpdump.
    ///
    /// # Errors
    /// The expression makes no sense on this link type (`vlan` on RAW, say).
    pub fn matches(&mut self, frame: &Frame<'_>) -> Result<bool, ScanError> {
        let program = match self.programs.iter().position(|(link, _)| *link == frame.link_type) {
            Some(index) => index,
            None => self.compile(frame.link_type)?,
        };
        let wire_len = (frame.wire_len as usize).min(MAX_WIRE_LEN);
        if frame.data.len() >= wire_len {
            return Ok(self.programs[program].1.filter(frame.data));
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(frame.data);
        self.scratch.resize(wire_len, 0);
        Ok(self.programs[program].1.filter(&self.scratch))
    }

    fn compile(&mut self, link_type: u32) -> Result<usize, ScanError> {
        let bad = |error: pcap::Error| ScanError::BadFilter {
            expression: self.expression.clone(),
            reason: reason(&error),
        };
        let handle = Capture::dead(Linktype(link_type as i32)).map_err(bad)?;
        let program = handle.compile(&self.expression, true).map_err(bad)?;
        self.programs.push((link_type, program));
        Ok(self.programs.len() - 1)
    }
}

fn reason(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(message) => message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8], wire_len: u32) -> Frame<'_> {
        Frame {
            time_ns: 0,
            wire_len,
            link_type: crate::link::ETHERNET,
            data,
        }
    }

    #[test]
    fn lengths_are_those_on_the_wire() {
        let mut filter = Filter::new("greater 200").unwrap();
        assert!(filter.matches(&frame(&[0; 96], 1514)).unwrap());
        assert!(!filter.matches(&frame(&[0; 96], 96)).unwrap());
    }

    #[test]
    fn a_bad_expression_is_refused_in_libpcaps_words() {
        let error = Filter::new("tcp prot 80").err().unwrap().to_string();
        assert!(error.contains("tcp prot 80") && error.contains("syntax"), "{error}");
    }
}
