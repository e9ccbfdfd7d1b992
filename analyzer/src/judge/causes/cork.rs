//! # What happens
//! The program asked its kernel to wait for more data (`TCP_CORK`, `MSG_MORE`) and then wrote no more, nor
//! took it back. The kernel sent the small segment when its timer ran out.
//!
//! # How it is recognised
//! Time and again a small segment leaves 200 ms and a round trip after the last data, at most a few
//! ticks of the kernel's clock later, and no ACK released it: Linux sends what a cork holds when
//! nothing is in flight and its probe timer runs out, which is as long as the retransmission timer.
//! Its segments carry timestamps: Windows has no cork, and sends none unless it is told to. Beside a
//! trace (`--calls`) the call itself shows it, once and whatever let the segment go: an ACK does, too.
//!
//! # What it is not
//! A hold by Nagle's algorithm, which ends with an ACK: where the receiver acknowledged what was sent before
//! only after most of the wait, its ACK explains the wait. A program that sleeps for 200 ms: it does not
//! wait a round trip longer than that. One with a timer of that very length looks the same; what happens
//! fewer than three times is left to the program, and so is what a path to the sender delays by as much as
//! the two differ.
//!
//! # What to do
//! Clear `TCP_CORK` after the last piece of each message, or leave out `MSG_MORE` with it.
//!
//! # References
//! tcp(7), send(2); Linux `tcp_check_probe_timer`, `TCP_RTO_MIN`.

use crate::judge::direction::Direction;
use crate::judge::path::Path;
use crate::judge::statistics;
use crate::judge::thresholds::{CORK_EARLY_NS, CORK_SPREAD_NS, FEW_RELEASES, SHORTEST_RTO_NS};
use crate::track::half::Half;
use crate::track::thresholds::{JIFFY_NS, MOSTLY};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Side};

/// How waits for the kernel's timer look in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Corks {
    pub shortest_ns: i64,
    pub longest_ns: i64,
    /// Round trip between the capture point and the sender, in ns: what it answers takes that longer.
    pub sender_rtt_ns: i64,
    /// Are there several, all of one length, as no program writes by accident?
    pub is_repeated: bool,
}

impl Corks {
    pub fn of(
        connection: &Connection,
        side: Side,
        waits: &[Wait],
        directions: &[Direction; 2],
    ) -> Self {
        let sender = &directions[side as usize].path;
        let rtt_ns: i64 =
            directions.iter().filter_map(|direction| direction.path.shortest_ns).sum();
        let mut corks = Self {
            // The timer starts at the smoothed round trip and `TCP_RTO_MIN`.
            shortest_ns: SHORTEST_RTO_NS + rtt_ns + CORK_EARLY_NS,
            longest_ns: SHORTEST_RTO_NS + rtt_ns + 2 * JIFFY_NS,
            sender_rtt_ns: sender.shortest_ns.unwrap_or(0),
            is_repeated: false,
        };
        let small = || waits.iter().filter(|wait| wait.by == side && may_be_corked(wait));
        let own = small().filter(|wait| corks.is_as_long(wait));
        let mut lengths: Vec<i64> = own.map(|wait| corks.length_ns(wait)).collect();
        // The kernel's timer is never early; a program that sleeps for 200 ms is, beside it.
        let early = |wait: &&Wait| {
            (SHORTEST_RTO_NS - JIFFY_NS..corks.shortest_ns).contains(&corks.length_ns(wait))
        };
        let middle_ns =
            statistics::upper(&mut lengths).filter(|_| !small().any(|wait| early(&wait)));
        if let Some(middle_ns) = middle_ns {
            let alike = |length_ns: &&i64| (*length_ns - middle_ns).abs() <= CORK_SPREAD_NS;
            let count = lengths.iter().filter(alike).count();
            corks.is_repeated =
                count >= FEW_RELEASES as usize && MOSTLY.1 * count >= MOSTLY.0 * lengths.len();
        }
        corks.is_repeated &= tells_timers_apart(sender) && is_linux(connection.half(side));
        corks
    }

    pub fn looks_corked(&self, wait: &Wait) -> bool {
        self.is_as_long(wait) && may_be_corked(wait)
    }

    /// Did it wait for the timer though all before it was acknowledged early? Nagle's algorithm holds nothing
    /// then.
    pub fn is_left_behind(&self, wait: &Wait) -> bool {
        wait.has_pure_ack() && self.looks_corked(wait)
    }

    fn is_as_long(&self, wait: &Wait) -> bool {
        (self.shortest_ns..=self.longest_ns).contains(&self.length_ns(wait))
    }

    fn length_ns(&self, wait: &Wait) -> i64 {
        if wait.is(fact::OWN_DATA_BEFORE) {
            wait.span_ns()
        } else {
            wait.span_ns() - self.sender_rtt_ns
        }
    }
}

