//! A judged connection, as outputs read it.

use crate::judge::capture::point::CapturePoint;
use crate::judge::doubts::Hidden;
use crate::judge::finding::short::Short;
use crate::judge::finding::verdict::Verdict;
use crate::judge::model::{DirectionModel, Models, model_place};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::nagle::timers::LateAcks;
use crate::judge::nagle::variant::Variant;
use crate::judge::path::Basis;
use crate::track::wait::{Wait, fact};
use crate::track::{Endpoint, Side};
use std::num::NonZeroU32;
use std::sync::LazyLock;

/// One end of a connection. Kept small: captures hold millions.
#[derive(Debug, Clone)]
pub struct JudgedHalf {
    pub endpoint: Endpoint,
    pub nagle: Nagle,
    pub segments: u32,
    pub bytes: u64,
    /// Small segments sent while a small one was unacknowledged.
    pub contradictions: u32,
    /// How often the other side did not acknowledge a small one at once, or another one left before that: of
    /// the former, up to 255 with a pure ACK and with data.
    pub opportunities: u32,
    /// Was any of its data acknowledged?
    pub is_acked: bool,
    /// Frames that prove the answer on Nagle: two small segments in flight, or an ACK and what it
    /// released.
    pub proof: (u32, u32),
    /// Round trip between the capture point and this host, in ns; `i64::MAX` where it is not known.
    pub rtt_ns: i64,
    pub rtt_basis: Basis,
    pub detail: Option<Box<Detail>>,
}

/// Details that few ends have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail {
    /// Which of Nagle's algorithms, and two frames that show it.
    pub variant: Variant,
    pub variant_proof: (u32, u32),
    pub retransmitted: u32,
    pub duplicated: u32,
    pub reordered: u32,
    pub unseen_bytes: u64,
    /// How this host, as a receiver, delays its ACKs.
    pub late_acks: Option<LateAcks>,
    /// The model's answers on this end's waits.
    pub models: Models<Box<DirectionModel>>,
    /// Two times of a server: from the first SYN until the connection was established, and until
    /// the end of the first reply, in ns, where that was a wait.
    pub connecting: Option<(i64, i64)>,
}

/// A connection that a second capture holds, too, at its other end. The frames of that one follow those of
/// the first.
#[derive(Debug, Clone)]
pub struct FarEnd {
    /// The end at which the first capture was taken.
    pub near: Side,
    pub frames_before: u32,
    /// The connection as the second capture alone has it.
    pub judged: JudgedConnection,
    /// Waits that both show, in the order of their ends.
    pub seen: Vec<Elsewhere>,
}

/// A wait of the first capture that the second shows, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// The frame that ended the wait in the first capture.
    pub held_frame: u32,
    /// The frames of the second one: the unacked segment, the ACK, and the segment that ended it;
    /// 0 for none.
    pub frames: [u32; 3],
    /// How long the receiver kept the ACK back, measured where it is.
    pub ack_delay_ns: Option<i64>,
}

impl Elsewhere {
    /// A wait that both show; frames of the second follow after so many.
    pub fn new(wait: &Wait, other: &Wait, frames_before: u32, ack_delay_ns: Option<i64>) -> Self {
        let frames = [other.from, other.ack, other.to].map(|mark| mark.moved(frames_before).frame);
        Self { held_frame: wait.to.frame, frames, ack_delay_ns }
    }
}

impl JudgedHalf {
    /// Round trip between the capture point and this host, in ns.
    pub fn rtt_ns(&self) -> Option<i64> {
        (self.rtt_ns != i64::MAX).then_some(self.rtt_ns)
    }

    /// The same, where it was measured: a reply or its program's pause only bounds it.
    pub fn measured_rtt_ns(&self) -> Option<i64> {
        self.rtt_ns().filter(|_| self.rtt_basis >= Basis::Shared)
    }

    pub fn detail(&self) -> &Detail {
        static NONE: LazyLock<Detail> = LazyLock::new(Detail::default);
        self.detail.as_deref().unwrap_or(&NONE)
    }

    /// Frames of its capture follow after so many others.
    pub fn move_frames(&mut self, frames_before: u32) {
        let moved = |frame: &mut u32| {
            if *frame > 0 {
                *frame = frame.saturating_add(frames_before);
            }
        };
        moved(&mut self.proof.0);
        moved(&mut self.proof.1);
        if let Some(detail) = &mut self.detail {
            moved(&mut detail.variant_proof.0);
            moved(&mut detail.variant_proof.1);
            if let Some(late_acks) = &mut detail.late_acks {
                moved(&mut late_acks.first_frame);
            }
        }
    }

    /// Properties that its stalls share.
    pub fn model(&self) -> DirectionModel {
        self.detail().models.iter().flatten().next().map_or_else(Default::default, |one| **one)
    }

    /// Properties that stalls of this kind share.
    pub fn model_of(&self, wait: &Wait) -> DirectionModel {
        let place = model_place(wait.is(fact::DATA_ACK), !wait.is_evidence());
        self.detail().models[place].as_deref().copied().unwrap_or_default()
    }
}

