//! Causes of waits: what each means is told in a file of its own, which one it is by the [`ledger`].

mod congestion_window;
mod connect;
pub mod cork;
mod delayed_ack;
pub mod ledger;
mod nagle_delack;
mod nagle_reply;
mod nagle_rtt;
mod passed_on;
mod retransmission;
mod sender_app;
pub mod slow_link;
pub mod stop_and_wait;
mod unanswered;
mod unknown;
mod zero_window;

use crate::judge::ack_delay::AckDelay;
use crate::judge::causes::cork::Corks;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::path::Path;
use crate::named::named;

/// Facts of a wait's direction that a cause may ask for, in ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct DirectionFacts {
    pub path: Path,
    /// Which of the receiver's ACKs its timer delayed.
    pub acks: AckDelay,
    /// Was this wait a hold?
    pub held: bool,
    /// Or may it have been one, for all that the capture shows?
    pub may_be_held: bool,
    /// Was the capture taken at the receiver?
    pub at_receiver: bool,
    /// Did the sender never have more than one segment in flight, full-sized ones too?
    pub one_at_a_time: bool,
    /// Which waits look like those for a cork.
    pub corks: Corks,
    /// The slow link that it came through, if it did.
    pub link: SlowLink,
    /// Was anything of the receiver captured, at times that are not made up? Without its ACKs all data
    /// looks unacknowledged.
    pub receiver_seen: bool,
    /// Offset of the first byte that was never acknowledged, if bytes were sent.
    pub never_acked: Option<u64>,
    /// Do segments come after their ACKs? What came when is not known then.
    pub disordered: bool,
    /// Did a small segment wait as long as the kernel's timer for a cork, with nothing unacknowledged?
    pub corked: bool,
}

named! {
    /// The causes, by the names that code, columns, JSON and documentation share.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Cause {
        Connect = "connect",
        Unanswered = "unanswered",
        Retransmission = "retransmission",
        ZeroWindow = "zero_window",
        PassedOn = "passed_on",
        NagleDelack = "nagle_delack",
        NagleReply = "nagle_reply",
        SlowLink = "slow_link",
        NagleRtt = "nagle_rtt",
        StopAndWait = "stop_and_wait",
        CongestionWindow = "congestion_window",
        DelayedAck = "delayed_ack",
        Cork = "cork",
        SenderApp = "sender_app",
        Unknown = "unknown",
    }
}

/// Name of each file beside this one, and the doc comment at its top.
const DOCUMENTATION: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/documentation.rs"));

/// Documentation of the cause of this name for users, under fixed headings; `None` if there is no
/// such cause.
pub fn explain(name: &str) -> Option<&'static str> {
    let name = Cause::NAMES.iter().find(|known| **known == name)?;
    DOCUMENTATION.iter().find(|(file, _)| file == name).map(|(_, text)| *text)
}

impl Cause {
    /// The causes of stalls.
    pub const STALLS: [Self; 3] = [Self::NagleDelack, Self::NagleRtt, Self::NagleReply];

    pub fn is_stall(self) -> bool {
        Self::STALLS.contains(&self)
    }
}

#[cfg(test)]
mod tests;
