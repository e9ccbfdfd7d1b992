//! Allocations follow connections and findings, never packets.

use crate::capture::Capture;
use crate::decode;
use crate::link;
use crate::progress::Progress;
use crate::scan::{Options, scan};
use allocation_counter::measure;
use std::path::PathBuf;
use std::sync::Arc;

/// Frames of one request and its answer.
const FRAMES: u32 = 2;
const PAYLOAD_LEN: u32 = 100;

/// An Ethernet frame of the conversation; each segment acknowledges all before it.
fn frame(from_client: bool, round: u32, client_port: u16) -> Vec<u8> {
    let sent = |rounds: u32| 1 + rounds * PAYLOAD_LEN;
    let (ports, addresses, seq, ack) = match from_client {
        true => ([client_port, 80], [[10, 0, 0, 1], [10, 0, 0, 2]], sent(round), sent(round)),
        false => ([80, client_port], [[10, 0, 0, 2], [10, 0, 0, 1]], sent(round), sent(round + 1)),
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

/// Writes so many requests, 1 ms apart, with an answer 0.1 ms after each, on so many connections in turn.
pub fn write_capture(rounds: u32, connections: u32) -> PathBuf {
    let name = format!("nagle-scan-{}-{rounds}-{connections}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
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
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Allocations of `work` in this thread, on a capture of so many requests.
fn allocations(rounds: u32, work: impl Fn(&str)) -> u64 {
    let path = write_capture(rounds, 1);
    let counted = measure(|| work(path.to_str().unwrap()));
    std::fs::remove_file(path).unwrap();
    counted.count_total
}

/// Ten times the packets may take no more than a growing list takes.
fn assert_does_not_follow_packets(few: u32, work: impl Fn(&str)) {
    let (of_few, of_many) = (allocations(few, &work), allocations(few * 10, &work));
    assert!(of_few > 0, "nothing was counted");
    assert!(of_many <= of_few + 8, "{of_few} allocations, then {of_many}");
}

#[test]
fn reading_and_decoding_allocate_nothing_per_packet() {
    assert_does_not_follow_packets(3000, |path| {
        let mut capture = Capture::open(path, &Arc::new(Progress::default())).unwrap();
        let mut segments = 0;
        while let Some(frame) = capture.next_frame() {
            let plain = decode::plain_segment(frame.link_type, frame.data).unwrap();
            let segment = decode::segment(frame.link_type, frame.data, frame.wire_len).unwrap();
            assert_eq!(plain, segment);
            segments += u32::from(segment.header().len == PAYLOAD_LEN);
        }
        assert!(segments >= 3000 * FRAMES);
    });
}

/// Most segments are tracked in the thread that calls; the reader's helps out at the others.
#[test]
fn tracking_allocates_nothing_per_packet() {
    assert_does_not_follow_packets(3001, |path| {
        let options = Options { filter: None, min_wait_ns: 10_000_000, exchanges: false };
        let paths = [path.to_owned()];
        let found = scan(&paths, &options, &Arc::new(Progress::default())).unwrap();
        assert_eq!((found.verdicts.len(), found.findings.len()), (1, 0));
        assert!(found.verdicts[0].exchanges >= 3000);
    });
}
