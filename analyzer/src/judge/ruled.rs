//! What is ruled on a story.

use crate::judge::causes::Cause;
use crate::judge::findings::Ruling;
use crate::judge::judge;
use crate::judge::judged::JudgedConnection;
use crate::track::story::{CLOCK_NS, Told};

impl Told {
    /// The verdict on the connection, and a ruling for each of the first waits: those that are left.
    pub fn judge(&mut self) -> (JudgedConnection, Vec<Ruling>) {
        let mut rulings = Vec::new();
        let judged = judge(&self.connection, &mut self.waits, CLOCK_NS, &mut rulings);
        (judged, rulings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::story::{Story, client, server};

    #[test]
    fn a_request_in_two_small_writes_waits_for_the_delayed_ack() {
        let mut told = Story::new()
            .handshake(0.02, 1.0)
            .times(3, |story| {
                story
                    .after_ms(5.0, client(100))
                    .after_ms(40.0, server(0))
                    .after_ms(0.02, client(50))
                    .after_ms(1.0, server(200))
            })
            .end();
        let (judged, rulings) = told.judge();
        assert!(rulings.iter().all(|ruling| ruling.cause == Cause::NagleDelack), "{rulings:?}");
        assert_eq!(judged.stalls, 3);
    }
}
