//! The options of a SYN, and the window, whose scale is among them.

use crate::decode::{Header, Options, SYN};
use crate::track::Mark;
use crate::track::half::Half;
use crate::track::half::state;

/// The capture does not show which MSS a SYN announced.
pub const MSS_CUT: u16 = u16::MAX;

/// A connection that took long to come about. Times are ns since the epoch; 0 is 'not seen'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectTimes {
    /// The last SYN, or answer to one, before the client acknowledged an answer.
    pub connected_ns: i64,
    /// The end of the first reply.
    pub replied_ns: i64,
}

impl ConnectTimes {
    pub const NONE: Self = Self { connected_ns: 0, replied_ns: 0 };
}

impl Half {
    /// The window a segment of this host advertises, in bytes; `None` where the handshake, and so
    /// the scale, was not captured. The window of a SYN is never scaled (RFC 7323, section 2.2).
    pub fn window_of(&self, segment: &Header) -> Option<u32> {
        let window = u32::from(segment.window);
        if segment.has(SYN) {
            return Some(window);
        }
        self.is_window_scale_known().then(|| window << self.sequence.window_scale)
    }

    /// The window this segment advertises, in bytes. The window of a SYN is never scaled
    /// (RFC 7323, section 2.2).
    #[inline]
    pub fn advertise(&mut self, segment: &Header, now: Mark, scaled: bool) {
        let shift = if scaled { self.sequence.window_scale } else { 0 };
        if segment.window == 0 {
            self.close_window(segment, now);
        }
        self.sequence.window = u32::from(segment.window) << shift;
    }

    #[cold]
    fn close_window(&mut self, segment: &Header, now: Mark) {
        let was_open = self.sequence.window > 0;
        let frozen = self.frozen_mut();
        if was_open || frozen.zero_window_frame == 0 {
            frozen.closed = (now, segment.ack);
        }
        frozen.zero_window_frame = now.frame;
        self.state.set(state::FROZEN_COUNTS);
    }

    /// Since when its window has been closed, and what it had acknowledged by then; `None` if it is open.
    pub fn closed(&self) -> Option<(Mark, u32)> {
        let is_closed = self.sequence.window == 0 && self.zero_window_frame() > 0;
        is_closed.then(|| self.frozen().closed)
    }

    /// Takes the options of a SYN; those that the capture cut off stay unknown.
    pub fn take_options(&mut self, options: Options) {
        self.mss_option =
            if options.is_cut() && options.mss() == 0 { MSS_CUT } else { options.mss() };
        self.set_window_scale(options.window_scale());
        self.state.put(state::SCALE_KNOWN, options.window_scale().is_some() || !options.is_cut());
    }

    /// The opening of the connection, if this is its server and it took long.
    pub fn connecting(&self) -> ConnectTimes {
        self.cold().frozen().connecting
    }

    #[cold]
    pub fn connecting_mut(&mut self) -> &mut ConnectTimes {
        &mut self.frozen_mut().connecting
    }

    pub fn set_window_scale(&mut self, scale: Option<u8>) {
        self.sequence.window_scale = scale.unwrap_or(0);
        self.state.set(state::SCALE_KNOWN);
    }

    /// Takes the SYN, after which `first_payload` follows.
    pub fn take_syn(&mut self, segment: &Header, first_payload: u32, now: Mark) {
        self.settle_small();
        self.begin(first_payload);
        self.state.set(state::SYN);
        self.take_options(segment.options);
        self.note_sent(segment, now);
        self.time_last(now.time_ns);
        // The SYN itself is unacknowledged.
        self.sequence.una = segment.seq;
        self.sequence.sml = segment.seq;
    }
}
