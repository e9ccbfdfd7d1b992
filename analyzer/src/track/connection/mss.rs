//! The effective MSS, from the handshake or from what was sent.

use crate::track::connection::Connection;
use crate::track::half::{Half, MSS_CUT};
use crate::track::thresholds::{LOOPBACK_MSS, MOST_INFERRED_MSS, TUNNEL_MSS};
use crate::track::{DEFAULT_MSS, Side};

/// The timestamp option with its padding, in every segment once agreed (RFC 7323, section 3.2).
const TIMESTAMP_OPTION_LEN: u32 = 12;
/// MSS of paths over Ethernet, with tunnels or without: offloading shows multiples of these.
const OVER_ETHERNET: std::ops::RangeInclusive<u32> = TUNNEL_MSS..=MOST_INFERRED_MSS;

impl Connection {
    /// The effective MSS in bytes (RFC 9293, section 3.7.1: what the options take is not payload),
    /// as the handshake announced it; `None` without a SYN.
    pub fn announced_mss(&self) -> Option<u32> {
        let [client, server] = &self.halves;
        let options = if client.has_timestamps() && server.has_timestamps() {
            TIMESTAMP_OPTION_LEN
        } else {
            0
        };
        let announced = |half: &Half| match (half.has_syn(), half.mss_option) {
            (false, _) | (true, MSS_CUT) => u32::MAX,
            (true, 0) => DEFAULT_MSS,
            (true, mss) => u32::from(mss),
        };
        let mss = announced(client).min(announced(server));
        (mss != u32::MAX).then(|| mss.saturating_sub(options).max(1))
    }

    /// The effective MSS in bytes of both directions, and whether it had to be inferred: for want
    /// of a SYN, or because the path carries less.
    pub fn effective_mss(&self) -> (u32, bool) {
        let announced = self.announced_mss();
        let [client, server] = Side::BOTH.map(|side| self.mss_within(side, announced));
        let mss = client.min(server);
        (mss, announced != Some(mss))
    }

    /// The effective MSS so far of what `side` sends: of the handshake, or inferred anew each time.
    #[inline]
    pub(super) fn current_mss(&mut self, side: Side) -> u32 {
        if self.mss == 0 {
            return self.inferred_so_far(side);
        }
        let carried = self.half(side).carried().unwrap_or(u32::MAX);
        carried.min(self.mss.into())
    }

    #[inline(never)]
    fn inferred_so_far(&mut self, side: Side) -> u32 {
        let announced = self.announced_mss();
        if let Some(mss) = announced
            && self.halves.iter().all(|half| half.segments > 1)
        {
            // No SYN announces more.
            self.mss = mss as u16;
        }
        self.mss_within(side, announced)
    }

    /// The effective MSS of what `side` sends, no more than announced.
    fn mss_within(&self, side: Side, announced: Option<u32>) -> u32 {
        match (announced, self.carried(side)) {
            (Some(announced), carried) => announced.min(carried.unwrap_or(u32::MAX)),
            (None, Some(carried)) => carried,
            (None, None) if self.is_loopback() => {
                let [client, server] = self.halves.each_ref().map(Half::largest);
                client.max(server).max(LOOPBACK_MSS)
            }
            (None, None) => MOST_INFERRED_MSS,
        }
    }

    /// The payload that the path carries at once, in bytes, as far as messages of `side` were cut there.
    pub fn carried(&self, side: Side) -> Option<u32> {
        self.half(side).carried().filter(|&len| self.is_loopback() || !is_merged(len))
    }
}

/// May it be several packets over Ethernet, which offloading merged?
fn is_merged(len: u32) -> bool {
    (2..=len / OVER_ETHERNET.start())
        .any(|packets| len.is_multiple_of(packets) && OVER_ETHERNET.contains(&(len / packets)))
}
