//! The reader, compared with libpcap.

use super::*;
use crate::capture::samples::packet_with;
use std::path::Path;

/// The frames that libpcap reads from a file.
fn read_with_libpcap(path: &Path) -> Vec<OwnedFrame> {
    let precision = ::pcap::Precision::Nano;
    let mut capture = ::pcap::Capture::from_file_with_precision(path, precision).unwrap();
    let link_type = capture.get_datalink().0 as u32;
    let mut frames = Vec::new();
    loop {
        match capture.next_packet() {
            Ok(packet) => frames.push(OwnedFrame {
                // With this precision `tv_usec` holds nanoseconds.
                time_ns: packet.header.ts.tv_sec * 1_000_000_000 + packet.header.ts.tv_usec,
                wire_len: packet.header.len,
                link_type,
                data: packet.data.to_vec(),
            }),
            Err(::pcap::Error::NoMorePackets) => return frames,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
}

#[test]
fn the_shipped_captures_read_as_libpcap_reads_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures");
    let mut compared = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcap") {
            let (frames, end) =
                read(Capture::open(path.to_str().unwrap(), &Arc::default()).unwrap());
            assert_eq!(end, InputEnd::Complete);
            assert!(!frames.is_empty());
            assert!(frames == read_with_libpcap(&path), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 7, "only {compared} captures in {}", folder.display());
}

type Random<'a> = &'a mut dyn FnMut(usize) -> usize;

fn are_read_as_by_libpcap(what: &str, captures: fn(Random) -> Vec<u8>) {
    let path = std::env::temp_dir().join(format!("nagle-scan-{what}-{}", std::process::id()));
    for seed in 0..100 {
        let bytes = captures(&mut random(seed));
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read_bytes(&bytes), (read_with_libpcap(&path), InputEnd::Complete), "{seed}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// Old versions have the length on the wire first (2.2), or the larger one is that (2.3); the link
/// type may have the length of a check sequence beside it.
#[test]
fn any_records_that_libpcap_reads_are_read_as_by_libpcap() {
    are_read_as_by_libpcap("records", |random| {
        let order = ORDERS[random(2)];
        let (magic, units) = [(MICROSECONDS, 1_000_000), (NANOSECONDS, 1_000_000_000)][random(2)];
        let minor = random(3) + 2;
        let mut bytes = pcap_header(order, magic, link::ETHERNET | [0, 0x2400_0000][random(2)]);
        bytes[4..8].copy_from_slice(&[order.u16(2), order.u16(minor as u16)].concat());
        for _ in 0..random(100) {
            let data = vec![7; random(300)];
            let lens = [data.len(), data.len() + random(1_000)].map(|len| len as u32);
            let is_wire_first = minor == 2 || minor == 3 && random(2) == 0;
            let [first, second] = if is_wire_first { [lens[1], lens[0]] } else { lens };
            let time = [1_700_000_000 + random(1 << 24), random(1 << 24) * 61 % units];
            bytes.extend(order.all(&[time[0] as u32, time[1] as u32, first, second]));
            bytes.extend(data);
        }
        bytes
    });
}

/// Packets of all lengths and kinds, with options and without, of several clocks, and other blocks.
#[test]
fn any_blocks_that_libpcap_reads_are_read_as_by_libpcap() {
    const SNAP_LEN: usize = 200;
    are_read_as_by_libpcap("blocks", |random| {
        let order = ORDERS[random(2)];
        let mut bytes = section(order);
        let mut interfaces = 0;
        while interfaces == 0 || random(200) > 0 {
            let data = vec![7; random(SNAP_LEN)];
            match random(12) {
                _ if interfaces == 0 || random(40) == 0 => {
                    let resolution = [3, 6, 9, BINARY + 10, BINARY + 20][random(5)];
                    let offset = order.i64([0, 1, 1_600_000_000][random(3)]);
                    let options: [(u16, &[u8]); 2] =
                        [(TSRESOL, &[resolution]), (TSOFFSET, &offset)];
                    bytes.extend(interface(order, 1, SNAP_LEN as u32, &options));
                    interfaces += 1;
                }
                0 => {
                    let kind = [4, 5, 0x0bad, 0x7777_7777, 0x8000_0001][random(5)];
                    bytes.extend(block(order, kind, &vec![0; 12 + random(40)]));
                }
                1 => {
                    let wire_len = [data.len(), SNAP_LEN + random(1_000)][random(2)];
                    let data = vec![7; wire_len.min(SNAP_LEN)];
                    bytes.extend(simple_packet(order, wire_len as u32, &data));
                }
                2 => {
                    // The interface takes two bytes, and then come drops.
                    let mut body = [order.u16(random(interfaces) as u16), order.u16(9)].concat();
                    body.extend(order.all(&[0, random(1 << 24) as u32, data.len() as u32, 1_000]));
                    bytes.extend(block(order, 2, &[body, data].concat()));
                }
                chosen => {
                    let comment = vec![b'c'; random(50)];
                    let options: [(u16, &[u8]); 2] = [(1, &comment), (2, &[0; 4])];
                    let at = random(1 << 20) as u64 * 9973;
                    let options = &options[..chosen % 3];
                    bytes.extend(packet_with(order, random(interfaces) as u32, at, &data, options));
                }
            }
        }
        bytes
    });
}
