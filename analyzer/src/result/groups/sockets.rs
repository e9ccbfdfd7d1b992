//! Answers about `TCP_NODELAY` from all connections to a server, not only those that stall.

use super::ServerGroup;
use crate::judge::nagle::nodelay::NagleTotals;
use crate::result::connections::runs_of_servers;
use crate::result::scan::Scan;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Counts for each of `groups` the connections of its server with data from the side that holds.
pub(super) fn count(scan: &Scan, groups: &mut [ServerGroup]) {
    if groups.is_empty() {
        return;
    }
    let mut totals: HashMap<Endpoint, [NagleTotals; 2], RandomState> =
        groups.iter().map(|group| (group.server(), Default::default())).collect();
    for run in scan.connections.blocks().flat_map(runs_of_servers) {
        let Some(of_server) = totals.get_mut(&run[0].half(Side::Server).endpoint) else { continue };
        let once = run.iter().filter(|judged| !judged.is_copy());
        for (judged, side) in once.flat_map(|judged| Side::BOTH.map(|side| (judged, side))) {
            let half = judged.half(side);
            if half.bytes > 0 {
                of_server[side as usize].add(half.nagle);
            }
        }
    }
    for group in groups {
        group.sockets = totals[&group.server()][group.worst.sender as usize];
    }
}
