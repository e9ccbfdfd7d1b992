//! Times that nobody measured: all frames of a capture are equally far apart, or a connection takes a
//! round time to come about, and its waits a few lengths again and again, or round ones, to the microsecond.

use crate::judge::thresholds::{MADE_UP_LENGTHS, MADE_UP_WAITS};
use crate::rules;
use crate::track::Connection;
use crate::track::clock::Clocks;
use crate::track::thresholds::{EVEN_NS, SHORTEST_DELAYED_ACK_NS};
use crate::track::tracked::Block;
use crate::track::wait::Wait;

/// Marks all connections, if all frames are equally far apart.
pub fn mark(blocks: &mut [Block], clocks: &Clocks) {
    if clocks.is_made_up {
        let connections = blocks.iter_mut().flat_map(|block| &mut block.connections);
        connections.for_each(Connection::mark_made_up);
    }
}

/// Marks the connections of a block, with its waits in order, whose waits and handshake tell that their times are
/// made up.
pub fn mark_scripted(block: &mut Block, clocks: &Clocks) {
    if rules::off("scripted") {
        return;
    }
    let by_connection = block.waits.chunk_by(|wait, next| wait.connection == next.connection);
    let scripted = by_connection.filter_map(|waits| {
        let place = block.place_of(&waits[0]).filter(|_| waits.len() >= MADE_UP_WAITS)?;
        let opens_so = block.connections[place].handshake_ns().is_some_and(is_round);
        // A coarse clock rounds to the same lengths.
        (opens_so && clocks.are_free(waits) && are_scripted(waits)).then_some(place)
    });
    for place in scripted.collect::<Vec<usize>>() {
        block.connections[place].mark_made_up();
    }
}

/// Are three quarters of the waits as long as others to the microsecond, or multiples of 10 ms? No host keeps time so.
fn are_scripted(waits: &[Wait]) -> bool {
    let long = waits.iter().map(Wait::span_ns).filter(|&ns| ns >= SHORTEST_DELAYED_ACK_NS);
    let mut lengths: Vec<i64> = long.collect();
    lengths.sort_unstable();
    let mut left = lengths.as_slice();
    let mut distinct = 0;
    while let Some(first) = left.first().filter(|_| distinct <= MADE_UP_LENGTHS) {
        let same = left.partition_point(|length| length - first <= EVEN_NS);
        (left, distinct) = (&left[same..], distinct + 1);
    }
    let round = lengths.iter().filter(|length| is_round(**length)).count();
    lengths.len() >= MADE_UP_WAITS
        && (distinct <= MADE_UP_LENGTHS.min(lengths.len() / 3) || 4 * round >= 3 * lengths.len())
}

/// Is it a multiple of 10 ms, to the microsecond?
fn is_round(length_ns: i64) -> bool {
    let over = length_ns % SHORTEST_DELAYED_ACK_NS;
    length_ns > EVEN_NS && over.min(SHORTEST_DELAYED_ACK_NS - over) <= EVEN_NS
}

#[cfg(test)]
mod tests {
    use super::are_scripted;
    use crate::track::story::{Story, client, server};

    /// Each message waits for so long, and the next one for longer by `more_ms`.
    fn are_scripted_with(more_ms: f64) -> bool {
        let told = (0..20).fold(Story::new().handshake(0.02, 2.0), |story, at| {
            let off_ms = more_ms * f64::from(at);
            let asked = story.after_ms(100.0 + off_ms, client(8)).after_ms(0.1, server(0));
            asked.after_ms(80.0 + off_ms, server(20)).after_ms(0.1, client(0))
        });
        are_scripted(&told.end().waits)
    }

    /// A simulator writes its captures with delays from a table: a report would blame the clients in it.
    #[test]
    fn a_script_that_waits_for_a_few_lengths_only_made_its_times_up() {
        assert!(are_scripted_with(0.0));
        assert!(!are_scripted_with(0.01));
    }
}
