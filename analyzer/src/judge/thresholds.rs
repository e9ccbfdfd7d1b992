//! The numbers that move verdicts. Each names its reason or source, and which way an error leans: what
//! a larger value would do. `make thresholds` doubles and halves each, and tells what that changes on
//! the labelled captures. Those that the tracker needs as well are in `track`.

/// Timestamps of a frame coming in and of one going out are not taken at the same point of a stack: a
/// release may look this much faster than the round trip. Measured at senders on Linux 6.18.
/// Leans: larger takes more program writes for holds.
pub const EARLY_NS: i64 = 200_000;

/// Round trips from which a path's jitter is known; two samples give no spread.
/// Leans: larger allows early releases on more paths.
pub const ROUND_TRIP_SAMPLES: u16 = 3;

/// No round trip takes longer: the least upper bound of a retransmission timeout (RFC 6298, section 2.5).
/// Leans: larger takes damaged times for slow paths.
pub const LONGEST_RTT_NS: i64 = 60_000_000_000;

/// Nagle's algorithm is at work beyond doubt from this many releases in the band, if they outnumber those
/// near it this many times: then a release in the neighbourhood is a late one.
/// Leans: larger loses late releases of a loaded host.
pub const SECURE_RELEASES: u32 = 5;
pub const SECURE_OVER_NEAR: u32 = 10;

/// No core of a peak is narrower: kernels release within 140 us (p99, Linux 6.18, idle and loaded).
/// Leans: larger rejects peaks that have neighbours.
pub const CORE_NS: i64 = 200_000;

/// How many times a peak must stand above what its neighbourhood makes likely by chance: of Poisson
/// counts, four times the mean is beyond 99.9 % from three events on.
/// Leans: larger rejects true peaks of few events.
pub const PEAK_OVER_CHANCE: f64 = 4.0;

/// What timestamps and scheduling blur in any case, so that no release is closer to its ACK than this.
/// Leans: larger makes single events less certain.
pub const RESOLUTION_NS: i64 = 50_000;

/// A hold alone in its direction is certain if a program would write that close to the ACK once in a
/// thousand times by accident; among others like it, once in a hundred.
/// Leans: larger calls more stalls certain.
pub const CHANCE_ALONE: f64 = 0.001;
pub const CHANCE_AMONG_OTHERS: f64 = 0.01;

/// The usual level of significance: what is more likely by accident is only possible. Of several holds
/// the chances multiply, up to so many: beyond that they are not independent.
/// Leans: larger calls more stalls likely.
pub const CHANCE_LIKELY: f64 = 0.05;
pub const INDEPENDENT_HOLDS: u32 = 4;

/// A clock that steps like this does not tell a release of a kernel (less than 0.2 ms) from a program's pause
/// that ends a little later, however often.
/// Leans: larger calls more stalls of coarse captures likely.
pub const COARSE_CLOCK_NS: i64 = 1_000_000;

/// Two events may have one accident in common, three rarely.
/// Leans: larger doubts more stalls of short connections.
pub const FEW_RELEASES: u32 = 3;

/// Holds for each small segment sent without waiting, from which those are the exception.
/// Leans: larger doubts more stalls of senders that switch `TCP_NODELAY`.
pub const HOLDS_PER_CONTRADICTION: u32 = 10;

/// Where no handshake, reply or prompt ACK shows the round trip, so many releases must agree on it: two
/// may do so by accident, and one always does.
/// Leans: larger loses holds of captures that began late.
pub const AGREEING_RELEASES: usize = 3;

/// Queues fill and radio cells change within seconds: what a host took to react longer ago tells nothing
/// of a release.
/// Leans: larger compares releases with what the path was like before.
pub const NEAR_IN_TIME_NS: i64 = 5_000_000_000;

/// Differences from one reaction to the next, in medians, that a release may be off from one near by, up
/// to one of so many parts of the reaction: more would explain anything.
/// Leans: larger finds more on bad paths, and takes more program writes for holds.
pub const REACTION_SPREADS: i64 = 2;
/// Leans: larger finds less on bad paths.
pub const NEAR_PATH_ONE_OF: i64 = 3;

