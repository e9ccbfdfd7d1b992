//! The case of a wait in rows: each line with its side, its weight, and the numbers that it compared.

use crate::judge::case::{Line, Room, Weight};
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::judges::Explained;
use crate::judge::path::sender_rtt::Basis;
use crate::judge::thresholds::{
    CHANCE_ALONE, CHANCE_AMONG_OTHERS, CHANCE_LIKELY, FEW_RELEASES, HOLDS_PER_CONTRADICTION,
    PEAK_OVER_CHANCE,
};
use crate::judge::words::evidence::Ms;
use crate::track::wait::Wait;
use crate::track::{DEFAULT_MSS, NETWORK_RTT_NS};

/// A line of a case as people read it.
pub struct CaseRow {
    pub room: &'static str,
    pub name: &'static str,
    /// Does it speak for a hold, or against one?
    pub is_for: bool,
    /// What it does, if it speaks against a hold, or makes up for what does.
    pub weight: String,
    pub text: String,
    pub frames: Vec<u64>,
}

/// All lines that the case of a wait was asked for, room by room.
pub fn rows(explained: &Explained, judged: &JudgedConnection) -> Vec<CaseRow> {
    let view = View { explained, judged };
    let of_room = |room: Room| {
        let lines = Line::ALL.iter().copied().filter(move |line| line.room() == room);
        lines.filter_map(|line| view.row(line)).collect::<Vec<_>>()
    };
    Room::ALL.into_iter().flat_map(of_room).collect()
}

struct View<'a> {
    explained: &'a Explained,
    judged: &'a JudgedConnection,
}