/// One connection, judged.
///
/// Aligned as a connection is, so that many judged ones take the memory of the connections.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct JudgedConnection {
    pub id: u32,
    /// Client, then server.
    pub halves: [JudgedHalf; 2],
    pub first_ns: i64,
    pub last_ns: i64,
    pub mss: u32,
    pub mss_inferred: bool,
    pub handshake: bool,
    /// Was neither SYN captured?
    pub is_server_guessed: bool,
    /// Duration in ns; negative where it is not known.
    pub handshake_ns: i64,
    /// Why a connection without a stall cannot be called clean.
    pub hidden: Hidden,
    pub short: Short,
    /// Is it proven that nothing was held, however short?
    pub nothing_held: bool,
    pub capture_point: CapturePoint,
    pub exchanges: u32,
    /// Sum of the latencies of all exchanges, in ns.
    pub latency_ns: i64,
    /// Latency of the first exchange in ns, and the frame in which it ended.
    pub first_exchange: Option<(i64, NonZeroU32)>,
    pub stalls: u32,
    /// Is one of them likely or certain?
    pub surely_stalls: bool,
    pub stalled_ns: i64,
    /// The time that they took of its exchanges; 0 until those are looked at.
    pub exchanges_stalled_ns: i64,
    /// Findings of a capture at the other end.
    pub far: Option<Box<FarEnd>>,
}

impl JudgedConnection {
    pub fn half(&self, side: Side) -> &JudgedHalf {
        &self.halves[side as usize]
    }

    /// See [`Connection::handshake_ns`].
    pub fn handshake_ns(&self) -> Option<i64> {
        Some(self.handshake_ns).filter(|&took_ns| took_ns >= 0)
    }

    pub fn rtt_ns(&self) -> Option<i64> {
        Some(self.halves[0].rtt_ns()? + self.halves[1].rtt_ns()?)
    }

    /// Was a round trip measured on other connections of the two hosts?
    pub fn is_rtt_borrowed(&self) -> bool {
        self.halves.iter().any(|half| half.rtt_basis == Basis::Shared)
    }

    /// How long the receiver sat on the ACK of a wait, in ns; 0 where there is none. Measured where
    /// both ends were captured.
    pub fn ack_delay_ns(&self, wait: &Wait) -> i64 {
        let measured_ns = self.elsewhere(wait).and_then(|seen| seen.ack_delay_ns);
        measured_ns.unwrap_or_else(|| {
            wait.ack_delay_ns(self.at_capture_of(wait).half(wait.acknowledged_by()).rtt_ns())
        })
    }

    /// True for a wait whose frames are of the capture at its sender.
    pub fn is_at_capture(&self, wait: &Wait) -> bool {
        self.far
            .as_ref()
            .is_some_and(|far| (wait.by == far.near) == (wait.to.frame <= far.frames_before))
    }

    /// The place of all captures of it.
    pub fn shown_capture_point(&self) -> CapturePoint {
        if self.far.is_some() { CapturePoint::Both } else { self.capture_point }
    }

    /// Where the capture at the other end shows this wait, too.
    pub fn elsewhere(&self, wait: &Wait) -> Option<&Elsewhere> {
        let seen = &self.far.as_ref()?.seen;
        let at = seen.binary_search_by_key(&wait.to.frame, |seen| seen.held_frame).ok()?;
        Some(&seen[at])
    }

    /// The connection as the capture has it that the frames of this wait are of.
    pub fn at_capture_of(&self, wait: &Wait) -> &Self {
        match &self.far {
            Some(far) if wait.to.frame > far.frames_before => &far.judged,
            _ => self,
        }
    }

    /// Mean latency of the exchanges, as measured.
    pub fn mean_latency_ns(&self) -> Option<i64> {
        (self.exchanges > 0).then(|| self.latency_ns / i64::from(self.exchanges))
    }

    /// Mean latency of the exchanges, had the stalls in them not happened.
    pub fn mean_latency_without_stalls_ns(&self) -> Option<i64> {
        let rest_ns = (self.latency_ns - self.exchanges_stalled_ns).max(0);
        (self.exchanges > 0).then(|| rest_ns / i64::from(self.exchanges))
    }

    /// From the first SYN until the connection came about, and until the end of the first reply, in ns, if
    /// its connecting is among its waits.
    pub fn connecting_ns(&self) -> Option<(i64, i64)> {
        self.half(Side::Server).detail().connecting
    }

    pub fn verdict(&self) -> Verdict {
        match (self.stalls, self.surely_stalls, self.hidden) {
            (_, true, _) => Verdict::Stalls,
            (1.., ..) => Verdict::Possible,
            (.., Hidden::Nothing) => Verdict::Clean,
            _ => Verdict::Inconclusive,
        }
    }

    /// Is it another connection of the capture, captured again? That one counts.
    pub fn is_copy(&self) -> bool {
        self.hidden == Hidden::Copied
    }

    /// Does the capture tell?
    pub fn is_conclusive(&self) -> bool {
        self.verdict() != Verdict::Inconclusive
    }
}
