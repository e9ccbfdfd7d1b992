//! Frames read a second time, by number: for an evidence file, and to recognise messages.

pub mod annotated;
pub mod excerpt;
pub mod pcapng;

mod anew;
mod checksum;
mod redact;

pub use redact::Policy;

use crate::capture::error::ScanError;
use crate::capture::link::RAW;
use crate::capture::{Capture, Frame};
use crate::decode::layout::{self, Layout};
use crate::frames::anew::Packet;
use crate::track::reader;
use crate::track::reader::capture_summary::CaptureSummary;
use crate::track::reader::index::FrameIndex;
use std::sync::Arc;

/// RFC 9293, section 3.1: ports, sequence and acknowledgment numbers.
const IDENTITY_LEN: usize = 12;

/// A captured TCP segment, as it may leave. Of one in a tunnel only the innermost packet does,
/// unless all may: addresses and checksums around it give away what is left out of it.
#[derive(Debug, Default, Clone)]
pub struct Excerpt {
    /// Wireshark's `frame.number` in the captures.
    pub frame: u64,
    pub time_ns: i64,
    pub wire_len: u32,
    pub link_type: u32,
    pub data: Vec<u8>,
    /// Where the payload begins in `data`, or would.
    pub payload_at: usize,
    /// Payload bytes on the wire.
    pub payload_len: u32,
    /// Both IP addresses, both ports, sequence and acknowledgment numbers, as they are in `data`.
    pub identity: Vec<u8>,
}

/// Reads the frames with these `numbers`, in ascending order and each once. A frame that is not
/// there or holds no segment is left out; text holds none. With the summaries of a scan, `known`,
/// it skips what comes before them.
///
/// # Errors
/// A capture cannot be read again.
pub fn read(
    paths: &[String],
    known: &[CaptureSummary],
    numbers: &[u64],
    policy: Policy<'_>,
) -> Result<Vec<Excerpt>, ScanError> {
    let mut wanted = numbers.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let mut wanted = wanted.into_iter().peekable();
    let (mut found, mut read) = (Vec::new(), 0);
    for (at, path) in reader::in_order(paths).into_iter().enumerate() {
        while wanted.next_if(|&number| number <= read).is_some() {}
        let Some(&next) = wanted.peek() else { break };
        let known = known.get(at);
        let last = known.map(CaptureSummary::last_frame);
        if last.is_none_or(|last| next <= last) {
            let mut frames = Frames::open(path, known, read)?;
            while let Some(&number) = wanted.peek()
                && let Some(frame) = frames.get(number)
            {
                found.extend(excerpt(&frame, number, policy));
                wanted.next();
            }
            read = frames.read;
        }
        read = last.unwrap_or(read);
    }
    Ok(found)
}

/// A capture of which some frames are read again.
struct Frames<'a> {
    capture: Capture,
    path: &'a str,
    /// How many were read, or passed over, those of earlier captures too.
    read: u64,
    known: Option<&'a FrameIndex>,
}

impl<'a> Frames<'a> {
    fn open(
        path: &'a str,
        known: Option<&'a CaptureSummary>,
        read: u64,
    ) -> Result<Self, ScanError> {
        let capture = Capture::open(path, &Arc::default())?;
        let begin = capture.place();
        let fits = |index: &&FrameIndex| begin.is_some_and(|begin| index.fits(&begin));
        let known = known.map(|known| &known.index).filter(fits);
        Ok(Self { capture, path, read, known })
    }

    /// The frame with this number, which lies ahead. `None` at the end, and for printed text.
    fn get(&mut self, number: u64) -> Option<Frame<'_>> {
        if let Some((before, place)) = self.known.and_then(|index| index.before(number, self.read))
            && let Ok(capture) = Capture::reopen(self.path, place)
        {
            (self.capture, self.read) = (capture, before);
        }
        let capture = &mut self.capture;
        let is_text = capture.about_text().is_some();
        while is_text || self.read + 1 < number {
            capture.next_frame()?;
            self.read += 1;
        }
        let frame = capture.next_frame()?;
        self.read += 1;
        Some(frame)
    }
}

