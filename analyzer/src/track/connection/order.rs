//! Segments out of the order of time: a file was reversed, two captures were put one behind the
//! other, or something else wrote the stamps. What came before what is not known then. Nor is it
//! where times were made up.

use crate::track::clock::made_up::Times;
use crate::track::connection::Connection;
use crate::track::half::Half;
use crate::track::thresholds::{LEAST_REORDER_NS, OUT_OF_ORDER_ONE_OF};
use crate::track::{Mark, Side};

impl Connection {
    /// Compares the time since the last segment with that between those before it; notes the first one's.
    #[inline]
    pub(super) fn compare_gap(&mut self, now: Mark) {
        if self.times == Times::Even {
            self.compare_even_gap(now);
        }
    }

    #[inline(never)]
    fn compare_even_gap(&mut self, now: Mark) {
        if self.first_ns == 0 {
            self.first_ns = now.time_ns;
        }
        let gaps = i64::from(self.captured().saturating_sub(1));
        if gaps > 0 {
            let last_ns = self.last_ns();
            let mean_ns = last_ns.saturating_sub(self.first_ns) / gaps;
            self.times.compare(now.time_ns.saturating_sub(last_ns), mean_ns);
        }
    }

    pub(super) fn captured(&self) -> u32 {
        let [client, server] = self.halves.each_ref().map(|half| half.segments);
        client.saturating_add(server)
    }

    /// Are all segments equally far apart, or all frames of the capture, or were its waits made up?
    pub fn is_even(&self) -> bool {
        self.times.are_made_up(self.captured())
    }

    /// Counts data that is stamped earlier than the last data of either side, by more than queues
    /// write frames out of order.
    #[inline]
    pub(super) fn compare_order(&mut self, by: Side, now: Mark) {
        let is_earlier = |half: &Half| now.time_ns < half.last_data.time_ns - LEAST_REORDER_NS;
        let (own, other) = (self.half(by), self.half(by.other()));
        if is_earlier(own) || is_earlier(other) {
            let than_own = is_earlier(own);
            self.halves[by as usize].take_earlier(than_own);
        }
    }

    /// Does much data come behind data that is later? A clock that was set back once makes little.
    pub fn is_out_of_order(&self) -> bool {
        let earlier: u32 = self.halves.iter().map(|half| half.odd().earlier).sum();
        earlier > 0 && earlier >= self.captured() / OUT_OF_ORDER_ONE_OF
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::doubts::Hidden;
    use crate::judge::finding::verdict::Verdict;
    use crate::judge::nagle::nodelay::Nagle;
    use crate::track::Side;
    use crate::track::story::{Story, StorySegment, client, server};

    fn judged(story: Story) -> (Verdict, Hidden) {
        let (judged, _) = story.end().judge();
        assert!(judged.halves.iter().all(|half| half.nagle == Nagle::Unknown));
        (judged.verdict(), judged.hidden)
    }

    fn asked(story: Story, forward: f64) -> Story {
        let segments: [(f64, StorySegment); 4] =
            [(0.3, client(100)), (40.0, server(0)), (0.1, server(200)), (0.02, client(0))];
        segments.iter().fold(story, |story, &(ms, next)| story.after_ms(forward * ms, next))
    }

    #[test]
    fn a_capture_whose_time_runs_backwards_is_not_clean() {
        let out_of_order = (Verdict::Inconclusive, Hidden::OutOfOrder);
        assert_eq!(judged((0..8).fold(Story::new(), |story, _| asked(story, -1.0))), out_of_order);
    }

    /// The client's frames, then the server's, as two one-way captures put one behind the other have them.
    #[test]
    fn two_directions_one_behind_the_other_are_neither_clean_nor_nodelay() {
        let asks = |story: Story, at: i64| {
            story.after_ms(7.0, client(100).ack(200 * at)).after_ms(43.0, client(50).ack(200 * at))
        };
        let story = (0..8).fold(Story::new(), asks).after_ms(-370.0, server(0).ack(150));
        let answers = |story: Story, at: i64| {
            story.after_ms(20.0, server(0).ack(150 * at + 100)).after_ms(30.0, server(200))
        };
        let out_of_order = (Verdict::Inconclusive, Hidden::OutOfOrder);
        assert_eq!(judged((1..8).fold(story, answers)), out_of_order);
    }

    /// The server only acknowledges: the data that the clock left ahead is never followed by more.
    #[test]
    fn a_clock_that_was_set_back_once_beside_a_silent_peer_leaves_the_rest_to_be_judged() {
        let sent = |story: Story| story.after_ms(30.0, client(100)).after_ms(0.1, server(0));
        let story = Story::new().handshake(0.02, 0.02).after_ms(1.0, server(20)).times(8, sent);
        let told = story.after_ms(-3.6e6, client(100)).times(8, sent).end();
        assert!(!told.connection.is_out_of_order());
    }

    #[test]
    fn a_clock_that_was_set_back_once_leaves_the_rest_to_be_judged() {
        let often = |story: Story| (0..8).fold(story, |story, _| asked(story, 1.0));
        for back_ms in [30.0, 3.6e6] {
            let story = often(Story::new().handshake(0.02, 0.02));
            let story = story.after_ms(-back_ms, client(100)).after_ms(0.1, server(200));
            let told = often(story).end();
            assert!(!told.connection.is_out_of_order());
            let earlier =
                told.half(Side::Client).odd().earlier + told.half(Side::Server).odd().earlier;
            assert_eq!(earlier, 2, "{back_ms}");
        }
    }
}
