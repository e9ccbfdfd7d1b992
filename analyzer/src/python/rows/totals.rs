//! Sums over a scan as Python sees them; durations in ms.

use crate::judge::nagle::nodelay::Nagle;
use crate::judge::words::evidence::ms;
use crate::output::row::row;
use crate::result::cause_totals::CauseTotal;
use crate::result::connecting::ConnectingSums;
use crate::result::joined::BothEnds;
use crate::result::late_acks::LateAckSums;
use crate::result::nagle_counts::{NagleCount, NagleParty};
use crate::result::scan::Scan;
use pyo3::prelude::*;

row! {
    /// Waits of one cause that one side ended.
    #[pyclass(frozen, get_all)]
    CauseRow(total: &CauseTotal) {
        cause: &'static str = total.cause.name(),
        sender: &'static str = total.by.name(),
        /// See [`crate::result::cause_totals::Turn`].
        turn: &'static str = total.turn.name(),
        waits: u64 = total.waits,
        total_ms: f64 = ms(total.total_ns),
        longest_ms: f64 = ms(total.longest_ns),
    }
}

row! {
    /// Captures at both ends of the same connections.
    #[pyclass(frozen, get_all)]
    EndsRow(ends: &BothEnds) {
        first_captures: u64 = ends.first_captures,
        is_same_place: bool = ends.is_same_place,
        first_at: &'static str = ends.first_at,
        first_frame_of_second: u64 = ends.first_frame_of_second,
        shared: u64 = ends.shared,
        only_first: u64 = ends.only_first,
        only_second: u64 = ends.only_second,
        /// How far the second end's clock is ahead, to within the bound; `None` where nothing tells.
        clock: Option<(f64, f64)> = ends.clock.map(|clock| (clock.ahead_ms, clock.bound_ms)),
        drift_ppm: Option<f64> = ends.clock.and_then(|clock| clock.drift_ppm),
    }
}

row! {
    /// Connections that took long to come about and had a reply; the share is of 1.
    #[pyclass(frozen, get_all)]
    ConnectingRow(sums: &ConnectingSums) {
        connections: u64 = sums.connections,
        connect_ms: f64 = ms(sums.connect_ns),
        first_reply_ms: f64 = ms(sums.first_reply_ns),
        median_share: f64 = sums.median_share,
    }
}

row! {
    /// The late ACKs of the clients or of the servers; `prompt` is `None` if too many to count.
    #[pyclass(frozen, get_all)]
    LateAckRow(sums: &LateAckSums) {
        side: &'static str = sums.by.name(),
        connections: u64 = sums.connections,
        late: u64 = sums.late,
        prompt: Option<u64> = sums.prompt,
        median_ms: f64 = ms(sums.median_ns),
        first_frame: u32 = sums.first_frame,
    }
}

row! {
    /// `TCP_NODELAY` on one party's sockets; proofs are (connection, frame, frame).
    #[pyclass(frozen, get_all)]
    NagleRow(scan: &Scan, party: NagleParty, count: &NagleCount) with {
        let side = party.side();
        let proofs = count.proofs(scan, side);
    } {
        side: &'static str = side.name(),
        addr: String = scan.names.addr(party.addr),
        server_port: u16 = party.server_port,
        on: u32 = count.totals.of(Nagle::On),
        off: u32 = count.totals.of(Nagle::Off),
        unknown: u32 = count.totals.of(Nagle::Unknown),
        switched: u32 = count.totals.of(Nagle::Switched),
        on_proof: Option<(u32, u32, u32)> = proofs[0],
        off_proof: Option<(u32, u32, u32)> = proofs[1],
        switched_proof: Option<(u32, u32, u32)> = proofs[2],
        variant: Option<(&'static str, u32, u32, u32)> = count.variant(scan, side).map(
            |(variant, connection, full, small)| (variant.name(), connection, full, small)
        ),
    }
}
