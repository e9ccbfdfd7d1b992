//! Capture filters (BPF), compiled by libpcap once per link type.

use crate::capture::Frame;
use crate::capture::error::ScanError;
use crate::capture::link;
use crate::decode::bpf::BpfProgram;
use crate::decode::names;
use crate::decode::time_range::TimeRange;

/// A damaged frame can claim any length on the wire: none is padded beyond this.
const MAX_WIRE_LEN: usize = 1 << 16;

/// libpcap's optimiser takes seconds for longer expressions.
const MAX_EXPRESSION_LEN: usize = 4096;

pub struct Filter {
    /// Only frames of these times.
    pub times: TimeRange,
    /// BPF; empty where only times are asked for.
    expression: String,
    programs: Vec<(u32, BpfProgram)>,
    /// A filter that keeps tagged frames, too; it is compiled when one comes.
    for_tagged: Option<Box<Filter>>,
    scratch: Vec<u8>,
}

/// An expression that matches what `expression` does, with and without VLAN tags: libpcap shifts
/// all offsets after the word `vlan`. `None` for one of VLANs, or of something else.
pub fn for_tagged(expression: &str) -> Option<String> {
    let (_, bpf) = TimeRange::split(expression);
    let times = expression.trim().strip_suffix(bpf).unwrap_or_default();
    Some(format!("{times}{}", bpf_for_tagged(bpf)?))
}

fn bpf_for_tagged(expression: &str) -> Option<String> {
    let mut words = expression.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_simple = !expression.trim().is_empty() && words.all(|word| word != "vlan");
    let tagged = format!("vlan and (({expression}) or (vlan and ({expression})))");
    let wider = format!("({expression}) or ({tagged})");
    (is_simple && wider.len() <= MAX_EXPRESSION_LEN).then_some(wider)
}

/// Where an Ethernet frame has its `EtherType`, and those of VLAN tags that libpcap knows.
const ETHERTYPE_AT: usize = 12;
const VLAN_TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]];

fn is_tagged(frame: &Frame<'_>) -> bool {
    let kind = frame.data.get(ETHERTYPE_AT..).and_then(<[u8]>::first_chunk);
    frame.link_type == link::ETHERNET && kind.is_some_and(|kind| VLAN_TAGS.contains(kind))
}

impl Filter {
    /// Checks `expression` on Ethernet and on Linux cooked: `inbound` needs the latter.
    ///
    /// # Errors
    /// There is a name in it; libpcap's own message for an expression it refuses.
    pub fn new(expression: &str) -> Result<Self, ScanError> {
        if expression.len() > MAX_EXPRESSION_LEN {
            return Err(ScanError::BadFilter {
                expression: format!("{}...", expression.chars().take(40).collect::<String>()),
                reason: format!("longer than {MAX_EXPRESSION_LEN} bytes"),
            });
        }
        let (times, expression) = TimeRange::split(expression);
        if let Some(name) = names::first(expression) {
            return Err(ScanError::BadFilter {
                expression: expression.to_owned(),
                reason: format!(
                    "'{name}' is a name, which is never looked up: write the address or the number"
                ),
            });
        }
        let mut filter = Self { times, ..Self::uncompiled(expression.to_owned()) };
        filter.for_tagged =
            bpf_for_tagged(expression).map(|wider| Box::new(Self::uncompiled(wider)));
        filter
            .compile(link::ETHERNET)
            .or_else(|error| filter.compile(link::LINUX_SLL).map_err(|_| error))?;
        Ok(filter)
    }

    fn uncompiled(expression: String) -> Self {
        let times = TimeRange::default();
        Self { times, expression, programs: Vec::new(), for_tagged: None, scratch: Vec::new() }
    }

    /// Does a frame that does not pass the filter fail only because of its VLAN tags?
    pub fn misses_for_tags(&mut self, frame: &Frame<'_>) -> bool {
        let is_missed = self.times.contains(frame.time_ns) && is_tagged(frame);
        let Some(wider) = self.for_tagged.as_mut().filter(|_| is_missed) else {
            return false;
        };
        wider.matches(frame).unwrap_or(false)
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
        if !self.times.contains(frame.time_ns) || self.expression.is_empty() {
            return Ok(self.times.contains(frame.time_ns));
        }
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
        let dlt = link::dlt(link_type);
        let program = BpfProgram::compile(&self.expression, dlt).map_err(|reason| {
            ScanError::BadFilter { expression: self.expression.clone(), reason }
        })?;
        self.programs.push((link_type, program));
        Ok(self.programs.len() - 1)
    }
}

