//! The findings of all shards, put together at the end of the capture.

use crate::rules;
use crate::track::arrivals::Arrival;
use crate::track::clock::Clocks;
use crate::track::clock::made_up::{Times, are_scripted, is_round};
use crate::track::connection::{Recorder, Split};
use crate::track::exchange::exchanged::{Exchanged, ServerLatency, Stale, Suspect};
use crate::track::exchange::hours::{Hour, Hours};
use crate::track::exchange::numbered;
use crate::track::exchange::slowest::Slowest;
use crate::track::numbers::{Place, number};
use crate::track::wait::Wait;
use crate::track::{Connection, Exchange};
use std::mem;
use std::sync::Arc;

/// The connections of a block of a shard, in the order of their places there, and what is to be judged of
/// them.
#[derive(Default)]
pub struct Block {
    pub connections: Vec<Connection>,
    pub waits: Vec<Wait>,
    /// Waits that data ended as soon as a kernel would.
    pub by_data: Vec<Wait>,
    /// In the order of their times, but where a clock steps back.
    pub arrivals: Vec<Arrival>,
    pub suspects: Vec<Suspect>,
    /// Numbers of the connections of the shard, by their places.
    pub numbers: Arc<[u32]>,
    /// Where the servers that these connections name are among all.
    pub servers: Arc<[u32]>,
}

impl Block {
    /// Puts all waits into the order of their connections, and then of their ends. Most are: a row
    /// is moved once, by a swap, as sorting rows of their size takes four times as long.
    pub fn order_waits(&mut self) {
        self.waits.append(&mut self.by_data);
        let waits = &mut self.waits;
        // Blocks have connections that follow one another.
        let connections = || waits.iter().map(|wait| wait.connection as usize);
        let Some((first, last)) = connections().min().zip(connections().max()) else { return };
        let mut next = vec![0; last - first + 2];
        for connection in connections() {
            next[connection - first + 1] += 1;
        }
        for connection in 1..next.len() {
            next[connection] += next[connection - 1];
        }
        let place = |wait: &Wait| {
            let place = &mut next[wait.connection as usize - first];
            *place += 1;
            *place - 1
        };
        let mut places: Vec<usize> = waits.iter().map(place).collect();
        for at in 0..waits.len() {
            while places[at] != at {
                let to = places[at];
                waits.swap(at, to);
                places.swap(at, to);
            }
        }
        let key = |wait: &Wait| (wait.to.frame, wait.by as u8);
        for waits in waits.chunk_by_mut(|wait, next| wait.connection == next.connection) {
            if !waits.is_sorted_by_key(key) {
                waits.sort_by_key(key);
            }
        }
    }

    /// Marks the connections with times that are made up: all, if all frames are equally far apart;
    /// else those that their handshake and their waits, in order, show. A coarse clock rounds waits
    /// to the same lengths.
    pub fn mark_made_up(&mut self, clocks: &Clocks) {
        if clocks.is_made_up {
            self.connections.iter_mut().for_each(|connection| connection.times = Times::MadeUp);
        } else if !rules::off("scripted") {
            for waits in self.waits.chunk_by(|wait, next| wait.connection == next.connection) {
                let Some(place) = place(&self.connections, waits[0].connection) else { continue };
                let connection = &mut self.connections[place];
                if connection.handshake_ns().is_some_and(is_round)
                    && clocks.are_free(waits)
                    && are_scripted(waits)
                {
                    connection.times = Times::MadeUp;
                }
            }
        }
    }

    /// Where the connection of a wait is among those of the block, if it is listed.
    pub fn place_of(&self, wait: &Wait) -> Option<usize> {
        self.place(wait.connection)
    }

    /// The waits that `picks` accepts and whose connections are listed, each with its own place and
    /// that of its connection.
    pub fn placed(
        &self,
        picks: impl Fn(&Wait) -> bool,
    ) -> impl Iterator<Item = (usize, usize, &Wait)> {
        let picked = self.waits.iter().enumerate().filter(move |(_, wait)| picks(wait));
        picked.filter_map(|(at, wait)| Some((at, self.place_of(wait)?, wait)))
    }

    /// Where the connection of this number in its shard is among those of the block, if it is listed.
    pub fn place(&self, id: u32) -> Option<usize> {
        place(&self.connections, id)
    }

    /// Drops all that is to be judged of the connections that `leaves_out` accepts.
    pub fn leave_out(&mut self, leaves_out: impl Fn(&Connection) -> bool) {
        let connections = &self.connections;
        let is_kept = |id| !place(connections, id).is_some_and(|at| leaves_out(&connections[at]));
        self.waits.retain(|wait| is_kept(wait.connection));
        self.by_data.retain(|wait| is_kept(wait.connection));
        self.arrivals.retain(|arrival| is_kept(arrival.connection));
    }
}

