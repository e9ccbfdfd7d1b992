//! Allocations follow connections and findings, never packets.

use crate::capture::Capture;
use crate::capture::link;
use crate::capture::progress::Progress;
use crate::capture::samples::{ByteOrder, interface, packet_with, section};
use crate::decode;
use crate::track::connection::Lengths;
use crate::track::reader::labels::Labels;
use crate::track::reader::range::Range;
use crate::track::reader::{Reading, read_all};
use crate::track::tracker::Tracker;
use allocation_counter::measure;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames of one request and its answer.
const FRAMES: u32 = 2;
const PAYLOAD_LEN: u32 = 100;

/// An Ethernet frame of the conversation; each segment acknowledges all before it.
pub fn frame(from_client: bool, round: u32, client_port: u16) -> Vec<u8> {
    let sent = |rounds: u32| 1 + rounds * PAYLOAD_LEN;
    let (ports, addresses, seq, ack) = if from_client {
        ([client_port, 80], [[10, 0, 0, 1], [10, 0, 0, 2]], sent(round), sent(round))
    } else {
        ([80, client_port], [[10, 0, 0, 2], [10, 0, 0, 1]], sent(round), sent(round + 1))
    };
    let total_len = (40 + PAYLOAD_LEN as u16).to_be_bytes();
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 0, total_len[0], total_len[1], 0, 0, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend(addresses.concat());
    bytes.extend(ports.map(u16::to_be_bytes).concat());
    bytes.extend([seq, ack].map(u32::to_be_bytes).concat());
    bytes.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + PAYLOAD_LEN as usize, 0);
    bytes
}

/// Writes `rounds` requests, 1 ms apart, each answered after 0.1 ms, on `connections` connections in
/// turn, into a file of its own.
pub fn write_capture(rounds: u32, connections: u32) -> PathBuf {
    let header = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65535, link::ETHERNET];
    let mut bytes = header.map(u32::to_le_bytes).concat();
    for round in 0..rounds {
        for (from_client, after_us) in [(true, 0), (false, 100)] {
            let frame = frame(from_client, round, 10_000 + (round % connections) as u16);
            let time_us = round * 1000 + after_us;
            let record = [time_us / 1_000_000, time_us % 1_000_000, frame.len() as u32];
            bytes.extend(record.map(u32::to_le_bytes).concat());
            bytes.extend((frame.len() as u32).to_le_bytes());
            bytes.extend(frame);
        }
    }
    saved(&bytes)
}

/// Writes `bytes` into a file of its own.
pub fn saved(bytes: &[u8]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("nagle-scan-{}-{number}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn reading_and_decoding_allocate_nothing_per_packet() {
    let [few, many] = [3000, 30_000].map(|rounds| {
        let path = write_capture(rounds, 1);
        let read = || read_and_decode(path.to_str().unwrap(), rounds);
        let counted = measure(read);
        std::fs::remove_file(path).unwrap();
        counted.count_total
    });
    assert_like_a_growing_list(few, many);
}

#[test]
fn reading_pcapng_allocates_nothing_per_packet() {
    let [few, many] = [300, 3000].map(|packets| {
        let described =
            [section(ByteOrder::Little), interface(ByteOrder::Little, 1, 0, &[])].concat();
        let commented = packet_with(
            ByteOrder::Little,
            0,
            1,
            &frame(true, 0, 1),
            &[(1, b"a comment"), (2, &[0; 4])],
        );
        let path = saved(&[described, commented.repeat(packets)].concat());
        let counted = measure(|| {
            let mut capture = Capture::open(path.to_str().unwrap(), &Arc::default()).unwrap();
            assert!((0..packets).all(|_| capture.next_frame().is_some()));
        });
        std::fs::remove_file(path).unwrap();
        counted.count_total
    });
    assert_like_a_growing_list(few, many);
}

/// Ten times the packets take no more allocations than a growing list.
fn assert_like_a_growing_list(few: u64, many: u64) {
    assert!(few > 0, "nothing was counted");
    assert!(many <= few + 8, "{few} allocations, then {many}");
}

fn read_and_decode(path: &str, rounds: u32) {
    let mut capture = Capture::open(path, &Arc::new(Progress::default())).unwrap();
    let mut segments = 0;
    while let Some(frame) = capture.next_frame() {
        let plain = decode::plain_segment(frame.link_type, frame.data).unwrap();
        let segment = decode::segment(frame.link_type, frame.data, frame.wire_len).unwrap();
        assert_eq!(plain, segment);
        segments += u32::from(segment.header().len == PAYLOAD_LEN);
    }
    assert_eq!(segments, rounds * FRAMES);
}

#[test]
fn tracking_allocates_nothing_per_packet() {
    let [few, many] = [3000, 30_000].map(|rounds| {
        let ranges = ranges(rounds);
        let mut tracker = Tracker::new(Lengths::listing(10_000_000), false, false);
        let mut take = |range| _ = tracker.take(range, 0);
        measure(|| ranges.iter().for_each(&mut take)).count_total
    });
    assert_like_a_growing_list(few, many);
}

/// The segments of `rounds` requests and answers, decoded.
fn ranges(rounds: u32) -> Vec<Range> {
    let path = write_capture(rounds, 1);
    let paths = [path.to_str().unwrap().to_owned()];
    let mut ranges = Vec::new();
    let take = |range: &Range, _| ranges.push(range.clone());
    read_all(&paths, &Labels::default(), None, Reading::by(2), &Arc::default(), vec![take])
        .unwrap();
    std::fs::remove_file(path).unwrap();
    let rows = ranges.iter().flat_map(|range| range.of(0).map(|rows| rows.len() as u32));
    assert_eq!(rows.sum::<u32>(), rounds * FRAMES);
    ranges
}
