//! The numbers that move verdicts and that the tracker needs as well: see `judge::thresholds`.

/// From this round trip on there is a network between the capture point and a host: within one host
/// and its virtual interfaces ACKs take 0.01-0.3 ms.
/// Leans: larger judges near networks as strictly as a local path, and loses their holds.
pub const NETWORK_RTT_NS: i64 = 1_000_000;

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

/// Waits for an ACK that are at least this long are evidence, whatever `--min-wait` lists: shorter ones
/// are as long as what a busy host takes to run a program.
/// Leans: larger knows less of connections with short round trips.
pub const EVIDENCE_NS: i64 = 1_000_000;