/// Where releases are looked for near other reactions, they must spread less than the waits themselves, in
/// median deviations: a program that writes after pauses of its own has the ratio 0.67-1.4 there, held
/// segments on paths that vary 0-0.6.
/// Leans: larger takes more periodic programs for holds on bad paths.
pub const STEADIER: f64 = 0.65;

/// Where waits are short after prompt ACKs and long after delayed ones, at most one of so many may be longer
/// than the path explains: a program that pauses now and then makes more.
/// Leans: larger finds less on bad paths.
pub const FOLLOWING_ONE_OF: u32 = 4;

/// Steps of timestamps: 1 ms is Linux since 4.13 (`TCP_TS_HZ`), macOS, FreeBSD and Windows; 4 and 10 ms were
/// the jiffies of Linux before that and 10 ms the tick of older Windows.
pub const TICKS_NS: [i64; 3] = [1_000_000, 4_000_000, 10_000_000];
/// A clock shows its step if it is off by no more than one of so many parts: queues fill meanwhile.
/// Leans: larger knows the step of fewer timestamps.
pub const TICK_OFF_ONE_OF: i64 = 5;

/// Contradictions are looked for among so many neighbouring candidates on each side.
/// Leans: larger blurs the moment when `TCP_NODELAY` was set.
pub const NEIGHBOURS: usize = 8;

/// Contradictions per neighbour, on both sides, from which Nagle was off here: captures and clocks
/// make one in twenty on their own.
/// Leans: larger keeps accidental releases of senders with `TCP_NODELAY`.
pub const CONTRADICTED: f64 = 0.1;

/// Candidates on either side with no contradiction between them, from which Nagle was on here.
/// Leans: larger loses short phases with Nagle on.
pub const QUIET_NEIGHBOURS: usize = 2;

/// Holds and contradictions that come in so many fewer runs than if they mixed, in standard deviations, come
/// in phases: by chance once in a thousand times.
/// Leans: larger loses phases with Nagle on between others.
pub const PHASES_DEVIATIONS: f64 = 3.0;

/// Holds of a phase of its own must be less likely by accident than that a program switches `TCP_NODELAY` off
/// and on again, each once in a thousand connections: most set it once.
/// Leans: larger keeps accidental releases of senders with `TCP_NODELAY`.
pub const SWITCHED_TWICE: f64 = 1e-6;

/// Waits from which their spread can be told from that of their releases, and from which chance alone
/// no longer brings the ratio down much.
/// Leans: larger takes more periodic programs for holds.
pub const RHYTHM_EVENTS: usize = 8;
pub const RHYTHM_MANY: usize = 20;

/// Ratio of the two spreads below which the program keeps the period, of few waits and of many. Of
/// independent delays the sum spreads more than either; true holds measured 0.85 at least.
/// Leans: larger takes more holds for a program's period.
pub const RHYTHM_RATIO: f64 = 0.5;
pub const RHYTHM_RATIO_OF_MANY: f64 = 0.8;

/// Timers of a program are this exact, plus a share of the pause (sleep overhead under load).
/// Leans: larger explains more waits by the program.
pub const PACE_SPREAD_NS: i64 = 2_000_000;
pub const PACE_SPREAD_SHARE: i64 = 20;

/// A single pause counts if it ends this close before the shortest wait: one jiffy at HZ=250, in which a
/// delayed ACK is early or late, and what scheduling adds.
/// Leans: larger explains more waits by the program.
pub const PACE_DISTANCE_NS: i64 = 5_000_000;

/// The least hold worth a report: where a program's own pause leaves less of a wait to Nagle's
/// algorithm, the program is the cause. As long as the shortest delayed ACK.
/// Leans: larger explains more waits by the program.
pub const LEAST_HOLD_NS: i64 = crate::track::SHORTEST_DELAYED_ACK_NS;

/// Needless retransmissions from which they are a habit, and one of how many holds must show it: no
/// network that anybody uses loses a quarter.
/// Leans: larger takes more late ACKs for losses.
pub const NEEDLESS_RESENDS: usize = 3;
pub const NEEDLESS_ONE_OF: usize = 4;

