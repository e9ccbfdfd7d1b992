//! pcapng files of frames with comments (draft-ietf-opsawg-pcapng).

use crate::capture::error::ScanError;
use crate::capture::link;
use crate::frames::Excerpt;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{
    Ipv4Record, Ipv6Record, NameResolutionBlock, Record,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError, PcapResult};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::IpAddr;
use std::time::Duration;

/// `if_tsresol`: 10^-9 s, the unit in which the library writes times.
const NANOSECONDS: u8 = 9;
/// No limit.
const SNAP_LEN: u32 = 0;

/// Comments by the frame number of [`Excerpt`].
pub type Comments = HashMap<u64, Vec<String>>;

/// Names that Wireshark shows for addresses, if asked to resolve them.
pub type ResolvedNames = HashMap<IpAddr, String>;

/// The comments and names of a file.
pub struct FileComments<'a> {
    /// The comment on the file.
    pub about: &'a str,
    pub comments: &'a Comments,
    pub names: &'a ResolvedNames,
}

/// Writes to `path` what `write_frames` gives the writer.
///
/// # Errors
/// The file cannot be written, or a comment is longer than an option can hold (65,535 bytes).
pub fn write<'a>(
    path: &'a str,
    file_comments: &'a FileComments<'a>,
    write_frames: impl FnOnce(&mut Writer<'a, BufWriter<File>>) -> Result<(), ScanError>,
) -> Result<(), ScanError> {
    let file = File::create(path).map_err(|error| ScanError::unwritable(path, &error))?;
    let mut writer = Writer::new(path, BufWriter::new(file), file_comments)?;
    write_frames(&mut writer)?;
    writer.end()
}

/// Writes frames with their comments. Each link type becomes an interface, as it is first used.
pub struct Writer<'a, W: Write> {
    path: &'a str,
    file_comments: &'a FileComments<'a>,
    blocks: PcapNgWriter<W>,
    link_types: Vec<u32>,
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(path: &'a str, to: W, file_comments: &'a FileComments<'a>) -> Result<Self, ScanError> {
        let begin = || {
            let mut blocks = PcapNgWriter::with_section_header(to, section(file_comments.about)?)?;
            if !file_comments.names.is_empty() {
                blocks.write_pcapng_block(resolution(file_comments.names))?;
            }
            Ok(blocks)
        };
        let blocks = begin().map_err(|error| unwritable(path, error))?;
        Ok(Self { path, file_comments, blocks, link_types: Vec::new() })
    }

    /// # Errors
    /// See [`write`].
    pub fn frame(&mut self, frame: &Excerpt) -> Result<(), ScanError> {
        self.write(frame).map_err(|error| unwritable(self.path, error))
    }

    fn write(&mut self, frame: &Excerpt) -> PcapResult<()> {
        let interface = self.interface(frame.link_type)?;
        let comments = self.file_comments.comments.get(&frame.frame).map_or(&[][..], Vec::as_slice);
        self.blocks.write_pcapng_block(packet(frame, interface, comments)?)?;
        Ok(())
    }

    fn interface(&mut self, link_type: u32) -> PcapResult<usize> {
        if let Some(known) = self.link_types.iter().position(|&known| known == link_type) {
            return Ok(known);
        }
        self.blocks.write_pcapng_block(interface(link_type))?;
        self.link_types.push(link_type);
        Ok(self.link_types.len() - 1)
    }

    fn end(mut self) -> Result<(), ScanError> {
        if self.link_types.is_empty() {
            // libpcap refuses a file without an interface.
            self.interface(link::ETHERNET).map_err(|error| unwritable(self.path, error))?;
        }
        let flushed = self.blocks.into_inner().flush();
        flushed.map_err(|error| ScanError::unwritable(self.path, &error))
    }
}

fn unwritable(path: &str, error: PcapError) -> ScanError {
    match error {
        PcapError::IoError(error) => ScanError::unwritable(path, &error),
        other => ScanError::Unwritable { path: path.to_owned(), reason: other.to_string() },
    }
}

