//! Causes of waits: one file each, one pure function each, first match wins.

mod congestion_window;
mod connect;
pub mod cork;
mod delayed_ack;
pub mod nagle_delack;
mod nagle_reply;
mod nagle_rtt;
mod passed_on;
pub mod retransmission;
mod sender_app;
pub mod slow_link;
pub mod stop_and_wait;
mod unknown;
mod zero_window;

use crate::judge::ack_delay::AckDelay;
use crate::judge::causes::cork::Corks;
use crate::judge::causes::slow_link::SlowLink;
use crate::judge::path::Path;
use crate::rules;
use crate::track::wait::Wait;

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
    /// Do segments come after their ACKs? What came when is not known then.
    pub disordered: bool,
}

macro_rules! causes {
    ($($cause:ident $name:literal $recognises:path;)*) => {
        /// The causes, by the names that code, columns, JSON and documentation share.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Cause { $($cause,)* }

        impl Cause {
            pub const ALL: &[Self] = &[$(Self::$cause),*];
            pub const NAMES: &[&str] = &[$($name),*];
        }

        const RULES: &[fn(&Wait, &DirectionFacts) -> bool] = &[$($recognises),*];
    };
}

// In the order in which they are asked: what is seen directly first, what is inferred later.
causes! {
    Connect "connect" connect::recognises;
    Retransmission "retransmission" retransmission::recognises;
    ZeroWindow "zero_window" zero_window::recognises;
    PassedOn "passed_on" passed_on::recognises;
    NagleDelack "nagle_delack" nagle_delack::recognises;
    NagleReply "nagle_reply" nagle_reply::recognises;
    SlowLink "slow_link" slow_link::recognises;
    NagleRtt "nagle_rtt" nagle_rtt::recognises;
    StopAndWait "stop_and_wait" stop_and_wait::recognises;
    CongestionWindow "congestion_window" congestion_window::recognises;
    DelayedAck "delayed_ack" delayed_ack::recognises;
    Cork "cork" cork::recognises;
    SenderApp "sender_app" sender_app::recognises;
    Unknown "unknown" unknown::recognises;
}

/// Name of each file beside this one, and the doc comment at its top.
const DOCUMENTATION: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/documentation.rs"));

/// What a user should know of the cause of this name, under fixed headings; `None` if there is no
/// such cause.
pub fn explain(name: &str) -> Option<&'static str> {
    let name = Cause::NAMES.iter().find(|known| **known == name)?;
    DOCUMENTATION.iter().find(|(file, _)| file == name).map(|(_, text)| *text)
}

impl Cause {
    pub fn of(wait: &Wait, direction: &DirectionFacts) -> Self {
        let mut each = Self::ALL.iter().zip(RULES);
        let is_asked = |cause: &Self| !rules::off(cause.name());
        let first = each.find(|(cause, recognises)| is_asked(cause) && recognises(wait, direction));
        first.map_or(Self::Unknown, |(cause, _)| *cause)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The causes of stalls.
    pub const STALLS: [Self; 3] = [Self::NagleDelack, Self::NagleRtt, Self::NagleReply];

    pub fn is_stall(self) -> bool {
        Self::STALLS.contains(&self)
    }
}

#[cfg(test)]
mod tests;
