//! The numbers that verdicts depend on. Those that the tracker needs as well are in `track::thresholds`.

use crate::thresholds::thresholds;

thresholds! {
    /// How much faster than the round trip a release may look: incoming and outgoing frames are stamped at
    /// different points of the stack. The narrowest core of a peak, too: kernels release within 140 us (p99,
    /// idle and loaded).
    EARLY_NS: i64 = 200_000 ns,
        from "measured at senders on Linux 6.18",
        larger "takes more program writes for holds, but rejects peaks that have neighbours";

    /// Releases in the band that prove Nagle's algorithm: then one in the neighbourhood is a late release.
    SECURE_RELEASES: u32 = 5 releases,
        from "judgement",
        larger "loses late releases of a loaded host";

    /// How many times more releases in the band than near it prove Nagle's algorithm.
    SECURE_OVER_NEAR: u32 = 10 times,
        from "judgement",
        larger "loses late releases of a loaded host";

    /// How many times a peak must exceed what chance makes of its neighbourhood: four times the mean of Poisson
    /// counts is beyond 99.9 % from three events on.
    PEAK_OVER_CHANCE: f64 = 4.0 times,
        from "statistics",
        larger "rejects true peaks of few events";

    /// What timestamps and scheduling always blur: no release counts as closer to its ACK than this.
    RESOLUTION_NS: i64 = 50_000 ns,
        from "judgement",
        larger "makes single events less certain";

    /// A hold that is alone in its direction is certain below this chance of a program writing that close to
    /// the ACK by accident.
    CHANCE_ALONE: f64 = 0.001 chance,
        from "judgement",
        larger "calls more stalls certain";

    /// As `CHANCE_ALONE`, for a hold among others like it.
    CHANCE_AMONG_OTHERS: f64 = 0.01 chance,
        from "judgement",
        larger "calls more stalls certain";

    /// Above this chance of an accident a stall is only possible.
    CHANCE_LIKELY: f64 = 0.05 chance,
        from "the usual level of significance",
        larger "calls more stalls likely";

    /// Holds whose chances multiply: more are not independent of each other.
    INDEPENDENT_HOLDS: u32 = 4 holds,
        from "judgement",
        larger "calls more stalls likely";

    /// A clock with steps this coarse cannot tell a kernel's release (within 0.2 ms) from a program's pause that
    /// ends slightly later, however often.
    COARSE_CLOCK_NS: i64 = 1_000_000 ns,
        from "judgement",
        larger "calls more stalls of coarse captures likely";

    /// Fewer events may share one accident; fewer releases may agree on a round trip by accident.
    FEW_RELEASES: u32 = 3 releases,
        from "judgement",
        larger "doubts more stalls of short connections";

    /// Holds for each small segment sent unheld, from which those are exceptions.
    HOLDS_PER_CONTRADICTION: u32 = 10 holds,
        from "judgement",
        larger "doubts more stalls of senders that switch `TCP_NODELAY`";

    /// How far a release may be off a reaction near by, in median differences from one reaction to the next.
    REACTION_SPREADS: i64 = 2 medians,
        from "judgement",
        larger "finds more on bad paths, and takes more program writes for holds";

    /// The most that a release may be off, as a part of the reaction near by: more would explain anything.
    NEAR_PATH_ONE_OF: i64 = 3 one_of,
        from "judgement",
        larger "finds less on bad paths";

    /// Spread of releases against that of the waits themselves, in median deviations, below which they follow the
    /// path: programs with pauses of their own have 0.67-1.4, held segments on varying paths 0-0.6. The reverse, in
    /// standard deviations, is a program's period: held segments have 0.85 at least.
    STEADIER: f64 = 0.65 times,
        from "measured in the lab",
        larger "takes more periodic programs for holds on bad paths";

    /// Waits that may be longer than the path explains where they are short after prompt ACKs and long after
    /// delayed ones: a program that pauses now and then makes more.
    FOLLOWING_ONE_OF: u32 = 4 one_of,
        from "judgement",
        larger "finds less on bad paths";

    /// Waits from which a sender's clock tells whether its pauses follow the ACK: of as many without any relation
    /// one in fourteen correlates by `FOLLOWS_ACK`.
    CLOCK_EVENTS: usize = 12 waits,
        from "statistics",
        larger "finds less on bad paths";

    /// Correlation of a sender's pauses with the times of their ACKs from which they follow those: nothing but
    /// the way of the ACK to the sender differs.
    FOLLOWS_ACK: f64 = 0.45 correlation,
        from "measured on paths with jitter, radio grids and loss",
        larger "finds less on bad paths";

    /// How far off a release may be by the sender's own clock, in median deviations of all: two standard deviations.
    CLOCK_SPREADS: i64 = 3 medians,
        from "statistics",
        larger "takes more pauses of programs for holds on bad paths";

    /// By what part the clocks of two hosts run apart at most: crystals are within 100 ppm each.
    CLOCK_DRIFT: f64 = 2e-4 share,
        from "data sheets of crystals",
        larger "blurs the releases of short connections";

    /// How far off a timestamp clock may be and still show its step: queues fill meanwhile.
    TICK_OFF_ONE_OF: f64 = 5.0 one_of,
        from "judgement",
        larger "knows the step of fewer timestamps";

    /// Neighbouring candidates on each side among which contradictions are looked for.
    NEIGHBOURS: usize = 8 candidates,
        from "judgement",
        larger "blurs the moment when `TCP_NODELAY` was set";

    /// Contradictions per neighbour, on both sides, from which Nagle was off here: artefacts of captures and
    /// clocks alone cause 1 in 20.
    CONTRADICTED: f64 = 0.1 share,
        from "twice the share that artefacts cause",
        larger "keeps accidental releases of senders with `TCP_NODELAY`";

    /// How many fewer runs of holds and contradictions than if they mixed, in standard deviations, make phases:
    /// by chance once in a thousand times.
    PHASES_DEVIATIONS: f64 = 3.0 deviations,
        from "Wald-Wolfowitz runs test",
        larger "loses phases with Nagle on between others";

    /// Waits from which their spread can be told from that of their releases, and pauses that show a program's tick:
    /// each of their steps lies on it by chance one time in ten.
    RHYTHM_EVENTS: usize = 8 waits,
        from "judgement",
        larger "takes more periodic programs for holds";

    /// How exact timers of programs are.
    PACE_SPREAD_NS: i64 = 2_000_000 ns,
        from "judgement",
        larger "explains more waits by the program";

    /// Part of the pause by which its timer may be off besides: the overhead of sleeping under load.
    PACE_SPREAD_SHARE: i64 = 20 one_of,
        from "judgement",
        larger "explains fewer waits by the program";

    /// Holds that must show needless retransmissions: no network in use loses a quarter.
    NEEDLESS_ONE_OF: usize = 4 one_of,
        from "judgement",
        larger "accepts rarer habits, but more of what was sent again must be needless";

    /// How much later than its timer a cork lets go at the earliest: it is rounded up to ticks. Programs that sleep
    /// for 200 ms are up to 1.5 ms late.
    CORK_EARLY_NS: i64 = 2_000_000 ns,
        from "measured on Linux 6.18",
        larger "takes fewer timers of programs for corks";

    /// How far corked waits of one direction differ: less than a tick at HZ=250.
    CORK_SPREAD_NS: i64 = 4_000_000 ns,
        from "Linux, CONFIG_HZ",
        larger "takes more timers of programs for corks";

    /// How closely frames come through a link as their bytes take: this part of it.
    LINK_SPREAD_ONE_OF: i64 = 16 one_of,
        from "judgement",
        larger "misses slow links with jitter";

    /// Part of a wait within which a program that waits for each ACK sends its next block: 0.3-3 ms after ACKs
    /// that were 50 ms late, on a phone.
    NEXT_BLOCK_ONE_OF: i64 = 10 one_of,
        from "a capture of a phone",
        larger "takes fewer pauses of programs for stop-and-wait";

    /// Packets lost one after the other that are still an accident: the timer is then 31 times its first value.
    MOST_LOST: u8 = 5 packets,
        from "judgement",
        larger "takes more counters of busy hosts for losses";

    /// Waits of a sender that may lack packets where those explain a wait: a host that counts packets of all its
    /// connections lacks some in nearly every one.
    MISSING_ONE_OF: usize = 8 one_of,
        from "judgement",
        larger "leaves more losses before the capture open";

    /// ACKs this late are nearly as late as retransmission timers run (`TCP_RTO_MIN`, 200 ms).
    NEARLY_RTO_NS: i64 = 150_000_000 ns,
        from "judgement",
        larger "takes more late ACKs for losses";

    /// Mean deviations of the round trip to the receiver that are not a delayed ACK.
    DELAY_JITTERS: i64 = 2 deviations,
        from "judgement",
        larger "takes more delayed ACKs for prompt ones";

    /// Share of the round trip up to which a host is where the capture was taken.
    CAPTURE_POINT_ONE_OF: i64 = 4 one_of,
        from "judgement",
        larger "says 'between' more often";

    /// The shortest round trip whose jitter may hide holds: on shorter paths, a program's own pauses look the same.
    BLURRED_RTT_NS: i64 = 4_000_000 ns,
        from "judgement",
        larger "says 'clean' of more blurred connections";

    /// A late release is about a round trip after the ACK up to this factor, either way.
    BLURRED_WITHIN: i64 = 2 times,
        from "judgement",
        larger "says 'clean' of fewer connections";

    /// Share of bytes missing from the capture that makes it lossy: a stall shows in three frames, and more than
    /// a quarter then lacks one. A single hold may leave no trace.
    LOSSY_ONE_OF: u64 = 10 one_of,
        from "statistics",
        larger "says 'clean' of fewer captures that lost frames";

    /// How soon a program passes on what arrives: waking up, reading and writing take 0.05-0.3 ms, up to 3 ms on two
    /// overloaded cores. The next piece behind a delayed ACK comes 40 ms later.
    PASS_ON_NS: i64 = 5_000_000 ns,
        from "measured on Linux 6.18",
        larger "takes what comes by chance for what was passed on";

    /// No program wakes up, reads and writes faster: plain relays took 41 us at least, kernels send 5-40 us after an
    /// incoming ACK. Two releases of one tick are that close, too.
    WAKE_NS: i64 = 15_000 ns,
        from "measured on Linux 6.18",
        larger "loses relays of fast hosts, and so reports them as senders that hold";

    /// The longest round trip of a host that calls itself, over loopback or virtual interfaces: 5-30 us. A network
    /// card alone takes as long.
    ONE_HOST_RTT_NS: i64 = 100_000 ns,
        from "measured on Linux 6.18",
        larger "takes neighbours on a fast network for the host itself";

    /// Lower quartile of reactions to an ACK, with both ends on one host, below which the kernel releases. Up to 200
    /// connections on two cores, less `KERNEL_FRAME_NS`: 98 % of 1,655 directions of senders that hold lie below
    /// 44 us (half of them below 0), 98 % of 591 of relays (plain, nginx, haproxy, socat, stunnel) above 45 us.
    KERNEL_QUARTILE_NS: i64 = 40_000 ns,
        from "measured on Linux 6.18",
        larger "calls more holds certain where a relay may be hidden";

    /// How much longer a kernel takes for each frame it handles between ACK and release, when many timers fire in
    /// one tick.
    KERNEL_FRAME_NS: i64 = 8_000 ns,
        from "measured on Linux 6.18",
        larger "calls more holds certain where a relay may be hidden";

    /// As `KERNEL_QUARTILE_NS`, in round trips within the host, for faster machines, whose programs react as soon
    /// as 40 us. At a round trip of 3 us, 1.9 % of 615 directions of relays are below, and 89 % of 24,000 holds.
    KERNEL_QUARTILE_RTTS: i64 = 4 round_trips,
        from "measured on a host with 3 us, against 12 us above",
        larger "calls more holds certain where a relay may be hidden";

    /// As `KERNEL_FRAME_NS`, in round trips within the host.
    KERNEL_RTTS_A_FRAME: (i64, i64) = (4, 3) ratio,
        from "measured on a host with 3 us, against 12 us above",
        larger "calls more holds certain where a relay may be hidden";

    /// A clock of 1 us shows no shorter round trip.
    SHORTEST_RTT_NS: i64 = 2_000 ns,
        from "resolution of pcap timestamps",
        larger "calls more holds certain where a relay may be hidden";

    /// Different lengths of pauses that make a tick: those of one length are a rhythm.
    GRID_MULTIPLES: usize = 4 lengths,
        from "judgement",
        larger "takes fewer programs for ticking";
}

