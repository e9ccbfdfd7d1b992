//! What few new data need, out of the way of all others.

use crate::track::Side;
use crate::track::connection::sending::NewData;
use crate::track::connection::{Connection, Sinks};

impl Connection {
    /// Counts the wait before this data, which is too short to be kept.
    #[cold]
    pub(super) fn count_short(&mut self, side: Side, data: NewData<'_>, clock_ns: i64) {
        let Some(wait) = self.sending(side, data).short_wait(self.id, side) else {
            return;
        };
        let in_exchange = self.exchanges.covers(wait.from);
        self.halves[side as usize].count_short(&wait, in_exchange, clock_ns);
    }

    /// Pushes the wait before this data, seen over a retransmission.
    #[cold]
    pub(super) fn push_over_retransmission(
        &mut self,
        side: Side,
        data: NewData<'_>,
        sinks: &mut Sinks<'_>,
    ) {
        let sending = self.sending(side, data);
        let over = sending.wait_over_retransmission(self.id, side);
        if let Some(wait) = over.filter(|wait| wait.span_ns() >= sinks.lengths.seen_ns) {
            self.push(wait, sinks);
        }
    }
}
