//! Segments that follow data of the peer after a while in which the sender had sent nothing. Either
//! the kernel sends what it held until that data acknowledged everything, or the program reacts.

use super::Observation;
use super::idle::Idle;
use crate::track::half::Release;
use crate::track::thresholds::KERNEL_REACTION_NS;
use crate::track::wait::{Wait, fact};

/// How a segment followed data of the peer.
pub enum Reaction {
    /// The peer's data acknowledged all that was outstanding, the last of it small, and this small
    /// segment left as soon as a kernel sends.
    MayBeHeld(Wait),
    /// It left later than a kernel sends then: the program wrote it.
    Late,
    /// Nothing was outstanding: the program reacted this long after the data, in ns.
    OfProgram(i64),
}

impl Observation<'_> {
    /// How it followed data of the peer, if that came since its sender's last data, all acknowledged.
    pub fn reaction(&self) -> Option<Reaction> {
        let Self { half, peer, now, .. } = *self;
        let data = peer.last_new();
        if half.bytes() == 0 || half.sequence.in_flight() > 0 || !data.after(half.last_data) {
            return None;
        }
        let (ack, after_ns) = (half.all_acked(), now.time_ns - data.time_ns);
        if ack.mark == data {
            let is_small = half.is_last_small() && self.len < self.mss && !self.had_nothing();
            let reaction = if (0..=KERNEL_REACTION_NS).contains(&after_ns) {
                Reaction::MayBeHeld(self.wait_until_data(ack))
            } else {
                Reaction::Late
            };
            return is_small.then_some(reaction);
        }
        // The first few slow reactions do not matter; most directions never need any.
        let counts = half.counts_reactions() || after_ns <= KERNEL_REACTION_NS / 2;
        (counts && data.after(ack.mark)).then_some(Reaction::OfProgram(after_ns))
    }

    /// The wait from the sender's last data on, which the data in `release` acknowledged.
    fn wait_until_data(&self, release: Release) -> Wait {
        let from = self.half.last_data;
        let (release, since_ns) = (Some(release), from.time_ns);
        let wait = self.wait(&Idle { release, own_before: true, from, since_ns, arrived: None });
        let ack_len = u16::try_from(self.peer.last_len).unwrap_or(u16::MAX);
        Wait { facts: wait.facts | fact::DATA_ACK, ack_len, ..wait }
    }
}

#[cfg(test)]
mod tests {
    use crate::track::Side;
    use crate::track::story::{Story, client, server};
    use crate::track::wait::fact;

    /// A segment of the server, and 25 ms later data of the client, at which the server sends another one.
    fn after_data(story: Story, after_us: f64) -> Story {
        let asked = story.after_ms(300.0, server(80)).after_ms(25.0, client(20));
        asked.after_ms(after_us / 1e3, server(60))
    }

    #[test]
    fn what_leaves_at_once_after_data_that_acknowledged_all_is_kept() {
        let told = after_data(Story::new().handshake(0.02, 1.0), 14.0).end();
        let [wait] = told.by_data[..] else { panic!("{:?}", told.by_data) };
        let lengths = (wait.unacked_len, wait.len, wait.span_ns(), wait.release_ns());
        assert_eq!(lengths, (80, 60, 25_014_000, 14_000));
        assert!(wait.is(fact::DATA_ACK) && !wait.is(fact::PURE_ACK) && wait.by == Side::Server);
        assert!(after_data(Story::new().handshake(0.02, 1.0), 900.0).end().by_data.is_empty());
    }

    #[test]
    fn reactions_with_nothing_outstanding_are_the_programs() {
        let alone = |story: Story| {
            let acked = story.after_ms(300.0, server(80)).after_ms(1.0, client(0));
            acked.after_ms(30.0, client(20)).after_ms(0.4, server(60))
        };
        let before = alone(Story::new().handshake(0.02, 1.0));
        assert_eq!(before.half(Side::Server).odd().reactions.count(), 0);
        let after = alone(after_data(before, 14.0));
        assert_eq!(after.half(Side::Server).odd().reactions.quickest_ns(), Some(511_999));
    }
}
