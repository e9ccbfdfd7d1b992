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
use std::fmt::{self, Display, Formatter, Write};

/// Most sentences are shorter.
const LEN: usize = 256;

/// The reasons for a stall, strongest facts first, then the doubts that lower its confidence.
pub fn reasons(finding: Finding<'_>, judged: &JudgedConnection) -> Vec<String> {
    let mut reasons = Vec::new();
    each_reason(finding, judged, |reason| reasons.push(reason.to_owned()));
    reasons
}

/// Hands the reasons to `take`. All are written into one buffer: JSON with many stalls consists of them.
pub fn each_reason(finding: Finding<'_>, judged: &JudgedConnection, mut take: impl FnMut(&str)) {
    let stall = ExplainedStall::new(finding, judged);
    let mut text = String::with_capacity(LEN);
    let mut add = |write: &dyn Fn(&mut String) -> fmt::Result| {
        text.clear();
        // Memory takes all that is written.
        let _ = write(&mut text);
        take(&text);
    };
    add(&|out| stall.unacked(out));
    if stall.wait.is(fact::RESENT) {
        add(&|out| stall.resent(out));
    }
    add(&|out| stall.ack(out));
    add(&|out| stall.release(out));
    if stall.releases.in_band > 1 {
        add(&|out| stall.peak(out));
    }
    for line in finding.doubts.iter() {
        add(&|out| stall.doubt(out, line));
    }
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
        let releases = judged.half(wait.by).releases_of(wait);
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

    fn unacked(&self, out: &mut String) -> fmt::Result {
        let (wait, mss) = (self.wait, self.judged.mss);
        let (from, to) = (wait.from.frame, wait.to.frame);
        let (len, unacked_len) = (wait.len, wait.unacked_len);
        let last_is_full = unacked_len.is_multiple_of(mss);
        match (wait.is(fact::UNACKED_SMALL), last_is_full) {
            (true, true) => write!(out, "a small segment before frame {from}"),
            (false, true) => write!(out, "frame {from} ({unacked_len} bytes, full-sized)"),
            (_, false) => {
                write!(out, "frame {from} ({unacked_len} byte{}, small)", plural(unacked_len))
            }
        }?;
        let had_to = match self.finding.confidence() {
            Confidence::Possible => "would have had to wait",
            _ => "had to wait",
        };
        write!(
            out,
            " was unacknowledged, so frame {to} ({len} byte{}, less than the MSS of {mss}) {had_to}",
            plural(len)
        )
    }

    fn resent(&self, out: &mut String) -> fmt::Result {
        write!(
            out,
            "frame {} was sent again before its ACK came, though nothing shows that it was lost: \
             the sender's retransmission timer is shorter than the receiver's delayed-ACK timer",
            self.wait.from.frame
        )
    }

    fn ack(&self, out: &mut String) -> fmt::Result {
        let (wait, receiver) = (self.wait, self.receiver);
        let delay_ns = self.judged.ack_delay_ns(wait);
        let delay = Ms(delay_ns);
        write!(
            out,
            "frame {} is a pure ACK, which no application sees, {} after frame {}",
            wait.ack.frame,
            Ms(wait.ack.time_ns - wait.from.time_ns),
            wait.from.frame
        )?;
        match (self.finding.cause, self.receiver_rtt_ns()) {
            (Cause::NagleDelack, Some(rtt_ns)) => {
                let rtt = Ms(rtt_ns);
                write!(out, "; the round trip to the {receiver} is {rtt}, so it came {delay} late")
            }
            (Cause::NagleDelack, None) => {
                write!(out, ": delayed by up to {delay} (round trip unknown)")
            }
            (_, None) => write!(
                out,
                "; the round trip to the {receiver} is unknown, so whether it was delayed is open"
            ),
            (_, Some(_)) if delay_ns >= SHORTEST_DELAYED_ACK_NS => {
                write!(out, ", no longer than the path to the {receiver} takes at times")
            }
            _ => write!(out, ", within the round trip to the {receiver}: not delayed"),
        }
    }

    fn release(&self, out: &mut String) -> fmt::Result {
        let (wait, releases, by) = (self.wait, self.releases, self.by);
        let center = Ms(releases.band.center_ns);
        let (release, tolerance) = (Ms(wait.release_ns()), Ms(releases.band.tolerance_ns));
        write!(out, "frame {} follows the ACK by {release}", wait.to.frame)?;
        match (releases.reference, releases.basis) {
            (Reference::RoundTrip, Basis::AtSender) => {
                out.write_str(": so soon only in the sender's own host, captured there")
            }
            (Reference::RoundTrip, Basis::Replies) => {
                write!(out, "; the fastest reply of the {by} took {center}")
            }
            (Reference::RoundTrip, Basis::Releases) => {
                write!(out, "; the round trip to the {by}, on which such waits agree, is {center}")
            }
            (Reference::RoundTrip, Basis::Handshake | Basis::Nothing) => {
                write!(out, "; the round trip to the {by} is {center}")
            }
            (Reference::Reaction, _) => {
                let near = Ms(wait.reaction.took_ns().unwrap_or(releases.band.center_ns));
                write!(out, "; near by in time the {by} reacted within {near}")
            }
            (Reference::Ack, _) => write!(
                out,
                "; the round trip to the sender takes {center} or more; where the ACK came at once, \
                 the next segment did, too"
            ),
            (Reference::Timestamps(_), _) => write!(
                out,
                "; by its timestamps the {by} pauses for as long as the ACK takes, and then for as long \
                 as here, give or take {}",
                Ms(releases.off_ns(wait).abs())
            ),
        }?;
        write!(out, " (tolerance {tolerance})")
    }

    fn peak(&self, out: &mut String) -> fmt::Result {
        let Releases { in_band, near, .. } = self.releases;
        write!(out, "{in_band} waits in this direction ended within this tolerance of an ACK; ")?;
        match near {
            0 => out.write_str("none ended just outside it"),
            1 => out.write_str("one other ended just outside it"),
            near => write!(out, "{near} others ended just outside it"),
        }
    }

    fn doubt(&self, out: &mut String, line: Line) -> fmt::Result {
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
                return write!(
                    out,
                    "the round trip to the {receiver} is unknown, so part of the wait may be the \
                     network"
                );
            }
            Line::MssInferred => {
                return write!(
                    out,
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
            Line::Answerable => return self.answerable(out),
            Line::LargeFlight => {
                "ten segments or more were in flight: a full congestion window would look the same"
            }
            Line::Resent => {
                return write!(out, "frame {} or its ACK may have been lost", wait.from.frame);
            }
            Line::Relay | Line::DistantRelay => {
                "a proxy on this host, or a broker, that passes on what arrives on another connection \
                 would look the same: a capture of all its connections tells"
            }
            Line::Single => {
                "one match with the round trip of a network may be chance: nothing else in this \
                 direction shows it"
            }
            Line::Siblings => return self.siblings(out),
            Line::Contradicted => return self.contradictions(out),
            Line::Coincidence | Line::LikelyCoincidence => return self.coincidence(out),
            _ => {
                "on the connections of this server so many pauses end at other times that a few \
                 end this close to an ACK by accident"
            }
        };
        out.write_str(sentence)
    }

    fn siblings(&self, out: &mut String) -> fmt::Result {
        let (connections, frame) = match self.releases.siblings {
            Some(SiblingReleases { connections, frame, .. }) => (connections, frame),
            None => (0, 0),
        };
        write!(
            out,
            "too few waits to tell on their own, but {connections} other connections of this client \
             to this server show the same (such as frame {frame})"
        )
    }

    fn answerable(&self, out: &mut String) -> fmt::Result {
        let (ack, to) = (self.wait.ack.frame, self.wait.to.frame);
        match self.wait.is(fact::ACK_FIN) {
            true => write!(out, "frame {ack} carries FIN, which the program sees, too"),
            false => write!(
                out,
                "frame {to} acknowledges data that came shortly before the ACK, and may be the answer"
            ),
        }
    }

    fn contradictions(&self, out: &mut String) -> fmt::Result {
        let count = self.judged.half(self.wait.by).contradictions;
        write!(
            out,
            "the {} also sent {count} small segment{} while another was unacknowledged",
            self.by,
            plural(count)
        )
    }

    fn coincidence(&self, out: &mut String) -> fmt::Result {
        if self.releases.in_band <= 1 {
            out.write_str("it happened only once in this direction, and ")?;
        }
        match (1.0 / self.releases.chance(self.wait)).round() as u64 {
            0 | 1 => out.write_str("a program could well write this close to an ACK by accident"),
            once_in => write!(
                out,
                "the chance of a program writing this close to an ACK by accident is 1 in {once_in}"
            ),
        }
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A duration in ms with three decimals.
#[derive(Clone, Copy)]
pub struct Ms(pub i64);

impl Display for Ms {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let us = (self.0.unsigned_abs() + 500) / 1000;
        // Not `{:03}`: durations are most of what JSON with many stalls takes.
        let mut rest = *b".000 ms";
        for (at, unit) in [(1, 100), (2, 10), (3, 1)] {
            rest[at] += (us / unit % 10) as u8;
        }
        out.write_str(if self.0 < 0 { "-" } else { "" })?;
        out.write_str(itoa::Buffer::new().format(us / 1000))?;
        out.write_str(str::from_utf8(&rest).unwrap_or_default())
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(duration_ns: i64) -> f64 {
    duration_ns as f64 / 1e6
}
