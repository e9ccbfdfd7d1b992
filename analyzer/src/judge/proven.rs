//! Waits whose bytes were written at a known time: what was written before the ACK and left only
//! then was held, and what was written later was not. What a call said was not all waits for the
//! rest, whatever Nagle's algorithm would do.

use crate::calls::written::{Written, WrittenAt};
use crate::judge::doubts::size::may_hold;
use crate::judge::model::{BlockModel, Proof};
use crate::judge::thresholds::STRACE_LAG_NS;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};

/// A segment that waited no longer left with the next write, which the trace may lack.
const SHORTEST_CORK_NS: i64 = 1_000_000;

/// Settles the waits of which that is known.
pub fn settle(blocks: &[Block], models: &mut [BlockModel], written: &Written) {
    // Without addresses another program may look the same.
    if !written.proves() {
        return;
    }
    for (block, model) in blocks.iter().zip(models) {
        for (at, _, wait) in block.placed(may_hold) {
            let number = block.numbers[wait.connection as usize];
            let left_ns = wait.to.time_ns;
            if let Some(call) = written.at((number, wait.by), (wait.rel_seq, wait.len), left_ns) {
                let hold_ms = (left_ns - call.time_ns) as f64 / 1e6;
                let rtt_ns = block
                    .place_of(wait)
                    .map_or(0, |place| block.connections[place].half(wait.by).rtt_or_zero_ns());
                let proof = proof(wait, rtt_ns, &call);
                if has_release(wait) || proof == Proof::Corked {
                    let held = &mut model.held[at];
                    *held = held.by_calls(proof, hold_ms as f32);
                }
            }
        }
    }
}

fn has_release(wait: &Wait) -> bool {
    (wait.has_pure_ack() || wait.is(fact::DATA_ACK)) && wait.has_ack()
}

/// An ACK reaches the sender, `rtt_ns` away, and what it lets go comes back.
fn proof(wait: &Wait, rtt_ns: i64, call: &WrittenAt<'_>) -> Proof {
    let freed_ns = wait.ack.time_ns.saturating_add(rtt_ns);
    let hold_ns = wait.to.time_ns.saturating_sub(call.time_ns);
    match call.ready_ns {
        _ if call.says_more && hold_ns > call.doubt_ns.saturating_add(SHORTEST_CORK_NS) => {
            Proof::Corked
        }
        _ if call.is_unclear => Proof::None,
        // Earlier than what left before it? Lines are missing from the trace.
        written_ns if written_ns.saturating_add(STRACE_LAG_NS) < wait.from.time_ns => Proof::None,
        written_ns if written_ns.saturating_add(call.doubt_ns) < freed_ns => Proof::Proven,
        written_ns if written_ns.saturating_sub(call.doubt_ns) > freed_ns => Proof::Refuted,
        _ => Proof::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::sockets::Write;
    use crate::track::{Mark, Side};

    const WRITE: Write = Write {
        time_ns: 0,
        offset: 0,
        bytes: 6,
        line: 1,
        stack: 0,
        answered_us: u32::MAX,
        file: 0,
        name: 0,
        flags: 0,
    };

    /// The ACK came after 44 ms, and what was held left 1 ms later, as the sender is that far away.
    #[test]
    fn what_was_written_when_its_ack_had_come_was_not_held() {
        let at = |ms: i64, frame| Mark { time_ns: ms * 1_000_000, frame };
        let wait = Wait { ack: at(44, 2), ..Wait::between(0, Side::Server, at(0, 1), at(45, 3)) };
        let told = |written_ns: i64, is_unclear, says_more| {
            let call = WrittenAt {
                write: &WRITE,
                before: None,
                time_ns: written_ns,
                ready_ns: written_ns,
                count: 2,
                doubt_ns: 50_000,
                is_unclear,
                says_more,
            };
            proof(&wait, 1_000_000, &call)
        };
        assert_eq!(told(100_000, false, false), Proof::Proven);
        assert_eq!(told(44_900_000, false, false), Proof::Proven);
        assert_eq!(told(44_970_000, false, false), Proof::None);
        assert_eq!(told(45_060_000, false, false), Proof::Refuted);
        assert_eq!(told(100_000, true, false), Proof::None);
        assert_eq!(told(100_000, true, true), Proof::Corked);
        assert_eq!(told(44_970_000, true, true), Proof::None);
    }
}
