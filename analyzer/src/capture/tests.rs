//! The reader, fed from memory.

#[cfg(feature = "filter")]
mod libpcap;

use super::frame::MAX_RECORD;
use super::samples::{
    BINARY, ByteOrder, MICROSECONDS, NANOSECONDS, ORDERS, TSOFFSET, TSRESOL, block, interface,
    packet, pcap_header, random, record, section, simple_packet,
};
use super::{Capture, InputEnd};
use crate::capture::error::ScanError;
use crate::capture::link;
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::sync::Arc;

fn pcap(order: ByteOrder, magic: u32, sizes: &[usize]) -> Vec<u8> {
    let mut bytes = pcap_header(order, magic, link::ETHERNET);
    for (index, &size) in sizes.iter().enumerate() {
        bytes.extend(record(order, index as u32, 5, &vec![index as u8; size]));
    }
    bytes
}

/// A section with one Ethernet interface in microseconds, packets and a block of statistics.
fn pcapng(order: ByteOrder, sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut blocks = vec![section(order), interface(order, 1, 0, &[])];
    for (index, &size) in sizes.iter().enumerate() {
        blocks.push(packet(order, 0, index as u64, &vec![index as u8; size]));
    }
    blocks.push(block(order, 5, &[0; 12]));
    blocks
}

/// A frame that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnedFrame {
    time_ns: i64,
    wire_len: u32,
    link_type: u32,
    data: Vec<u8>,
}

fn read(mut capture: Capture) -> (Vec<OwnedFrame>, InputEnd) {
    let mut frames = Vec::new();
    while let Some(frame) = capture.next_frame() {
        frames.push(OwnedFrame {
            time_ns: frame.time_ns,
            wire_len: frame.wire_len,
            link_type: frame.link_type,
            data: frame.data.to_vec(),
        });
    }
    assert!(capture.next_frame().is_none(), "the end is the end");
    (frames, capture.end().unwrap().clone())
}

fn open(bytes: &[u8]) -> Result<Capture, ScanError> {
    Capture::new(Box::new(Cursor::new(bytes.to_vec())), "memory")
}

fn read_bytes(bytes: &[u8]) -> (Vec<OwnedFrame>, InputEnd) {
    read(open(bytes).unwrap())
}

/// Gives a few bytes at a time, with interruptions, as pipes do.
struct Pipe {
    bytes: Cursor<Vec<u8>>,
    chunk: usize,
    calls: usize,
    fails_at_end: bool,
}

impl Pipe {
    fn new(bytes: &[u8], chunk: usize) -> Self {
        Self { bytes: Cursor::new(bytes.to_vec()), chunk, calls: 0, fails_at_end: false }
    }
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(ErrorKind::Interrupted.into());
        }
        let chunk = self.chunk.min(into.len());
        match self.bytes.read(&mut into[..chunk])? {
            0 if self.fails_at_end => Err(io::Error::other("the disk is on fire")),
            count => Ok(count),
        }
    }
}

#[test]
fn each_pcapng_interface_keeps_its_own_link_type_and_clock() {
    for order in ORDERS {
        let half_second = 1_u64 << 19;
        let bytes = [
            section(order),
            interface(order, 1, 0, &[]),
            interface(order, 101, 0, &[(TSRESOL, &[9])]),
            interface(order, 113, 0, &[(2, b"eth0"), (TSRESOL, &[BINARY + 20])]),
            packet(order, 2, (3 << 20) + half_second, b"c"),
            packet(order, 0, 1_000_002, b"a"),
            packet(order, 1, 5_000_000_007, b"bb"),
        ]
        .concat();
        let (frames, end) = read_bytes(&bytes);
        let seen: Vec<_> = frames.iter().map(|frame| (frame.link_type, frame.time_ns)).collect();
        let expected = [(113, 3_500_000_000), (1, 1_000_002_000), (101, 5_000_000_007)];
        assert_eq!((seen.as_slice(), end), (expected.as_slice(), InputEnd::Complete));
        assert_eq!((frames[2].wire_len, frames[2].data.as_slice()), (9, b"bb".as_slice()));
    }
}

#[test]
fn a_new_section_may_change_the_byte_order_and_numbers_interfaces_anew() {
    let bytes = [
        section(ByteOrder::Little),
        interface(ByteOrder::Little, 1, 0, &[]),
        packet(ByteOrder::Little, 0, 1, b"a"),
        section(ByteOrder::Big),
        interface(ByteOrder::Big, 101, 0, &[]),
        packet(ByteOrder::Big, 0, 2, b"b"),
    ]
    .concat();
    let seen: Vec<_> =
        read_bytes(&bytes).0.iter().map(|frame| (frame.link_type, frame.time_ns)).collect();
    assert_eq!(seen, [(1, 1000), (101, 2000)]);
}

