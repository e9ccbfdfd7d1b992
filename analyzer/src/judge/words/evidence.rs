//! Why a stall is believed: sentences with frame numbers, for JSON, tables and reports.

use crate::judge::case::{Confidence, Line};
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::path::reference::{Frame, near_ns};
use crate::judge::path::releases::{Releases, SiblingReleases};
use crate::judge::path::sender_rtt::Basis;
use crate::track::wait::{Wait, fact};
use crate::track::{SHORTEST_DELAYED_ACK_NS, Side};
use std::fmt::{self, Display, Formatter};

/// One reason; `Display` shows the sentence.
pub struct Reason<'a> {
    kind: Kind,
    finding: Finding<'a>,
    judged: &'a JudgedConnection,
}

#[derive(Clone, Copy)]
enum Kind {
    Unacked,
    Resent,
    Ack,
    Release,
    Peak,
    Doubt(Line),
}

/// The reasons for a stall, strongest facts first, then the doubts that lower its confidence.
pub fn reasons<'a>(
    finding: Finding<'a>,
    judged: &'a JudgedConnection,
) -> impl Iterator<Item = Reason<'a>> {
    let wait = finding.wait;
    let releases = judged.half(wait.by).detail().releases.of(wait);
    let facts = [Kind::Unacked, Kind::Resent, Kind::Ack, Kind::Release, Kind::Peak];
    facts
        .into_iter()
        .filter(move |kind| match kind {
            Kind::Peak => releases.in_band > 1,
            Kind::Resent => wait.is(fact::RESENT),
            _ => true,
        })
        .chain(finding.doubts.iter().map(Kind::Doubt))
        .map(move |kind| Reason { kind, finding, judged })
}

impl Display for Reason<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Unacked => self.unacked(out),
            Kind::Resent => write!(
                out,
                "frame {} was sent again before its ACK came, though nothing shows that it was lost: \
                 the sender's retransmission timer is shorter than the receiver's delayed-ACK timer",
                self.wait().from.frame
            ),
            Kind::Ack => self.ack(out),
            Kind::Release => self.release(out),
            Kind::Peak => self.peak(out),
            Kind::Doubt(doubt) => self.doubt(doubt, out),
        }
    }
}

