//! ACKs that are stamped before the data they acknowledge: a capture point that stamps each direction
//! by a queue or a clock of its own writes the two in the wrong order. No host acknowledges what it
//! has not got, so that such a segment waits for the data, and is taken behind it, at its time.

use crate::decode::{ACK, Header, RST, SYN, seq};
use crate::track::connection::{Connection, Recorder};
use crate::track::thresholds::LATE_STAMP_NS;
use crate::track::{Mark, Side};

/// Segments that wait at once: a shard's within [`LATE_STAMP_NS`].
const MOST: usize = 64;

/// A segment of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub connection: u32,
    pub by: Side,
    pub header: Header,
    pub now: Mark,
}

/// The segments that wait, in the order of the capture.
#[derive(Debug, Default)]
pub struct Early(Vec<Segment>);

/// Where the connections are found.
pub trait Followed {
    fn known(&mut self, connection: u32) -> Option<&mut Connection>;
}

impl Early {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next segment, or keeps it, and takes those that need not wait any longer.
    #[cold]
    #[inline(never)]
    pub fn pass(&mut self, next: Segment, all: &mut impl Followed, recorder: &mut Recorder) {
        let Some(connection) = all.known(next.connection) else { return };
        let waits_too = connection.is_early(next.by, &next.header);
        let brings = connection.half(next.by).continues_with(&next.header);
        let is_near =
            |held: &Segment| (0..=LATE_STAMP_NS).contains(&(next.now.time_ns - held.now.time_ns));
        let is_own = |held: &Segment| held.connection == next.connection && held.by == next.by;
        let is_full = self.0.len() >= MOST;
        // Segments of one end keep their order.
        let own_waits =
            waits_too && !is_full && self.0.iter().find(|held| is_own(held)).is_none_or(is_near);
        let is_due = |held: &Segment| match held.connection == next.connection {
            true if held.by == next.by => !own_waits,
            true => !brings || !is_near(held),
            false => !is_near(held),
        };
        self.take_all(is_due, all, recorder);
        let Some(connection) = all.known(next.connection) else { return };
        if !is_full && connection.is_early(next.by, &next.header) {
            self.0.push(next);
            return;
        }
        connection.take(next.by, &next.header, next.now, recorder);
        let is_due = |held: &Segment| {
            held.connection == next.connection && !connection.is_early(held.by, &held.header)
        };
        let due: Vec<Segment> = self.0.extract_if(.., |held| is_due(held)).collect();
        for held in due {
            let time_ns = held.now.time_ns.max(next.now.time_ns + 1);
            take(&Segment { now: Mark { time_ns, ..held.now }, ..held }, all, recorder);
        }
    }

    /// The capture has ended: their data was never captured.
    pub fn end(&mut self, all: &mut impl Followed, recorder: &mut Recorder) {
        self.take_all(|_| true, all, recorder);
    }

    fn take_all(
        &mut self,
        is_due: impl Fn(&Segment) -> bool,
        all: &mut impl Followed,
        recorder: &mut Recorder,
    ) {
        let due: Vec<Segment> = self.0.extract_if(.., |held| is_due(held)).collect();
        for held in &due {
            take(held, all, recorder);
        }
    }
}

fn take(segment: &Segment, all: &mut impl Followed, recorder: &mut Recorder) {
    if let Some(connection) = all.known(segment.connection) {
        connection.take(segment.by, &segment.header, segment.now, recorder);
    }
}

impl Connection {
    /// Does the segment acknowledge more than the other end has sent so far?
    #[inline]
    pub fn is_early(&self, by: Side, segment: &Header) -> bool {
        let other = self.half(by.other());
        segment.flags & (ACK | SYN | RST) == ACK
            && seq::lt(other.sequence.nxt, segment.ack)
            && other.offset > 0
            && other.is_seq_known()
    }
}

#[cfg(test)]
mod tests {
    use crate::track::Side;
    use crate::track::story::{Story, StorySegment, client, server};

    /// 40 ms away, captured at the server.
    fn near_server() -> Story {
        let begun = Story::new().handshake(40.0, 0.02).after_ms(1.0, client(100));
        begun.after_ms(0.1, server(100))
    }

    /// The client's second half, of which the server's ACK or answer is stamped first.
    fn answered(story: Story, at: i64, answer: StorySegment) -> Story {
        let held = story.after_ms(5.0, client(100)).after_ms(43.0, server(0));
        let early = held.after_ms(40.5, answer.ack(at + 150)).after_ms(0.03, client(50));
        early.after_ms(0.1, server(100))
    }

    #[test]
    fn what_is_stamped_just_before_the_data_it_acknowledges_follows_it() {
        for answer in [server(0), server(200)] {
            let told = answered(answered(near_server(), 100, answer), 250, answer).end();
            let held = told.waits.iter().filter(|wait| wait.has_pure_ack()).count();
            assert_eq!((held, told.half(Side::Client).unseen().0), (2, 0));
            // The hold lies in the exchange whose answer was stamped before its request was whole.
            let ends = told.exchanges.iter().map(|exchange| exchange.end.frame);
            let holds = told.waits.iter().filter(|wait| wait.has_pure_ack());
            assert!(holds.clone().all(|wait| ends.clone().any(|end| end >= wait.to.frame)));
        }
    }

    /// The answer is sent in two pieces as soon as the request that the capture lacks is there.
    #[test]
    fn an_answer_to_what_was_never_captured_is_a_hold() {
        let story =
            near_server().after_ms(5.0, server(0).ack(150)).after_ms(0.02, server(80).ack(150));
        let told = story.after_ms(43.0, client(0).seq(150)).after_ms(0.03, server(50)).end();
        assert!(told.wait().has_pure_ack());
    }

    #[test]
    fn data_that_was_never_captured_stays_missing() {
        let early = || near_server().after_ms(40.0, server(0).ack(150));
        let stories = [
            early(),
            early().after_ms(0.03, client(50).seq(150)),
            early().after_ms(5.0, client(50)),
        ];
        let missing = stories.map(|story| story.end().half(Side::Client).unseen().0);
        assert_eq!(missing, [50, 50, 0]);
    }
}