fn excerpt(frame: &Frame<'_>, number: u64, policy: Policy<'_>) -> Option<Excerpt> {
    let layout = Layout::of(frame)?;
    if layout.is_wrapped && policy.anonymizer.is_none() && !policy.payload {
        return excerpt(&layout::bare(frame, &layout), number, policy);
    }
    let Packet { data, layout } = redact::redacted(frame.data, &layout, policy)?;
    let (link_type, wire_len) = match policy.anonymizer {
        Some(_) => (RAW, layout.end() as u32),
        None => (frame.link_type, frame.wire_len),
    };
    let tcp = &data[layout.tcp_at..];
    let identity = [&data[layout.ip_addresses.clone()], tcp.get(..IDENTITY_LEN)?].concat();
    Some(Excerpt {
        frame: number,
        time_ns: frame.time_ns,
        wire_len,
        link_type,
        data,
        payload_at: layout.payload_at(),
        payload_len: layout.payload_len,
        identity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Position;
    use crate::result::anonymize::Anonymizer;
    use crate::track::reader::labels::Labels;
    use crate::track::reader::range::Range;
    use crate::track::reader::{Reading, read_all};

    const ALL: Policy<'_> = Policy { payload: true, anonymizer: None };

    fn numbers_read(copies: usize, wanted: &[u64]) -> Vec<u64> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/java-split.pcap");
        let found = read(&vec![path.to_owned(); copies], &[], wanted, ALL).unwrap();
        found.into_iter().map(|excerpt| excerpt.frame).collect()
    }

    #[test]
    fn frames_come_in_order_each_once_and_numbers_that_no_frame_has_are_left_out() {
        assert_eq!(numbers_read(1, &[7, 0, 2, 7, 1_000_000]), [2, 7]);
        assert_eq!(numbers_read(1, &[0]), [0; 0]);
    }

    #[test]
    fn numbers_go_on_through_all_captures() {
        let frames = 1000;
        let all: Vec<u64> = (1..=frames).collect();
        let of_one = numbers_read(1, &all).len() as u64;
        assert!(of_one < frames);
        assert_eq!(numbers_read(2, &[of_one, of_one + 1]), [of_one, of_one + 1]);
    }

    #[test]
    fn what_a_scan_knows_of_the_places_of_frames_changes_none() {
        let paths = ["epoll-fd0", "jdk-httpserver"]
            .map(|name| format!("{}/../captures/{name}.pcap", env!("CARGO_MANIFEST_DIR")));
        let (labels, progress) = (Labels::default(), Arc::default());
        let reading = Reading { range_len: 2000, ..Reading::by(2) };
        let nobody: Vec<fn(&Range, usize)> = vec![|_, _| ()];
        let known = read_all(&paths, &labels, None, reading, &progress, nobody).unwrap();
        assert!(known.iter().all(|known| known.index.before(known.last_frame(), 0).is_some()));
        let numbers: Vec<u64> = (1..=known[1].last_frame() + 1).collect();
        let data = |known: &[CaptureSummary], numbers: &[u64]| -> Vec<(u64, Vec<u8>)> {
            let found = read(&paths, known, numbers, ALL).unwrap();
            found.into_iter().map(|excerpt| (excerpt.frame, excerpt.data)).collect()
        };
        let all = data(&[], &numbers);
        assert_eq!(data(&known, &numbers), all);
        let each = numbers.iter().flat_map(|&number| data(&known, &[number]));
        assert!(each.eq(all.iter().cloned()));
        let some: Vec<u64> = numbers.iter().copied().step_by(29).collect();
        assert_eq!(data(&known, &some), data(&[], &some));
        let place = known[0].index.before(known[0].last_frame(), 0).unwrap().1;
        let shorter = Position { file_len: place.file_len - 1, ..place.clone() };
        assert!(known[0].index.fits(&place) && !known[0].index.fits(&shorter));
    }

    #[test]
    fn a_number_in_printed_text_hides_none_of_the_captures_after_it() {
        let text = std::env::temp_dir().join(format!("nagle-scan-{}.txt", std::process::id()));
        let syn =
            "00:00:01.000000 IP 10.0.0.1.999 > 10.0.0.2.80: Flags [S], seq 1, win 9, length 0\n";
        std::fs::write(&text, syn).unwrap();
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/java-split.pcap");
        let paths = [text.to_str().unwrap(), capture].map(str::to_owned);
        let found = read(&paths, &[], &[1, 2, 3], ALL).unwrap();
        std::fs::remove_file(text).unwrap();
        let numbers: Vec<u64> = found.iter().map(|excerpt| excerpt.frame).collect();
        assert_eq!(numbers, [2, 3]);
    }

    /// Around it are addresses, and a checksum of what is left out.
    #[test]
    fn of_a_tunnel_only_the_innermost_packet_leaves_unless_all_may() {
        let packet = crate::decode::tests::packet(43, &[], 3);
        let outer = [[0x11; 6], [0x22; 6]].concat();
        let mpls = [0x88, 0x47, 0, 1, 0x01, 64];
        let data = [&outer[..], &mpls, &packet, &[0xee; 4]].concat();
        let frame = Frame { time_ns: 0, wire_len: data.len() as u32, link_type: 1, data: &data };
        let anonymizer = Anonymizer::new(std::array::from_fn(|index| index as u8));
        let whole = excerpt(&frame, 1, ALL).unwrap();
        assert_eq!((whole.link_type, &whole.data), (1, &data));
        for payload in [true, false] {
            let policy = Policy { payload, anonymizer: anonymizer.as_ref() };
            let bare = excerpt(&frame, 1, policy).unwrap();
            assert_eq!((bare.link_type, bare.payload_len), (crate::capture::link::RAW, 3));
            assert_eq!(bare.data.len(), if payload { packet.len() } else { 40 });
            assert_eq!(bare.data[20..24], packet[20..24]);
        }
        let cut = excerpt(&frame, 1, Policy { payload: false, anonymizer: None }).unwrap();
        assert_eq!(cut.data[..20], packet[..20]);
        assert_eq!((cut.data.len(), cut.wire_len), (40, data.len() as u32 - 18));
    }
}
