//! Why a stall is believed: sentences with frame numbers, for JSON, tables and reports.

use crate::judge::case::{Confidence, Line};
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::path::reference::{Frame, near_ns};
use crate::judge::path::releases::{Releases, SiblingReleases};
use crate::judge::path::sender_rtt::Basis;
use crate::track::wait::fact;
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
        let mut sentence = Vec::new();
        self.write(&mut sentence);
        out.write_str(&String::from_utf8_lossy(&sentence))
    }
}

impl Reason<'_> {
    /// Writes the sentence, without the machinery of `fmt`: there are several for every stall.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self.kind {
            Kind::Unacked => self.unacked(out),
            Kind::Resent => {
                number(out, "frame ", self.finding.wait.from.frame);
                text(
                    out,
                    " was sent again before its ACK came, though nothing shows that it was lost: \
                     the sender's retransmission timer is shorter than the receiver's delayed-ACK timer",
                );
            }
            Kind::Ack => self.ack(out),
            Kind::Release => self.release(out),
            Kind::Peak => self.peak(out),
            Kind::Doubt(doubt) => self.doubt(doubt, out),
        }
    }

    fn unacked(&self, out: &mut Vec<u8>) {
        let (wait, mss) = (&self.finding.wait, self.judged.mss);
        let last_is_full = wait.unacked_len.is_multiple_of(mss);
        if wait.is(fact::UNACKED_SMALL) && last_is_full {
            number(out, "a small segment before frame ", wait.from.frame);
        } else {
            number(out, "frame ", wait.from.frame);
            number(out, " (", wait.unacked_len);
            text(out, if last_is_full { " bytes, full-sized)" } else { " bytes, small)" });
        }
        number(out, " was unacknowledged, so frame ", wait.to.frame);
        number(out, " (", wait.len);
        number(out, " bytes, less than the MSS of ", mss);
        text(
            out,
            match self.finding.confidence() {
                Confidence::Possible => ") would have had to wait",
                _ => ") had to wait",
            },
        );
    }

    fn ack(&self, out: &mut Vec<u8>) {
        let wait = &self.finding.wait;
        let receiver: Side = wait.by.other();
        number(out, "frame ", wait.ack.frame);
        let after_ns = wait.ack.time_ns - wait.from.time_ns;
        duration(out, " is a pure ACK, which no application sees, ", after_ns);
        number(out, " after frame ", wait.from.frame);
        let delay_ns = self.judged.ack_delay_ns(wait);
        match (self.finding.cause, self.judged.half(receiver).rtt_ns()) {
            (Cause::NagleDelack, Some(rtt_ns)) => {
                text(out, "; the round trip to the ");
                text(out, receiver.name());
                duration(out, " is ", rtt_ns);
                duration(out, ", so it was delayed by ", delay_ns);
            }
            (Cause::NagleDelack, None) => {
                duration(out, ": delayed by up to ", delay_ns);
                text(out, " (round trip unknown)");
            }
            (_, None) => {
                text(out, "; the round trip to the ");
                text(out, receiver.name());
                text(out, " is unknown, so whether it was delayed is open");
            }
            (_, Some(_)) if delay_ns >= SHORTEST_DELAYED_ACK_NS => {
                text(out, ", no longer than the path to the ");
                text(out, receiver.name());
                text(out, " takes at times");
            }
            _ => {
                text(out, ", within the round trip to the ");
                text(out, receiver.name());
                text(out, ": not delayed");
            }
        }
    }

    fn release(&self, out: &mut Vec<u8>) {
        let wait = &self.finding.wait;
        let releases = self.judged.half(wait.by).detail().releases.of(wait);
        number(out, "frame ", wait.to.frame);
        duration(out, " follows the ACK by ", wait.release_ns());
        match (releases.frame, releases.basis) {
            (Frame::Fixed, basis) => self.fixed_place(basis, releases, out),
            (Frame::Near, _) => {
                text(out, "; near by in time the ");
                text(out, wait.by.name());
                duration(out, " reacted within ", near_ns(wait).unwrap_or(releases.band.center_ns));
            }
            (Frame::Followed, _) => {
                duration(out, "; the round trip to the sender takes ", releases.band.center_ns);
                text(out, " or more; where the ACK came at once, the next segment did, too");
            }
            (Frame::Stamped(_), _) => {
                let off_ns = releases.off_ns(wait).abs();
                duration(out, "; its timestamp says that it left within ", off_ns);
                text(out, " of when the ");
                text(out, wait.by.name());
                text(out, " can react to it");
            }
        }
        duration(out, " (tolerance ", releases.band.tolerance_ns);
        text(out, ")");
    }

    fn fixed_place(&self, basis: Basis, releases: &Releases, out: &mut Vec<u8>) {
        let wait = &self.finding.wait;
        match basis {
            Basis::AtSender => text(out, ": so soon only in the sender's own host, captured there"),
            Basis::Replies => {
                text(out, "; the fastest reply of the ");
                text(out, wait.by.name());
                duration(out, " took ", releases.band.center_ns);
            }
            Basis::Releases => {
                text(out, "; the round trip to the ");
                text(out, wait.by.name());
                text(out, ", on which such waits agree,");
                duration(out, " is ", releases.band.center_ns);
            }
            Basis::Handshake | Basis::Nothing => {
                text(out, "; the round trip to the ");
                text(out, wait.by.name());
                duration(out, " is ", releases.band.center_ns);
            }
        }
    }
}

