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
pub mod patterns;
mod retransmission;
mod sender_app;
pub mod slow_link;
pub mod stop_and_wait;
mod unanswered;
mod unknown;
mod zero_window;

use crate::named::named;

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
