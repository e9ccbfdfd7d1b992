//! Options that a user may choose.

use super::properties::usual;
use arbitrary::Arbitrary;
use nagle_scan_core::{Labels, Names, Reading, SHARDS, ScanOptions, Wanted};
use std::collections::HashMap;
use std::net::IpAddr;

#[derive(Arbitrary, Debug)]
pub struct Asked {
    filter: Option<Vec<Word>>,
    min_wait: MinWait,
    exchanges: bool,
    threads: u8,
    range_len: u16,
    shards: u8,
    name: Option<([u8; 16], String)>,
    wanted: Vec<(u32, Vec<(u64, u64)>)>,
    pub key: [u8; 32],
    pub payload: bool,
}

/// `--min-wait` takes milliseconds, more than 0 and at most an hour.
#[derive(Arbitrary, Debug)]
enum MinWait {
    Usual,
    Nanos(u32),
    Least,
    Most,
}

/// Words of a filter. None of them can be taken for a host's name, which libpcap would look up.
#[derive(Arbitrary, Debug)]
enum Word {
    Known(u8),
    Number(u32),
    Port(u16),
    Host([u8; 4]),
    Net([u8; 4], u8),
    Byte(u8, u8),
}

const KNOWN: &str = "and,or,not,(,),tcp,ip,ip6,vlan,port,src,dst,greater,less,portrange,80-443,\
    host,net,ether,tcp[13],& 2,!= 0,=,>,len,inbound,proto,mpls,pppoes,ip[2:2],+,-";

impl Word {
    fn text(&self) -> String {
        match self {
            Self::Known(which) => KNOWN.split(',').cycle().nth((*which).into()).unwrap().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Port(port) => format!("port {port}"),
            Self::Host(host) => format!("host {}", IpAddr::from(*host)),
            Self::Net(net, bits) => format!("net {}/{}", IpAddr::from(*net), bits % 40),
            Self::Byte(at, value) => format!("tcp[{at}] = {value}"),
        }
    }
}

impl Asked {
    pub fn options(&self) -> ScanOptions {
        let words =
            |words: &Vec<Word>| words.iter().take(40).map(Word::text).collect::<Vec<_>>().join(" ");
        let named = self.name.iter().map(|(addr, name)| (IpAddr::from(*addr), name.clone()));
        let reading = Reading::by(usize::from(self.threads % 4));
        ScanOptions {
            labels: Labels::default(),
            filter: self.filter.as_ref().map(words),
            min_wait_ns: match self.min_wait {
                MinWait::Usual => usual().min_wait_ns,
                MinWait::Nanos(count) => count.into(),
                MinWait::Least => 0,
                MinWait::Most => 3_600_000_000_000,
            },
            exchanges: self.exchanges,
            hourly: self.exchanges,
            names: Names::new(named.collect::<HashMap<_, _>>()).unwrap_or_default(),
            calls: None,
            reading: Reading { range_len: u64::from(self.range_len) + 1, ..reading },
            shards: usize::from(self.shards).clamp(1, SHARDS).next_power_of_two(),
        }
    }

    /// Connections to show, as the evidence asks for them: each once, its spans in order.
    pub fn wanted(&self) -> Vec<Wanted> {
        let mut all: Vec<Wanted> = Vec::new();
        for (connection, spans) in self.wanted.iter().take(8) {
            let connection = connection % 5;
            let mut spans = spans.clone();
            spans.sort_unstable();
            if all.iter().all(|one| one.connection != connection) {
                all.push(Wanted { connection, spans });
            }
        }
        all
    }
}