/// Retransmission timers begin between Linux' `TCP_RTO_MIN` of 200 ms and the 1 s of RFC 6298, beside the
/// round trip, and double with each loss.
/// Leans: longer longest ones take more pauses of the program for losses.
pub const SHORTEST_RTO_NS: i64 = crate::track::thresholds::PROBE_NS;
pub const LONGEST_RTO_NS: i64 = 1_000_000_000;

/// What a cork holds leaves so much later than the kernel's timer says: rounded up to ticks, at least 2 ms
/// (a program that sleeps for 200 ms is up to 1.5 ms late), at most two ticks at HZ=100. Waits of one
/// direction differ by less than a tick at HZ=250 from one another.
/// Leans: larger takes more timers of programs for corks; of the first, fewer.
pub const CORK_EARLY_NS: i64 = 2_000_000;
pub const CORK_LATE_NS: i64 = 20_000_000;
pub const CORK_SPREAD_NS: i64 = 4_000_000;

/// Headers of a frame: Ethernet's 14 bytes, IPv4's and TCP's 40 and 12 for timestamps. IPv6 has 20 more, which
/// for the shortest frames that show is within the tolerance below.
pub const FRAME_OVERHEAD_BYTES: i64 = 66;

/// Frames come through a link within this part of what their bytes take; and lengths differ by this ratio,
/// more than twice the tolerance, so that equal distances never fit both.
/// Leans: a larger part loses slow links with jitter; a larger ratio those with frames of similar lengths.
pub const LINK_SPREAD_ONE_OF: i64 = 16;
pub const LINK_LENGTHS_RATIO: (i64, i64) = (5, 4);

/// A program that waits for each ACK sends its next block within this part of the wait after it: 0.3-3 ms
/// after ACKs that were 50 ms late, of one on a phone.
/// Leans: smaller takes more pauses of programs for stop-and-wait.
pub const NEXT_BLOCK_ONE_OF: i64 = 10;

/// Packets lost one after the other from which it is no accident any more, and the timer stands at 31 times
/// its first value.
/// Leans: larger takes more counters of busy hosts for losses.
pub const MOST_LOST: u8 = 5;

/// Missing packets explain a wait if at most one of so many waits of the sender has some: a host that
/// counts the packets of all its connections has some in nearly every wait.
/// Leans: larger leaves more losses before the capture open.
pub const MISSING_ONE_OF: usize = 8;

/// ACKs that this receiver delays nearly as long as retransmission timers run (`TCP_RTO_MIN`, 200 ms).
/// Leans: larger takes more late ACKs for losses.
pub const NEARLY_RTO_NS: i64 = 150_000_000;

/// Mean deviations of the round trip to the receiver that are no delay of its ACK.
/// Leans: larger takes more delayed ACKs for prompt ones.
pub const DELAY_JITTERS: i64 = 2;

/// A host whose share of the round trip is at most a quarter of it is where the capture was taken.
/// Leans: larger says 'between' more often.
pub const CAPTURE_POINT_ONE_OF: i64 = 4;

/// With so many late, uneven releases on a path at least this long, jitter may hide holds: on shorter
/// paths a program's own pauses look like that too.
/// Leans: larger says 'clean' of more blurred connections.
pub const BLURRED_RELEASES: usize = 3;
pub const BLURRED_RTT_NS: i64 = 4_000_000;

/// Data that follows an ACK by more than this is not its doing, even where nothing is known of the path:
/// hosts expect shorter round trips (RFC 6298, section 2.1).
/// Leans: larger says 'clean' of fewer connections without a handshake.
pub const UNKNOWN_RTT_NS: i64 = 1_000_000_000;

/// A clock that ticks as seldom as this hides the shortest waits that are evidence: what is 10 ms long
/// may show as none at all.
/// Leans: larger says 'clean' of more captures with coarse timestamps.
pub const BLINDING_CLOCK_NS: i64 = crate::track::SHORTEST_DELAYED_ACK_NS;

/// A stall shows in three frames. With one byte of so many missing from the capture more than a quarter of
/// all stalls lacks one of them, and a hold that happens once may leave no trace.
/// Leans: larger says 'clean' of fewer captures that lost frames.
pub const LOSSY_ONE_OF: u64 = 10;

