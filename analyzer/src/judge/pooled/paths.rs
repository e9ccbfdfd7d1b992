//! Paths that connections of the same two hosts share: one that was joined midway knows no round trip,
//! and one sample tells nothing of a path's jitter. Other connections of the same hosts show both.

use crate::cores;
use crate::judge::path::{Basis, Path};
use crate::judge::thresholds::{EARLY_MS, OTHERS_WEIGHT, PATH_SAMPLES};
use crate::rules;
use crate::track::ends::Ends;
use crate::track::half::Half;
use crate::track::thresholds::ABOUT;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// Connections whose round trips are kept per pair of hosts.
const MOST: usize = 64;

/// Client and server.
type Hosts = (IpAddr, IpAddr);

/// Paths that the handshakes of two hosts show, where some connection needs others of them.
#[derive(Default)]
pub struct SharedPaths {
    known: HashMap<Hosts, [Others; 2], RandomState>,
}

/// The paths of connections to one host.
#[derive(Default)]
struct Others {
    shortest: Option<Path>,
    /// Their round trips, sorted.
    rtts_ms: Vec<f64>,
}

impl SharedPaths {
    /// The paths in `blocks` between the hosts of those connections that know little of theirs.
    pub fn of(blocks: &[Block], threads: usize) -> Self {
        let asking = cores::of_blocks(threads, blocks, |blocks| {
            blocks.iter().flat_map(asking).collect::<Vec<Hosts>>()
        });
        let asking = asking.into_iter().flatten().filter(|_| !rules::off("shared_paths"));
        let mut counts: HashMap<Hosts, u32, RandomState> = asking.map(|hosts| (hosts, 0)).collect();
        let blocks = if counts.is_empty() { &[] } else { blocks };
        let all = || {
            let each = blocks.iter().flat_map(|block| &block.connections);
            // A copy was captured elsewhere: its round trips are those of another path.
            each.filter(|connection| !connection.copies.is_one_itself())
        };
        for connection in all() {
            if let Some(count) = counts.get_mut(&hosts(connection)) {
                *count += 1;
            }
        }
        // Most hosts have one connection only.
        counts.retain(|_, count| *count > 1);
        let mut known: HashMap<Hosts, [Others; 2], RandomState> = HashMap::default();
        for connection in all().filter(|connection| counts.contains_key(&hosts(connection))) {
            let others = known.entry(hosts(connection)).or_default();
            for side in Side::BOTH {
                others[side as usize].add(connection.half(side));
            }
        }
        for others in known.values_mut().flatten() {
            others.rtts_ms.sort_by(f64::total_cmp);
        }
        Self { known }
    }

    /// The paths to client and server of a connection with these `waits`, with what others show; the
    /// clock ticks every `clock_ns`.
    pub fn of_both(&self, connection: &Connection, waits: &[Wait], clock_ns: i64) -> [Path; 2] {
        let own = connection.halves.each_ref().map(|half| Path::of(half, clock_ns));
        if self.known.is_empty() || !is_asking(connection, waits) {
            return own;
        }
        let Some(known) = self.known.get(&hosts(connection)) else { return own };
        Side::BOTH.map(|side| {
            let (path, others) = (own[side as usize], &known[side as usize]);
            match path.basis {
                _ if path.samples >= PATH_SAMPLES => path,
                Basis::Handshake => with_others(path, others),
                _ => measured_by(path, others),
            }
        })
    }
}

impl Others {
    fn add(&mut self, half: &Half) {
        if !half.is_path_measured() || self.rtts_ms.len() == MOST {
            return;
        }
        let path = Path::of(half, 0);
        self.rtts_ms.push(path.rtt_or_zero_ms());
        if self.shortest.is_none_or(|shortest| path.rtt_or_zero_ms() < shortest.rtt_or_zero_ms()) {
            self.shortest = Some(path);
        }
    }

    /// Their round trips, the connection's own among them, less those of another capture point:
    /// they differ from this one by more than a path does.
    fn alike_ms(&self, own_ms: f64) -> Vec<f64> {
        let off_ms = own_ms / ABOUT.1 as f64 + ABOUT.0 as f64 / 1e6;
        let near = own_ms - off_ms..=own_ms + off_ms;
        self.rtts_ms.iter().copied().filter(|rtt_ms| near.contains(rtt_ms)).collect()
    }
}

/// The hosts of the connections of a block that know little of their paths.
fn asking(block: &Block) -> impl Iterator<Item = Hosts> {
    let each = block.waits.chunk_by(|one, next| one.connection == next.connection);
    each.filter_map(|waits| {
        let connection = &block.connections[block.place_of(&waits[0])?];
        is_asking(connection, waits).then(|| hosts(connection))
    })
}

