//! Capture filters (BPF), compiled by libpcap for each link type that occurs.

use crate::capture::Frame;
use crate::capture::error::ScanError;
use crate::capture::link;
use pcap::{BpfProgram, Capture, Linktype};

/// A frame can claim any length on the wire; filters that ask for more than this are not worth the
/// work of filling up.
const MAX_WIRE_LEN: usize = 1 << 16;

/// libpcap's optimiser takes seconds for longer ones.
const MAX_EXPRESSION_LEN: usize = 4096;

/// libpcap's number for raw IP on Linux; files say 101, or 12 or 14 where a BSD wrote them.
const DLT_RAW: Linktype = Linktype(12);

pub struct Filter {
    expression: String,
    programs: Vec<(u32, BpfProgram)>,
    scratch: Vec<u8>,
}

impl Filter {
    /// Checks `expression`, which must make sense on some link type: `inbound` does on Linux
    /// cooked captures only.
    ///
    /// # Errors
    /// libpcap's own message for an expression it refuses.
    pub fn new(expression: &str) -> Result<Self, ScanError> {
        if expression.len() > MAX_EXPRESSION_LEN {
            return Err(ScanError::BadFilter {
                expression: format!("{}...", expression.chars().take(40).collect::<String>()),
                reason: format!("longer than {MAX_EXPRESSION_LEN} bytes"),
            });
        }
        let mut filter =
            Self { expression: expression.to_owned(), programs: Vec::new(), scratch: Vec::new() };
        filter
            .compile(link::ETHERNET)
            .or_else(|error| filter.compile(link::LINUX_SLL).map_err(|_| error))?;
        Ok(filter)
    }

    /// Does the filter let this frame through? One of a link type that is not read passes: it is
    /// counted as such, and libpcap may have no filter for it.
    ///
    /// `pcap::BpfProgram::filter` takes the buffer's length for the wire length, so a frame cut by
    /// the snap length is filled up with zeros: `greater 200` then means what it means to tcpdump.
    ///
    /// # Errors
    /// The expression makes no sense on this link type (`vlan` on RAW, say).
    pub fn matches(&mut self, frame: &Frame<'_>) -> Result<bool, ScanError> {
        if !link::is_known(frame.link_type) {
            return Ok(true);
        }
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
        let handle = Capture::dead(data_link_type(link_type)).map_err(bad)?;
        let program = handle.compile(&self.expression, true).map_err(bad)?;
        self.programs.push((link_type, program));
        Ok(self.programs.len() - 1)
    }
}

/// Files and libpcap number link types alike, but for raw IP.
fn data_link_type(link_type: u32) -> Linktype {
    match link_type == link::RAW || link::RAW_BSD.contains(&link_type) {
        true => DLT_RAW,
        false => Linktype(link_type as i32),
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
        Frame { time_ns: 0, wire_len, link_type: link::ETHERNET, data }
    }

    #[test]
    fn lengths_are_those_on_the_wire() {
        let mut filter = Filter::new("greater 200").unwrap();
        assert!(filter.matches(&frame(&[0; 96], 1514)).unwrap());
        assert!(!filter.matches(&frame(&[0; 96], 96)).unwrap());
    }

    #[test]
    fn every_link_type_that_is_read_can_be_filtered() {
        for link_type in (0..300).filter(|&link_type| link::is_known(link_type)) {
            let frame = Frame { link_type, ..frame(&[0; 60], 60) };
            assert!(Filter::new("not tcp").unwrap().matches(&frame).is_ok(), "{link_type}");
        }
    }

    #[test]
    fn a_bad_expression_is_refused_in_libpcaps_words() {
        let error = Filter::new("tcp prot 80").err().unwrap().to_string();
        assert!(error.contains("tcp prot 80") && error.contains("syntax"), "{error}");
    }
}
