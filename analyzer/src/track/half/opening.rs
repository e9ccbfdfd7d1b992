//! A SYN, and an ACK that followed it, as far as the direction of their sender still knows them.

use crate::decode::{ACK, Header, Options, SYN};
use crate::track::Mark;
use crate::track::half::{Half, MSS_CUT};

/// A step of its IP identification that leaves out some.
const SKIPPING: u16 = 3;

impl Half {
    /// Its SYN, of which the SYN of `peer` is the answer or was answered by it. No more than one ACK followed.
    pub fn sent_syn(&self, peer: &Self) -> (Mark, Header) {
        let step = if self.ids.skips > 0 { SKIPPING } else { 1 };
        let later = if self.segments > 1 && self.ids.last != 0 { step } else { 0 };
        let header = Header {
            seq: self.sequence.nxt.wrapping_sub(1),
            ack: 0,
            len: 0,
            // By now a scaled one may be known, which is larger.
            window: u16::try_from(self.sequence.window).unwrap_or(u16::MAX),
            ip_id: self.ids.last.wrapping_sub(later),
            options: self.syn_options(peer),
            flags: SYN,
        };
        (self.last_data, header)
    }

    fn syn_options(&self, peer: &Self) -> Options {
        let is_scaled = self.sequence.window_scale > 0 || peer.sequence.window_scale > 0;
        let cut = !self.is_window_scale_known() || self.path.mss_option == MSS_CUT;
        let mss = if self.path.mss_option == MSS_CUT { 0 } else { self.path.mss_option };
        let tsval = self.last_tsval();
        Options::of_syn(mss, is_scaled.then_some(self.sequence.window_scale), tsval, cut)
    }

    /// The ACK that followed its SYN; only the fact that it came is kept.
    pub fn sent_ack(&self) -> (Mark, Header) {
        let header = Header {
            seq: self.sequence.nxt,
            ack: 0,
            len: 0,
            window: (self.sequence.window >> self.sequence.window_scale) as u16,
            ip_id: self.ids.last,
            options: Options::of_syn(0, None, self.has_timestamps().then_some(0), false),
            flags: ACK,
        };
        (Mark { time_ns: self.last_ns, ..self.last_data }, header)
    }
}
