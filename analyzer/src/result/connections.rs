//! All judged connections with their findings, in the memory of the tracked ones.

use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::{Finding, Findings, Ruling};
use crate::track::Side;
use crate::track::by_block::BLOCK_LEN;
use crate::track::numbers::Place;
use crate::track::wait::Wait;
use std::ops::Index;

/// The judged connections of a block of a shard, and their findings.
#[derive(Debug, Clone, Default)]
pub struct JudgedBlock {
    pub connections: Vec<JudgedConnection>,
    /// Index of each connection's first finding.
    pub begins: Vec<u32>,
    pub waits: Vec<Wait>,
    pub rulings: Vec<Ruling>,
}

/// Judged connections in the order of their numbers, with findings in the order of their ends.
#[derive(Debug, Clone, Default)]
pub struct JudgedConnections {
    /// Shard by shard.
    blocks: Vec<JudgedBlock>,
    /// Where each connection is: its block times the length of one, and the place there.
    order: Vec<u32>,
    /// Indices of those with findings: of very many connections, most have none.
    with_findings: Vec<u32>,
    /// Some that were thinned out are missing.
    has_gaps: bool,
}

/// Findings of consecutive connections: `len` of them, without the first ones of the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chunk {
    /// Counts those with findings.
    connection: usize,
    at: usize,
    len: usize,
}

impl JudgedBlock {
    fn findings_at(&self, at: usize) -> Findings<'_> {
        let begin = self.begins[at] as usize;
        let end = self.begins.get(at + 1).map_or(self.rulings.len(), |&end| end as usize);
        self.findings().slice(begin..end)
    }

    fn findings(&self) -> Findings<'_> {
        Findings::new(&self.waits, &self.rulings)
    }
}

impl JudgedConnections {
    /// Takes the blocks of all shards, which begin at `first_blocks`, and connections' places.
    pub fn new(blocks: Vec<JudgedBlock>, first_blocks: &[usize], places: Vec<Place>) -> Self {
        let count = places.len();
        let place = |(number, place): (usize, Place)| {
            let block = first_blocks[place.shard()] + place.at() / BLOCK_LEN;
            let of_block = &blocks[block].connections;
            // The last one is never thinned out, and the others are full unless they were.
            let is_last = first_blocks.get(place.shard() + 1).unwrap_or(&blocks.len()) - 1 == block;
            let at = if is_last || of_block.len() == BLOCK_LEN {
                place.at() % BLOCK_LEN
            } else {
                of_block.binary_search_by_key(&(number as u32), |row| row.id).ok()?
            };
            Some((block * BLOCK_LEN + at) as u32)
        };
        let order: Vec<u32> = places.into_iter().enumerate().filter_map(place).collect();
        let has_gaps = order.len() < count;
        let mut all = Self { blocks, order, with_findings: Vec::new(), has_gaps };
        all.find_findings();
        all
    }

    fn find_findings(&mut self) {
        if self.findings().next().is_some() {
            let found = (0..self.len()).filter(|&index| !self.findings_of(index).is_empty());
            self.with_findings = found.map(|index| index as u32).collect();
        }
    }

    /// Adds the connections of another capture: their numbers go on from `first`, and their frames after so
    /// many others.
    pub fn append(&mut self, more: Self, first: u32, frames_before: u32) {
        let (blocks, own) = (self.blocks.len() * BLOCK_LEN, self.order.len() as u32);
        self.has_gaps |= more.has_gaps || own != first;
        self.order.extend(more.order.iter().map(|place| place + blocks as u32));
        self.with_findings.extend(more.with_findings.iter().map(|index| index + own));
        self.blocks.extend(more.blocks.into_iter().map(|mut block| {
            for judged in &mut block.connections {
                judged.id += first;
                judged.halves.iter_mut().for_each(|half| half.move_frames(frames_before));
                judged.first_exchange = judged
                    .first_exchange
                    .map(|(latency_ns, frame)| (latency_ns, frame.saturating_add(frames_before)));
            }
            for wait in &mut block.waits {
                wait.connection += first;
                *wait = wait.moved(frames_before);
            }
            block
        }));
    }

