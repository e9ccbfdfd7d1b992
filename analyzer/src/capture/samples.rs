//! Records and blocks for tests, byte by byte.

/// The byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

pub const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;

impl ByteOrder {
    /// The bytes of a number, of which the low ones come first.
    fn of<const LEN: usize>(self, mut bytes: [u8; LEN]) -> [u8; LEN] {
        if self == Self::Big {
            bytes.reverse();
        }
        bytes
    }

    pub fn u16(self, value: u16) -> [u8; 2] {
        self.of(value.to_le_bytes())
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        self.of(value.to_le_bytes())
    }

    pub fn i64(self, value: i64) -> [u8; 8] {
        self.of(value.to_le_bytes())
    }

    pub fn all(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|&value| self.u32(value)).collect()
    }
}

pub fn pcap_header(order: ByteOrder, magic: u32, link_type: u32) -> Vec<u8> {
    order.all(&[magic, 2 | 4 << 16, 0, 0, 262_144, link_type])
}

pub fn record(order: ByteOrder, seconds: u32, fraction: u32, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u32;
    let mut bytes = order.all(&[seconds, fraction, len, len + 7]);
    bytes.extend(data);
    bytes
}

/// A pcapng block: type, length, body filled up to four bytes, length.
pub fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = order.u32(padded as u32 + 12);
    let mut bytes = [order.u32(kind), len].concat();
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(len);
    bytes
}

pub fn section(order: ByteOrder) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend(order.i64(-1));
    block(order, 0x0a0d_0d0a, &body)
}

/// Options are (code, value).
pub fn interface(
    order: ByteOrder,
    link_type: u16,
    snap_len: u32,
    options: &[(u16, &[u8])],
) -> Vec<u8> {
    let mut body = order.u16(link_type).to_vec();
    body.extend([0, 0]);
    body.extend(order.u32(snap_len));
    body.extend(of_options(order, options));
    block(order, 1, &body)
}

pub fn packet(order: ByteOrder, interface: u32, timestamp: u64, data: &[u8]) -> Vec<u8> {
    packet_with(order, interface, timestamp, data, &[])
}

pub fn packet_with(
    order: ByteOrder,
    interface: u32,
    timestamp: u64,
    data: &[u8],
    options: &[(u16, &[u8])],
) -> Vec<u8> {
    let (high, low) = ((timestamp >> 32) as u32, timestamp as u32);
    let len = data.len() as u32;
    let mut body = order.all(&[interface, high, low, len, len + 7]);
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(of_options(order, options));
    block(order, 6, &body)
}

/// Each as code, length and value, filled up to four bytes.
fn of_options(order: ByteOrder, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, value) in options {
        bytes.extend(order.u16(*code));
        bytes.extend(order.u16(value.len() as u16));
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        bytes.extend([0; 4]);
    }
    bytes
}

pub fn simple_packet(order: ByteOrder, wire_len: u32, data: &[u8]) -> Vec<u8> {
    let mut body = order.u32(wire_len).to_vec();
    body.extend(data);
    block(order, 3, &body)
}

/// In a time resolution: a power of two, not of ten.
pub const BINARY: u8 = 0x80;
pub const TSRESOL: u16 = 9;
pub const TSOFFSET: u16 = 14;

/// A generator of numbers below a bound: the same ones for the same seed.
pub fn random(seed: u32) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    }
}