fn section(about: &str) -> PcapResult<SectionHeaderBlock<'static>> {
    let application = format!("nagle-scan {}", env!("CARGO_PKG_VERSION"));
    Ok(SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::Comment(Cow::Owned(fitting(about)?.to_owned())),
            SectionHeaderOption::UserApplication(Cow::Owned(application)),
        ],
        ..SectionHeaderBlock::default()
    })
}

fn interface(link_type: u32) -> InterfaceDescriptionBlock<'static> {
    InterfaceDescriptionBlock {
        linktype: DataLink::from(link_type),
        snaplen: SNAP_LEN,
        options: vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)],
    }
}

fn resolution(names: &ResolvedNames) -> NameResolutionBlock<'_> {
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable();
    let records = sorted.into_iter().map(|(addr, name)| record(*addr, name));
    NameResolutionBlock { records: records.collect(), options: Vec::new() }
}

fn record(addr: IpAddr, name: &str) -> Record<'_> {
    let names = vec![Cow::Borrowed(name)];
    match addr {
        IpAddr::V4(addr) => {
            Record::Ipv4(Ipv4Record { ip_addr: addr.octets().to_vec().into(), names })
        }
        IpAddr::V6(addr) => {
            Record::Ipv6(Ipv6Record { ip_addr: addr.octets().to_vec().into(), names })
        }
    }
}

fn packet<'a>(
    frame: &'a Excerpt,
    interface: usize,
    comments: &'a [String],
) -> PcapResult<EnhancedPacketBlock<'a>> {
    let comment = |text: &'a String| Ok(EnhancedPacketOption::Comment(fitting(text)?.into()));
    Ok(EnhancedPacketBlock {
        interface_id: interface as u32,
        // The format has no times before the epoch.
        timestamp: Duration::from_nanos(frame.time_ns.max(0) as u64),
        original_len: frame.wire_len,
        data: Cow::Borrowed(&frame.data),
        options: comments.iter().map(comment).collect::<PcapResult<_>>()?,
    })
}

/// Refuses a text longer than an option can hold: the library would truncate its 16-bit length.
fn fitting(text: &str) -> PcapResult<&str> {
    match u16::try_from(text.len()) {
        Ok(_) => Ok(text),
        Err(_) => Err(PcapError::InvalidField("a comment is longer than 65,535 bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;

    fn excerpt(frame: u64, link_type: u32, data: &[u8]) -> Excerpt {
        Excerpt {
            frame,
            time_ns: 1_700_000_000_123_456_789 + frame as i64,
            wire_len: 1500,
            link_type,
            data: data.to_vec(),
            ..Excerpt::default()
        }
    }

    fn written(
        about: &str,
        frames: &[&Excerpt],
        comments: &Comments,
    ) -> Result<Vec<u8>, ScanError> {
        let mut bytes = Vec::new();
        let file_comments = FileComments { about, comments, names: &ResolvedNames::new() };
        let mut writer = Writer::new("", &mut bytes, &file_comments)?;
        frames.iter().try_for_each(|frame| writer.frame(frame))?;
        writer.end()?;
        Ok(bytes)
    }

    #[test]
    fn frames_come_back_with_their_times_lengths_and_link_types() {
        let frames = [excerpt(3, 276, b"odd"), excerpt(5, 1, b"even"), excerpt(9, 276, b"x")];
        let bytes = written("", &frames.each_ref(), &Comments::new()).unwrap();
        let mut capture = Capture::new(Box::new(std::io::Cursor::new(bytes)), "it").unwrap();
        for expected in &frames {
            let frame = capture.next_frame().unwrap();
            assert_eq!((frame.time_ns, frame.wire_len), (expected.time_ns, 1500));
            assert_eq!((frame.link_type, frame.data), (expected.link_type, &expected.data[..]));
        }
        assert!(capture.next_frame().is_none());
    }

    #[test]
    fn a_comment_that_no_option_can_hold_is_refused() {
        let frames = [excerpt(1, 1, b"")];
        let of_len = |len| Comments::from([(1, vec!["x".repeat(len)])]);
        assert!(written("", &frames.each_ref(), &of_len(65_535)).is_ok());
        assert!(written("", &frames.each_ref(), &of_len(65_536)).is_err());
        assert!(written(&"x".repeat(65_536), &[], &Comments::new()).is_err());
    }
}
