//! # What happens
//! The sender had sent already, but the network had not delivered: a slow link, a shaper, or a queue in
//! front of one took that long.
//!
//! # How it is recognised
//! By the sender's own clock, in its TCP timestamps. Several frames must have left together and arrived
//! apart. Then a wait counts if its frame left so soon after the one before that at least half of the wait
//! arose in transit; or, behind a full-sized segment, if its transit took longer than the quickest of its
//! direction by at least half of the wait. Without timestamps the capture cannot tell: such waits stay
//! unknown, or go to the program.
//!
//! # What it is not
//! A program or a kernel that paces its segments: their timestamps show that they left so late. A full
//! congestion window: that waits for a round trip. In front of the slow link nothing of it shows.
//!
//! # What to do
//! Send fewer bytes (compress, send less often), or have a faster link. No socket option helps.
//!
//! # References
//! RFC 7323, section 3; RFC 5136, section 2.3; Linux `tcp_mstamp_refresh`.

use crate::judge::model::sender_clock::step_ns;
use crate::judge::thresholds::{CLOCK_DRIFT, FEW_RELEASES, TICK_OFF_ONE_OF, TICKS_NS};
use crate::track::half::Half;
use crate::track::wait::{Wait, fact};
use crate::track::{DEFAULT_MSS, Side};

/// The time of a segment, and its timestamp.
type Stamp = (i64, u32);

/// How long the data of one direction is on its way, by the clock of its sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlowLink {
    /// Step of the timestamps in ns; 0 where the sender's clock is not known.
    pub step_ns: f64,
    /// All timestamps lie a multiple of so many steps apart: the clock behind them ticks as seldom.
    pub ticks: u32,
    /// The segment that was on its way for the shortest time.
    pub quickest: Stamp,
    /// Did several segments part on the way? A single one may have waited for anything there, or the
    /// capture's clock was set.
    pub is_shown: bool,
}

impl SlowLink {
    pub fn of(sender: &Half, side: Side, waits: &[Wait]) -> Self {
        // Bursts have larger segments; most senders of small ones need no further look.
        if sender.largest() < DEFAULT_MSS {
            return Self::default();
        }
        let stamped = || waits.iter().filter(|wait| wait.by == side && wait.tsval != 0);
        Self::seen_in(stamped).unwrap_or_default()
    }

    fn seen_in<'a, I: Iterator<Item = &'a Wait>>(stamped: impl Fn() -> I) -> Option<Self> {
        let first = sent(stamped().next()?);
        let (elapsed_ns, ticks) = since(first, sent(stamped().last()?));
        // A queue grows: the last ones may have been on their way for as long as the sender's clock ran.
        let step_ns = step_ns(elapsed_ns, ticks, &(1.0 - 1.0 / TICK_OFF_ONE_OF..=2.0))?;
        let on_the_way_ns = |&stamp: &Stamp| {
            let (elapsed_ns, ticks) = since(first, stamp);
            (elapsed_ns - ticks * step_ns) as i64
        };
        let stamps = || {
            let both = stamped().flat_map(|wait| [before(wait), sent(wait)]);
            both.filter(|stamp| stamp.1 != 0)
        };
        let common = stamps().fold(0, |ticks, stamp| divisor(stamp.1.abs_diff(first.1), ticks));
        // No clock ticks as seldom: its program has that period.
        let is_tick = f64::from(common) * step_ns <= TICKS_NS[TICKS_NS.len() - 1];
        let ticks = if is_tick { common } else { 1 };
        let quickest = stamps().min_by_key(on_the_way_ns)?;
        let link = Self { step_ns, ticks, quickest, is_shown: false };
        let together = stamped().filter(|wait| link.parts(wait)).count();
        Some(Self { is_shown: together >= FEW_RELEASES as usize, ..link })
    }

    /// Did the segment that ended this wait leave so soon after the one before it that at least half of the
    /// wait came about on the way? Then its sender did not hold it.
    pub fn parts(self, wait: &Wait) -> bool {
        wait.from_tsval != 0 && Self { quickest: before(wait), ..self }.delays(wait)
    }

    /// Was the segment that ended this wait on its way longer than the quickest, by half of the wait or more?
    pub fn delays(self, wait: &Wait) -> bool {
        let (elapsed_ns, ticks) = since(self.quickest, sent(wait));
        let left_ns =
            (ticks + f64::from(self.ticks)) * self.step_ns + elapsed_ns.abs() * CLOCK_DRIFT;
        self.step_ns > 0.0
            && wait.tsval != 0
            && may_be_queued(wait)
            && 2.0 * (elapsed_ns - left_ns) >= wait.span_ns() as f64
    }
}

/// The greatest common divisor.
fn divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { divisor(other, one % other) }
}

fn sent(wait: &Wait) -> Stamp {
    (wait.to.time_ns, wait.tsval)
}

fn before(wait: &Wait) -> Stamp {
    (wait.from.time_ns, wait.from_tsval)
}

/// From one segment to another: in ns at the capture, and in steps of the sender's clock.
fn since(from: Stamp, to: Stamp) -> (f64, f64) {
    ((to.0 - from.0) as f64, f64::from(to.1.wrapping_sub(from.1).cast_signed()))
}