#[cfg(all(test, feature = "filter"))]
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

    /// The frame of a TCP packet to port 80 with these tags.
    fn tagged(tags: &[[u8; 4]]) -> Vec<u8> {
        let ethernet = [&[0; 12][..], &tags.concat(), &[0x08, 0x00]].concat();
        [ethernet, packet(40, &[], 0)].concat()
    }

    const TAG: [u8; 4] = [0x81, 0, 0, 7];
    const OUTER: [u8; 4] = [0x88, 0xa8, 0, 9];

    #[test]
    fn a_frame_that_only_its_tags_hide_is_told_and_the_expression_that_shows_it_does() {
        let mut filter = Filter::new("tcp port 80").unwrap();
        let mut shown = Filter::new(&for_tagged("tcp port 80").unwrap()).unwrap();
        for tags in [&[][..], &[TAG], &[OUTER, TAG]] {
            let data = tagged(tags);
            let frame = frame(&data, data.len() as u32);
            assert_eq!(filter.matches(&frame).unwrap(), tags.is_empty());
            assert_eq!(filter.misses_for_tags(&frame), !tags.is_empty());
            assert!(shown.matches(&frame).unwrap());
            assert!(!Filter::new("tcp port 81").unwrap().misses_for_tags(&frame));
        }
    }

    #[test]
    fn times_come_before_bpf_and_stay_with_it() {
        let data = tagged(&[TAG]);
        let at = |time_ns| Frame { time_ns, ..frame(&data, data.len() as u32) };
        let mut filter = Filter::new("time >= 1 and tcp port 80").unwrap();
        let wider = for_tagged("time >= 1 and tcp port 80").unwrap();
        let mut shown = Filter::new(&wider).unwrap();
        for (time_ns, is_in) in [(999_999_999, false), (1_000_000_000, true)] {
            assert!(!filter.matches(&at(time_ns)).unwrap());
            assert_eq!(filter.misses_for_tags(&at(time_ns)), is_in);
            assert_eq!(shown.matches(&at(time_ns)).unwrap(), is_in, "{wider}");
            assert_eq!(Filter::new("time >= 1").unwrap().matches(&at(time_ns)).unwrap(), is_in);
        }
        assert!(Filter::new("tcp and time >= 1").is_err());
    }

    #[test]
    fn who_speaks_of_vlans_knows_of_them() {
        for expression in ["vlan and tcp port 80", "(tcp)and(not vlan)", " "] {
            assert_eq!(for_tagged(expression), None, "{expression}");
        }
        assert!(for_tagged("host vlans.example").is_some());
    }

    /// Else its parts would be names.
    #[test]
    fn libpcap_takes_every_form_of_an_ipv6_address_for_one() {
        let groups = ["1", "db8", "fe80", "a", "b", "c", "ffff", "0"];
        for (before, after) in
            (0..8).flat_map(|before| (0..8 - before).map(move |after| (before, after)))
        {
            let tail = groups[..after].join(":");
            let mut forms = vec![format!("{}::{tail}", groups[..before].join(":"))];
            if before + after < 6 {
                let sign = if after > 0 { ":" } else { "" };
                forms.push(format!("{}{sign}10.0.0.1", forms[0]));
            }
            for form in forms {
                assert!(Filter::new(&format!("host {form}")).is_ok(), "{form}");
            }
        }
        assert!(Filter::new(&format!("host {}", groups.join(":"))).is_ok());
        assert!(Filter::new(&format!("host {}:10.0.0.1", groups[..6].join(":"))).is_ok());
    }

    #[test]
    fn a_bad_expression_is_refused_in_libpcaps_words() {
        let error = Filter::new("tcp port 80 81").err().unwrap().to_string();
        assert!(error.contains("tcp port 80 81") && error.contains("syntax"), "{error}");
    }
}
