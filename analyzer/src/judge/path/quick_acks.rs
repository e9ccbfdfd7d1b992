//! What happened when the ACK came at once? An experiment that receivers make by themselves: Linux
//! acknowledges the first segments of a connection, and those after a pause, without delay.
//!
//! If the sender's next segment came at once then, and comes late only where the ACK does, it waits for the
//! ACK. If it took as long without a late ACK, the program paused.

use crate::judge::path::releases::Releases;
use crate::judge::thresholds::{LEAST_HOLD_NS, PACE_SPREAD_NS, PACE_SPREAD_SHARE, SECURE_RELEASES};
use crate::track::wait::{Wait, fact};
use crate::track::{SHORTEST_DELAYED_ACK_NS, Side};

impl Releases {
    /// The longest pause of `side` where the ACK came at once, if each of them is about as long as its waits that
    /// ended with a late one: then it writes after pauses of its own.
    pub fn pauses_alike(&self, side: Side, waits: &[Wait]) -> Option<i64> {
        let (late, prompt) = parted(side, waits, self.receiver_rtt_ns);
        let held = || late.iter().filter(|wait| self.holds(wait));
        let lengths_ns = || held().map(|wait| wait.span_ns());
        let (shortest_ns, longest_ns) = (lengths_ns().min()?, lengths_ns().max()?);
        let paused = || prompt.iter().filter(|prompt| held().any(|wait| is_like(wait, prompt)));
        let spread_ns = PACE_SPREAD_NS + shortest_ns / PACE_SPREAD_SHARE;
        let held_ns = (shortest_ns - LEAST_HOLD_NS)..=(longest_ns + spread_ns + self.clock_ns);
        let alike = paused().all(|wait| held_ns.contains(&wait.span_ns()));
        let paused_ns = paused().map(|wait| wait.span_ns()).max().filter(|_| alike)?;
        // Where its waits keep to each other rather than to the ACK, its pauses vary as much.
        match self.is_steadier_than_waits(held().copied()) {
            true => Some(paused_ns),
            false => Some(paused_ns.max(longest_ns)),
        }
    }

    /// Do the waits of `side` between writes of the same lengths follow the ACK? Each after a prompt ACK is
    /// shorter than each after a delayed one.
    pub fn waits_follow_ack(&self, side: Side, waits: &[Wait]) -> bool {
        let (late, prompt) = parted(side, waits, self.receiver_rtt_ns);
        let alike = || late.iter().filter(|late| prompt.iter().any(|prompt| is_like(late, prompt)));
        let prompt_alike =
            || prompt.iter().filter(|prompt| late.iter().any(|late| is_like(late, prompt)));
        let longest_ns = prompt_alike().map(|wait| wait.span_ns()).max();
        let shortest_ns = late.iter().map(|wait| wait.span_ns()).min();
        let (Some(longest_ns), Some(shortest_ns)) = (longest_ns, shortest_ns) else { return false };
        late.len() >= SECURE_RELEASES as usize
            && 2 * alike().count() > late.len()
            && longest_ns + SHORTEST_DELAYED_ACK_NS <= shortest_ns
    }
}

/// The waits of `side` during which a delayed ACK came, and those with a prompt one.
fn parted(side: Side, waits: &[Wait], receiver_rtt_ns: i64) -> (Vec<&Wait>, Vec<&Wait>) {
    let may_be_held = |wait: &&Wait| {
        let freed = wait.has_pure_ack() && !wait.is(fact::PASSED_ON);
        wait.by == side && freed && Releases::may_hold(wait)
    };
    let is_late =
        |wait: &&Wait| wait.ack_delay_ns(Some(receiver_rtt_ns)) >= SHORTEST_DELAYED_ACK_NS;
    waits.iter().filter(may_be_held).partition(is_late)
}

/// Are these waits between writes of the same lengths?
fn is_like(one: &Wait, other: &Wait) -> bool {
    (one.unacked_len, one.len) == (other.unacked_len, other.len)
}
