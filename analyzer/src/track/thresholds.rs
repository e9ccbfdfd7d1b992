//! The numbers that verdicts depend on and the tracker needs: those of the judge are in `judge::thresholds`.

use crate::thresholds::thresholds;

thresholds! {
    /// From this round trip on there is a network between the capture point and a host: ACKs take
    /// 0.01-0.3 ms within a host and its virtual interfaces.
    NETWORK_RTT_NS: i64 = 1_000_000 ns,
        from "measured on Linux 6.18",
        larger "judges near networks as strictly as a local path, and misses their holds";

    /// Part of the round trip that a packet is on its way for certain; or that it may be off, since
    /// the shortest round trip measured may not be the shortest there is.
    IN_TRANSIT_ONE_OF: i64 = 4 one_of,
        from "judgement",
        larger "sees less `TCP_NODELAY` from afar, and fewer early releases";

    /// At the sender only the kernel lies between ACK and release: `KERNEL_MS`. This leaves room for slower
    /// machines, but not for a program that wakes up later.
    LOCAL_TOLERANCE_NS: i64 = 500_000 ns,
        from "measured on Linux 6.18",
        larger "takes programs that wake up soon after an ACK for holds";

    /// A kernel releases within this of an ACK, mostly (`KERNEL_MS`). Data that leaves across a
    /// network without waiting for its ACK comes so soon behind it once in fifty times.
    KERNEL_RELEASE_NS: i64 = 50_000 ns,
        from "1,485 releases on loaded hosts of Linux 6.18: 99.9 % within 70 us",
        larger "sees less `TCP_NODELAY` from afar";

    /// No kernel sends later than this after the data that let a segment go (`KERNEL_MS`). Programs
    /// that react in half of it are counted from their first such reaction on, others once a
    /// segment looks as if data had let it go.
    KERNEL_REACTION_NS: i64 = 200_000 ns,
        from "measured on 779 holds that data released",
        larger "keeps more answers of programs, which the judge tells apart";

    /// Scheduling on two hosts, on top of the path's own jitter.
    NETWORK_TOLERANCE_NS: i64 = 2_000_000 ns,
        from "judgement",
        larger "takes more program writes for holds, on every path over a network";

    /// Beyond this, jitter would explain any release. A round trip longer than the shortest by more than this
    /// is a delayed ACK or a queue.
    MAX_TOLERANCE_NS: i64 = 8_000_000 ns,
        from "derived: below `SHORTEST_DELAYED_ACK_NS`",
        larger "finds more on bad paths, and takes more program writes for holds";

    /// Mean deviations that a release may be off. Retransmission timers allow four, to be safe; three cover
    /// 98 % of a normal distribution.
    JITTERS: i64 = 3 deviations,
        from "RFC 6298, section 2",
        larger "finds more on jittery paths, and takes more program writes for holds";

    /// Width of the neighbourhood on either side, in tolerances: releases in it were not due to the ACK, and
    /// estimate chance.
    NEAR: i64 = 3 tolerances,
        from "judgement",
        larger "estimates chance better, but counts other habits of the program as chance";

    /// The shortest delayed ACK. Quick ACKs take 0.03-0.13 ms; the shortest delayed-ACK timer that can be set
    /// (`TCP_DELACK_MAX_US` = 10 ms) fires after 13.9 ms. Nothing was measured in between.
    SHORTEST_DELAYED_ACK_NS: i64 = 10_000_000 ns,
        from "measured on Linux 6.18",
        larger "takes short delayed ACKs for prompt ones";

    /// The longest delayed ACK: a longer one is not allowed. On an unknown path an ACK releases no
    /// data later than this, either.
    LONGEST_DELAYED_ACK_NS: i64 = 620_000_000 ns,
        from "Windows: `TcpDelAckTicks` of up to six ticks of 100 ms; RFC 1122, section 4.2.3.2, asks for 500 ms",
        larger "takes coincidences after long pauses for holds";

    /// A tail-loss probe is new data that no algorithm holds. Linux sends it 2 SRTT + 200 ms after a lone
    /// segment (`TCP_RTO_MIN`).
    PROBE_NS: i64 = 200_000_000 ns,
        from "Linux, tcp_schedule_loss_probe",
        larger "takes fewer pauses for corks and losses, and notes fewer slow handshakes";

    /// How early a timer may fire: a jiffy at HZ=100. A cork lets go two ticks after its timer at the latest.
    JIFFY_NS: i64 = 10_000_000 ns,
        from "Linux, CONFIG_HZ",
        larger "takes more timers of programs for corks";

    /// A shorter hold costs nothing noticeable and is not counted: programs write again, and kernels
    /// acknowledge, several times in a millisecond.
    SHORT_HOLD_NS: i64 = 1_000_000 ns,
        from "judgement",
        larger "calls more paths free of short holds";

    /// Fewer times may have a step in common by chance.
    TIMES_FOR_A_CLOCK: u32 = 16 times,
        from "statistics: chance of 1 in 10^15",
        larger "trusts coarse clocks of short captures";

    /// Deviation from equal steps at which times still count as made up: timestamps cut to microseconds
    /// differ by one, and one more is rounding. Real hosts vary far more.
    EVEN_NS: i64 = 2_000 ns,
        from "resolution of pcap timestamps",
        larger "takes more true times for made-up ones";

    /// Fewer segments may be equally far apart by accident; a handshake and one exchange have more.
    EVEN_SEGMENTS: u32 = 5 segments,
        from "derived: a handshake has three, a request and its answer are two",
        larger "believes more short scripts";

    /// The largest part by which equal steps differ: quick hosts send in steps of some microseconds.
    EVEN_ONE_OF: i64 = 16 one_of,
        from "resolution of pcap timestamps: a microsecond is a sixteenth of the steps of a slow loopback",
        larger "takes fewer true times for made-up ones";

    /// Part that most of several are, as multiples of 10 ms or waits as long as a cork's timer.
    MOSTLY: (usize, usize) = (3, 4) ratio,
        from "judgement",
        larger "takes fewer waits for made-up ones, and for corked ones";

    /// Times were made up where this many waits have at most as many lengths, to 2 us, and each a few
    /// on average; or where most are multiples of 10 ms. Timers of hosts fire some 50 us early or late.
    MADE_UP: (usize, usize, usize) = (8, 8, 3) waits_and_lengths_and_waits_of_each,
        from "statistics: multiples of 10 ms to 2 us by chance, 1 in 10^20",
        larger "judges more captures of simulators; of lengths, fewer";

    /// Clocks as fine as this need no allowance.
    FINE_CLOCK_NS: i64 = 1_000 ns,
        from "resolution of pcap timestamps",
        larger "trusts coarse clocks";

    /// Clocks that tick more slowly are not looked for: captures with steps of 10 ms exist.
    COARSEST_CLOCK_NS: i64 = 100_000_000 ns,
        from "derived: no wait is an evidence there",
        larger "takes whole seconds for ticks";

    /// The finest of clocks that tick: 1,000 times a second.
    TICKING_CLOCK_NS: i64 = 1_000_000 ns,
        from "Linux, CONFIG_HZ; Windows, timeBeginPeriod",
        larger "takes more ticks for times of a script";

    /// Successive times that differ by less show that a clock is fine.
    UNEVEN_CLOCK_NS: i64 = 100_000 ns,
        from "judgement",
        larger "takes more clocks that tick unevenly for fine ones";

    /// Equal successive times that show a clock to tick unevenly: a fine one has as many distances below a
    /// microsecond as in each other microsecond up to `UNEVEN_CLOCK_NS`.
    TIMES_ALIKE: u32 = 8 times,
        from "statistics: chance of 1 in 10^16",
        larger "trusts uneven clocks of short captures";

    /// Times that are all multiples of this are round, and nobody measured them.
    ROUND_NS: i64 = 10_000_000 ns,
        from "judgement",
        larger "believes the clocks of simulators";

    /// A clock that ticks as seldom as `ROUND_NS` gives more than one of so many segments the time of the one
    /// before: hosts answer and acknowledge within microseconds.
    ALIKE_ONE_OF: u32 = 10 segments,
        from "judgement",
        larger "believes the clocks of simulators that send in bursts";

    /// Several queues and interfaces write their frames slightly out of order: a rotated file may
    /// begin this long before the last frame of its predecessor.
    QUEUES_NS: i64 = 10_000_000 ns,
        from "judgement",
        larger "takes captures of their own for parts of one";

    /// Shorter payloads are below any MSS: what hosts fall back to (RFC 9293, section 3.7.1), less
    /// 40 bytes of options.
    LEAST_MSS: u32 = 496 bytes,
        from "RFC 9293, sections 3.1 and 3.7.1",
        larger "takes more full-sized segments for small ones";

    /// The largest MSS inferred without a SYN: Ethernet's 1,500 bytes less 40 bytes of headers.
    MOST_INFERRED_MSS: u32 = 1460 bytes,
        from "RFC 894",
        larger "takes more full-sized segments for small ones";

    /// The least MSS of paths over Ethernet, with tunnels: offloading shows multiples of what they carry.
    TUNNEL_MSS: u32 = 1300 bytes,
        from "derived: IPv6, IPsec and VXLAN, or WireGuard, take less than 160 bytes of 1,460",
        larger "takes more full-sized segments for small ones";

    /// MSS on loopback without a SYN: the kernel works with half the largest window, 32 kB at first.
    LOOPBACK_MSS: u32 = 16_384 bytes,
        from "Linux, tcp_bound_to_half_wnd",
        larger "takes more full-sized segments for small ones";

    /// Two segments of one call leave within this time: http.sys writes a TLS Finished and its settings.
    AT_ONCE_NS: i64 = 2_000 ns,
        from "judgement",
        larger "sees less `TCP_NODELAY`";

    /// This many such pairs are the beginning of a session; more are a habit.
    FEW_PAIRS: u32 = 2 pairs,
        from "judgement",
        larger "sees less `TCP_NODELAY`";

    /// Segments captured after their own ACKs, from which two clocks stamped the capture: two may
    /// have been sent again while their ACKs were on the way.
    DISORDERED: u32 = 3 segments,
        from "judgement",
        larger "takes the clocks of more captures for one";

    /// How much later a capture point stamps one direction than the other: taps and bridges that fetch the
    /// frames of each at a poll of its own put an ACK 13 to 300 us behind the segment that it released, or
    /// before the data that it acknowledges.
    LATE_STAMP_NS: i64 = 300_000 ns,
        from "measured on taps that poll every 50 us, and on a path stamped 250 us late",
        larger "takes accidents of senders with `TCP_NODELAY` for late stamps";

    /// ACKs just behind a segment that make a habit of the capture point. A delayed ACK comes so by
    /// accident in 3 % of the cases: 0.3 of some 10 ms.
    LATE_STAMPS: u32 = 3 ACKs,
        from "statistics: one in 40,000 directions of senders with `TCP_NODELAY`",
        larger "finds fewer holds where directions are stamped apart";

    /// Part of a connection's segments that are data stamped earlier than data before, from which
    /// its frames are out of order: in a file that was put together of two directions a quarter and
    /// more are, in a reversed one half.
    OUT_OF_ORDER_ONE_OF: u32 = 8 one_of,
        from "half of the least part in files that were put together of two directions",
        larger "judges fewer captures whose clock was set back";

    /// How near an acknowledgment is to the data it acknowledges, window and loss in between; one
    /// in 128 is by chance. Matches the directions of tunnelled connections.
    NEAR_SEQUENCE: u32 = 16_777_216 bytes,
        from "statistics",
        larger "joins the directions of two connections; smaller separates those of one";

    /// A larger jump of the sequence number is a forged or damaged segment rather than a gap in the capture.
    MAX_JUMP: i32 = 67_108_864 bytes,
        from "the largest windows in use have 64 MiB",
        larger "believes more damaged segments";

    /// Round trips that differ by less than this in ns and by one of this many parts are about as
    /// long: others were stamped wrong, or elsewhere.
    ABOUT: (i64, i64) = (100_000, 4) ns_and_parts,
        from "judgement",
        larger "believes more wrong stamps";

    /// Round trips that one much shorter stamp does not outweigh.
    OUTWEIGHED_STAMP: u8 = 4 samples,
        from "judgement",
        larger "believes more wrong stamps";

    /// Round trips after which the shortest measured is near the shortest there is.
    KNOWN_ROUND_TRIPS: u16 = 3 samples,
        from "judgement",
        larger "sees less `TCP_NODELAY` from afar";

    /// Part of the round trip as `IN_TRANSIT_ONE_OF`, once `KNOWN_ROUND_TRIPS` were measured.
    HALF_WAY_ONE_OF: i64 = 2 one_of,
        from "derived: one of the two ways of a round trip",
        larger "sees less `TCP_NODELAY` from afar";

    /// How far apart two events must be to tell which of them caused a third, at the sender: a
    /// program wakes up within a millisecond. Data closer together belongs to one burst.
    LOCAL_DISTINCT_NS: i64 = 1_000_000 ns,
        from "measured on Linux 6.18",
        larger "takes more releases for answers to data";

    /// Difference as `LOCAL_DISTINCT_NS`, over a network with its jitter.
    DISTINCT_NS: i64 = 5_000_000 ns,
        from "judgement",
        larger "takes more releases for answers to data";

    /// Part of a program's reactions that are its quickest.
    QUICKEST_ONE_OF: u32 = 20 one_of,
        from "484 of 779 holds by data are below 30 us and a third of it, of 22,601 others 5",
        larger "takes rarer reactions for what a program can do";

    /// Echoed timestamps of pure ACKs that make a habit: the low bits agree by accident once in 65,536 times.
    ECHOES: u8 = 2 ACKs,
        from "statistics",
        larger "knows less of what left before an ACK";

    /// Segments that may skip IP IDs where a host counts this connection alone, as Linux does. A counter
    /// shared by all connections skips in most, a random one in all; no useful capture lacks a quarter.
    SKIPS_ONE_OF: u32 = 4 one_of,
        from "Linux, inet_id",
        larger "knows less of captures that lack many frames";

    /// Segments of one length in the middle of messages that make this the MSS: one may be cut by a
    /// program that announces more (`MSG_MORE`).
    CUTS: u8 = 2 segments,
        from "judgement",
        larger "knows the MSS of fewer connections without a handshake, and of paths that carry less";

    /// Cut segments as `CUTS`, of another length, until a path is believed to carry more or less than before.
    MOST_CUTS: u8 = 8 segments,
        from "judgement",
        larger "learns later that the path has changed";

    /// Waits kept per direction that may be holds on an unknown path, or that are late even for the
    /// path's jitter, but no later than this host reacted just before. A program's rhythm looks
    /// like the former, and memory must not grow with it.
    MOST_UNKNOWN: u8 = 64 waits,
        from "memory: 48 bytes each",
        larger "finds more holds of long captures without a handshake, and on bad paths";

    /// Part of the round trip by which a longer one is jitter, at most: more is a delayed ACK or a queue.
    LATE_ONE_OF: i64 = 2 one_of,
        from "below `SHORTEST_DELAYED_ACK_NS` up to 20 ms, Linux `TCP_DELACK_MIN` up to 80 ms",
        larger "knows less jitter of long paths";

    /// The longest that packets overtake each other.
    REORDER_NS: i64 = 3_000_000 ns,
        from "Wireshark's limit for out-of-order segments",
        larger "takes fast retransmissions for reordering";

    /// The longest that packets overtake each other however short the round trip. Without a
    /// timestamp or an IP ID: a copy follows its frame this fast, and no retransmission does.
    LEAST_REORDER_NS: i64 = 200_000 ns,
        from "judgement",
        larger "takes fast retransmissions on short paths for reordering, and for copies";

    /// Newer packets of its sender after which a copy may come: mirror ports and queues hold a few dozen.
    COPY_IDS: u16 = 64 packets,
        from "judgement",
        larger "takes retransmissions of hosts that count IDs slowly for copies";

    /// The first retransmission timeout, before a round trip was measured: 1 s, less what clocks
    /// and timers are off.
    FIRST_RTO_NS: i64 = 900_000_000 ns,
        from "RFC 6298, section 2.1",
        larger "takes SYNs that were sent again for copies";

    /// A pause, with everything acknowledged, after which a sender begins another message: what it sends by
    /// a timer of a second is no part of the message before.
    MESSAGE_PAUSE_NS: i64 = 900_000_000 ns,
        from "judgement",
        larger "takes the time between messages that nobody asked for for latency";

    /// Round trips after which a debt at the end of a connection is late: before, it may be on its way.
    OPEN_ROUND_TRIPS: i64 = 4 round_trips,
        from "derived: the way there and back, twice over for a queue",
        larger "misses hangs just before the end of a capture";

    /// The initial window. More in flight proves that the congestion window has grown.
    INITIAL_WINDOW_SEGMENTS: u32 = 10 segments,
        from "RFC 6928",
        larger "takes more full congestion windows for holds";

    /// Packets without a pause longer than this part of the round trip left in one burst.
    BURST_ONE_OF: i64 = 2 one_of,
        from "judgement",
        larger "sees smaller flights far from the sender, and takes full windows for holds";
}

/// Waits of at least this length are judged by each other alone, whatever `--min-wait` lists: a program that
/// writes every few milliseconds would outvote them.
pub use SHORTEST_DELAYED_ACK_NS as EVIDENCE_NS;
