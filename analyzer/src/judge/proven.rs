//! Waits whose bytes were written at a known time: what was written before the ACK and left only then was held, and what
//! was written later was not.

use crate::calls::written::{Written, WrittenAt};
use crate::judge::model::candidates::may_hold;
use crate::judge::model::{BlockModel, Proof};
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};

/// Settles the waits of which that is known.
pub fn settle(blocks: &[Block], models: &mut [BlockModel], written: &Written) {
    for (block, model) in blocks.iter().zip(models) {
        for (at, _, wait) in block.placed(is_asked) {
            let number = block.numbers[wait.connection as usize];
            let left_ns = wait.to.time_ns;
            if let Some(call) = written.at(number, wait.by, wait.rel_seq, left_ns) {
                let hold_ms = (left_ns - call.time_ns) as f64 / 1e6;
                let rtt_ns = block
                    .place_of(wait)
                    .map_or(0, |place| block.connections[place].half(wait.by).rtt_or_zero_ns());
                let held = &mut model.held[at];
                *held = held.by_calls(proof(wait, rtt_ns, &call), hold_ms as f32);
            }
        }
    }
}

fn is_asked(wait: &Wait) -> bool {
    (wait.has_pure_ack() || wait.is(fact::DATA_ACK)) && wait.has_ack() && may_hold(wait)
}

/// An ACK reaches the sender, `rtt_ns` away, and what it lets go comes back.
fn proof(wait: &Wait, rtt_ns: i64, call: &WrittenAt<'_>) -> Proof {
    let freed_ns = wait.ack.time_ns.saturating_add(rtt_ns);
    match call.time_ns {
        _ if call.is_unclear => Proof::None,
        written_ns if written_ns.saturating_add(call.doubt_ns) < freed_ns => Proof::Proven,
        written_ns if written_ns.saturating_sub(call.doubt_ns) > freed_ns => Proof::Refuted,
        _ => Proof::None,
    }
}