    /// Indices of those with findings, in order.
    pub fn with_findings(&self) -> impl Iterator<Item = usize> {
        self.with_findings.iter().map(|&index| index as usize)
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The block of the connection with this index, and its place there.
    #[inline]
    fn find(&self, index: usize) -> (&JudgedBlock, usize) {
        let place = self.order[index] as usize;
        (&self.blocks[place / BLOCK_LEN], place % BLOCK_LEN)
    }

    pub fn iter(&self) -> impl Iterator<Item = &JudgedConnection> {
        (0..self.len()).map(|index| &self[index])
    }

    /// All in any order, those together that lie together.
    pub fn blocks(&self) -> impl Iterator<Item = &[JudgedConnection]> {
        self.blocks.iter().map(|block| block.connections.as_slice())
    }

    /// All in any order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut JudgedConnection> {
        self.blocks.iter_mut().flat_map(|block| &mut block.connections)
    }

    /// Place of the connection with this number; `None` if it is not listed.
    pub fn index_of(&self, id: u32) -> Option<usize> {
        if !self.has_gaps {
            return Some(id as usize).filter(|&index| index < self.len());
        }
        let id_at = |place: &u32| {
            let place = *place as usize;
            self.blocks[place / BLOCK_LEN].connections[place % BLOCK_LEN].id
        };
        self.order.binary_search_by_key(&id, id_at).ok()
    }

    /// The findings of the connection with this index.
    #[inline]
    pub fn findings_of(&self, index: usize) -> Findings<'_> {
        let (block, at) = self.find(index);
        block.findings_at(at)
    }

    /// All findings in any order.
    pub fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        self.blocks.iter().flat_map(|block| block.findings().iter())
    }

    /// All findings in the order of the connections, `len` in each chunk.
    pub fn chunks(&self, len: usize) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut chunk = Chunk::default();
        for (connection, index) in self.with_findings().enumerate() {
            let findings = self.findings_of(index).len();
            let mut rest = findings;
            while chunk.len + rest >= len {
                rest -= len - chunk.len;
                chunks.push(Chunk { len, ..chunk });
                chunk = Chunk { connection, at: findings - rest, len: 0 };
            }
            chunk.len += rest;
        }
        chunks.push(chunk);
        chunks
    }

    /// Chunks of the connection with this number only; at least one, which may be empty.
    pub fn chunks_of(&self, id: u32, len: usize) -> Vec<Chunk> {
        let index = self.index_of(id).unwrap_or(usize::MAX);
        let connection = self.with_findings.partition_point(|&other| (other as usize) < index);
        let all = match self.with_findings.get(connection) {
            Some(&found) if found as usize == index => self.findings_of(index).len(),
            _ => 0,
        };
        let begins = (0..all.max(1)).step_by(len);
        begins.map(|at| Chunk { connection, at, len: len.min(all - at) }).collect()
    }

    /// The findings of a chunk.
    pub fn of_chunk(&self, chunk: Chunk) -> impl Iterator<Item = Finding<'_>> {
        let found = self.with_findings().skip(chunk.connection);
        found.flat_map(|index| self.findings_of(index).iter()).skip(chunk.at).take(chunk.len)
    }
}

/// Connections that lie together, those together that have one server.
pub fn runs_of_servers(block: &[JudgedConnection]) -> impl Iterator<Item = &[JudgedConnection]> {
    let server = |judged: &JudgedConnection| judged.half(Side::Server).endpoint;
    block.chunk_by(move |a, b| server(a) == server(b))
}

impl Index<usize> for JudgedConnections {
    type Output = JudgedConnection;

    #[inline]
    fn index(&self, index: usize) -> &JudgedConnection {
        let (block, at) = self.find(index);
        &block.connections[at]
    }
}
