//! Two captures of the same connections, one at each end: what each shows is judged by itself, then
//! put together. Each connection, and each stall, counts once.

mod both;
mod pairs;

use crate::capture::error::ScanError;
use crate::capture::progress::Progress;
use crate::result::clock_difference::difference;
use crate::result::ends::pairs::{Beginning, Pair, beginnings, pairs, stamped};
use crate::result::joined::{Part, Place};
use crate::result::scan::{Scan, ScanOptions, track};
use crate::track::Side;
use crate::track::reader::capture_summary::CaptureSummary;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Two captures as one scan, or as two.
pub enum Scanned {
    /// They share connections: one scan. `swapped`: the second comes first in it.
    Both { scan: Box<Scan>, swapped: bool },
    /// They share none: a scan of each, if it is wanted; of the first alone, if the user stopped it.
    Apart(Vec<Scan>),
}

/// Scans two captures, of one or more files each, as one if they hold the same connections. If they
/// do not, scans each, or neither with `only_both`.
///
/// # Errors
/// The errors of [`crate::result::scan::scan`].
pub fn scan_ends(
    paths: [&[String]; 2],
    options: &ScanOptions,
    progress: &Arc<Progress>,
    only_both: bool,
) -> Result<Scanned, ScanError> {
    let scan = |(captures, tracked)| Scan::new(captures, tracked, options, None);
    let first = track(paths[0], options, progress)?;
    if progress.is_stopped() {
        return Ok(Scanned::Apart(vec![scan(first)]));
    }
    let second = track(paths[1], options, progress)?;
    let seen = [&first, &second].map(|(_, tracked)| beginnings(tracked));
    let mut found = pairs(&seen[0], &seen[1]);
    if found.is_empty() {
        // A scan that the user stopped tells as much as was read: it cannot be read again.
        let each = match only_both {
            false => vec![first, second],
            true if progress.is_stopped() => vec![first],
            true => Vec::new(),
        };
        return Ok(Scanned::Apart(each.into_iter().map(scan).collect()));
    }
    let swapped = is_second_better(&seen, &found);
    let [near, far] = if swapped { [second, first] } else { [first, second] };
    let [near_seen, far_seen] = &seen;
    let (near_seen, far_seen) = if swapped { (far_seen, near_seen) } else { (near_seen, far_seen) };
    if swapped {
        for pair in &mut found {
            pair.numbers.reverse();
            pair.first_at = pair.first_at.other();
        }
    }
    let frames_before = near.0.last().map_or(0, CaptureSummary::last_frame) as u32;
    let begin_ns = near.0.first().map_or(0, |capture| capture.stamps.first_ns());
    let clock = difference(&stamped(near_seen, far_seen, &found), begin_ns);
    let shared: HashSet<u32> = found.iter().map(|pair| pair.numbers[1]).collect();
    let (far, counted) = Scan::of_part(far, options, None, Part::Far(&shared));
    let mut counted: HashMap<u32, _> = counted.into_iter().collect();
    let joined = found.iter().filter_map(|pair| {
        let place = Place { near: pair.first_at, is_same: pair.is_same, frames_before };
        Some((pair.numbers[0], (place, counted.remove(&pair.numbers[1])?)))
    });
    let joined = joined.collect();
    let (near, _) = Scan::of_part(near, options, None, Part::Near(&joined));
    let scan = Box::new(near.with_far_end(far, (&found, clock), frames_before));
    Ok(Scanned::Both { scan, swapped })
}

/// The capture with more of the exchanges lists the connections; of equals, that of the client, which
/// waits for them.
fn is_second_better(seen: &[Vec<Beginning>; 2], found: &[Pair]) -> bool {
    let exchanges = |end: usize| -> u64 {
        let numbers: HashSet<u32> = found.iter().map(|pair| pair.numbers[end]).collect();
        let shared = seen[end].iter().filter(|one| numbers.contains(&one.number));
        shared.map(|one| u64::from(one.exchanges)).sum()
    };
    let is_at_server = |pair: &&Pair| pair.first_at == Side::Server;
    let is_client_second = 2 * found.iter().filter(is_at_server).count() > found.len();
    let (first, second) = (exchanges(0), exchanges(1));
    second > first || second == first && is_client_second
}