impl Reason<'_> {
    fn peak(&self, out: &mut Vec<u8>) {
        let releases =
            self.judged.half(self.finding.wait.by).detail().releases.of(self.finding.wait);
        number(out, "", releases.in_band);
        text(out, " waits in this direction ended within this tolerance of an ACK; ");
        match releases.near {
            0 => text(out, "none ended just outside it"),
            1 => text(out, "one other ended just outside it"),
            near => {
                number(out, "", near);
                text(out, " others ended just outside it");
            }
        }
    }

    fn doubt(&self, doubt: Line, out: &mut Vec<u8>) {
        let wait = self.finding.wait;
        match doubt {
            Line::FullSized => text(
                out,
                "the unacknowledged segment is full-sized: only the classic rule (RFC 1122) holds \
                 data behind it, Linux does not",
            ),
            Line::RoundTripEstimated => text(
                out,
                "no handshake was captured, and too few holds show the round trip to the sender: \
                 it is an estimate",
            ),
            Line::DelayUnknown => {
                text(out, "the round trip to the ");
                text(out, wait.by.other().name());
                text(out, " is unknown, so part of the wait may be the network");
            }
            Line::MssInferred => {
                number(out, "no SYN was captured, so the MSS is inferred: frame ", wait.to.frame);
                text(out, " may be full-sized");
            }
            Line::Answerable => self.answerable(out),
            Line::LargeFlight => text(
                out,
                "ten segments or more were in flight: a full congestion window would look the same",
            ),
            Line::Resent => {
                number(out, "frame ", wait.from.frame);
                text(out, " or its ACK may have been lost");
            }
            Line::Relay | Line::DistantRelay => text(
                out,
                "a proxy on this host that passes on what arrives on another connection would look \
                 the same: a capture of all its connections tells",
            ),
            Line::Single => text(
                out,
                "one match with the round trip of a network may be chance: nothing else in this \
                 direction shows it",
            ),
            Line::Siblings => self.siblings(out),
            Line::Contradicted => self.contradictions(out),
            Line::Coincidence | Line::LikelyCoincidence => self.coincidence(out),
            _ => text(
                out,
                "on the connections of this server so many pauses end at other times that a few \
                 end this close to an ACK by accident",
            ),
        }
    }

    fn siblings(&self, out: &mut Vec<u8>) {
        let releases =
            self.judged.half(self.finding.wait.by).detail().releases.of(self.finding.wait);
        let Some(SiblingReleases { connections, frame, .. }) = releases.siblings else { return };
        number(out, "so few waits show little by themselves, but ", connections);
        text(out, " other connections of this client to this server show the same, as frame ");
        number(out, "", frame);
        text(out, " does");
    }

    fn answerable(&self, out: &mut Vec<u8>) {
        let wait = self.finding.wait;
        if wait.is(fact::ACK_FIN) {
            number(out, "frame ", wait.ack.frame);
            text(out, " carries FIN, which the program sees, too");
        } else {
            number(out, "frame ", wait.to.frame);
            text(out, " acknowledges data that came shortly before the ACK, and may be the answer");
        }
    }

    fn contradictions(&self, out: &mut Vec<u8>) {
        let contradictions = self.judged.half(self.finding.wait.by).detail().contradictions;
        text(out, "the ");
        text(out, self.finding.wait.by.name());
        number(out, " also sent ", contradictions);
        text(
            out,
            match contradictions {
                1 => " small segment while another was unacknowledged",
                _ => " small segments while another was unacknowledged",
            },
        );
    }

    fn coincidence(&self, out: &mut Vec<u8>) {
        let releases =
            self.judged.half(self.finding.wait.by).detail().releases.of(self.finding.wait);
        let once_in = (1.0 / releases.chance(self.finding.wait)).round() as u64;
        if releases.in_band <= 1 {
            text(out, "it happened only once in this direction, and ");
        }
        match once_in {
            0 | 1 => {
                text(out, "a program's write could well fall this close to an ACK by accident");
            }
            2 => {
                text(
                    out,
                    "a program's write falls this close to an ACK by accident half of the time",
                );
            }
            _ => {
                number(
                    out,
                    "a program's write falls this close to an ACK by accident once in ",
                    once_in,
                );
                text(out, " times");
            }
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn number(out: &mut Vec<u8>, before: &str, value: impl itoa::Integer) {
    text(out, before);
    text(out, itoa::Buffer::new().format(value));
}

/// As [`Ms`] shows it.
fn duration(out: &mut Vec<u8>, before: &str, duration_ns: i64) {
    let us = (duration_ns.unsigned_abs() + 500) / 1000;
    text(out, before);
    number(out, if duration_ns < 0 { "-" } else { "" }, us / 1000);
    let digit = |unit: u64| b'0' + (us / unit % 10) as u8;
    out.extend_from_slice(&[b'.', digit(100), digit(10), digit(1), b' ', b'm', b's']);
}

/// A duration in ms with three decimals.
pub struct Ms(pub i64);

impl Display for Ms {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut written = Vec::new();
        duration(&mut written, "", self.0);
        out.write_str(&String::from_utf8_lossy(&written))
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(duration_ns: i64) -> f64 {
    duration_ns as f64 / 1e6
}