/// Data that follows data of its sender, with nothing else known that kept it.
fn may_be_queued(wait: &Wait) -> bool {
    let other =
        fact::HINDERED | fact::RETRANSMITTED | fact::URGENT | fact::DATA_CAME | fact::PASSED_ON;
    wait.is(fact::OWN_DATA_BEFORE) && !wait.has_any(other) && wait.is_evidence()
}

#[cfg(test)]
mod tests {
    use crate::judge::causes::Cause;
    use crate::track::story::{Story, client, server};

    /// One frame of an answer: so many ms after the one before, so many bytes, sent so many ms after the
    /// first one.
    type AnswerFrame = (f64, u32, u32);

    /// How many of the waits before frames of `answer` are laid to a slow link, of four answers that a
    /// client captured, one a second.
    fn laid_to_link(answer: &[AnswerFrame], has_timestamps: bool) -> usize {
        laid(answer, has_timestamps, 0.0)
    }

    /// Waits that are laid to the link; within the second answer the clock of the capture is set forward.
    fn laid(answer: &[AnswerFrame], has_timestamps: bool, set_ms: f64) -> usize {
        // Its clock is read a little sooner or later each time.
        let frame = |len, at: u32, sent_ms| {
            if has_timestamps {
                server(len).tsval(at * 1000 + at % 2 + sent_ms)
            } else {
                server(len)
            }
        };
        let told = (1..5).fold(Story::new().handshake(0.02, 14.0), |story, at| {
            let asked = story.after_ms(5.0, client(300)).after_ms(60.0, frame(1460, at, 0));
            let set = asked.after_ms(if at == 2 { set_ms } else { 0.0 }, client(0));
            let answered = answer.iter().fold(set, |story, &(ms, len, sent_ms)| {
                let came = story.after_ms(ms - 0.02, frame(len, at, sent_ms));
                came.after_ms(0.02, client(0))
            });
            let took_ms: f64 = answer.iter().map(|frame| frame.0).sum();
            answered.after_ms(935.0 - took_ms, client(0))
        });
        let (_, rulings) = told.end().judge();
        rulings.iter().filter(|ruling| ruling.cause == Cause::SlowLink).count()
    }

    /// 256 kbit/s: 47.3 ms for a full frame, 15.1 for one of 416 bytes.
    const QUEUED: [AnswerFrame; 4] =
        [(47.3, 1460, 0), (47.4, 1460, 0), (15.1, 416, 0), (47.3, 1460, 1)];

    /// The same, written at that rate.
    const SENT: [AnswerFrame; 4] =
        [(47.3, 1460, 47), (47.4, 1460, 95), (15.1, 416, 110), (47.3, 1460, 157)];

    #[test]
    fn frames_that_left_together_and_came_apart_came_through_a_slow_link() {
        assert_eq!(laid_to_link(&QUEUED, true), 16);
    }

    #[test]
    fn without_timestamps_nobody_knows_whether_the_program_wrote_that_slowly() {
        assert_eq!(laid_to_link(&QUEUED, false), 0);
    }

    #[test]
    fn what_was_sent_at_that_rate_is_the_senders_doing() {
        assert_eq!(laid_to_link(&SENT, true), 0);
    }

    /// A standing queue: each leaves when an earlier one is acknowledged, and comes a few frames later.
    #[test]
    fn what_stands_in_a_queue_comes_late_though_it_leaves_at_the_rate_of_the_link() {
        let queued: Vec<AnswerFrame> = (0..12).map(|at| (47.3, 1460, 31 * at)).collect();
        assert_eq!(laid_to_link(&queued, true), 48);
    }

    /// A small segment, then a pause, behind a queue that other traffic fills.
    #[test]
    fn a_program_that_pauses_is_no_link_though_all_that_it_sends_comes_late() {
        let small = (15.1, 416, 0);
        let answered = [QUEUED[0], QUEUED[1], small];
        assert_eq!(laid_to_link(&answered, true), 12);
        let paused = [answered.as_slice(), &[(90.0, 416, 90)]].concat();
        assert_eq!(laid_to_link(&paused, true), 12);
    }

    #[test]
    fn a_clock_that_was_set_is_no_queue() {
        assert_eq!(laid(&SENT, true, 300.0), 0);
    }

    /// One segment that left at once came 90 ms later, and that only once: its program is not to blame.
    #[test]
    fn nobody_paused_before_a_segment_that_left_at_once() {
        let answer = |story: Story, at: u32, sent_ms: u32| {
            let asked = story.after_ms(500.0, client(300)).after_ms(60.0, server(1460).tsval(at));
            let came = asked.after_ms(90.0, server(416).tsval(at + sent_ms));
            came.after_ms(0.02, client(0))
        };
        let causes = |sent_ms| {
            let told = (1..5).fold(Story::new().handshake(0.02, 14.0), |story, at| {
                answer(story, at * 650, if at == 3 { sent_ms } else { 90 })
            });
            let rulings = told.end().judge().1;
            rulings.into_iter().filter(|ruling| ruling.entry().name == "late_or_clock").count()
        };
        assert_eq!((causes(0), causes(90)), (1, 0));
    }
}
