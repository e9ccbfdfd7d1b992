//! The scan of a capture at one end, with what only the capture at the other end shows.

use crate::result::clock_difference::ClockDifference;
use crate::result::ends::pairs::Pair;
use crate::result::joined::BothEnds;
use crate::result::scan::Scan;
use crate::result::server_exchanges::ServerExchanges;
use crate::result::sums::Sum;
use crate::track::{Endpoint, Exchange, Side};
use std::collections::HashMap;

impl Scan {
    /// This scan and one of the other end, where the connections of these pairs count here. Frames and
    /// connections of the other end are counted on from those of this one.
    pub(super) fn with_far_end(
        mut self,
        mut far: Self,
        (pairs, clock): (&[Pair], Option<ClockDifference>),
        frames_before: u32,
    ) -> Self {
        let first = self.connection_count as u32;
        let counted = |scan: &Self| {
            let rows = scan.connections.iter().filter(|one| !one.is_copy());
            rows.filter(|one| one.halves.iter().any(|half| half.bytes > 0)).count() as u64
        };
        let shared = pairs.len() as u64;
        let at_server = pairs.iter().filter(|pair| pair.first_at == Side::Server).count() as u64;
        let ends = BothEnds {
            first_captures: self.captures.len() as u64,
            is_same_place: 2 * pairs.iter().filter(|pair| pair.is_same).count() > pairs.len(),
            first_at: if 2 * at_server > shared { Side::Server } else { Side::Client }.name(),
            first_frame_of_second: u64::from(frames_before) + 1,
            shared,
            only_first: counted(&self).saturating_sub(shared),
            only_second: counted(&far),
            clock,
        };
        far.drop_shared(first, frames_before);
        self.captures.extend(far.captures);
        self.connection_count += far.connection_count;
        self.connections.append(far.connections, first, frames_before);
        self.exchanges = self.exchanges.zip(far.exchanges).map(|(mut all, more)| {
            all.extend(more);
            all
        });
        self.slowest.extend_by(far.slowest);
        self.add_servers(far.servers);
        self.totals.add_up(far.totals);
        self.causes.add_up(far.causes);
        self.passed_on.extend(far.passed_on);
        self.unlisted_waits += far.unlisted_waits;
        self.unlisted_wait_ns = self.unlisted_wait_ns.saturating_add(far.unlisted_wait_ns);
        if self.stale.count == 0 && far.stale.count > 0 {
            self.stale = far.stale;
            self.stale.first_frame += frames_before;
        }
        self.ends = Some(ends);
        self
    }

    /// Leaves out exchanges that count at the other end, and moves numbers and frames behind those there.
    fn drop_shared(&mut self, first: u32, frames_before: u32) {
        for capture in &mut self.captures {
            capture.first_frame += u64::from(frames_before);
            capture.index.move_frames(frames_before.into());
        }
        let connections = &self.connections;
        let counts = |row: &Exchange| {
            let index = connections.index_of(row.connection);
            index.is_some_and(|index| !connections[index].is_copy())
        };
        let moved = |row: &mut Exchange| {
            row.connection += first;
            (row.begin, row.end) = (row.begin.moved(frames_before), row.end.moved(frames_before));
        };
        if let Some(rows) = &mut self.exchanges {
            rows.retain(counts);
            rows.iter_mut().for_each(moved);
        }
        self.slowest.keep(counts, moved);
        for passed_on in &mut self.passed_on {
            passed_on.connection += first;
            passed_on.upstream += first;
        }
    }

    /// A server that has connections of both kinds, shared and not, is one.
    fn add_servers(&mut self, more: Vec<ServerExchanges>) {
        let places = self.servers.iter().enumerate().map(|(at, one)| (one.server, at));
        let mut places: HashMap<Endpoint, usize> = places.collect();
        for server in more {
            let at = *places.entry(server.server).or_insert(self.servers.len());
            match self.servers.get_mut(at) {
                Some(one) => one.add_up(server),
                None => self.servers.push(server),
            }
        }
    }
}