#[test]
fn no_section_makes_a_list_of_interfaces_outgrow_its_bound() {
    let described = interface(ByteOrder::Little, 1, 0, &[]);
    let of = |count| [section(ByteOrder::Little), described.repeat(count)].concat();
    assert_eq!(read_bytes(&of(1 << 16)).1, InputEnd::Complete);
    assert!(matches!(read_bytes(&of((1 << 16) + 1)).1, InputEnd::Damaged(_)));
}

#[test]
fn an_impossible_time_resolution_matters_only_to_packets_that_use_it() {
    let order = ByteOrder::Little;
    for resolution in [20, BINARY + 64] {
        let bytes = [
            section(order),
            interface(order, 1, 0, &[]),
            interface(order, 1, 0, &[(TSRESOL, &[resolution])]),
            packet(order, 0, 1, b"a"),
            packet(order, 1, 1, b"b"),
        ]
        .concat();
        let (frames, end) = read_bytes(&bytes);
        assert_eq!(frames.len(), 1);
        assert!(matches!(end, InputEnd::Damaged(_)), "{end:?}");
    }
}

#[test]
fn a_capture_cut_anywhere_keeps_every_frame_before_the_cut() {
    for order in ORDERS {
        let sizes = [0, 1, 60, 33];
        let mut records = vec![pcap(order, MICROSECONDS, &[])];
        records.extend(sizes.map(|size| record(order, 0, 5, &vec![7; size])));
        // With the parts that come before the first frame.
        for (parts, before) in [(records, 1), (pcapng(order, &sizes), 2)] {
            let whole = parts.concat();
            let all = read_bytes(&whole).0;
            assert_eq!(all.len(), sizes.len());
            let mut begin = 0;
            for (complete, part) in parts.iter().enumerate() {
                let end = begin + part.len();
                // A cut within the first part leaves no capture.
                for cut in (begin + 1..=end).filter(|&cut| complete > 0 || cut == end) {
                    let frames = (complete + usize::from(cut == end)).saturating_sub(before);
                    let stop = if cut == end { InputEnd::Complete } else { InputEnd::Cut };
                    let expected = (all[..frames.min(sizes.len())].to_vec(), stop);
                    assert_eq!(read_bytes(&whole[..cut]), expected, "{order:?} {cut}");
                }
                begin = end;
            }
        }
    }
}

#[test]
fn impossible_records_and_blocks_are_damage_after_the_good_frames() {
    let order = ByteOrder::Little;
    let (good_pcap, good) =
        (pcap(order, NANOSECONDS, &[10, 20]), pcapng(order, &[10, 20]).concat());
    let record = |length: u32| (&good_pcap, order.all(&[1, 1, length, 60]));
    let length = |length: u32| (&good, order.all(&[6, length, 0, 0]));
    let mut lengths_differ = packet(order, 0, 1, b"abcd");
    let trailer = lengths_differ.len() - 4;
    lengths_differ[trailer] ^= 4;
    let mut longer_than_its_block = packet(order, 0, 1, b"abcd");
    longer_than_its_block[20] = 200;
    let mut no_byte_order = section(order);
    no_byte_order[8] = 0;
    for (name, (good, bad)) in [
        ("a record too long", record(MAX_RECORD as u32 + 1)),
        ("a record of a length that is negative", record(u32::MAX)),
        ("length 0", length(0)),
        ("length 8", length(8)),
        ("length not a multiple of 4", length(33)),
        ("length beyond reason", length(u32::MAX - 3)),
        ("too short for a packet", (&good, block(order, 6, &[0; 4]))),
        (
            "too short for an old packet",
            (&good, block(order, 2, &order.all(&[0, 0, 70, 300, 300]))),
        ),
        ("undescribed interface", (&good, packet(order, 1, 1, b"abcd"))),
        ("two lengths that differ", (&good, lengths_differ)),
        ("captured length beyond the block", (&good, longer_than_its_block)),
        ("no byte order", (&good, no_byte_order)),
    ] {
        let (frames, end) = read_bytes(&[good.as_slice(), &bad, good].concat());
        assert_eq!(frames.len(), 2, "{name}");
        assert!(matches!(end, InputEnd::Damaged(_)), "{name}: {end:?}");
    }
}

#[test]
fn a_pipe_gives_what_a_file_gives_and_frames_larger_than_the_buffer_come_whole() {
    let few_at_a_time: Vec<usize> = (1..20).collect();
    for (sizes, chunks) in [
        (&[0, 5, 90, 1][..], &few_at_a_time[..]),
        (&[300_000, 10, 262_128, 1_000_000, 300_000], &[usize::MAX, 65_536, 4_099]),
    ] {
        let ng = pcapng(ByteOrder::Big, sizes).concat();
        for bytes in [pcap(ByteOrder::Little, NANOSECONDS, sizes), ng] {
            let (frames, end) = read_bytes(&bytes);
            let data = sizes.iter().enumerate().map(|(index, &size)| vec![index as u8; size]);
            assert!(frames.iter().map(|frame| &frame.data).eq(&data.collect::<Vec<_>>()));
            for &chunk in chunks {
                let pipe = Pipe::new(&bytes, chunk);
                let piped = read(Capture::new(Box::new(pipe), "-").unwrap());
                assert!(piped.0 == frames && piped.1 == end, "{chunk}");
            }
        }
    }
}