/// The shortest hold worth a report: where a program's own pause leaves less of a wait, the program is the cause.
pub use crate::track::thresholds::SHORTEST_DELAYED_ACK_NS as LEAST_HOLD_NS;

/// A clock that ticks this slowly hides the shortest waits that are evidence.
pub use crate::track::thresholds::SHORTEST_DELAYED_ACK_NS as BLINDING_CLOCK_NS;

/// Round trips from which a path's jitter is known: two give no spread.
pub use crate::track::thresholds::KNOWN_ROUND_TRIPS as ROUND_TRIP_SAMPLES;

/// The shortest retransmission timer of Linux (`TCP_RTO_MIN`), beside the round trip.
pub use crate::track::thresholds::PROBE_NS as SHORTEST_RTO_NS;

/// The longest first retransmission timeout, beside the round trip (RFC 6298, section 2.1): it doubles with each
/// loss.
pub use crate::track::thresholds::LONGEST_DELAYED_ACK_NS as LONGEST_RTO_NS;

/// Steps of timestamps: 1 ms on Linux since 4.13 (`TCP_TS_HZ`), macOS, FreeBSD and Windows; 4 and 10 ms, the
/// jiffies of Linux before that; 10 ms on older Windows.
pub const TICKS_NS: [f64; 3] = [1e6, 4e6, 1e7];

/// Ticks at which programs write: `select` and sleeps at HZ=100, Windows' 64 in a second.
pub const GRIDS_NS: [i64; 2] = [10_000_000, 15_625_000];

/// Headers of a frame: 14 bytes of Ethernet, 40 of IPv4 and TCP, 12 of timestamps. The 20 more of IPv6 are within
/// the tolerance even for the shortest frames that show.
pub const FRAME_OVERHEAD_BYTES: i64 = 66;
