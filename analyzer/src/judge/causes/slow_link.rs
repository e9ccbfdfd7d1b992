//! # What happens
//! The sender had sent already, but a slow link on the path, or a shaper, still had to send it on: each
//! frame took as long as its bytes take at the rate of that link.
//!
//! # How it is recognised
//! Behind the slow link, frames of the same burst come as far apart as they are long: at least three short
//! ones and three longer ones at the same rate, and never more than that rate carries. The sender's
//! own clock, in its TCP timestamps, shows that it sent several of them together. Without timestamps such
//! waits go to the program.
//!
//! # What it is not
//! A program or a kernel that paces its segments: those come at equal distances, or each as much later as
//! the one before it was long, and the timestamps show that they left so late. A full congestion window:
//! that waits for a round trip. In front of the slow link nothing of it shows.
//!
//! # What to do
//! Send fewer bytes (compress, send less often), or have a faster link. No socket option helps.
//!
//! # References
//! RFC 7323, section 3; RFC 5136, section 2.3; Linux `tcp_mstamp_refresh`.

use super::DirectionFacts;
use crate::judge::thresholds::{FEW_RELEASES, FRAME_OVERHEAD_BYTES, LINK_SPREAD_ONE_OF};
use crate::track::wait::{Wait, fact};
use crate::track::{DEFAULT_MSS, Half, Side};

pub(super) fn recognises(wait: &Wait, direction: &DirectionFacts) -> bool {
    direction.link.explains(wait)
}

/// How long a byte takes on the slow link that the data of one direction came through; 0 where none is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlowLink {
    pub byte_ns: i64,
}

impl SlowLink {
    pub fn of(sender: &Half, side: Side, waits: &[Wait]) -> Self {
        // Bursts have larger segments; most senders of small ones need no further look.
        if sender.largest() < DEFAULT_MSS {
            return Self::default();
        }
        let own = || waits.iter().filter(|wait| wait.by == side && may_be_queued(wait));
        // What follows a pause takes longer: the quickest are those that came through at once.
        let few = FEW_RELEASES as usize;
        let mut quickest: Vec<i64> = own().map(byte_ns).collect();
        if quickest.len() < 2 * few {
            return Self::default();
        }
        let byte_ns = *quickest.select_nth_unstable(few - 1).1;
        let link = Self { byte_ns };
        let queued: Vec<&Wait> = own().filter(|wait| link.explains(wait)).collect();
        match are_for_lengths(&queued)
            && link.is_never_exceeded(own())
            && were_sent_at_once(&queued)
        {
            true => link,
            false => Self::default(),
        }
    }

    /// Did this wait take as long as the link takes for the frame that ended it?
    pub fn explains(self, wait: &Wait) -> bool {
        let takes_ns = self.byte_ns.saturating_mul(frame_bytes(wait.len));
        let off_ns = wait.span_ns().saturating_sub(takes_ns).saturating_abs();
        may_be_queued(wait)
            && self.byte_ns > 0
            && off_ns.saturating_mul(LINK_SPREAD_ONE_OF) <= takes_ns
    }

    /// Did, from wait to wait, no more come than the link sends in that time?
    fn is_never_exceeded<'a>(self, own: impl Iterator<Item = &'a Wait> + Clone) -> bool {
        own.clone().zip(own.skip(1)).all(|(before, after)| {
            let end = |wait: &Wait| wait.rel_seq + u64::from(wait.len);
            let bytes = end(after).saturating_sub(end(before)) as i64;
            let took_ns = after.to.time_ns - before.to.time_ns;
            took_ns + took_ns / LINK_SPREAD_ONE_OF >= bytes.saturating_mul(self.byte_ns)
        })
    }
}

/// Are there short frames and longer ones, and did the short ones follow longer ones? Who sleeps after each
/// write waits by the length of the one before.
fn are_for_lengths(queued: &[&Wait]) -> bool {
    let longest = queued.iter().map(|wait| wait.len).max().unwrap_or(0);
    let is_short = |wait: &&&Wait| differ(wait.len, longest);
    let short = queued.iter().filter(is_short);
    let after_other = short.clone().filter(|wait| differ(wait.len, wait.unacked_len)).count();
    let few = FEW_RELEASES as usize;
    after_other >= few && queued.len() - short.count() >= few
}