/// Does a connection know little of its round trips, though an ACK came in one of its `waits`?
fn is_asking(connection: &Connection, waits: &[Wait]) -> bool {
    let knows_little = |half: &Half| half.rtt_samples < PATH_SAMPLES;
    connection.halves.iter().any(knows_little) && waits.iter().any(Wait::has_ack)
}

fn hosts(connection: &Connection) -> Hosts {
    let Ends { client, server } = connection.ends();
    (client.addr, server.addr)
}

/// With the shortest round trip of others, unless that is of another capture point: this host
/// answered sooner.
fn measured_by(path: Path, others: &Others) -> Path {
    let Some(shortest) = &others.shortest else { return path };
    if shortest.rtt_or_zero_ms()
        > path.bound_ms() + path.bound_ms() / ABOUT.1 as f64 + EARLY_MS + path.step_ms
    {
        return path;
    }
    let spread_ms =
        spread_ms(shortest.rtt_or_zero_ms(), &others.alike_ms(shortest.rtt_or_zero_ms()));
    let shared = path.shared_by(shortest);
    Path { jitter_ms: shared.jitter_ms.max(spread_ms), ..shared }
}

/// With what others show besides its own few samples: their middle, and how far they lie around it.
fn with_others(path: Path, others: &Others) -> Path {
    let alike = others.alike_ms(path.rtt_or_zero_ms());
    if alike.len() < 2 {
        return path;
    }
    let (own, weight) = (f64::from(path.samples), OTHERS_WEIGHT);
    let blend = |mine: f64, theirs: f64| (own * mine + weight * theirs) / (own + weight);
    let mean_ms = alike.iter().sum::<f64>() / alike.len() as f64;
    let rtt_ms = blend(path.rtt_or_zero_ms(), mean_ms);
    let jitter_ms = blend(path.jitter_ms, spread_ms(rtt_ms, &alike)).max(path.jitter_ms);
    Path { rtt_ms: Some(rtt_ms), jitter_ms, ..path }
}

/// How far round trips are from one of them, on average.
fn spread_ms(rtt_ms: f64, others: &[f64]) -> f64 {
    others.iter().map(|other_ms| (other_ms - rtt_ms).abs()).sum::<f64>() / others.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::connection::Copies;
    use crate::track::story::{Story, Told, block, client, server};

    /// Joined midway; each of the `count` pieces of its client, who captured it, is acknowledged
    /// after 5 ms, and then one after 40 ms.
    fn midway(count: u32) -> Told {
        let acked = |story: Story| story.after_ms(0.02, client(100)).after_ms(5.0, server(0));
        let late = Story::new().times(count, acked).after_ms(0.02, client(100));
        late.after_ms(40.0, server(0)).after_ms(5.0, client(50)).end()
    }

    /// The path to the server of the last of these.
    fn last(all: Vec<Told>) -> Path {
        let mut block = block(all);
        block.order_waits();
        let shared = SharedPaths::of(std::slice::from_ref(&block), 1);
        let connection = block.connections.last().unwrap();
        let own = block.waits.iter().filter(|wait| wait.connection == connection.id);
        let own: Vec<Wait> = own.copied().collect();
        shared.of_both(connection, &own, 1000)[Side::Server as usize]
    }

    #[test]
    fn a_connection_that_was_joined_midway_keeps_its_own_path_if_it_shows_it() {
        let opened = |ms: f64| Story::new().handshake(0.02, ms).end();
        let few = last(vec![opened(4.8), opened(5.6), midway(4)]);
        assert_eq!((few.basis, few.shortest_ns), (Basis::Shared, Some(4_800_000)));
        assert!(few.jitter_ms > 0.3 && few.bound_ms() < 5.0 && few.samples == 4, "{few:?}");
        // The handshake of another one may have been slow.
        let slow = last(vec![opened(5.3), opened(5.6), midway(4)]);
        assert_eq!((slow.shortest_ns, slow.longest_ms), (Some(5_000_000), Some(5.0)));
        let many = last(vec![opened(4.8), opened(5.6), midway(20)]);
        assert_eq!((many.basis, many.shortest_ns), (Basis::Estimate, Some(5_000_000)));
    }

    #[test]
    fn copies_show_the_path_of_another_capture_point() {
        let opened = || Story::new().handshake(0.02, 4.8).end();
        let mut copy = opened();
        copy.connection.copies = Copies::ONE_ITSELF;
        assert_eq!(last(vec![copy, midway(4)]).basis, Basis::Estimate);
        assert_eq!(last(vec![opened(), midway(4)]).basis, Basis::Shared);
    }

    #[test]
    fn hosts_with_one_connection_take_no_memory() {
        let blocks = [block([midway(4)])];
        assert!(SharedPaths::of(&blocks, 1).known.is_empty());
        let blocks = [block([midway(4), midway(4)])];
        assert_eq!(SharedPaths::of(&blocks, 1).known.len(), 1);
    }
}