#[test]
fn a_read_error_is_told_and_keeps_what_came_before() {
    let bytes = pcap(ByteOrder::Little, MICROSECONDS, &[5, 6]);
    let pipe = Pipe { fails_at_end: true, ..Pipe::new(&bytes, 1000) };
    let (frames, end) = read(Capture::new(Box::new(pipe), "-").unwrap());
    assert_eq!((frames.len(), end), (2, InputEnd::Failed("the disk is on fire".to_owned())));
}

#[test]
fn no_claimed_length_makes_the_buffer_outgrow_its_bound() {
    let order = ByteOrder::Little;
    let largest = MAX_RECORD as u32;
    let mut in_pcap = pcap(order, MICROSECONDS, &[1]);
    in_pcap.extend(order.all(&[1, 1, largest, largest]));
    let mut in_pcapng = pcapng(order, &[1]).concat();
    in_pcapng.extend(order.all(&[0x7777, largest]));
    for start in [in_pcap, in_pcapng] {
        let input = Cursor::new(start).chain(io::repeat(0xff));
        let allocated = allocation_counter::measure(|| {
            let (_, end) = read(Capture::new(Box::new(input), "-").unwrap());
            assert!(matches!(end, InputEnd::Damaged(_)), "{end:?}");
        });
        assert!(allocated.bytes_max < 6 * u64::from(largest), "{} bytes", allocated.bytes_max);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 1).unwrap()
}

/// RFC 8878, section 3.1.2: `pzstd` and others keep what they like in such frames.
#[test]
fn zstd_frames_to_be_skipped_are_skipped() {
    let plain = pcap(ByteOrder::Little, MICROSECONDS, &[60, 1500, 0]);
    let (first, second) = plain.split_at(50);
    let skipped = |kind| [&[kind, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let packed = [skipped(0x50), zstd(first), skipped(0x5f), zstd(second), skipped(0x57)].concat();
    assert_eq!(read_bytes(&packed), read_bytes(&plain));
    let error = open(&skipped(0x50)).err().unwrap().to_string();
    assert!(error.contains("the file is empty"), "{error}");
}

#[test]
fn packed_captures_read_as_the_plain_ones() {
    let sizes = [0, 5, 90, 300_000, 1];
    let ng = pcapng(ByteOrder::Big, &sizes).concat();
    for plain in [pcap(ByteOrder::Little, NANOSECONDS, &sizes), ng] {
        let (first, second) = plain.split_at(200);
        let in_two_members = [gzip(first), gzip(second)].concat();
        let in_two_frames = [zstd(first), zstd(second)].concat();
        for packed in [gzip(&plain), zstd(&plain), in_two_members, in_two_frames] {
            assert!(read_bytes(&packed) == read_bytes(&plain));
            let pipe = Pipe::new(&packed, 77);
            assert!(read(Capture::new(Box::new(pipe), "-").unwrap()) == read_bytes(&plain));
        }
    }
}

#[test]
fn a_packed_capture_cut_anywhere_is_told_to_be_cut() {
    let plain = pcap(ByteOrder::Little, MICROSECONDS, &[60; 50]);
    let all = read_bytes(&plain).0;
    for packed in [gzip(&plain), zstd(&plain)] {
        for cut in 4..packed.len() {
            if let Ok(capture) = open(&packed[..cut]) {
                let (frames, end) = read(capture);
                assert!(all.starts_with(&frames), "{cut}");
                assert_eq!(end, InputEnd::Cut, "{cut} of {}", packed.len());
            }
        }
    }
}

#[test]
fn damaged_bytes_never_panic_loop_or_invent_frames() {
    let order = ByteOrder::Little;
    let extra = [
        interface(order, 113, 4, &[(TSRESOL, &[BINARY + 20]), (TSOFFSET, &[1; 8])]),
        simple_packet(order, 5, b"abcde"),
        packet(order, 1, u64::MAX, &[7; 40]),
    ];
    let samples = [
        pcap(ByteOrder::Little, MICROSECONDS, &[0, 60, 7]),
        pcap(ByteOrder::Big, NANOSECONDS, &[0, 60, 7]),
        pcapng(ByteOrder::Big, &[0, 60, 7]).concat(),
        [pcapng(order, &[0, 60, 7]).concat(), extra.concat()].concat(),
    ];
    let mut random = random(1);
    for round in 0..20_000 {
        let mut bytes = samples[round % samples.len()].clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            bytes[at] = if random(2) == 0 { random(256) as u8 } else { 0xff };
        }
        bytes.truncate(bytes.len() - random(8));
        if let Ok(capture) = open(&bytes) {
            let (frames, _) = read(capture);
            let captured: usize = frames.iter().map(|frame| frame.data.len()).sum();
            assert!(captured <= bytes.len() && frames.len() * 12 <= bytes.len());
        }
    }
}