fn place(connections: &[Connection], id: u32) -> Option<usize> {
    // Mostly none is missing.
    let place = id.wrapping_sub(connections.first()?.id) as usize;
    if connections.get(place).is_some_and(|connection| connection.id == id) {
        Some(place)
    } else {
        connections.binary_search_by_key(&id, |connection| connection.id).ok()
    }
}

/// The results of all shards.
pub struct Tracked {
    /// All connections in the order of their numbers, those too that no block lists.
    pub connections: Vec<Place>,
    /// All blocks, shard by shard, and for each shard the index of its first one.
    pub blocks: Vec<Block>,
    pub first_blocks: Vec<usize>,
    pub servers: Vec<ServerLatency>,
    /// In the order of their ends, if they were to be kept.
    pub exchanges: Option<Vec<Exchange>>,
    pub slowest: Slowest,
    /// None if they were not asked for.
    pub hours: Vec<(Hour, u64)>,
    pub stale: Stale,
    pub splits: Vec<Split>,
    /// Messages that were no part of an exchange.
    pub unasked: u64,
    /// Waits beyond what is kept: count and sum in ns.
    pub unlisted_waits: u64,
    pub unlisted_wait_ns: i64,
}

/// The findings of one shard at the end of the capture.
pub struct Ended {
    /// The frame that opened each connection, in ascending order.
    pub first_frames: Vec<u32>,
    /// Block by block.
    pub connections: Vec<Vec<Connection>>,
    pub recorder: Recorder,
}

impl Tracked {
    /// Puts together what the shards saw.
    pub fn by(mut shards: Vec<Ended>) -> Self {
        let first_frames: Vec<Vec<u32>> =
            shards.iter_mut().map(|shard| mem::take(&mut shard.first_frames)).collect();
        let (connections, numbers) = number(&first_frames);
        let mut all = Exchanged::default();
        let mut exchanges: Option<Vec<Exchange>> = None;
        let mut hours = Hours::default();
        let (mut blocks, mut first_blocks, mut splits) = (Vec::new(), Vec::new(), Vec::new());
        let (mut unlisted_waits, mut unlisted_wait_ns) = (0, 0_i64);
        for (Ended { connections, recorder, .. }, numbers) in shards.into_iter().zip(numbers) {
            let Recorder { waits, exchanged, splits: of_shard, .. } = recorder;
            let number =
                |split: Split| Split { connection: numbers[split.connection as usize], ..split };
            splits.extend(of_shard.into_iter().map(number));
            if let Some(listed) = exchanged.all {
                exchanges.get_or_insert_default().extend(numbered(listed.rows, &numbers));
            }
            all.slowest.extend(exchanged.slowest, &numbers);
            all.stale.add(exchanged.stale);
            all.unasked += exchanged.unasked;
            let servers: Arc<[u32]> = all.add_servers(exchanged.servers).into();
            for (hour, count) in exchanged.hours.unwrap_or_default() {
                let server = servers[hour.server as usize];
                *hours.entry(Hour { server, ..hour }).or_default() += count;
            }
            unlisted_waits += waits.unlisted;
            unlisted_wait_ns = unlisted_wait_ns.saturating_add(waits.unlisted_ns);
            first_blocks.push(blocks.len());
            let numbers: Arc<[u32]> = numbers.into();
            let rows = connections.into_iter().zip(waits.kept.into_blocks());
            let rows = rows.zip(waits.by_data.into_blocks());
            let rows = rows.zip(waits.arrivals.kept.into_blocks());
            let rows = rows.zip(exchanged.suspects.into_blocks());
            blocks.extend(rows.map(|((((connections, waits), by_data), arrivals), suspects)| {
                Block {
                    connections,
                    waits,
                    by_data,
                    arrivals,
                    suspects,
                    numbers: Arc::clone(&numbers),
                    servers: Arc::clone(&servers),
                }
            }));
        }
        if let Some(rows) = &mut exchanges {
            rows.sort_by_key(|row| row.end.frame);
        }
        let mut hours: Vec<_> = hours.into_iter().collect();
        hours.sort_unstable();
        Self {
            connections,
            blocks,
            first_blocks,
            servers: all.servers,
            exchanges,
            slowest: all.slowest,
            hours,
            stale: all.stale,
            splits,
            unasked: all.unasked,
            unlisted_waits,
            unlisted_wait_ns,
        }
    }
}