/// Do the sender's timestamps show, several times, that it sent sooner than the frames came?
fn were_sent_at_once(queued: &[&Wait]) -> bool {
    let (Some(first), Some(last)) = (queued.first(), queued.last()) else { return false };
    let ticks = |from: &Wait, to: &Wait| i64::from(to.tsval.wrapping_sub(from.tsval).cast_signed());
    let all = ticks(first, last);
    if all <= 0 || queued.iter().any(|wait| wait.tsval == 0) {
        return false;
    }
    // At most: what was sent together makes the sender's clock look slower than it is.
    let tick_ns = (last.to.time_ns - first.to.time_ns) / all;
    let together = queued.windows(2).filter(|pair| {
        let next_to = pair[1].from.frame == pair[0].to.frame;
        let sent_ns = (ticks(pair[0], pair[1]) + 1).saturating_mul(tick_ns);
        next_to && ticks(pair[0], pair[1]) >= 0 && sent_ns.saturating_mul(2) <= pair[1].span_ns()
    });
    together.count() >= FEW_RELEASES as usize
}

/// Data that follows data of its sender, with nothing else known that kept it.
fn may_be_queued(wait: &Wait) -> bool {
    const OTHER: u32 = fact::HINDERED
        | fact::RETRANSMITTED
        | fact::URGENT
        | fact::ACK_ONLY
        | fact::DATA_CAME
        | fact::PASSED_ON
        | fact::CONNECTING;
    wait.is(fact::OWN_DATA_BEFORE) && !wait.has_any(OTHER) && wait.is_evidence()
}

fn byte_ns(wait: &Wait) -> i64 {
    wait.span_ns() / frame_bytes(wait.len)
}

fn frame_bytes(len: u32) -> i64 {
    i64::from(len) + FRAME_OVERHEAD_BYTES
}

/// Are frames of these lengths so unlike, by more than twice the tolerance, that no equal distance fits both?
fn differ(short: u32, long: u32) -> bool {
    frame_bytes(long) - frame_bytes(short) >= 2 * frame_bytes(long) / LINK_SPREAD_ONE_OF
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, client, server};

    /// One frame of an answer: so many ms after the one before, so many bytes, sent so many ms after the
    /// first one.
    type AnswerFrame = (f64, u32, u32);

    /// How many of the waits before frames of `answer` are laid to a slow link, of four answers that a
    /// client captured.
    fn laid_to_link(answer: &[AnswerFrame], has_timestamps: bool) -> usize {
        let frame = |len, sent_ms| match has_timestamps {
            true => server(len).tsval(sent_ms),
            false => server(len),
        };
        let told = (1..5).fold(Story::new().handshake(0.02, 14.0), |story, at| {
            let asked = story.after_ms(5.0, client(300)).after_ms(60.0, frame(1448, at * 1000));
            let answered = answer.iter().fold(asked, |story, &(ms, len, sent_ms)| {
                let came = story.after_ms(ms - 0.02, frame(len, at * 1000 + sent_ms));
                came.after_ms(0.02, client(0))
            });
            answered.after_ms(700.0, client(0))
        });
        let (_, rulings) = told.end().judge();
        rulings.iter().filter(|ruling| ruling.cause == Cause::SlowLink).count()
    }

    /// 256 kbit/s: 47.3 ms for a full frame, 15.1 for one of 416 bytes.
    const QUEUED: [AnswerFrame; 4] =
        [(47.3, 1448, 0), (47.4, 1448, 0), (15.1, 416, 0), (47.3, 1448, 1)];

    #[test]
    fn frames_that_come_as_far_apart_as_they_are_long_came_through_a_slow_link() {
        assert_eq!(laid_to_link(&QUEUED, true), 16);
    }

    #[test]
    fn without_timestamps_nobody_knows_whether_the_program_wrote_that_slowly() {
        assert_eq!(laid_to_link(&QUEUED, false), 0);
    }

    #[test]
    fn what_was_sent_at_that_rate_is_the_senders_doing() {
        let sent = [(47.3, 1448, 47), (47.4, 1448, 95), (15.1, 416, 110), (47.3, 1448, 157)];
        assert_eq!(laid_to_link(&sent, true), 0);
    }

    #[test]
    fn equal_distances_are_no_rate() {
        let paced = QUEUED.map(|(_, len, sent_ms)| (47.3, len, sent_ms));
        assert_eq!(laid_to_link(&paced, true), 0);
        let full_sized = paced.map(|(ms, _, sent_ms)| (ms, 1448, sent_ms));
        assert_eq!(laid_to_link(&full_sized, true), 0);
    }

    #[test]
    fn who_sleeps_after_each_write_waits_by_the_length_of_the_one_before() {
        let after = [(47.3, 1448, 0), (47.4, 1448, 0), (47.3, 416, 0), (15.1, 1448, 1)];
        assert_eq!(laid_to_link(&after, true), 0);
    }

    #[test]
    fn more_than_its_rate_comes_through_no_link() {
        let together = [(47.3, 1448, 0), (0.1, 1448, 0), (0.1, 1448, 0), (15.1, 416, 0)];
        assert_eq!(laid_to_link(&together, true), 0);
    }
}
