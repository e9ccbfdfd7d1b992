//! Capture filters (BPF), compiled by libpcap once per link type.

use crate::capture::Frame;
use crate::capture::error::ScanError;
use crate::capture::link;
use pcap::{BpfProgram, Capture, Linktype};

/// A damaged frame can claim any length on the wire: none is padded beyond this.
const MAX_WIRE_LEN: usize = 1 << 16;

/// libpcap's optimiser takes seconds for longer expressions.
const MAX_EXPRESSION_LEN: usize = 4096;

pub struct Filter {
    expression: String,
    programs: Vec<(u32, BpfProgram)>,
    scratch: Vec<u8>,
}

impl Filter {
    /// Checks `expression` on Ethernet and on Linux cooked: `inbound` needs the latter.
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

    /// Does the frame pass the filter? One of an unsupported link type does: it is counted as such
    /// later, and libpcap may not know the link type.
    ///
    /// `pcap::BpfProgram::filter` takes the captured length as the length on the wire, so a frame
    /// cut by the snap length is padded with zeros: `greater 200` means what it means to tcpdump.
    ///
    /// # Errors
    /// The expression makes no sense on this link type (`vlan` on RAW, say).
    pub fn matches(&mut self, frame: &Frame<'_>) -> Result<bool, ScanError> {
        let program = match self.programs.iter().position(|(link, _)| *link == frame.link_type) {
            Some(index) => index,
            None if link::find(frame.link_type).is_none() => return Ok(true),
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
        let handle = Capture::dead(Linktype(link::dlt(link_type))).map_err(bad)?;
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
    use crate::decode::tests::packet;

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
        for link_type in link::tests::numbers() {
            let data = link::tests::framed(link_type, &packet(40, &[], 0));
            let frame = Frame { link_type, ..frame(&data, data.len() as u32) };
            let passes = |filter| Filter::new(filter).unwrap().matches(&frame).unwrap();
            // The packet is IPv4.
            assert_eq!(passes("tcp port 80"), link_type != link::tests::IPV6, "{link_type}");
            assert!(!passes("tcp port 81"), "{link_type}");
        }
    }

    #[test]
    fn a_bad_expression_is_refused_in_libpcaps_words() {
        let error = Filter::new("tcp prot 80").err().unwrap().to_string();
        assert!(error.contains("tcp prot 80") && error.contains("syntax"), "{error}");
    }
}