impl View<'_> {
    fn row(&self, line: Line) -> Option<CaseRow> {
        let applies = self.explained.case.has(line);
        let is_for = applies == line.weight().is_for();
        let is_told = if line.weight().is_for() { applies } else { self.is_asked(line) };
        is_told.then(|| CaseRow {
            room: line.room().name(),
            name: line.name(),
            is_for,
            weight: if applies { weight(line) } else { String::new() },
            text: self.text(line),
            frames: self.frames(line),
        })
    }

    /// Was this line looked at? Where no ACK ended the wait there is no release, and only a hold has doubts.
    fn is_asked(&self, line: Line) -> bool {
        match line {
            Line::LeftBeforeAck
            | Line::TooLong
            | Line::OffTheAck
            | Line::CongestionWindow
            | Line::Reply
            | Line::NoDelay
            | Line::MayBeLost
            | Line::Lost
            | Line::SlowLink => self.explained.wait.is_freed(),
            _ => match line.weight() {
                Weight::Doubt(_) => self.explained.case.is_hold(),
                _ => true,
            },
        }
    }

    fn frames(&self, line: Line) -> Vec<u64> {
        let Wait { from, ack, to, .. } = self.explained.wait;
        let siblings = self.explained.releases.siblings.map_or(0, |siblings| siblings.frame);
        let frames = match line {
            Line::FullSized | Line::Resent | Line::MayBeLost => [from.frame, 0],
            Line::NoPureAck | Line::DelayUnknown | Line::NothingFollowed => [from.frame, ack.frame],
            Line::TooLong
            | Line::OffTheAck
            | Line::Reply
            | Line::Answerable
            | Line::LeftBeforeAck
            | Line::Coincidence
            | Line::LikelyCoincidence => [ack.frame, to.frame],
            Line::NotSmall | Line::Exempt | Line::MssInferred | Line::SlowLink => [to.frame, 0],
            Line::Siblings | Line::SiblingPeak => [siblings, 0],
            _ => match line.weight() {
                Weight::Excludes | Weight::Hides if line != Line::FalseDiscovery => {
                    [from.frame, to.frame]
                }
                _ => [0, 0],
            },
        };
        frames.into_iter().filter(|&frame| frame != 0).collect()
    }

    /// What was compared, true on either side.
    #[expect(clippy::too_many_lines, reason = "one sentence for each line of the table")]
    fn text(&self, line: Line) -> String {
        let Explained { wait, releases, .. } = self.explained;
        let (mss, by) = (self.judged.mss, wait.by.name());
        let receiver = wait.by.other().name();
        let (from, ack, to) = (wait.from.frame, wait.ack.frame, wait.to.frame);
        let holds = releases.in_band;
        let matches = releases.matches();
        let center = Ms(releases.band.center_ns);
        let contradictions = self.judged.half(wait.by).detail().contradictions;
        let answer = if self.explained.case.has(line) { "yes" } else { "no" };
        match line {
            Line::FullSized => format!(
                "{} bytes were unacknowledged (MSS {mss}); {holds} such holds, {FEW_RELEASES} suffice",
                wait.unacked_len
            ),
            Line::RoundTripEstimated => format!(
                "round trip to the {by} known from {}; {holds} holds, {FEW_RELEASES} suffice",
                basis(releases.basis)
            ),
            Line::OwnYardstick => format!(
                "round trip to the {by} known from {}; a program's period would show the same unless \
                 the waits vary more than the time from ACK to release",
                basis(releases.basis)
            ),
            Line::DelayUnknown => match self.judged.half(wait.by.other()).rtt_ns() {
                Some(rtt_ns) => format!("round trip to the {receiver}: {}", Ms(rtt_ns)),
                None => format!("round trip to the {receiver}: not known"),
            },
            Line::MssInferred => format!(
                "MSS {mss}, {}; frame {to} has {} bytes (any MSS is at least {DEFAULT_MSS})",
                if self.judged.mss_inferred { "inferred" } else { "of the SYN" },
                wait.len
            ),
            Line::MissingPackets => {
                format!("the IP IDs of the {by} skip {} before frame {to}", wait.skipped_ids)
            }
            Line::CutOptions => {
                let state = if self.explained.case.has(line) { "cut" } else { "whole" };
                format!("the options of the SYNs are {state}")
            }
            Line::Answerable => {
                format!("FIN or data of the {receiver} before frame {to}: {answer}")
            }
            Line::LargeFlight => format!("ten segments or more in flight: {answer}"),
            Line::Resent => format!("frame {from} sent again before its ACK: {answer}"),
            Line::Contradicted => format!(
                "{contradictions} small segments sent unheld, {holds} holds; one for each \
                 {HOLDS_PER_CONTRADICTION} holds is allowed"
            ),
            Line::Relay => format!("the {by} reacts as slowly as a relay on one host: {answer}"),
            Line::DistantRelay => {
                format!("the {by} passes on elsewhere, or may be such a relay: {answer}")
            }
            Line::Single => format!(
                "{matches} releases at the round trip of {center}; one may be chance from {}",
                Ms(NETWORK_RTT_NS)
            ),
            Line::Siblings | Line::SiblingPeak => match releases.siblings {
                Some(siblings) => format!("{} sibling connections peak", siblings.connections),
                None => "sibling connections are needed and show the same: no".to_owned(),
            },
            Line::Coincidence => format!(
                "chance of a write this close to an ACK: {:.4} (certain: less than {CHANCE_ALONE}, \
                 among others {CHANCE_AMONG_OTHERS})",
                releases.chance(wait)
            ),
            Line::LikelyCoincidence => format!(
                "chance of {holds} such writes {CHANCE_LIKELY} or more, or a single hold among many \
                 segments sent unheld: {answer}"
            ),
            Line::OtherPauses => {
                format!("share of accidents on this server {CHANCE_LIKELY} or more: {answer}")
            }
            Line::NoPureAck => match wait.has_ack() {
                true => format!("frame {ack} is the ACK; a pure one after own data is needed"),
                false => "no ACK of everything outstanding came during the wait".to_owned(),
            },
            Line::NothingFollowed => format!("an ACK that no data followed: {answer}"),
            Line::NotSmall => match releases.as_full {
                Some(len) => format!(
                    "frame {to} has {} bytes; less than the MSS of {mss} and than {len} is held",
                    wait.len
                ),
                None => {
                    format!("frame {to} has {} bytes; less than the MSS of {mss} is held", wait.len)
                }
            },
            Line::Exempt => format!("FIN or urgent data, which leave at once: {answer}"),
            Line::Retransmitted => format!("bytes sent twice from frame {from} to {to}: {answer}"),
            Line::WindowClosed => format!("window of the {receiver} closed or full: {answer}"),
            Line::BytesMissing => format!("bytes missing from frame {from} to {to}: {answer}"),
            Line::LeftBeforeAck => {
                format!("frame {to} echoes a timestamp older than that of frame {ack}: {answer}")
            }
            Line::TooLong => format!(
                "the ACK took {} ({} at most), the release {}",
                Ms(wait.ack_ns()),
                Ms(releases.longest_ack_ns()),
                Ms(wait.release_ns())
            ),
            Line::OffTheAck => format!(
                "frame {to} left {} after the ACK; expected {center}, off {} (tolerance {})",
                Ms(wait.release_ns()),
                Ms(releases.off_ns(wait)),
                Ms(releases.band.tolerance_ns)
            ),
            Line::CongestionWindow => format!(
                "with an initial window in flight {} small and {} full-sized segments followed ACKs",
                releases.small_after_window, releases.full_after_window
            ),
            Line::Reply => format!(
                "frame {to} as likely the reply to a FIN, or to data before the ACK: {answer}"
            ),
            Line::PassedOn => format!("what a relay passed on from another connection: {answer}"),
            Line::OwnPause => {
                format!("the program pauses for as long without an ACK to wait for: {answer}")
            }
            Line::NoDelay => format!(
                "{contradictions} small segments sent unheld; TCP_NODELAY around this wait: {answer}"
            ),
            Line::MayBeLost => {
                format!("frame {from} sent again, and it may have been lost: {answer}")
            }
            Line::Lost => {
                format!("the wait ended with a retransmission or a tail-loss probe: {answer}")
            }
            Line::SlowLink => format!(
                "a prompt ACK, and a slow link that takes {} for frame {to}: {answer}",
                Ms(wait.span_ns())
            ),
            Line::Crowded => format!(
                "{matches} releases, {:.2} by chance ({} beside the tolerance); more than {PEAK_OVER_CHANCE} \
                 times as many are needed",
                releases.by_chance(),
                releases.near
            ),
            Line::FullSizedToo => format!(
                "{} full-sized segments followed ACKs in the same way, {matches} small ones",
                releases.full_sized
            ),
            Line::TooSoon => format!(
                "more than one in {HOLDS_PER_CONTRADICTION} releases sooner than the round trip of \
                 {center}: {answer}"
            ),
            Line::RoundTripUnknown => {
                format!("round trip to the {by} known from {}: {center}", basis(releases.basis))
            }
            Line::MadeUpTimes => format!("all frames equally far apart: {answer}"),
            Line::FollowsAcks => {
                "waits are short after prompt ACKs and long after delayed ones".to_owned()
            }
            Line::OwnClock => {
                format!("by its own clock the {by} pauses for as long as the ACK takes")
            }
            Line::FalseDiscovery => {
                format!("{matches} matches, accidents among the pauses of this server: {answer}")
            }
        }
    }
}

fn weight(line: Line) -> String {
    match line.weight() {
        Weight::Doubt(points) => format!("doubt, {points} of {} points", Weight::POSSIBLE),
        Weight::Excludes => "rules a hold out".to_owned(),
        Weight::Hides => "hides a hold".to_owned(),
        Weight::NoPeak => "no peak".to_owned(),
        Weight::Peak => "makes up for a missing peak".to_owned(),
    }
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Nothing => "nothing",
        Basis::Handshake => "the handshake",
        Basis::AtSender => "a capture at the sender",
        Basis::Replies => "the fastest replies",
        Basis::Releases => "releases that agree",
    }
}