/// A small segment that nothing else let go, or kept.
fn may_be_corked(wait: &Wait) -> bool {
    let other =
        fact::FIN | fact::URGENT | fact::HINDERED | fact::RETRANSMITTED | fact::UNACKED_AT_SEND;
    let late_ack = wait.has_pure_ack() && 2 * wait.release_ns() <= wait.span_ns();
    wait.is(fact::SMALL) && !wait.has_any(other) && !late_ack
}

/// Is the path between the sender and the capture point even enough for the kernel's timer to be told from a
/// program's?
fn tells_timers_apart(sender: &Path) -> bool {
    sender.shortest_ns.is_some() && sender.jitter_ms < CORK_EARLY_NS as f64 / 1e6
}

/// Windows, which has no corks, sends no timestamps unless it is told to.
fn is_linux(sender: &Half) -> bool {
    sender.has_timestamps()
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::judge::nagle::nodelay::Nagle;
    use crate::track::story::{Story, client, server};

    /// Requests that leave so long after the answer to the last one, captured at the client.
    fn asked_after(lengths_ms: &[f64]) -> Vec<Cause> {
        let opened = Story::new().handshake(0.02, 2.0);
        let story = lengths_ms.iter().fold(opened, |story, &ms| {
            story
                .after_ms(ms, client(150).tsval(1))
                .after_ms(2.1, server(90))
                .after_ms(0.02, client(0))
        });
        let (_, rulings) = story.end().judge();
        rulings.iter().map(|ruling| ruling.cause).collect()
    }

    #[test]
    fn small_segments_that_a_timer_of_the_kernel_sends_were_corked() {
        let causes = asked_after(&[30.0, 205.9, 206.0, 205.8, 206.1]);
        assert_eq!(causes[causes.len() - 4..], [Cause::Cork; 4]);
    }

    #[test]
    fn a_program_that_sleeps_is_no_cork() {
        for lengths_ms in [
            [200.1; 5],
            [230.0; 5],
            [204.0, 209.0, 214.0, 203.0, 218.0],
            [205.0, 205.1, 201.0, 205.2, 205.3],
        ] {
            assert!(asked_after(&lengths_ms).iter().all(|&cause| cause == Cause::SenderApp));
        }
    }

    /// The server's first reply left a piece to the kernel's timer: nothing was unacknowledged. Is Nagle's
    /// algorithm what holds the pieces of the others?
    #[test]
    fn what_a_write_with_msg_more_left_behind_says_nothing_of_tcp_nodelay() {
        let nagle = |first_ms: f64| {
            let story = Story::new().handshake(0.01, 0.01).after_ms(5.0, client(100));
            let story = story.after_ms(0.1, server(100)).after_ms(0.02, client(0));
            let story = story.after_ms(first_ms, server(50)).after_ms(0.02, client(0));
            let told = story.times(5, |story| {
                let story = story.after_ms(5.0, client(100)).after_ms(0.1, server(100));
                story.after_ms(42.0, client(0)).after_ms(0.02, server(50)).after_ms(0.02, client(0))
            });
            told.end().judge().0.halves[1].nagle
        };
        assert_eq!([nagle(0.1), nagle(205.0)], [Nagle::On, Nagle::Unknown]);
    }

    /// The kernel's timer and a program's sleep differ by less than what such a path adds.
    #[test]
    fn an_uneven_path_to_the_sender_proves_no_cork() {
        let causes = |uneven_ms: f64| {
            let opened = Story::new().handshake(2.0, 2.0);
            let story = opened.times(6, |story| {
                let sent = story.after_ms(206.0, client(150).tsval(1)).after_ms(2.1, server(90));
                let near = sent.after_ms(2.0, client(0)).after_ms(206.0, client(150));
                near.after_ms(2.1, server(90)).after_ms(2.0 + uneven_ms, client(0))
            });
            let (_, rulings) = story.end().judge();
            rulings.iter().filter(|ruling| ruling.cause == Cause::Cork).count()
        };
        assert!(causes(0.0) > 5);
        assert_eq!(causes(9.0), 0);
    }

    /// A receiver that delays its ACKs by 200 ms holds the second piece as long as a cork would.
    #[test]
    fn a_late_ack_explains_the_wait() {
        let story = Story::new().handshake(0.02, 2.0).times(5, |story| {
            let asked = story.after_ms(900.0, client(150)).after_ms(203.9, server(0));
            asked.after_ms(0.1, client(20)).after_ms(2.1, server(90)).after_ms(0.02, client(0))
        });
        let (_, rulings) = story.end().judge();
        assert!(rulings.iter().all(|ruling| ruling.cause != Cause::Cork));
    }

    #[test]
    fn what_happens_twice_may_be_the_programs_doing() {
        let causes = asked_after(&[30.0, 206.0, 206.0, 90.0]);
        assert!(causes.iter().all(|&cause| cause == Cause::SenderApp));
    }
}
