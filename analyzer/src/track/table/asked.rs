//! SYNs that wait for an answer. The bridge of a container host shows requests behind the translation
//! of their addresses, and answers before it: a SYN-ACK between other addresses tells its SYN.

use crate::decode::Header;
use crate::track::table::key::SHARDS;
use crate::track::table::key::{Address, Key};
use std::collections::VecDeque;

/// SYNs that are remembered: an answer comes within a round trip.
const MOST: usize = 64;

/// The last SYNs of each shard: whether these are read apart or together, the same are remembered.
#[derive(Default)]
pub struct Asked<A>([VecDeque<Syn<A>>; SHARDS]);

/// A SYN, and the number of its connection.
struct Syn<A> {
    key: Key<A>,
    seq: u32,
    connection: u32,
}

impl<A: Address> Asked<A> {
    pub fn add(&mut self, key: Key<A>, syn: &Header, connection: u32) {
        let last = &mut self.0[key.spread() % SHARDS];
        if last.len() == MOST {
            last.pop_front();
        }
        last.push_back(Syn { key, seq: syn.seq, connection });
    }

    /// The connection that this SYN-ACK answers between other addresses, if it `may` be.
    pub fn answered(&self, key: Key<A>, answer: &Header, may: impl Fn(u32) -> bool) -> Option<u32> {
        let is_its = |syn: &&Syn<A>| {
            syn.seq.wrapping_add(1) == answer.ack
                && syn.key.is_translated(key)
                && may(syn.connection)
        };
        self.0[key.spread() % SHARDS].iter().rev().find(is_its).map(|syn| syn.connection)
    }
}
