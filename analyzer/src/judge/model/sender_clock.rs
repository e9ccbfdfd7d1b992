//! The sender's own clock, in its TCP timestamps (RFC 7323), which the way to the capture does not blur.
//!
//! What an ACK let go pauses for as long as the ACK took, and what is left after it is the way of the ACK. A
//! program that pauses does so whenever the ACK comes.

use crate::judge::model::learnt::Widths;
use crate::judge::statistics;
use crate::judge::thresholds::{
    CLOCK_DRIFT, CLOCK_EVENTS, COARSEST_TICK_NS, SENDER_WIDTHS, TICK_OFF_ONE_OF, TICKS_NS,
};
use crate::track::wait::Wait;
use std::ops::RangeInclusive;

/// How the clock of a sender runs, by that of the capture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderClock {
    tick_ns: f64,
    /// A segment's time and timestamp.
    origin: (i64, u32),
}

impl SenderClock {
    /// The clock of the waits of one direction, if its timestamps tick evenly, and finely enough.
    pub fn of<'a>(waits: impl Iterator<Item = &'a Wait> + Clone) -> Option<Self> {
        let mut stamped = waits.filter(|wait| wait.tsval != 0);
        let first = stamped.next()?;
        let origin = (first.to.time_ns, first.tsval);
        let ran: Vec<(f64, f64)> = stamped
            .map(|wait| {
                let ticks = wait.tsval.wrapping_sub(origin.1).cast_signed();
                (f64::from(ticks), (wait.to.time_ns - origin.0) as f64)
            })
            .collect();
        let &(ticks, elapsed_ns) = ran.last().filter(|_| ran.len() >= CLOCK_EVENTS.0)?;
        let off = 1.0 / TICK_OFF_ONE_OF;
        let step_ns = step_ns(elapsed_ns, ticks, &(1.0 / (1.0 + off)..=1.0 / (1.0 - off)))?;
        let fitted_ns = statistics::slope(&ran);
        let is_drift =
            ran.len() >= CLOCK_EVENTS.1 && (fitted_ns / step_ns - 1.0).abs() <= CLOCK_DRIFT;
        // Else the path varies by more than clocks run apart.
        let tick_ns = if is_drift { fitted_ns } else { step_ns };
        (step_ns <= COARSEST_TICK_NS).then_some(Self { tick_ns, origin })
    }

    /// How exact its times are.
    pub fn widths(&self) -> Widths {
        let tick_ms = self.tick_ns / 1e6;
        SENDER_WIDTHS.map(|(ticks, more_ms)| (ticks * tick_ms + more_ms, 1.0 / 3.0))
    }

    /// One wait, in ms: from the ACK, as it passed the capture, to the release; and the pause.
    pub fn interval(&self, wait: &Wait) -> Option<(f64, f64)> {
        let ms = |ticks: u32| f64::from(ticks.cast_signed()) * self.tick_ns / 1e6;
        let since_ack_ms = (self.origin.0 - wait.ack.time_ns) as f64 / 1e6;
        (wait.tsval != 0 && wait.from_tsval != 0).then(|| {
            let release_ms = ms(wait.tsval.wrapping_sub(self.origin.1)) + since_ack_ms;
            (release_ms, ms(wait.tsval.wrapping_sub(wait.from_tsval)))
        })
    }
}

/// The step of timestamps of which `ticks` lie in a time that is so many `times` as long as they tell.
pub fn step_ns(elapsed_ns: f64, ticks: f64, times: &RangeInclusive<f64>) -> Option<f64> {
    let is_it = |step_ns: &f64| ticks > 0.0 && times.contains(&(elapsed_ns / (ticks * step_ns)));
    TICKS_NS.into_iter().find(is_it)
}
