//! Records by columns: plain numbers, as they are kept between two passes.

use crate::decode::Header;
use crate::decode::Options;
use crate::decode::tunnel::Tunnel;
use crate::track::reader::range::Record;
use crate::track::table::key::FlatKey;

/// Gives a macro the names and types of all columns.
macro_rules! with_columns {
    ($with:ident) => {
        $with! {
            time_ns: i64,
            frame: u64,
            low_net: u64,
            low_host: u64,
            high_net: u64,
            high_host: u64,
            low_port: u16,
            high_port: u16,
            tunnel: u64,
            facts: u8,
            seq: u32,
            ack: u32,
            len: u32,
            window: u16,
            ip_id: u16,
            flags: u8,
            options: u8,
            tsval: u32,
            detail: u16,
        }
    };
}
pub(crate) use with_columns;

macro_rules! declare {
    ($($name:ident: $kind:ty,)*) => {
        /// Records of one shard. Addresses are those of the lower endpoint and the higher one, each as its
        /// first 64 bits and its last ones.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Columns {
            $(pub $name: Vec<$kind>,)*
        }

        impl Columns {
            /// Are all as long as the first?
            pub fn are_even(&self) -> bool {
                [$(self.$name.len()),*].iter().all(|&len| len == self.len())
            }
        }
    };
}
with_columns!(declare);

/// Bits of `facts`.
const FROM_LOW: u8 = 1 << 0;
const IS_V4: u8 = 1 << 1;

impl Columns {
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    pub fn push(&mut self, record: &Record) {
        let Record { frame, time_ns, key, is_from_low, header } = *record;
        let [low, high] = key.addresses;
        let (tsval, detail, options) = header.options.to_parts();
        let fact = |condition, fact: u8| if condition { fact } else { 0 };
        self.time_ns.push(time_ns);
        self.frame.push(frame);
        self.low_net.push((low >> 64) as u64);
        self.low_host.push(low as u64);
        self.high_net.push((high >> 64) as u64);
        self.high_host.push(high as u64);
        self.low_port.push(key.ports[0]);
        self.high_port.push(key.ports[1]);
        self.tunnel.push(key.tunnel.to_bits());
        self.facts.push(fact(is_from_low, FROM_LOW) | fact(key.is_v4, IS_V4));
        self.seq.push(header.seq);
        self.ack.push(header.ack);
        self.len.push(header.len);
        self.window.push(header.window);
        self.ip_id.push(header.ip_id);
        self.flags.push(header.flags);
        self.options.push(options);
        self.tsval.push(tsval);
        self.detail.push(detail);
    }

    /// The records, if the columns are even.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        (0..self.len()).map(|at| self.record(at))
    }

    fn record(&self, at: usize) -> Record {
        let address = |net: u64, host: u64| u128::from(net) << 64 | u128::from(host);
        Record {
            frame: self.frame[at],
            time_ns: self.time_ns[at],
            key: FlatKey {
                addresses: [
                    address(self.low_net[at], self.low_host[at]),
                    address(self.high_net[at], self.high_host[at]),
                ],
                ports: [self.low_port[at], self.high_port[at]],
                is_v4: self.facts[at] & IS_V4 != 0,
                tunnel: Tunnel::from_bits(self.tunnel[at]),
            },
            is_from_low: self.facts[at] & FROM_LOW != 0,
            header: Header {
                seq: self.seq[at],
                ack: self.ack[at],
                len: self.len[at],
                window: self.window[at],
                ip_id: self.ip_id[at],
                options: Options::from_parts((self.tsval[at], self.detail[at], self.options[at])),
                flags: self.flags[at],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::ACK;
    use crate::track::reader::range::{Range, SHARDS};

    /// A record between these addresses.
    fn record(frame: u64, addresses: [u128; 2], is_v4: bool, tunnel: Tunnel) -> Record {
        let options = Options::of_syn(1460, Some(7), Some(0xdead_beef), true);
        Record {
            frame,
            time_ns: 1_700_000_000_000_000_007,
            key: FlatKey { addresses, ports: [80, 40_000], is_v4, tunnel },
            is_from_low: frame % 2 == 1,
            header: Header {
                seq: u32::MAX,
                ack: 7,
                len: 70_000,
                window: 0xfffe,
                ip_id: 3,
                options,
                flags: ACK,
            },
        }
    }

    #[test]
    fn records_of_every_kind_of_connection_come_back_as_they_were() {
        let (v4, v6) = ([0x0a00_0001, 0x0a00_0002], [1 << 127 | 5, u128::MAX - 1]);
        let (none, inside) = (Tunnel::default(), Tunnel::of_test(9));
        let kinds = [(v4, true, none), (v6, false, none), (v4, true, inside), (v6, false, inside)];
        let records: Vec<Record> = (0..)
            .zip(kinds)
            .map(|(frame, (addresses, is_v4, tunnel))| record(frame, addresses, is_v4, tunnel))
            .collect();
        let mut columns = Columns::default();
        for record in &records {
            columns.push(record);
        }
        assert!(columns.are_even() && columns.records().eq(records.iter().copied()));
        columns.detail.pop();
        assert!(!columns.are_even());
        let mut range = Range::new(SHARDS);
        for record in &records {
            range.reset();
            let shard = range.push_record(record);
            let rows: Vec<_> = range.of(shard).flatten().collect();
            assert_eq!(rows.iter().map(|row| range.record(row)).collect::<Vec<_>>(), [*record]);
        }
    }
}
