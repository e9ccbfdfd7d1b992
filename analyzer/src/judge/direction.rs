//! Facts of one direction, by which its waits are ruled on one after the other.

use crate::judge::ack_delay::AckDelay;
use crate::judge::capture::spurious;
use crate::judge::causes::cork::Corks;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::causes::{DirectionFacts, ledger, stop_and_wait};
use crate::judge::conditions::Conditions;
use crate::judge::findings::Ruling;
use crate::judge::model::Held;
use crate::judge::path::Path;
use crate::judge::thresholds::POSSIBLE;
use crate::track::wait::Wait;
use crate::track::{Connection, Side};

impl DirectionFacts {
    pub fn of(
        connection: &Connection,
        side: Side,
        waits: &[Wait],
        acks: AckDelay,
        conditions: Conditions,
    ) -> Self {
        // Mostly one side has all of them: nothing is to be looked for among those of the other.
        let waits = if waits.iter().any(|wait| wait.by == side) { waits } else { &[] };
        let half = connection.half(side);
        let corks = Corks::of(connection, side, waits);
        let path = Path::of(half, conditions.clock_ns).agreeing(side, waits);
        let own = || waits.iter().filter(|wait| wait.by == side);
        let receiver = connection.half(side.other());
        Self {
            path,
            held: false,
            may_be_held: false,
            at_receiver: spurious::is_at_receiver(connection, side),
            one_at_a_time: stop_and_wait::is_throughout(half, &path, own()),
            // The late segment may be the retransmission.
            corked: half.odd().repeats.retransmitted == 0
                && own().any(|wait| corks.is_left_behind(wait)),
            corks,
            link: SlowLink::of(half, side, waits),
            receiver_seen: receiver.segments > 0 && !connection.is_even(),
            disordered: connection.is_disordered() || connection.is_out_of_order(),
            never_acked: half.never_acked(),
            acks,
        }
    }

    /// Rules on the next wait, of which the model says this.
    pub fn rule(&mut self, wait: &Wait, held: Held) -> Ruling {
        self.held = f64::from(held.probability) >= POSSIBLE;
        self.may_be_held = held.is_unsure();
        Ruling::new(ledger::row_of(wait, self), held)
    }
}
