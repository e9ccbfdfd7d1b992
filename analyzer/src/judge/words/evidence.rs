//! Why a stall is believed: sentences with frame numbers, for JSON, tables and reports.

use crate::judge::case::{Confidence, Line, Lines};
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::path::reference::Reference;
use crate::judge::path::releases::{Releases, SiblingReleases};
use crate::judge::path::sender_rtt::Basis;
use crate::track::SHORTEST_DELAYED_ACK_NS;
use crate::track::wait::{Wait, fact};
use std::fmt::{self, Display, Formatter};

/// The reasons for a stall, strongest facts first, then the doubts that lower its confidence.
pub fn reasons(finding: Finding<'_>, judged: &JudgedConnection) -> Vec<String> {
    let stall = ExplainedStall::new(finding, judged);
    let facts = [
        Some(stall.unacked()),
        stall.wait.is(fact::RESENT).then(|| stall.resent()),
        Some(stall.ack()),
        Some(stall.release()),
        (stall.releases.in_band > 1).then(|| stall.peak()),
    ];
    let doubts = finding.doubts.iter().map(|line| stall.doubt(line));
    facts.into_iter().flatten().chain(doubts).collect()
}

/// A stall, with what its sentences need.
pub struct ExplainedStall<'a> {
    pub finding: Finding<'a>,
    pub wait: &'a Wait,
    pub judged: &'a JudgedConnection,
    pub releases: &'a Releases,
    /// The sender of its data, and the receiver.
    pub by: &'static str,
    pub receiver: &'static str,
}

impl<'a> ExplainedStall<'a> {
    pub fn new(finding: Finding<'a>, judged: &'a JudgedConnection) -> Self {
        let wait = finding.wait;
        let releases = judged.half(wait.by).detail().releases.of(wait);
        let (by, receiver) = (wait.by.name(), wait.by.other().name());
        Self { finding, wait, judged, releases, by, receiver }
    }

    /// Its case, as far as the result of a scan keeps it.
    pub fn case(&self) -> Lines {
        self.releases.lines_of(self.wait).and(self.finding.doubts.into())
    }

    /// Round trip between the capture point and the receiver, in ns.
    pub fn receiver_rtt_ns(&self) -> Option<i64> {
        self.judged.half(self.wait.by.other()).rtt_ns()
    }

    fn unacked(&self) -> String {
        let (wait, mss) = (self.wait, self.judged.mss);
        let (from, to) = (wait.from.frame, wait.to.frame);
        let (len, unacked_len) = (wait.len, wait.unacked_len);
        let last_is_full = unacked_len.is_multiple_of(mss);
        let unacked = match (wait.is(fact::UNACKED_SMALL), last_is_full) {
            (true, true) => format!("a small segment before frame {from}"),
            (false, true) => format!("frame {from} ({unacked_len} bytes, full-sized)"),
            (_, false) => format!("frame {from} ({unacked_len} bytes, small)"),
        };
        let had_to = match self.finding.confidence() {
            Confidence::Possible => "would have had to wait",
            _ => "had to wait",
        };
        format!(
            "{unacked} was unacknowledged, so frame {to} ({len} bytes, less than the MSS of {mss}) \
             {had_to}"
        )
    }

    fn resent(&self) -> String {
        format!(
            "frame {} was sent again before its ACK came, though nothing shows that it was lost: \
             the sender's retransmission timer is shorter than the receiver's delayed-ACK timer",
            self.wait.from.frame
        )
    }

    fn ack(&self) -> String {
        let (wait, receiver) = (self.wait, self.receiver);
        let delay_ns = self.judged.ack_delay_ns(wait);
        let delay = Ms(delay_ns);
        let late = match (self.finding.cause, self.receiver_rtt_ns()) {
            (Cause::NagleDelack, Some(rtt_ns)) => {
                let rtt = Ms(rtt_ns);
                format!("; the round trip to the {receiver} is {rtt}, so it was delayed by {delay}")
            }
            (Cause::NagleDelack, None) => {
                format!(": delayed by up to {delay} (round trip unknown)")
            }
            (_, None) => format!(
                "; the round trip to the {receiver} is unknown, so whether it was delayed is open"
            ),
            (_, Some(_)) if delay_ns >= SHORTEST_DELAYED_ACK_NS => {
                format!(", no longer than the path to the {receiver} takes at times")
            }
            _ => format!(", within the round trip to the {receiver}: not delayed"),
        };
        format!(
            "frame {} is a pure ACK, which no application sees, {} after frame {}{late}",
            wait.ack.frame,
            Ms(wait.ack.time_ns - wait.from.time_ns),
            wait.from.frame
        )
    }

    fn release(&self) -> String {
        let (wait, releases, by) = (self.wait, self.releases, self.by);
        let center = Ms(releases.band.center_ns);
        let due = match (releases.reference, releases.basis) {
            (Reference::RoundTrip, Basis::AtSender) => {
                ": so soon only in the sender's own host, captured there".to_owned()
            }
            (Reference::RoundTrip, Basis::Replies) => {
                format!("; the fastest reply of the {by} took {center}")
            }
            (Reference::RoundTrip, Basis::Releases) => {
                format!("; the round trip to the {by}, on which such waits agree, is {center}")
            }
            (Reference::RoundTrip, Basis::Handshake | Basis::Nothing) => {
                format!("; the round trip to the {by} is {center}")
            }
            (Reference::Reaction, _) => {
                let near = Ms(wait.reaction.took_ns().unwrap_or(releases.band.center_ns));
                format!("; near by in time the {by} reacted within {near}")
            }
            (Reference::Ack, _) => format!(
                "; the round trip to the sender takes {center} or more; where the ACK came at once, \
                 the next segment did, too"
            ),
            (Reference::Timestamps(_), _) => format!(
                "; by its timestamps the {by} pauses for as long as the ACK takes, and then for as long \
                 as here, give or take {}",
                Ms(releases.off_ns(wait).abs())
            ),
        };
        let (release, tolerance) = (Ms(wait.release_ns()), Ms(releases.band.tolerance_ns));
        format!("frame {} follows the ACK by {release}{due} (tolerance {tolerance})", wait.to.frame)
    }

