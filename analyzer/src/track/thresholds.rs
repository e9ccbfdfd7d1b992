//! The numbers that move verdicts and that the tracker needs as well: see `judge::thresholds`.

/// From this round trip on there is a network between the capture point and a host: within one host
/// and its virtual interfaces ACKs take 0.01-0.3 ms.
/// Leans: larger judges near networks as strictly as a local path, and loses their holds.
pub const NETWORK_RTT_NS: i64 = 1_000_000;

/// What passed the capture point less than a round trip ago is on its way to the sender or has just been
/// answered; one of so many parts of the round trip is left to jitter, since the shortest one measured
/// may not be the shortest there is.
/// Leans: larger takes more data for data sent before an ACK arrived, and so for `TCP_NODELAY`.
pub const IN_TRANSIT_ONE_OF: i64 = 4;

/// At the sender's own capture point only the kernel lies between ACK and release: 3-140 us measured on
/// Linux 6.18, idle and overloaded. 0.5 ms leaves room for slower machines, and is short enough to tell
/// an application that wakes up 0.2-4 ms after the ACK.
/// Leans: larger takes programs that wake up soon after an ACK for holds.
pub const LOCAL_TOLERANCE_NS: i64 = 500_000;

/// What scheduling on two hosts adds to the path's own jitter.
/// Leans: larger takes more program writes for holds, on every path over a network.
pub const NETWORK_TOLERANCE_NS: i64 = 2_000_000;

/// Beyond this, 'the path's jitter' would explain anything. Round trips that are longer than the
/// shortest by more than this are no jitter either, but a delayed ACK or a queue.
/// Leans: larger finds more on bad paths, and takes more program writes for holds.
pub const MAX_TOLERANCE_NS: i64 = 8_000_000;

/// Mean deviations that a release may be off: RFC 6298 allows four for a retransmission timer, which
/// has to be safe; three cover 98 % of a normal distribution.
/// Leans: larger finds more on jittery paths, and takes more program writes for holds.
pub const JITTERS: i64 = 3;

/// The neighbourhood in which releases that were *not* due to the ACK are counted, as a multiple of the
/// tolerance on either side.
/// Leans: larger estimates chance better, and counts other habits of the program as chance.
pub const NEAR: i64 = 3;

/// No delayed ACK comes sooner: quick ACKs take 0.03-0.13 ms on Linux 6.18, and the shortest
/// delayed-ACK timer a user can set there (`TCP_DELACK_MAX_US` = 10 ms) fires after 13.9 ms.
/// Nothing was measured in between.
/// Leans: larger takes short delayed ACKs for prompt ones.
pub const SHORTEST_DELAYED_ACK_NS: i64 = 10_000_000;

/// No ACK is delayed for longer: RFC 1122, section 4.2.3.2, says less than 0.5 s; a slow host allowed
/// for.
/// Leans: larger takes coincidences after long pauses for holds.
pub const LONGEST_DELAYED_ACK_NS: i64 = 1_000_000_000;

/// Linux sends a tail-loss probe, new data that no algorithm holds, 2 SRTT + 200 ms after a lone segment
/// (`tcp_schedule_loss_probe`, `TCP_RTO_MIN`). Timers may fire a jiffy early, 10 ms at HZ=100: what
/// follows unacknowledged data later than that proves nothing about Nagle's algorithm.
/// Leans: larger takes probes for `TCP_NODELAY`, and for pauses of the program.
pub const PROBE_NS: i64 = 200_000_000;
pub const JIFFY_NS: i64 = 10_000_000;
/// Sooner than this, new data is no probe.
pub const BEFORE_PROBE_NS: i64 = PROBE_NS - JIFFY_NS;

/// A hold shorter than this costs nothing that anybody notices, and is not even counted: programs write
/// again, and kernels acknowledge, several times in a millisecond.
/// Leans: larger calls more paths free of short holds.
pub const SHORT_HOLD_NS: i64 = 1_000_000;

/// Waits at least this long are judged by each other alone, whatever `--min-wait` lists: as long as the
/// shortest delayed ACK. A program writes every few milliseconds, and would outvote them.
/// Leans: larger knows less of connections with short round trips.
pub const EVIDENCE_NS: i64 = SHORTEST_DELAYED_ACK_NS;
