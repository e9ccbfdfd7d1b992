//! A connection that has only opened, or not even that, as the segments that it consists of.

use crate::decode::{ACK, Header};
use crate::track::connection::{Connection, Lengths, Recorder};
use crate::track::exchange::exchanged::Exchanged;
use crate::track::half::Half;
use crate::track::waits::Waits;
use crate::track::{Ends, Mark, Side};

/// One of the segments that a connection opens with: a SYN, its answer, an ACK.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    pub by: Side,
    pub mark: Mark,
    pub header: Header,
}

impl Connection {
    /// A connection of which only these segments were captured, in their order. Each acknowledges all that
    /// the other end has sent.
    pub fn opened_by(id: u32, ends: Ends, segments: impl Iterator<Item = Opening>) -> Self {
        let mut connection = Self::new(id, ends);
        let (waits, exchanged) = (&mut Waits::default(), &mut Exchanged::default());
        let mut recorder = Recorder { waits, exchanged, lengths: Lengths::NONE, clock_ns: 0 };
        for Opening { by, mark, mut header } in segments {
            if header.has(ACK) {
                header.ack = connection.half(by.other()).sequence.nxt;
            }
            connection.take(by, &header, mark, &mut recorder);
        }
        connection
    }

    /// Has it carried no data and had no wait?
    fn is_bare(&self) -> bool {
        let is_bare = |half: &Half| half.is_plain() && half.offset == 0;
        // Where the clock steps back a late answer is a wait that leaves no other trace.
        let is_timed = |half: &Half| !half.has_syn() || half.last_data.time_ns >= self.first_ns;
        self.halves.iter().all(|half| is_bare(half) && is_timed(half))
    }

    /// Was it refused, or reset before it carried data? Then nothing follows.
    pub fn is_refused(&self) -> bool {
        self.halves.iter().any(Half::has_reset) && self.is_bare()
    }

    /// The segments that may be all that was captured: [`Self::opened_by`] them it is as it is, or it has
    /// seen more.
    pub fn openings(&self) -> Option<impl Iterator<Item = Opening>> {
        let [client, server] = &self.halves;
        let is_short = client.segments() <= 2 && server.segments() <= 1;
        let is_opening = |half: &Half| half.segments() == 0 || half.has_syn();
        if !is_short || !self.halves.iter().all(is_opening) || !self.is_bare() {
            return None;
        }
        let of = |by: Side, (mark, header): (Mark, Header)| Opening { by, mark, header };
        let asked = (client.segments() > 0).then(|| of(Side::Client, client.sent_syn(server)));
        let answered = (server.segments() > 0).then(|| {
            let (mark, syn) = server.sent_syn(client);
            of(Side::Server, (mark, Header { flags: syn.flags | ACK, ..syn }))
        });
        let confirmed = (client.segments() > 1).then(|| of(Side::Client, client.sent_ack()));
        Some([asked, answered, confirmed].into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use crate::track::Connection;
    use crate::track::story::{Story, client, server};

    /// As it is when only the segments are kept that opened it.
    fn opened_again(story: Story) -> (Connection, Option<Connection>) {
        let connection = story.end().connection;
        let segments = connection.openings();
        let again = segments.map(|some| Connection::opened_by(0, connection.ends, some));
        (connection, again)
    }

    #[test]
    fn what_a_connection_opens_with_makes_all_of_it() {
        let [syn, answer, ack] = [client(0).syn(), server(0).syn(), client(0)];
        let asked = || Story::new().after_ms(0.0, syn.ip_id(u16::MAX));
        let stamped = |tsval| client(0).syn().tsval(tsval);
        let all = [
            asked(),
            asked().after_ms(1.5, answer),
            asked().after_ms(1.5, answer).after_ms(3.0, ack.ip_id(0)),
            asked().after_ms(1.5, answer).after_ms(3.0, ack.ip_id(77).window(3)),
            Story::new().after_ms(0.0, syn).after_ms(1.0, answer.options(&[2, 4, 2, 0])),
            Story::new().after_ms(0.0, stamped(70_000)).after_ms(1.0, server(0).syn().tsval(5)),
            Story::new()
                .after_ms(0.0, stamped(0))
                .after_ms(1.0, server(0).syn().tsval(u32::MAX))
                .after_ms(2.0, client(0).tsval(u32::MAX - 9)),
            Story::new().after_ms(0.0, answer),
        ];
        for story in all {
            let (connection, again) = opened_again(story);
            assert_eq!(again, Some(connection));
        }
    }

    #[test]
    fn of_more_than_that_not_all_is_kept() {
        let opened = || Story::new().handshake(0.1, 1.0);
        let more = [
            opened().after_ms(1.0, client(0)),
            opened().after_ms(1.0, client(5)),
            opened().after_ms(1.0, client(0).fin()),
            Story::new().after_ms(0.0, client(0).syn()).after_ms(1000.0, client(0).syn().ip_id(9)),
            Story::new().after_ms(0.0, client(0).syn()).after_ms(1000.0, server(0).syn()),
            Story::new().after_ms(0.0, server(0).syn()).after_ms(1.0, client(0)),
            Story::new().after_ms(0.0, client(5)),
        ];
        for story in more {
            let (connection, again) = opened_again(story);
            assert_ne!(again, Some(connection));
        }
    }

    #[test]
    fn a_refused_connection_is_told_from_one_that_was_reset_after_data() {
        let asked = || Story::new().after_ms(0.0, client(0).syn());
        let reset = server(0).rst();
        let opened = || Story::new().handshake(0.0, 1.0);
        let is_refused = |story: Story| story.end().connection.is_refused();
        assert!(is_refused(asked().after_ms(1.0, reset)));
        assert!(is_refused(opened().after_ms(1.0, client(0).rst())));
        assert!(!is_refused(opened()));
        assert!(!is_refused(opened().after_ms(1.0, client(5)).after_ms(1.0, reset)));
    }
}