    fn peak(&self) -> String {
        let Releases { in_band, near, .. } = self.releases;
        let outside = match near {
            0 => "none ended just outside it".to_owned(),
            1 => "one other ended just outside it".to_owned(),
            near => format!("{near} others ended just outside it"),
        };
        format!(
            "{in_band} waits in this direction ended within this tolerance of an ACK; {outside}"
        )
    }

    fn doubt(&self, line: Line) -> String {
        let (wait, receiver) = (self.wait, self.receiver);
        let sentence = match line {
            Line::FullSized => {
                "the unacknowledged segment is full-sized: only the classic rule (RFC 1122) holds \
                 data behind it, Linux does not"
            }
            Line::RoundTripEstimated => {
                "no handshake was captured, and too few holds show the round trip to the sender: \
                 it is an estimate"
            }
            Line::OwnYardstick => {
                "no handshake was captured, and only these waits show the round trip to the sender: a \
                 program that sends at a steady pace would look the same"
            }
            Line::DelayUnknown => {
                return format!(
                    "the round trip to the {receiver} is unknown, so part of the wait may be the \
                     network"
                );
            }
            Line::MssInferred => {
                return format!(
                    "no SYN was captured, so the MSS is inferred: frame {} may be full-sized",
                    wait.to.frame
                );
            }
            Line::MissingPackets => {
                "by the sender's IP IDs the capture lacks packets that it sent during the wait: one of them \
                 may have ended it"
            }
            Line::CutOptions => {
                "the snap length cut the options of the SYN: the MSS may be smaller, and no timestamp can \
                 confirm the order"
            }
            Line::Answerable => return self.answerable(),
            Line::LargeFlight => {
                "ten segments or more were in flight: a full congestion window would look the same"
            }
            Line::Resent => {
                return format!("frame {} or its ACK may have been lost", wait.from.frame);
            }
            Line::Relay | Line::DistantRelay => {
                "a proxy on this host, or a broker, that passes on what arrives on another connection \
                 would look the same: a capture of all its connections tells"
            }
            Line::Single => {
                "one match with the round trip of a network may be chance: nothing else in this \
                 direction shows it"
            }
            Line::Siblings => return self.siblings(),
            Line::Contradicted => return self.contradictions(),
            Line::Coincidence | Line::LikelyCoincidence => return self.coincidence(),
            _ => {
                "on the connections of this server so many pauses end at other times that a few \
                 end this close to an ACK by accident"
            }
        };
        sentence.to_owned()
    }

    fn siblings(&self) -> String {
        let (connections, frame) = match self.releases.siblings {
            Some(SiblingReleases { connections, frame, .. }) => (connections, frame),
            None => (0, 0),
        };
        format!(
            "so few waits show little by themselves, but {connections} other connections of this \
             client to this server show the same, as frame {frame} does"
        )
    }

    fn answerable(&self) -> String {
        let (ack, to) = (self.wait.ack.frame, self.wait.to.frame);
        match self.wait.is(fact::ACK_FIN) {
            true => format!("frame {ack} carries FIN, which the program sees, too"),
            false => format!(
                "frame {to} acknowledges data that came shortly before the ACK, and may be the answer"
            ),
        }
    }

    fn contradictions(&self) -> String {
        let count = self.judged.half(self.wait.by).detail().contradictions;
        let segments = if count == 1 { "segment" } else { "segments" };
        format!(
            "the {} also sent {count} small {segments} while another was unacknowledged",
            self.by
        )
    }

    fn coincidence(&self) -> String {
        let once = match self.releases.in_band {
            0 | 1 => "it happened only once in this direction, and ",
            _ => "",
        };
        let often = match (1.0 / self.releases.chance(self.wait)).round() as u64 {
            0 | 1 => "could well fall this close to an ACK by accident".to_owned(),
            2 => "falls this close to an ACK by accident half of the time".to_owned(),
            once_in => {
                format!("falls this close to an ACK by accident once in {once_in} times")
            }
        };
        format!("{once}a program's write {often}")
    }
}

/// A duration in ms with three decimals.
#[derive(Clone, Copy)]
pub struct Ms(pub i64);

impl Display for Ms {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let us = (self.0.unsigned_abs() + 500) / 1000;
        // Not `{:03}`: durations are most of what JSON with many stalls takes.
        let mut digits = itoa::Buffer::new();
        out.write_str(if self.0 < 0 { "-" } else { "" })?;
        out.write_str(digits.format(us / 1000))?;
        out.write_str(".")?;
        out.write_str(&digits.format(1000 + us % 1000)[1..])?;
        out.write_str(" ms")
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(duration_ns: i64) -> f64 {
    duration_ns as f64 / 1e6
}
