//! The waits of all connections that are listed.

use crate::track::Connection;
use crate::track::tracked::Block;
use crate::track::wait::Wait;

/// A wait, with its connection and the number of that in the capture.
pub struct ListedWait<'a> {
    pub at: WaitIndex,
    pub wait: &'a Wait,
    pub connection: &'a Connection,
    pub number: u32,
}

/// Where a wait is among those of all blocks.
#[derive(Debug, Clone, Copy)]
pub struct WaitIndex {
    block: u32,
    wait: u32,
}

impl WaitIndex {
    pub fn wait(self, blocks: &[Block]) -> &Wait {
        &blocks[self.block as usize].waits[self.wait as usize]
    }

    pub fn wait_mut(self, blocks: &mut [Block]) -> &mut Wait {
        &mut blocks[self.block as usize].waits[self.wait as usize]
    }
}

/// The waits that `picks` accepts, block by block in the order of their ends.
pub fn waits<'a>(
    blocks: &'a [Block],
    picks: impl Fn(&Wait) -> bool + Copy + 'a,
) -> impl Iterator<Item = ListedWait<'a>> {
    let of_block = move |(number, block): (usize, &'a Block)| {
        block.placed(picks).map(move |(index, place, wait)| ListedWait {
            at: WaitIndex { block: number as u32, wait: index as u32 },
            wait,
            connection: &block.connections[place],
            number: block.numbers[wait.connection as usize],
        })
    };
    blocks.iter().enumerate().flat_map(of_block)
}
