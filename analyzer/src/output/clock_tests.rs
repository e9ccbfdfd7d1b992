//! Shipped captures with clocks that nobody set right: whatever they show, nothing overflows (tests
//! check it), no listed wait is shorter than asked for, and captures cut anywhere tell the same.

use crate::capture::samples::{ByteOrder, interface, packet, section};
use crate::capture::{Capture, progress::Progress};
use crate::judge::findings::Finding;
use crate::output::write;
use crate::result::scan::{Scan, ScanOptions, scan};
use crate::track::reader::Reading;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// With stalls and without, losses, resent FINs, delayed ACKs, messages in turns, and two clocks.
const CAPTURES: [&str; 8] = [
    "jdk-httpserver.pcap",
    "epoll-fd0.pcap",
    "labelled/both-split-rtt26/client.pcap.gz",
    "labelled/both-split-rtt26-loss/middle.pcap.gz",
    "labelled/hard-connect-two-lost-split/client.pcap.gz",
    "labelled/both-split-duplicates/middle.pcap.gz",
    "labelled/formats-rtt26/client.pcap.gz",
    "labelled/hard-one-at-a-time-nagle-far/middle.pcap.gz",
];

const YEAR_NS: i64 = 365 * 86_400_000_000_000;
/// Waits that are asked for: as by default, and shorter and longer ones.
const MIN_WAITS_NS: [i64; 4] = [10_000_000, 1, 1_000_000, 150_000_000];

struct StampedFrame {
    time_ns: i64,
    data: Vec<u8>,
}

/// The frames of a shipped capture, and their link type.
fn frames(name: &str) -> (u32, Vec<StampedFrame>) {
    let path = format!("{}/../captures/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut capture = Capture::open(&path, &Arc::<Progress>::default()).unwrap();
    let (mut link_type, mut all) = (0, Vec::new());
    while let Some(frame) = capture.next_frame() {
        link_type = frame.link_type;
        all.push(StampedFrame { time_ns: frame.time_ns, data: frame.data.to_vec() });
    }
    (link_type, all)
}

/// A file of a test, gone with it.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// These frames as pcapng in ns, which takes any time.
fn file(name: &str, link_type: u32, frames: &[StampedFrame]) -> File {
    let order = ByteOrder::Little;
    let mut bytes = section(order);
    bytes.extend(interface(order, link_type as u16, 0, &[(9, &[9])]));
    for frame in frames {
        bytes.extend(packet(order, 0, frame.time_ns as u64, &frame.data));
    }
    let path = std::env::temp_dir().join(format!("nagle-scan-{name}-{}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    File(path)
}

fn scanned(files: &[File], min_wait_ns: i64) -> Scan {
    let options =
        ScanOptions { min_wait_ns, exchanges: true, ..ScanOptions::usual(Reading::by(1)) };
    let paths: Vec<String> = files.iter().map(|file| file.0.display().to_string()).collect();
    scan(&paths, &options, &Arc::default()).unwrap()
}

fn json(scan: &Scan, name: &str) -> String {
    let out = File(std::env::temp_dir().join(format!("nagle-scan-{name}-{}", std::process::id())));
    write(scan, "json", out.0.to_str().unwrap(), None).unwrap().unwrap();
    fs::read_to_string(&out.0).unwrap()
}

/// A generator of numbers that look random: the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as i64
    }
}

/// A clock, right at first; the last number is how far it is off by now.
type Clock = fn(&mut Random, &mut i64, i64) -> i64;

/// Clocks that nobody set right.
const CLOCKS: [(&str, Clock); 6] = [
    ("any", |numbers, _, _| numbers.next()),
    ("first-or-last", |numbers, _, _| if numbers.next() < 0 { 0 } else { i64::MAX }),
    ("decades", |numbers, _, ns| ns + numbers.next().rem_euclid(120) * YEAR_NS - 50 * YEAR_NS),
    ("backwards", |_, _, ns| 3_600_000_000_000_000_000 - ns),
    ("steps", |numbers, off_ns, ns| {
        if numbers.next() % 8 == 0 {
            *off_ns = numbers.next() % (YEAR_NS >> (numbers.next() & 31));
        }
        ns + *off_ns
    }),
    ("jitter", |numbers, _, ns| ns + numbers.next() % 100_000_000),
];

/// Each listed wait is one, and long enough.
fn check_waits(scan: &Scan, min_wait_ns: i64, which: &str) {
    for connection in 0..scan.connections.len() {
        for Finding { wait, .. } in scan.findings_of(connection).iter() {
            assert!(wait.wait_ns() >= min_wait_ns, "{which}: {wait:#?}");
        }
    }
}

#[test]
fn clocks_that_nobody_set_right_overflow_nothing_and_make_no_short_wait_a_long_one() {
    for name in CAPTURES {
        let (link_type, right) = frames(name);
        for seed in 1..=20 {
            for (clock, shown) in CLOCKS {
                let mut numbers = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
                let mut off_ns = 0;
                let which = format!("{}-{clock}-{seed}", name.replace('/', "-"));
                let mut show = |frame: &StampedFrame| StampedFrame {
                    time_ns: shown(&mut numbers, &mut off_ns, frame.time_ns),
                    data: frame.data.clone(),
                };
                let frames: Vec<StampedFrame> = right.iter().map(&mut show).collect();
                let file = file(&which, link_type, &frames);
                let min_wait_ns = MIN_WAITS_NS[seed as usize % MIN_WAITS_NS.len()];
                let scan = scanned(&[file], min_wait_ns);
                assert_eq!(scan.captures[0].stamps.frames, right.len() as u32, "{which}");
                check_waits(&scan, min_wait_ns, &which);
                json(&scan, &format!("{which}.json"));
            }
        }
    }
}

/// The second part goes on where the first one ends, whatever the clocks show.
#[test]
fn a_capture_cut_before_any_frame_tells_what_the_whole_one_tells() {
    for name in CAPTURES {
        let (link_type, frames) = frames(name);
        let at = |cut: usize, part: &str| format!("{}-{part}-{cut}", name.replace('/', "-"));
        let rows = |scan: &Scan, which: &str| {
            let text = json(scan, &format!("{which}.json"));
            let mut all: serde_json::Value = serde_json::from_str(&text).unwrap();
            all.as_object_mut().unwrap().remove("captures");
            all
        };
        let whole = scanned(&[file(&at(0, "whole"), link_type, &frames)], MIN_WAITS_NS[0]);
        let whole = rows(&whole, &at(0, "whole"));
        for cut in (1..frames.len()).take(100) {
            let (first, second) = frames.split_at(cut);
            let parts = [(first, "first"), (second, "second")]
                .map(|(part, which)| file(&at(cut, which), link_type, part));
            let scan = scanned(&parts, MIN_WAITS_NS[0]);
            assert_eq!(rows(&scan, &at(cut, "both")), whole, "{name} cut before frame {}", cut + 1);
        }
    }
}
