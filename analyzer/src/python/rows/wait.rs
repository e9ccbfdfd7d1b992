//! A wait as Python sees it.

use super::fields::row_with_fields;
use crate::judge::capture::point::CapturePoint;
use crate::judge::causes::Cause;
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::findings::Finding;
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::words::evidence::reasons;
use crate::judge::words::rivals::rivals;
use crate::output::fields::StallRow;
use crate::result::cause_totals::Turn;
use crate::result::scan::Scan;
use crate::track::Side;
use crate::track::ending::Ending;
use crate::track::wait::{End, Wait, fact};

/// Rival explanations of a stall: name, whether the capture rules it out, and why.
type Rivals = Vec<(&'static str, bool, String)>;

row_with_fields! {
    /// A wait as reports describe it: the fields of a [`Finding`], those of a [`StallRow`] whatever
    /// it is, and these. from / ack / to are frames.
    WaitRow(finding: Finding<'_>, judged: &JudgedConnection, scan: &Scan)
    and (finding, StallRow::with(scan, judged, finding)) with {
        let stall = StallRow::with(scan, judged, finding);
        let (wait, names) = (finding.wait, &scan.names);
        let [by, other] = [wait.by, wait.by.other()].map(|side| judged.half(side).endpoint);
    } {
        sender_end: String = names.endpoint(by),
        receiver_end: String = names.endpoint(other),
        /// IP addresses, whatever the user calls them.
        sender_ip: String = by.addr.to_string(),
        receiver_ip: String = other.addr.to_string(),
        from_ns: i64 = wait.from.time_ns,
        ack_ns: i64 = wait.ack.time_ns,
        to_ns: i64 = wait.to.time_ns,
        /// See [`Turn`].
        turn: &'static str = Turn::of(finding).name(),
        /// The name of its row of the ledger.
        row: &'static str = finding.entry.name,
        /// Bytes of data in the ACK.
        len_ack: u16 = wait.ack_len,
        /// How often a SYN was sent, if more than once and never answered; else 0.
        unanswered_syns: u32 = unanswered_syns(finding, judged),
        /// The ending of a wait for something that never came, empty for others; when the other end
        /// was last heard of; and whether its host surely got what it owes an answer to.
        ending: &'static str = wait.ending().map_or("", Ending::name),
        heard_ns: i64 = wait.heard_ns(),
        /// How often the other end sent again, or probed, and up to how many ms after the time before.
        tries: (u32, u32) = wait.tries(),
        /// Is it an exchange that never ended?
        is_open_exchange: bool = is_open_exchange(wait),
        /// Had room been announced again?
        is_reopened: bool = wait.is(fact::REOPENED),
        has_arrived: bool = judged.capture_point == at(wait.by),
        /// Where a relay got what it passed on: the stream, and its server; `None` for other waits.
        upstream: Option<(u32, String)> = upstream(finding, scan),
        /// Did the server answer a SYN again whose answer the client had acknowledged?
        is_syn_again: bool = is_syn_again(finding, judged),
        /// Did the other end never send anything?
        is_mute: bool = judged.half(wait.by).bytes == 0,
        /// Held or paused, for all that the capture shows?
        may_be_held: bool = finding.may_be_held() && judged.half(wait.by).nagle != Nagle::Off,
        /// Is the round trip to the other end known, so that its ACK can be called late or prompt?
        is_measured: bool = judged.half(wait.by.other()).rtt_ns().is_some(),
        /// Was something lost on its way to the capture? `None` where that is open.
        lost_before_capture: Option<bool> = finding.lost_before_capture(),
        /// The capture at the other end, and the frames there of the unacked segment, the ACK and the
        /// held segment.
        other_end: Option<(String, u64, u64, u64)> = stall.other_end().map(|seen| {
            (seen.capture.to_owned(), seen.frame_unacked, seen.frame_ack, seen.frame_held)
        }),
        /// The capture that its frames are of, if there is one at each end, and the last one's number there.
        held_in: Option<(String, u64)> =
            stall.capture().map(|(capture, frame)| (capture.to_owned(), frame)),
        /// Are its frames those of the capture at the sender?
        is_held_here: bool = judged.is_at_capture(wait),
        evidence: Vec<String> =
            if finding.is_stall() { reasons(finding, judged) } else { Vec::new() },
        rivals: Rivals = if finding.is_stall() { shown_rivals(finding, judged) } else { Vec::new() },
    }
}

fn upstream(finding: Finding<'_>, scan: &Scan) -> Option<(u32, String)> {
    let (wait, rows) = (finding.wait, &scan.passed_on);
    let key = (wait.connection, wait.by as u8);
    let at = rows.binary_search_by_key(&key, |row| (row.connection, row.by as u8)).ok()?;
    let upstream = rows[at].upstream;
    let server = scan.connections[scan.connections.index_of(upstream)?].half(Side::Server);
    let is_relayed = finding.cause == Cause::PassedOn;
    is_relayed.then(|| (upstream, scan.names.endpoint(server.endpoint)))
}

/// The capture point at the host of this end.
fn at(side: Side) -> CapturePoint {
    [CapturePoint::Client, CapturePoint::Server][side as usize]
}

fn shown_rivals(finding: Finding<'_>, judged: &JudgedConnection) -> Rivals {
    let rivals = rivals(finding, judged).into_iter();
    rivals.map(|rival| (rival.name, rival.ruled_out, rival.why)).collect()
}

/// An answer, its rest, or its ACK was owed; so was that of a request.
fn is_open_exchange(wait: &Wait) -> bool {
    let is_of_exchange = wait.has_any(fact::IN_EXCHANGE | fact::OWN_DATA_BEFORE);
    wait.ending().is_some() && !wait.is_connecting() && (is_of_exchange || wait.is(fact::RECOVERY))
}

/// A server that has sent nothing else, while bytes wait for an ACK of it, answered the SYN again.
fn is_syn_again(finding: Finding<'_>, judged: &JudgedConnection) -> bool {
    let (wait, server) = (finding.wait, judged.half(Side::Server));
    let is_again = match wait.end {
        End::Syn => wait.is(fact::RETRANSMITTED) && wait.unacked_len == 0,
        End::InVain(_) => server.bytes == 0 && server.detail().retransmitted > 0,
        _ => false,
    };
    is_again && wait.by == Side::Server
}

/// How often a SYN was sent that nobody answered.
fn unanswered_syns(finding: Finding<'_>, judged: &JudgedConnection) -> u32 {
    let [client, server] = &judged.halves;
    let is_opened = client.bytes > 0 || server.bytes > 0 || judged.handshake_ns().is_some();
    match finding.wait.by {
        _ if finding.cause != Cause::Connect || is_opened => 0,
        Side::Client if server.segments == 0 => client.segments,
        Side::Server if !finding.wait.is(fact::RETRANSMITTED) => 0,
        Side::Server if client.segments == 0 || judged.handshake => server.segments,
        _ => 0,
    }
}
