//! # What happens
//! The sender never has more than one segment in flight: it waits for the ACK of each one before it sends
//! the next, full-sized or not. So each segment costs a round trip, and the receiver's timer if the ACK is
//! delayed.
//!
//! # How it is recognised
//! Throughout the connection nothing new was sent while something was unacknowledged, and several
//! full-sized segments left as soon as the ACK had reached the sender. Or a stack within a program does
//! so with blocks: three and more leave just after an ACK that came late, more than half of all.
//!
//! # What it is not
//! A hold by Nagle's algorithm: that lets a full-sized segment go. A full congestion window holds at least
//! ten segments at first, and two after any loss but a timeout. A program that pauses between its blocks:
//! those do not follow late ACKs.
//!
//! # What to do
//! Give the sender room for several segments: a larger send buffer (lwIP: `TCP_SND_BUF`,
//! `TCP_SND_QUEUELEN`), or a stack that has more than one (uIP has not). `TCP_NODELAY` does not help. A
//! receiver that acknowledges at once does.
//!
//! # References
//! RFC 1122, section 4.2.3.2; lwIP `TCP_SND_BUF`; uIP's reference manual, on delayed ACKs.

use crate::judge::path::Path;
use crate::judge::thresholds::{FEW_RELEASES, NEXT_BLOCK_ONE_OF};
use crate::track::half::Half;
use crate::track::thresholds::SHORTEST_DELAYED_ACK_NS;
use crate::track::wait::{Wait, fact};

/// Did this sender, all the time, wait for the ACK of each segment before the next?
pub fn is_throughout<'a>(
    sender: &Half,
    path: &Path,
    own: impl Iterator<Item = &'a Wait> + Clone,
) -> bool {
    let is_full = |wait: &&Wait| {
        wait.is_freed() && !wait.has_any(fact::SMALL | fact::LARGE_FLIGHT | fact::ACK_FIN)
    };
    let full_sized = || own.clone().filter(|wait| is_full(wait) && path.follows_ack(wait));
    let late = || own.clone().filter(|wait| is_late_block(wait));
    let blocks = || {
        let soon = late().filter(|wait| is_next_block(wait, path)).count();
        soon >= FEW_RELEASES as usize && 2 * soon > late().count()
    };
    !sender.has_pipelined() && (full_sized().count() >= FEW_RELEASES as usize || blocks())
}

/// Is it the next block of such a sender, after a late ACK?
pub fn is_block(wait: &Wait, path: &Path) -> bool {
    is_late_block(wait) && is_next_block(wait, path)
}

/// Full-sized data after an ACK that came late.
fn is_late_block(wait: &Wait) -> bool {
    let other = fact::SMALL | fact::HINDERED | fact::RETRANSMITTED | fact::ANSWERABLE;
    wait.has_pure_ack() && !wait.has_any(other) && wait.ack_ns() >= SHORTEST_DELAYED_ACK_NS
}

/// Did it leave just after that ACK had reached the sender?
fn is_next_block(wait: &Wait, path: &Path) -> bool {
    let soon_ms = (wait.span_ns() / NEXT_BLOCK_ONE_OF) as f64 / 1e6;
    path.is_measured() && (-path.early_ms()..=soon_ms).contains(&path.off_ms(wait))
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, client, server};

    /// Blocks of the server, where the capture was taken, so long after the ACK of the one before.
    fn blocks_after(story: Story, releases_ms: &[f64]) -> Vec<Cause> {
        let story = releases_ms.iter().fold(story.after_ms(5.0, server(2024)), |story, &ms| {
            story.after_ms(50.0, client(0)).after_ms(ms, server(2024))
        });
        let (_, rulings) = story.after_ms(0.5, client(0)).end().judge();
        rulings.iter().map(|ruling| ruling.cause).collect()
    }

    #[test]
    fn a_program_that_waits_for_the_ack_of_each_block_is_named() {
        let phone = || Story::new().handshake(0.5, 0.13);
        assert_eq!(blocks_after(phone(), &[0.9, 1.6, 3.0, 0.8]), [Cause::StopAndWait; 4]);
        let paused = blocks_after(phone(), &[0.9, 33.0, 70.0, 21.0, 1.7, 44.0]);
        assert!(!paused.contains(&Cause::StopAndWait));
        let twice = phone().after_ms(1.0, server(2024)).after_ms(0.1, server(2024));
        let piped = blocks_after(twice.after_ms(0.5, client(0)), &[0.9, 1.6, 3.0, 0.8]);
        assert!(!piped.contains(&Cause::StopAndWait));
    }
}