impl Reason<'_> {
    fn wait(&self) -> &Wait {
        self.finding.wait
    }

    fn releases(&self) -> &Releases {
        self.judged.half(self.wait().by).detail().releases.of(self.wait())
    }

    fn unacked(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (wait, mss) = (self.wait(), self.judged.mss);
        let (from, to) = (wait.from.frame, wait.to.frame);
        let last_is_full = wait.unacked_len.is_multiple_of(mss);
        if wait.is(fact::UNACKED_SMALL) && last_is_full {
            write!(out, "a small segment before frame {from}")?;
        } else {
            let size = if last_is_full { "full-sized" } else { "small" };
            write!(out, "frame {from} ({} bytes, {size})", wait.unacked_len)?;
        }
        let had_to = match self.finding.confidence() {
            Confidence::Possible => "would have had to wait",
            _ => "had to wait",
        };
        write!(
            out,
            " was unacknowledged, so frame {to} ({} bytes, less than the MSS of {mss}) {had_to}",
            wait.len
        )
    }

    fn ack(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let wait = self.wait();
        let receiver: Side = wait.by.other();
        let name = receiver.name();
        write!(
            out,
            "frame {} is a pure ACK, which no application sees, {} after frame {}",
            wait.ack.frame,
            Ms(wait.ack.time_ns - wait.from.time_ns),
            wait.from.frame
        )?;
        let delay_ns = self.judged.ack_delay_ns(wait);
        let delay = Ms(delay_ns);
        match (self.finding.cause, self.judged.half(receiver).rtt_ns()) {
            (Cause::NagleDelack, Some(rtt_ns)) => {
                let rtt = Ms(rtt_ns);
                write!(out, "; the round trip to the {name} is {rtt}, so it was delayed by {delay}")
            }
            (Cause::NagleDelack, None) => {
                write!(out, ": delayed by up to {delay} (round trip unknown)")
            }
            (_, None) => write!(
                out,
                "; the round trip to the {name} is unknown, so whether it was delayed is open"
            ),
            (_, Some(_)) if delay_ns >= SHORTEST_DELAYED_ACK_NS => {
                write!(out, ", no longer than the path to the {name} takes at times")
            }
            _ => write!(out, ", within the round trip to the {name}: not delayed"),
        }
    }

    fn release(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (wait, releases) = (self.wait(), self.releases());
        let by = wait.by.name();
        let center = Ms(releases.band.center_ns);
        write!(out, "frame {} follows the ACK by {}", wait.to.frame, Ms(wait.release_ns()))?;
        match (releases.frame, releases.basis) {
            (Frame::Fixed, Basis::AtSender) => {
                write!(out, ": so soon only in the sender's own host, captured there")?;
            }
            (Frame::Fixed, Basis::Replies) => {
                write!(out, "; the fastest reply of the {by} took {center}")?;
            }
            (Frame::Fixed, Basis::Releases) => {
                write!(
                    out,
                    "; the round trip to the {by}, on which such waits agree, is {center}"
                )?;
            }
            (Frame::Fixed, Basis::Handshake | Basis::Nothing) => {
                write!(out, "; the round trip to the {by} is {center}")?;
            }
            (Frame::Near, _) => {
                let near = Ms(near_ns(wait).unwrap_or(releases.band.center_ns));
                write!(out, "; near by in time the {by} reacted within {near}")?;
            }
            (Frame::Followed, _) => write!(
                out,
                "; the round trip to the sender takes {center} or more; where the ACK came at once, \
                 the next segment did, too"
            )?,
            (Frame::Stamped(_), _) => write!(
                out,
                "; by its timestamps the {by} pauses for as long as the ACK takes, and then for as long \
                 as here, give or take {}",
                Ms(releases.off_ns(wait).abs())
            )?,
        }
        write!(out, " (tolerance {})", Ms(releases.band.tolerance_ns))
    }

    fn peak(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Releases { in_band, near, .. } = self.releases();
        write!(out, "{in_band} waits in this direction ended within this tolerance of an ACK; ")?;
        match near {
            0 => write!(out, "none ended just outside it"),
            1 => write!(out, "one other ended just outside it"),
            near => write!(out, "{near} others ended just outside it"),
        }
    }

    fn doubt(&self, doubt: Line, out: &mut Formatter<'_>) -> fmt::Result {
        let wait = self.wait();
        let sentence = match doubt {
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
                let receiver = wait.by.other().name();
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

    fn siblings(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Some(SiblingReleases { connections, frame, .. }) = self.releases().siblings else {
            return Ok(());
        };
        write!(
            out,
            "so few waits show little by themselves, but {connections} other connections of this \
             client to this server show the same, as frame {frame} does"
        )
    }

    fn answerable(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let wait = self.wait();
        match wait.is(fact::ACK_FIN) {
            true => {
                write!(out, "frame {} carries FIN, which the program sees, too", wait.ack.frame)
            }
            false => write!(
                out,
                "frame {} acknowledges data that came shortly before the ACK, and may be the answer",
                wait.to.frame
            ),
        }
    }

    fn contradictions(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let by = self.wait().by;
        let count = self.judged.half(by).detail().contradictions;
        let segments = if count == 1 { "segment" } else { "segments" };
        write!(
            out,
            "the {} also sent {count} small {segments} while another was unacknowledged",
            by.name()
        )
    }

    fn coincidence(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let releases = self.releases();
        if releases.in_band <= 1 {
            write!(out, "it happened only once in this direction, and ")?;
        }
        write!(out, "a program's write ")?;
        match (1.0 / releases.chance(self.wait())).round() as u64 {
            0 | 1 => write!(out, "could well fall this close to an ACK by accident"),
            2 => write!(out, "falls this close to an ACK by accident half of the time"),
            once_in => {
                write!(out, "falls this close to an ACK by accident once in {once_in} times")
            }
        }
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