/// A late release is about a round trip after the ACK from one of so many parts of it to so many times.
/// Leans: larger says 'clean' of fewer connections.
pub const BLURRED_WITHIN: i64 = 2;

/// A program passes on what arrives within this: waking up, reading and writing take 0.05-0.3 ms on Linux
/// 6.18, up to 3 ms where two cores were overloaded; the next piece behind a delayed ACK comes 40 ms later.
/// Leans: larger takes what comes by chance for what was passed on.
pub const PASS_ON_NS: i64 = 5_000_000;

/// No program wakes up, reads and writes faster: 41 us was the least of plain relays on Linux 6.18, where
/// a kernel sends 5-40 us after an ACK that came in. Two releases of one tick are that close, too.
/// Leans: larger loses relays of fast hosts, and so reports them as senders that hold.
pub const WAKE_NS: i64 = 15_000;

/// Of the sends of a relay at least one of so many follows something of its upstream; what would have come
/// too late for it comes less often than that by this factor.
/// Leans: larger takes more senders for relays; larger takes fewer busy relays for such.
pub const PASSED_ON_ONE_OF: u32 = 2;
pub const PASSED_ON_UNLESS_ONE_OF: u32 = 4;

/// So often it is no accident: of independent connections that wait for 40 ms one in eight ends within
/// [`PASS_ON_NS`] after another.
/// Leans: larger needs more of the same before a relay is known.
pub const PASSED_ON_TIMES: u32 = 3;

/// A direction has the upstream of the other connections to its server, if of those at least one of so many
/// prove it by themselves.
/// Leans: larger takes more connections beside a relay for its own.
pub const PASSED_ON_KNOWN_ONE_OF: u32 = 5;

/// The round trip of a host that calls itself, over loopback or virtual interfaces, is shorter: 5-30 us on
/// Linux 6.18, where a network card alone takes as long.
/// Leans: larger takes neighbours on a fast network for the host itself.
pub const ONE_HOST_RTT_NS: i64 = 100_000;

/// A kernel releases sooner than this after the ACK, where both ends are on one host, but takes so much
/// longer for each frame that it handles between them, when many timers fire in one tick. With that taken
/// off, on Linux 6.18 with up to 200 connections on two cores: of 1,655 directions of senders that hold,
/// 98 % have a lower quartile below 44 us (half of them below 0) and a median below 64 us; of 591 directions
/// of relays (plain ones, nginx, haproxy, socat, stunnel) 98 % above 45 and 70 us.
/// On a faster machine a program reacts as soon as that: there a round trip within the host, which the
/// handshake shows, is the measure. Where it took 3 us (12 us where the times above were measured), 1.9 % of 615
/// directions of relays are below, and 89 % of 24,000 holds.
/// Leans: larger calls more holds certain where a relay may be hidden.
pub const KERNEL_QUARTILE_NS: i64 = 40_000;
pub const KERNEL_MEDIAN_NS: i64 = 50_000;
pub const KERNEL_FRAME_NS: i64 = 8_000;
pub const KERNEL_QUARTILE_RTTS: i64 = 4;
pub const KERNEL_MEDIAN_RTTS: i64 = 6;
pub const KERNEL_RTTS_A_FRAME: (i64, i64) = (4, 3);
/// A clock of 1 us tells no shorter round trip.
pub const SHORTEST_RTT_NS: i64 = 2_000;

/// Ticks at which programs write (`select` and sleeps at HZ=100; Windows' 64 in a second). Of the steps from
/// one pause's end to the next each lies within a twentieth of a tick: by chance one in ten, so of eight
/// none in a hundred millions. One of eight may lie beside them: a timer that was set anew. Steps of one length are no grid but a rhythm.
/// Leans: more pauses and more lengths take fewer programs for ticking; more off takes more.
pub const GRIDS_NS: [i64; 2] = [10_000_000, 15_625_000];
pub const GRID_PAUSES: usize = 8;
pub const GRID_MULTIPLES: usize = 4;
pub const GRID_OFF_ONE_OF: i64 = 20;
pub const GRID_BESIDE_ONE_OF: usize = 8;
