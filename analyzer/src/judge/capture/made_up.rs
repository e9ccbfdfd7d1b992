//! Captures whose times were made up: all frames are equally far apart, whatever their connection.

use crate::track::clock::Clocks;
use crate::track::tracked::Block;

/// Marks the connections of such captures.
pub fn mark(blocks: &mut [Block], clocks: &Clocks) {
    if !clocks.any_is_made_up() {
        return;
    }
    for connection in blocks.iter_mut().flat_map(|block| &mut block.connections) {
        let last = connection.halves.iter().map(|half| half.last_data.frame).max();
        if last.is_some_and(|frame| clocks.is_made_up(frame)) {
            connection.mark_made_up();
        }
    }
}
