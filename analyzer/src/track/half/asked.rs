//! A direction that is only a SYN so far, compacted.

use crate::track::Mark;
use crate::track::half::Half;
use crate::track::half::state::State;

/// What a SYN sets in a [`Half`].
#[derive(Debug, Clone)]
pub struct Asked {
    sent: Mark,
    seq: u32,
    window: u32,
    tsval: u32,
    state: State,
    mss_option: u16,
    ip_id: u16,
    window_scale: u8,
}

impl Half {
    /// `None` unless a SYN is all that was captured.
    pub fn asked(&self) -> Option<Asked> {
        let asks = self.segments == 1 && self.has_syn() && self.is_plain();
        asks.then_some(Asked {
            sent: self.last_data,
            seq: self.snd_una,
            window: self.window,
            tsval: self.last_tsval,
            state: self.state,
            mss_option: self.mss_option,
            ip_id: self.last_ip_id,
            window_scale: self.window_scale,
        })
    }

    /// The direction as the SYN left it.
    pub fn after_syn(asked: &Asked) -> Self {
        Self {
            segments: 1,
            last_data: asked.sent,
            last_ns: asked.sent.time_ns,
            snd_una: asked.seq,
            snd_sml: asked.seq,
            snd_nxt: asked.seq.wrapping_add(1),
            window: asked.window,
            last_tsval: asked.tsval,
            state: asked.state,
            mss_option: asked.mss_option,
            last_ip_id: asked.ip_id,
            window_scale: asked.window_scale,
            ..Self::new()
        }
    }
}
