//! pcapng files: what one range tells of the frames of later ones.

use super::{assert_same_however_it_is_read, read};
use crate::capture::InputEnd;
use crate::capture::samples::{
    BINARY, ByteOrder, ORDERS, TSRESOL, block, interface, packet, random, section, simple_packet,
};
use crate::track::CaptureSummary;
use crate::track::allocations::{frame, saved};

/// More frames than are read at once for the clock of a capture, whatever the ranges.
const MANY: usize = 80;
const NAME_RESOLUTION: u32 = 4;
const STATISTICS: u32 = 5;

/// A file that grows, and what is to be read from it.
struct Sample {
    order: ByteOrder,
    bytes: Vec<u8>,
    /// Units per second of the section's interfaces.
    units: Vec<i64>,
    times_ns: Vec<i64>,
}

impl Sample {
    fn new(order: ByteOrder) -> Self {
        let mut sample = Self { order, bytes: Vec::new(), units: Vec::new(), times_ns: Vec::new() };
        sample.section(order);
        sample
    }

    fn section(&mut self, order: ByteOrder) {
        self.order = order;
        self.units.clear();
        self.bytes.extend(section(order));
    }

    fn interface(&mut self, resolution: u8) {
        let options: [(u16, &[u8]); 1] = [(TSRESOL, &[resolution])];
        self.bytes.extend(interface(self.order, 1, 0, &options));
        self.units.push(match resolution {
            BINARY.. => 1 << (resolution - BINARY),
            _ => 10_i64.pow(resolution.into()),
        });
    }

    /// So many packets, one in a quarter of a second: all clocks can tell that.
    fn packets(&mut self, interface: usize, count: usize) {
        for _ in 0..count {
            let quarters = self.times_ns.len() as i64;
            let timestamp = (quarters * self.units[interface] / 4) as u64;
            let data = frame(true, quarters as u32, 10_000 + quarters as u16 % 40);
            self.bytes.extend(packet(self.order, interface as u32, timestamp, &data));
            self.times_ns.push(quarters * 250_000_000);
        }
    }

    /// A block that tells nothing of any packet.
    fn aside(&mut self, kind: u32, len: usize) {
        self.bytes.extend(block(self.order, kind, &vec![0; len]));
    }

    /// All of it is read, with the right times.
    fn check(&self) {
        let path = saved(&self.bytes);
        let summary = assert_same_however_it_is_read(&path);
        assert_eq!(summary.end, InputEnd::Complete);
        let mut marks = read(&path, 2, 1000).0.concat();
        marks.sort_unstable();
        assert!(marks.into_iter().eq((1..).zip(self.times_ns.iter().copied())));
        std::fs::remove_file(path).unwrap();
    }
}

fn read_bytes(bytes: &[u8]) -> CaptureSummary {
    let path = saved(bytes);
    let summary = assert_same_however_it_is_read(&path);
    std::fs::remove_file(path).unwrap();
    summary
}

#[test]
fn interfaces_of_the_beginning_are_those_of_every_range() {
    for order in ORDERS {
        let mut sample = Sample::new(order);
        for resolution in [9, 3, BINARY + 20] {
            sample.interface(resolution);
        }
        for at in 0..150 {
            sample.packets(at % 3, 1);
        }
        sample.check();
    }
}

/// A range that was read ahead takes it for unknown, and must not end the capture.
#[test]
fn an_interface_that_comes_late_is_known_from_there_on() {
    let mut sample = Sample::new(ByteOrder::Little);
    sample.interface(6);
    sample.packets(0, MANY);
    sample.interface(9);
    for at in 0..100 {
        sample.packets(at % 2, 1);
    }
    sample.check();
}

/// As of files that were put together by `cat`. A range that was read ahead may find all its packets well,
/// with the clock of the section before.
#[test]
fn a_section_numbers_its_interfaces_anew_for_all_ranges_after_it() {
    for order in ORDERS {
        let mut sample = Sample::new(ByteOrder::Little);
        sample.interface(6);
        sample.packets(0, MANY);
        sample.section(order);
        sample.interface(9);
        sample.packets(0, MANY);
        sample.check();
    }
}

#[test]
fn blocks_without_packets_fill_whole_ranges() {
    let mut sample = Sample::new(ByteOrder::Big);
    sample.aside(NAME_RESOLUTION, 5000);
    sample.interface(6);
    sample.packets(0, MANY);
    for _ in 0..300 {
        sample.aside(STATISTICS, 12);
    }
    sample.packets(0, MANY);
    sample.aside(0x7777, 9000);
    sample.check();
}

#[test]
fn a_pcapng_in_a_pcapng_is_not_taken_for_its_blocks() {
    let mut inner = Sample::new(ByteOrder::Little);
    inner.interface(6);
    inner.packets(0, 10);
    let mut bytes = [section(ByteOrder::Little), interface(ByteOrder::Little, 1, 0, &[])].concat();
    for at in 0..100 {
        bytes.extend(packet(ByteOrder::Little, 0, at, &inner.bytes));
    }
    let summary = read_bytes(&bytes);
    assert_eq!((summary.packets, summary.end), (100, InputEnd::Complete));
}

#[test]
fn a_pcapng_that_ends_early_ends_there_whoever_reads_on() {
    let mut sample = Sample::new(ByteOrder::Little);
    sample.interface(6);
    sample.packets(0, 100);
    let at = sample.bytes.len();
    sample.packets(0, 60);
    let mut damaged = sample.bytes.clone();
    damaged[at + 8] = 1;
    for (bytes, end) in [
        (&sample.bytes[..at + 33], InputEnd::Cut),
        (&damaged, InputEnd::Damaged("a packet names an interface that is not described")),
    ] {
        let summary = read_bytes(bytes);
        assert_eq!((summary.packets, summary.end), (100, end));
    }
}

/// Whatever follows whatever, whole and damaged.
#[test]
fn any_blocks_are_read_the_same_by_all() {
    for seed in 0..20 {
        let mut random = random(seed);
        let mut sample = Sample::new(ORDERS[random(2)]);
        sample.interface([3, 6, 9, BINARY + 20][random(4)]);
        for _ in 0..80 {
            match random(6) {
                0 => sample.interface([3, 6, 9, BINARY + 20][random(4)]),
                1 => {
                    sample.section(ORDERS[random(2)]);
                    sample.interface([6, 9][random(2)]);
                }
                2 => {
                    let kind = [NAME_RESOLUTION, STATISTICS, 0x7777][random(3)];
                    sample.aside(kind, 12 + random(700));
                }
                _ => sample.packets(random(sample.units.len()), random(10)),
            }
        }
        sample.check();
        sample.bytes.extend(simple_packet(sample.order, 200, &frame(true, 1, 2)));
        let at = random(sample.bytes.len());
        sample.bytes[at] = random(256) as u8;
        read_bytes(&sample.bytes);
    }
}
