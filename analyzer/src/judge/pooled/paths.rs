//! Paths that connections of the same two hosts share: one that was joined midway knows no round trip, and one sample
//! tells nothing of a path's jitter. Other connections of the same hosts show both.

use crate::judge::path::{Basis, Path};
use crate::judge::thresholds::{OTHERS_WEIGHT, PATH_SAMPLES};
use crate::rules;
use crate::track::ends::Ends;
use crate::track::tracked::Block;
use crate::track::{Connection, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::net::IpAddr;

/// Connections whose round trips are kept per pair of hosts.
const MOST: usize = 64;

/// Client and server.
type Hosts = (IpAddr, IpAddr);

/// Paths with a handshake, client's and server's, by the hosts that some connection needs them of.
pub struct SharedPaths {
    known: HashMap<Hosts, [Vec<Path>; 2], RandomState>,
}

impl SharedPaths {
    /// The paths in `blocks` between the hosts of those connections of `asking` that know little of theirs.
    pub fn of<'a>(
        blocks: &[Block],
        asking: impl Iterator<Item = (&'a Connection, &'a Path)>,
    ) -> Self {
        let unknown = asking.filter(|(_, path)| needs_others(path) && !rules::off("shared_paths"));
        let mut known: HashMap<Hosts, [Vec<Path>; 2], RandomState> =
            unknown.map(|(connection, _)| (hosts(connection), Default::default())).collect();
        let blocks = if known.is_empty() { &[] } else { blocks };
        for connection in blocks.iter().flat_map(|block| &block.connections) {
            let Some(of_sides) = known.get_mut(&hosts(connection)) else { continue };
            for side in Side::BOTH {
                let (half, paths) = (connection.half(side), &mut of_sides[side as usize]);
                if half.is_path_measured() && paths.len() < MOST {
                    paths.push(Path::of(half, 0));
                }
            }
        }
        for paths in known.values_mut().flatten() {
            paths.sort_by(|one, next| one.rtt_or_zero_ms().total_cmp(&next.rtt_or_zero_ms()));
        }
        Self { known }
    }

    /// The path to `side` of this connection, with what others show.
    pub fn apply(&self, connection: &Connection, side: Side, path: Path) -> Path {
        let Some(known) = self.known.get(&hosts(connection)) else { return path };
        let others = &known[side as usize];
        match path.basis {
            Basis::Handshake if needs_others(&path) => with_others(path, others),
            Basis::Handshake => path,
            _ => measured_by(path, others),
        }
    }
}

fn hosts(connection: &Connection) -> Hosts {
    let Ends { client, server } = connection.ends();
    (client.addr, server.addr)
}

/// Does it know little of its round trip, or of its jitter?
fn needs_others(path: &Path) -> bool {
    !path.is_measured() || path.samples < PATH_SAMPLES
}

/// With the shortest round trip of others, unless that is of another capture point: this host answered sooner.
fn measured_by(path: Path, others: &[Path]) -> Path {
    let Some(shortest) = others.first() else { return path };
    if shortest.rtt_or_zero_ms() > 1.25 * path.bound_ms + 0.2 + path.step_ms {
        return path;
    }
    let spread_ms = spread_ms(shortest.rtt_or_zero_ms(), &alike_ms(shortest, others));
    let jitter_ms = shortest.jitter_ms.max(spread_ms);
    Path { step_ms: path.step_ms, basis: Basis::Shared, jitter_ms, ..*shortest }
}

/// With what others show besides its own few samples: their middle, and how far they lie around it.
fn with_others(path: Path, others: &[Path]) -> Path {
    let alike = alike_ms(&path, others);
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

/// The round trips of others, its own among them, less those of another capture point: they differ by more than a
/// path does.
fn alike_ms(path: &Path, others: &[Path]) -> Vec<f64> {
    let own_ms = path.rtt_or_zero_ms();
    let near = own_ms - own_ms / 4.0 - 0.1..=own_ms + own_ms / 4.0 + 0.1;
    others.iter().map(Path::rtt_or_zero_ms).filter(|rtt_ms| near.contains(rtt_ms)).collect()
}

/// How far round trips are from one of them, on average.
fn spread_ms(rtt_ms: f64, others: &[f64]) -> f64 {
    others.iter().map(|other_ms| (other_ms - rtt_ms).abs()).sum::<f64>() / others.len() as f64
}
