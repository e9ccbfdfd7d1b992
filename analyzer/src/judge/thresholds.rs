//! The numbers that verdicts depend on. Those that the tracker needs as well are in `track::thresholds`.

use crate::thresholds::thresholds;

thresholds! {
    // Is the algorithm on?
    /// Log-odds that Nagle's algorithm is on, before anything is seen: it is the default, but most
    /// programs that people complain about were told of `TCP_NODELAY` long ago.
    NAGLE_ON: f64 = (-0.5) log_odds,
        from "judged waits of 245 foreign files: from -1 to 0 none becomes falsely sure; at 0 a lone wait may be certain",
        larger "calls more single waits holds";

    /// Chance that `TCP_NODELAY` is set or cleared between two waits: once in the life of a connection.
    SWITCH: f64 = 0.001 chance,
        from "perturbed: at half and at twice of it no more of 16,074 holds with truth are missed, one less is sure",
        larger "lets contradictions speak for their neighbourhood only";

    /// Chance that programs which set `TCP_NODELAY` in the middle do so before the next wait, and clear it.
    SET_LATER: (f64, f64) = (0.05, 0.0005) chance,
        from "judgement: SSH sets it once the session starts",
        larger "keeps single holds beside segments that left unheld";

    /// How many sessions of protocols that are known to set it once they have begun do so, and the
    /// chance for each wait.
    SESSIONS_SET_LATER: (f64, f64) = (0.95, 0.5) chance,
        from "OpenSSH: both ends, once the user is known",
        larger "keeps single holds of SSH beside segments that left unheld";

    /// Chance that programs which toggle `TCP_NODELAY` for each message do so before the next wait.
    TOGGLED: f64 = 0.3 chance,
        from "judgement: once or twice in a message of a few segments",
        larger "keeps holds of programs that toggle the option";

    /// How many directions are of programs that set it later, and, where segments left unheld, of
    /// those that toggle it.
    SWITCHERS: (f64, f64) = (0.1, 0.00001) shares,
        from "judgement; without togglers 5 of 16,074 holds with truth are missed, one connection falsely clean",
        larger "keeps single holds beside segments that left unheld, and accidental releases";

    /// How likely a small segment is seen to leave unheld although the algorithm is on: by
    /// artefacts of captures and clocks; and where most were at least 10 ms late and bytes are
    /// missing, as ACKs that freed them may be.
    CONTRADICTION: (f64, f64) = (0.03, 0.3) chances,
        from "half of the share that artefacts cause among holds, 1 in 20, for each; judgement",
        larger "keeps accidental releases of senders with `TCP_NODELAY`";

    /// Contradictions between two waits that count apart: more come in one burst.
    BURST_CONTRADICTIONS: u32 = 3 segments,
        from "judgement",
        larger "loses more accidental releases of senders that write in bursts";

    /// The exponent by which fewer waits count where a clock rounds them, and what one with steps of
    /// `COARSE_CLOCK_MS` adds to it.
    ROUNDED: (f64, f64) = (0.5, 0.1) exponents,
        from "judgement",
        larger "lets fewer connections of coarse captures become certain";

    /// Shares of waits that are holds while the algorithm is on, equally likely.
    SHARES: [f64; 5] = [0.995, 0.9, 0.5, 0.15, 0.02] shares,
        from "180 captures of a hidden set: 0.02 helps, 0.003 besides does not; judgement",
        larger "calls more waits of programs that also pause holds";

    /// Which part of the evidence of another connection of the same server counts.
    SIBLING: f64 = 0.5 share,
        from "judgement: programs set the option on all their sockets, or on none",
        larger "takes the connections of a server for one";

    /// Least and greatest log-odds that one other connection contributes.
    SIBLING_BOUNDS: (f64, f64) = (-1.0, 3.0) log_odds,
        from "judgement",
        larger "lets one connection speak for a server";

    /// Least and greatest log-odds that all other connections contribute together.
    SIBLINGS_BOUNDS: (f64, f64) = (-1.5, 4.0) log_odds,
        from "judgement",
        larger "lets the others outvote a connection's own waits";

    /// Waits that tell the share of holds at most: messages of a direction are of several kinds,
    /// and the share of each is known no better.
    SHARE_WAITS: f64 = 8.0 waits,
        from "captures with truth: at 0.95-0.98 25 of 777 are false, 24 foretold; without it 74 of 884, 28 foretold",
        larger "calls waits likely that leave as a program would";

    /// Which part of the share of holds on other connections of the same kind counts.
    SHARE_OF_SIBLINGS: f64 = 0.3 share,
        from "judgement",
        larger "takes the connections of a server for one";

    /// A stall that was held with this probability proves that Nagle's algorithm was on.
    SURELY_HELD: f64 = 0.98 chance,
        from "labelled captures: of 5,290 directions 0.97 has one wrong answer, 0.98 none",
        larger "answers fewer times whether `TCP_NODELAY` is set";

    /// Where Nagle's algorithm was on with this probability at the waits of a direction, segments
    /// that left unheld do not prove that `TCP_NODELAY` is set.
    OPEN_ON: f64 = 0.1 chance,
        from "below it other explanations are ten times likelier",
        larger "answers more often that `TCP_NODELAY` is set";

    // The kernel. How soon it releases is said here; all other places refer to it.
    /// The kernel's reaction at the sender's own host: median in ms, and the deviation of its logarithm.
    KERNEL_MS: (f64, f64) = (0.02, 0.8) ms,
        from "1,485 releases on loaded hosts of Linux 6.18: 99.9 % within 70 us",
        larger "takes programs that wake up soon after an ACK for holds";

    /// Kernels' reactions that softirqs make late: part, and mean delay; and those late by a jiffy.
    KERNEL_LATE: [(f64, f64); 2] = [(0.027, 0.1), (0.003, 1.5)] shares_and_ms,
        from "measured on Linux 6.18",
        larger "takes programs that wake up soon after an ACK for holds";

    /// How late releases at the sender itself recur: on containers and busy hosts.
    NEAR_SENDER_MS: f64 = 0.5 ms,
        from "measured on Linux 6.18",
        larger "takes programs that wake up soon after an ACK for holds";

    /// The kernel's reaction: median of lower quartiles, in round trips within the host, and the
    /// deviation of their logarithm.
    KERNEL_QUARTILE: (f64, f64) = (1.5, 0.6) round_trips,
        from "1,655 directions that hold, up to 200 connections on two cores of Linux 6.18",
        larger "calls more holds certain where a relay may be hidden";

    /// How long a kernel is busy with each frame between an ACK and what it released.
    FRAME_MS: f64 = 0.008 ms,
        from "measured on Linux 6.18",
        larger "calls more holds certain where a relay may be hidden";

    // The program.
    /// A pause of this length or shorter is as likely as any of it.
    SHORTEST_PAUSE_MS: f64 = 1.0 ms,
        from "perturbed: twice of it changes nothing in 16,074 holds with truth; waits of evidence take 10 ms",
        larger "takes more program writes for holds";

    /// Octaves of pauses that are equally likely, from 1 ms to 10 s, as a natural logarithm.
    PAUSES: f64 = 9.2 octaves,
        from "derived: the logarithm of 10,000",
        larger "calls more single waits holds";

    /// How soon programs react to data at their own host, where nothing shows it: median in ms, and
    /// the deviation of its logarithm.
    REACTION_MS: (f64, f64) = (0.12, 1.2) ms,
        from "measured on Linux 6.18: 0.03 ms for the quickest server, milliseconds for most handlers",
        larger "takes quicker answers for holds that data released";

    /// Part of programs that react as soon as a kernel: polling or spinning, or within the kernel.
    QUICK_PROGRAM: f64 = 0.03 share,
        from "judgement: one in thirty",
        larger "calls fewer holds that data released likely";

    /// No program wakes up, reads and writes faster: plain relays took 41 us at least. Two releases
    /// of one tick are that close, too.
    WAKE_NS: i64 = 15_000 ns,
        from "measured on Linux 6.18",
        larger "loses relays of fast hosts, and so reports them as senders that hold";

    /// The lower quartile of the reactions of a program that wakes up, reads and writes, in ms.
    WAKE_QUARTILE: (f64, f64) = (0.1, 0.4) ms,
        from "591 directions of relays: plain, nginx, haproxy, socat, stunnel",
        larger "calls more holds certain where a relay may be hidden";

    /// The longest lower quartile of programs that wake up within one host.
    LONGEST_WAKE_MS: f64 = 0.7 ms,
        from "591 directions of relays on Linux 6.18: 0.07-0.4 ms",
        larger "calls fewer stalls certain where two captures were merged";

    /// A reaction that is no later than this many releases in the middle is as quick as a kernel's.
    AS_QUICK: i64 = 3 releases,
        from "judgement",
        larger "calls fewer holds that data released likely";

    /// How soon a program passes on what arrives: waking up, reading and writing take 0.05-0.3 ms,
    /// up to 3 ms on two overloaded cores. The next piece behind a delayed ACK comes 40 ms later.
    PASS_ON_NS: i64 = 5_000_000 ns,
        from "measured on Linux 6.18",
        larger "takes what comes by chance for what was passed on";

    /// The weight of what earlier pauses show, once there are many; and at the sender's own host or
    /// where the round trip is not known: a period looks like one there.
    LEARNT_PAUSES: (f64, f64) = (0.75, 0.85) weights,
        from "calibrated on all labelled captures",
        larger "explains more waits by the program";

    /// Part of a wait within which a program that waits for each ACK sends its next block: 0.3-3 ms
    /// after ACKs that were 50 ms late, on a phone.
    NEXT_BLOCK_ONE_OF: i64 = 10 one_of,
        from "a capture of a phone",
        larger "takes fewer pauses of programs for stop-and-wait";

    /// How much later than its timer a cork lets go at the earliest: it is rounded up to ticks.
    /// Programs that sleep for 200 ms are up to 1.5 ms late.
    CORK_EARLY_NS: i64 = 2_000_000 ns,
        from "measured on Linux 6.18",
        larger "takes fewer timers of programs for corks";

    /// How far corked waits of one direction differ: less than a tick at HZ=250.
    CORK_SPREAD_NS: i64 = 4_000_000 ns,
        from "Linux, CONFIG_HZ",
        larger "takes more timers of programs for corks";

    // The path.
    /// The longest round trip within the sender's own host, or beside it.
    NEAR_RTT_MS: f64 = 0.08 ms,
        from "measured on Linux 6.18",
        larger "compares releases on fast networks with the kernel's reaction alone";

    /// The shortest and the longest round trip within a host by which a kernel's reaction is measured.
    ONE_HOST_MS: (f64, f64) = (0.007, 0.05) ms,
        from "judgement",
        larger "takes slower programs on one host for a kernel";

    /// The longest round trip of a host that calls itself, over loopback or virtual interfaces:
    /// 5-30 us. A network card alone takes as long.
    ONE_HOST_RTT_NS: i64 = 100_000 ns,
        from "measured on Linux 6.18",
        larger "takes neighbours on a fast network for the host itself";

    /// How little a single round trip is believed: n samples weigh n / (n + this). A handshake may be slow
    /// by ARP, by a firewall, or by a peer that acknowledges late; and replies may all have been slow.
    LONE_SAMPLE: (f64, f64) = (0.3, 3.0) samples,
        from "judgement: one sample in four is off where hosts meet for the first time",
        larger "learns paths from releases rather than from handshakes";

    /// Weights of a round trip that only replies show; and that the handshake of another
    /// connection shows, which may be of another capture point.
    KNOWN_LESS: (f64, f64) = (0.8, 0.9) weights,
        from "judgement",
        larger "finds less in captures that begin in the middle, and in merged ones, with fewer false";

    /// From this weight on a round trip is a yardstick: two replies, or one measured otherwise.
    ENOUGH_KNOWN: f64 = 0.3 weight,
        from "derived: `KNOWN_LESS` of two replies is 0.32",
        larger "compares fewer releases with the round trip";

    /// How much sooner than the shortest round trip an ACK may release, besides jitters and a part of it.
    EARLY_MS: f64 = 0.2 ms,
        from "judgement",
        larger "takes more program writes before the round trip for holds";

    /// Part of a round trip by which releases may be early, if few samples show it, and once three do: less
    /// with each more.
    EARLY_ONE_OF: (f64, f64) = (2.0, 12.0) one_of,
        from "judgement",
        larger "takes fewer program writes before the round trip for holds";

    /// How many times as many releases as chance makes must be as quick as a kernel's to show that
    /// its host is here.
    QUICK_BY_CHANCE: f64 = 0.05 times,
        from "judgement",
        larger "finds more senders beside the capture point";

    /// Round trips from which a connection needs no others of its hosts to tell its jitter.
    PATH_SAMPLES: u16 = 8 samples,
        from "statistics: a mean deviation of eight is mostly right within a third",
        larger "asks other connections more often";

    /// Own round trips that weigh as much as the middle and spread of other connections of the hosts.
    OTHERS_WEIGHT: f64 = 3.0 samples,
        from "judgement",
        larger "believes the others for longer";

    /// Part of releases on a path that vary by its jitter, that are late, and that are late by up
    /// to a round trip: queues, scheduling on two hosts. The rest come at the round trip.
    PATH_LATE: [f64; 3] = [0.25, 0.1, 0.02] shares,
        from "measured in the lab",
        larger "finds more on bad paths, and takes more program writes for holds";

    /// By how much a path varies without jitter: on a short one, and from a round trip of 2 ms on.
    PATH_BASE_MS: (f64, f64) = (0.3, 1.0) ms,
        from "judgement",
        larger "finds more on bad paths, and takes more program writes for holds";

    /// Part of a shorter round trip that is added.
    PATH_BASE_ONE_OF: f64 = 3.0 one_of,
        from "derived: leads from one `PATH_BASE_MS` to the other at a round trip of 2 ms",
        larger "finds less on short paths that vary";

    /// Widths of releases at the round trip, and of `PATH_LATE`, in `PATH_BASE_MS` and in jitters.
    PATH_WIDTHS: [(f64, f64); 4] = [(0.05, 0.2), (0.5, 1.0), (2.0, 2.0), (8.0, 0.0)] bases_and_jitters,
        from "judgement",
        larger "finds more on bad paths, and takes more program writes for holds";

    /// Weights of a release behind the shortest round trip, and before it.
    PATH_SIDES: (f64, f64) = (1.4, 0.6) weights,
        from "judgement",
        larger "takes more program writes behind the round trip for holds";

    /// Part of the round trip that queues of a path add.
    QUEUE_ONE_OF: f64 = 4.0 one_of,
        from "judgement",
        larger "finds less on bad paths";

    /// Where the path is unknown: part of releases by a kernel beside the capture point, and of
    /// those within what bounds the round trip; then, where there is no network, part of those by a
    /// kernel, and of late ones.
    UNKNOWN_PATH: [(f64, f64); 2] = [(0.3, 0.7), (0.9, 0.1)] shares,
        from "judgement",
        larger "finds more beside the sender, and less across networks, in captures that begin in the middle";

    /// Where nothing is known, round trips up to here are equally likely, longer ones rarer by the cube.
    LONG_RTT_MS: f64 = 300.0 ms,
        from "judgement",
        larger "finds more behind satellites in captures that begin in the middle";

    /// How far a release may lie beyond what bounds the round trip; how much more rarely, besides
    /// `QUEUE_ONE_OF`; and the room of both.
    BEYOND_BOUND_MS: [f64; 3] = [2.0, 1.0, 7.0] ms,
        from "judgement",
        larger "takes more program writes for holds in captures that begin in the middle";

    /// How possible a release is that the round trip excludes, or what bounds it: clocks and captures err.
    IMPOSSIBLE: (f64, f64) = (1e-3, 1e-4) chances,
        from "judgement",
        larger "takes more program writes for holds";

    /// Spread of a kernel's releases across a path without jitter.
    PATH_SPREAD: (f64, f64) = (0.05, 0.8) ms,
        from "606 directions of holds at a distance: 0.08 ms in the middle",
        larger "calls more late releases likely";

    /// Part of the round trip that a kernel's releases spread besides.
    PATH_SPREAD_ONE_OF: f64 = 100.0 one_of,
        from "judgement",
        larger "calls fewer late releases on long paths likely";

    /// The shortest round trip that may vary so much that holds look like pauses.
    BLURRED_RTT_MS: f64 = 4.0 ms,
        from "judgement",
        larger "says 'clean' of more connections";

    /// A late release is about a round trip after the ACK up to this factor, either way.
    BLURRED_WITHIN: f64 = 2.0 times,
        from "judgement",
        larger "says 'clean' of fewer connections";

    /// Share of the round trip up to which a host is where the capture was taken.
    CAPTURE_POINT_ONE_OF: i64 = 4 one_of,
        from "judgement",
        larger "says 'between' more often";

    // Likelihood ratios, and what is learnt.
    /// The bound of one likelihood ratio, either way: no accident decides by itself.
    BOUND: f64 = 3000.0 times,
        from "judgement",
        larger "lets single waits decide";

    /// The bound where something else makes a sender go on at the moment of an ACK, as often as
    /// not: the program saw a FIN with it, which one in three answers at once; or full-sized
    /// segments filled an initial window.
    RIVALLED: f64 = 2.0 times,
        from "derived: where half of all pauses end at the ACK, too, a hold is at most twice as likely to",
        larger "takes answers to a FIN and full congestion windows for holds";

    /// The bound where nothing but full-sized segments was outstanding: Linux holds no tail behind
    /// them, and a congestion window of two to four segments waits for an ACK, too.
    BEHIND_FULL: f64 = 20.0 times,
        from "judged waits of foreign captures: 3 of 11 false likely ones, 2 of 648 true ones",
        larger "takes full congestion windows for holds";

    /// The bound where data came just before the ACK: one in fifty programs is as quick as a kernel.
    ANSWERS_DATA: f64 = 50.0 times,
        from "judgement",
        larger "takes answers to data for holds";

    /// The bound where no segment of the sender is longer, and neither a handshake nor a message
    /// that was cut shows the MSS: one in twenty of those is full-sized and waited for a window.
    LONGEST_IS_SMALL: f64 = 20.0 times,
        from "judgement: messages longer than the MSS are cut, and then show it",
        larger "takes full windows for holds in captures that begin in the middle";

    /// The weight of what earlier releases show, once there are many.
    LEARNT_HOLDS: f64 = 0.6 weight,
        from "captures joined midway: with 0.8 recall is 0.002 higher, and 1,700 more are false",
        larger "finds more, and takes habits of programs for holds";

    /// From this ratio on, before anything is learnt, a wait tells less of the program's pauses: by the root of
    /// what exceeds it.
    TAUGHT: f64 = 8.0 times,
        from "labelled captures: without it 15 more holds of 15,577 are missed, and 58 fewer are sure",
        larger "takes holds that recur at one place for pauses";

    /// Widths of the histograms in which releases across a network and pauses are learnt, equally likely.
    WIDTHS_MS: [f64; 3] = [0.1, 0.8, 4.0] ms,
        from "judgement",
        larger "learns less from programs and paths that are even";

    /// Widths in ms in which a kernel's releases beside the capture point are learnt, and their weights.
    KERNEL_WIDTHS: [(f64, f64); 2] = [(0.02, 0.7), (0.1, 0.3)] ms_and_weights,
        from "`KERNEL_MS`, `KERNEL_LATE`; judgement",
        larger "takes programs that wake up soon after an ACK for holds";

    /// Events that count as much as what was known of the widths before.
    WIDTHS_KNOWN: f64 = 3.0 events,
        from "judgement",
        larger "learns more slowly how even releases are";

    /// Waits that learn from each other, nearest in time, and those before them from which they learn, too.
    WINDOW: (usize, usize) = (512, 128) waits,
        from "judgement",
        larger "takes longer, and follows programs that change more slowly";

    /// Pauses of other kinds that a window learns from, the ones nearest in time.
    OTHER_PAUSES: usize = 600 pauses,
        from "judgement",
        larger "takes longer";

    /// Pauses of other kinds do not thin out those between data and an ACK by more than this.
    OWN_KIND: f64 = 0.7 share,
        from "judgement",
        larger "explains more waits by the program";

    /// Events after which what they show has half of its weight.
    HALF_LEARNT: f64 = 3.0 events,
        from "judgement",
        larger "learns more slowly";

    /// Rounds in which each wait is judged given all others.
    ROUNDS: u32 = 6 rounds,
        from "most settle after the second, and hardly any moves after the sixth",
        larger "takes longer";

    /// So many times the median answer is late, on a connection with slower ones as well.
    LATE_ANSWERS: i64 = 3 medians,
        from "judgement",
        larger "misses hangs of servers whose answers took as long before";

    /// Fewer events may share one accident; fewer releases may agree on a round trip by accident.
    FEW_RELEASES: u32 = 3 releases,
        from "judgement",
        larger "doubts more stalls of short connections";

    /// How many times a peak must exceed what chance makes of its neighbourhood: four times the
    /// mean of Poisson counts is beyond 99.9 % from three events on.
    PEAK_OVER_CHANCE: f64 = 4.0 times,
        from "statistics",
        larger "rejects true peaks of few events";

    // Relays.
    /// Log-odds of a relay that its own client asks across a network: both timers must fire together.
    RELAY_ASKED: f64 = (-8.0) log_odds,
        from "derived: with e^-7 nothing away from the sender's host can be `CERTAIN`",
        larger "calls fewer stalls certain";

    /// Log-odds of a relay that is asked across a network where its own host is seen: how soon it
    /// reacts tells the rest.
    RELAY_ASKED_HERE: f64 = (-3.0) log_odds,
        from "429 directions that hold react within 0.04 ms, relays from 0.09 ms on; judgement",
        larger "calls fewer stalls of loaded hosts likely";

    /// Log-odds of such a relay where nothing measured the path.
    RELAY_UNTOLD: f64 = (-6.0) log_odds,
        from "derived: e^-6 is more than `CERTAIN` leaves open, so that nothing is certain there",
        larger "calls fewer stalls of captures that begin in the middle certain";

    /// How much less likely a relay is across a network where ACKs came at once: its upstream would
    /// have to wait for just this path's round trip.
    RELAY_PROMPT: f64 = 4.0 log_odds,
        from "a hidden set: 736 more of 9,347 are sure, 25 of them false",
        larger "calls more holds of push servers likely";

    /// The middle half of releases by another host's timers: median of its width in ms, and the
    /// deviation of its logarithm.
    RELAY_SPREAD: (f64, f64) = (1.0, 1.0) ms,
        from "ticks of 1 to 4 ms on two hosts",
        larger "calls fewer late releases on bad paths likely";

    /// Holds from which spread counts in full.
    SPREAD_HOLDS: f64 = 8.0 holds,
        from "judgement",
        larger "calls more late releases of short connections likely";

    /// Kernels of overloaded hosts: the medians of their reactions within a host and of the spread of their
    /// releases across a network, in ms; then how many they are, and the deviation of the logarithm of both.
    SLOW_HOST: [(f64, f64); 2] = [(0.05, 1.0), (0.001, 2.0)] ms_and_share,
        from "judgement",
        larger "takes relays for holds of slow hosts";

    /// Part of a server's holds for which a client asked, from which it is taken to have asked for all.
    ASKED_FOR: f64 = 0.9 share,
        from "judgement: captures lack frames",
        larger "calls more stalls of push servers likely";

    /// Log-odds at most that spread adds to a relay.
    MOST_BY_SPREAD: f64 = 9.0 log_odds,
        from "above `RELAY_ASKED`",
        larger "calls fewer late releases on bad paths likely";

    /// Log-odds of a relay where one host may have both ends, or the server sends more than it is asked for.
    RELAY_LIKELY: f64 = (-0.5) log_odds,
        from "judgement: sidecars and proxies are common there",
        larger "calls fewer stalls of one host likely";

    /// Log-odds that a program which was seen to pass on has passed on this, too: the bytes would have told.
    RELAY_SEEN: f64 = (-3.0) log_odds,
        from "judgement",
        larger "calls fewer stalls of relays likely";

    /// Log-odds of a relay at most, without a witness.
    MOST_RELAY: f64 = 0.2 log_odds,
        from "judgement: nothing certain is lost to a mere possibility",
        larger "loses holds of slow hosts";

    /// Where a relay is as likely as this, advice says so.
    RELAY_NOTED: f64 = 0.05 chance,
        from "what a likely stall may lack",
        larger "says it less often";

    // ACK and retransmission timers.
    /// Delayed-ACK timers: median in ms, and the deviation of its logarithm.
    DELAY_TIMER: (f64, f64) = (42.0, 0.22) ms,
        from "Linux `TCP_DELACK_MIN`, a jiffy at HZ=250",
        larger "takes late paths for timers";

    /// Shares of delays around that, of others from 35 to 250 ms, and of any other
    /// (`LONGEST_DELAYED_ACK_NS`).
    DELAY_TIMER_SHARES: [f64; 3] = [0.7, 0.25, 0.05] shares,
        from "judgement: Windows, macOS, BSD and lwIP in the second; PLCs and slow hosts in the third",
        larger "takes unusual timers for late paths, if the first";

    /// The others: timers that stacks are known to have.
    DELAY_KNOWN_MS: (f64, f64) = (35.0, 260.0) ms,
        from "Linux `TCP_DELACK_MIN`, less a jiffy at HZ=250; lwIP `TCP_TMR_INTERVAL`",
        larger "takes unusual timers for late paths";

    /// Ticks on which kernels run timers: HZ of 250 and 100. Of 1 ms, radio and polling have ticks, too.
    TICKS_MS: [f64; 2] = [4.0, 10.0] ms,
        from "Linux `CONFIG_HZ`",
        larger "-";

    /// Which part of a tick a timer may be late to count as on it: by chance one ACK in twenty is.
    TICK_ONE_OF: f64 = 40.0 one_of,
        from "captured at the receiver: 18 of 18 ACKs within 0.02 ms of ticks of 4 ms",
        larger "sees ticks only where the capture was taken at the receiver";

    /// ACKs further apart show no ticks: two clocks of one host may run apart by 50 ppm.
    TICKS_APART_NS: i64 = 1_000_000_000 ns,
        from "derived: then clocks drift by half of what `TICK_ONE_OF` allows at ticks of 4 ms",
        larger "takes clocks that run apart for paths";

    /// ACKs that are on ticks, more than those that are equally late.
    TICKS_SEEN: i32 = 4 ACKs,
        from "derived: by chance once in twenty to the power of four",
        larger "leaves it open more often whether ACKs were delayed";

    /// Part of prompt ACKs that a queue delays, and across a network before any round trip is known.
    QUEUED: (f64, f64) = (0.02, 0.3) shares,
        from "judgement",
        larger "takes timers for late paths";

    /// How long a queue delays on average, besides `QUEUE_ONE_OF`.
    QUEUE_MS: f64 = 2.0 ms,
        from "judgement",
        larger "takes timers for late paths";

    /// Mean excess of other ACKs, at least and at most: within a host, and across a network.
    ACK_SPREAD_MS: [(f64, f64); 2] = [(0.1, 0.5), (0.3, 12.0)] ms,
        from "judgement",
        larger "takes timers for late paths";

    /// ACKs that count as much as the measured jitter: at least, and what its samples add at most.
    ACK_SPREAD_KNOWN: (u16, u16) = (2, 40) ACKs,
        from "judgement",
        larger "learns the spread of a path more slowly";

    /// Timers are no shorter: the shortest that can be set fires after 13.9 ms, the least known is 10 ms.
    DELAY_SHORTEST_MS: f64 = 7.5 ms,
        from "measured on Linux 6.18",
        larger "takes short delays for the path";

    /// ACKs this late are nearly as late as retransmission timers run (`TCP_RTO_MIN`, 200 ms).
    NEARLY_RTO_NS: i64 = 150_000_000 ns,
        from "three quarters of Linux `TCP_RTO_MIN`",
        larger "takes more late ACKs for losses";

    /// Holds that must show needless retransmissions: no network in use loses a quarter.
    NEEDLESS_ONE_OF: usize = 4 one_of,
        from "judgement",
        larger "accepts rarer habits, but more of what was sent again must be needless";

    // Clocks and copies.
    /// A clock with steps as coarse as this cannot tell a kernel's release from a program's pause
    /// that ends slightly later, however often.
    COARSE_CLOCK_MS: f64 = 1.0 ms,
        from "judgement",
        larger "calls more stalls of coarse captures likely";

    /// No stall is surer by a clock with steps of half a `COARSE_CLOCK_MS`, or coarser.
    MOST_BY_COARSE_CLOCK: f64 = 0.998 chance,
        from "below `CERTAIN`",
        larger "calls stalls of coarse captures certain";

    /// A wait of fewer steps of a coarse clock is no surer to be a stall.
    FEW_STEPS: (f64, f64) = (2.5, 0.94) steps_and_chance,
        from "derived: a wait of two steps may be just longer than one",
        larger "calls fewer short stalls of coarse captures likely";

    /// A clock with longer steps does not tell a kernel from a program that answers data.
    EXACT_CLOCK_NS: i64 = 10_000 ns,
        from "half of `KERNEL_MS`",
        larger "looks for holds that data released in more captures";

    /// strace may hold up a call that it has stamped by this.
    STRACE_LAG_NS: i64 = 10_000_000 ns,
        from "judgement",
        larger "believes more of a trace with lines missing";

    /// How much larger the evidence by the sender's clock must be: it is looked at besides.
    CLOCK_COST: f64 = 1.0 log_odds,
        from "two ways to look find more by accident: nearly three times",
        larger "finds less on bad paths";

    /// Waits from which a sender's clock is asked for pauses after the ACK, and its drift is fitted.
    CLOCK_EVENTS: (usize, usize) = (6, 20) waits,
        from "statistics",
        larger "finds less on bad paths";

    /// Widths in which its releases and pauses are learnt, equally likely: of this many ticks, and ms more.
    SENDER_WIDTHS: [(f64, f64); 3] = [(1.0, 0.0), (3.0, 1.0), (1.0, 6.0)] ticks_and_ms,
        from "judgement",
        larger "finds less on bad paths";

    /// By what part the clocks of two hosts run apart at most: crystals are within 100 ppm each.
    CLOCK_DRIFT: f64 = 2e-4 share,
        from "data sheets of crystals",
        larger "blurs the releases of short connections";

    /// How far off a timestamp clock may be and still show its step: queues fill meanwhile.
    TICK_OFF_ONE_OF: f64 = 5.0 one_of,
        from "judgement",
        larger "knows the step of fewer timestamps";

    /// How far apart a packet is captured on its way through one host or its NAT: bridges and veth pairs take
    /// 0.01-0.1 ms, a busy host a time slice.
    COPY_LAG_NS: i64 = 10_000_000 ns,
        from "Linux, sysctl_sched_base_slice: about three slices of some 3 ms",
        larger "takes replays of a recorded connection for the connection itself";

    // Answers.
    /// A stall is certain from this probability on.
    CERTAIN: f64 = 0.999 chance,
        from "calibrated on all labelled captures: 99.9 % are true",
        larger "calls fewer stalls certain";

    /// A stall is likely from this probability on.
    LIKELY: f64 = 0.95 chance,
        from "calibrated on all labelled captures",
        larger "calls fewer stalls likely";

    /// A stall is possible from this probability on.
    POSSIBLE: f64 = 0.4 chance,
        from "calibrated on all labelled captures",
        larger "tells of fewer possible stalls";

    /// A release and a pause that are as likely as this for a hold, or likelier, leave it open what
    /// a wait was where the round trip is not known: both may be as even.
    OPEN_RATIO: f64 = 0.3 times,
        from "the weight of what is learnt of holds over that of pauses, halved",
        larger "says 'clean' of more connections";

    /// The sum of what waits leave open from which a connection without a stall is not called
    /// clean: half a hold. Half of that leaves it open whether a program paused.
    OPEN_HOLDS: f64 = 0.5 holds,
        from "judgement",
        larger "says 'clean' of more connections";

    /// Late ACKs before the last one of a capture that released nothing: so the last one probably did not,
    /// either (by the rule of succession, in nine of ten captures).
    RELEASED_NOTHING: u8 = 8 acks,
        from "statistics",
        larger "leaves more captures inconclusive that end with a late ACK";

    /// Share of bytes missing from the capture that makes it lossy: a stall shows in three frames,
    /// and more than a quarter then lacks one. A single hold may leave no trace.
    LOSSY_ONE_OF: u64 = 10 one_of,
        from "statistics",
        larger "says 'clean' of fewer captures that lost frames";
}

/// A clock that ticks this slowly hides the shortest waits that are evidence.
pub use crate::track::thresholds::SHORTEST_DELAYED_ACK_NS as BLINDING_CLOCK_NS;

/// The shortest retransmission timer of Linux (`TCP_RTO_MIN`), beside the round trip.
pub use crate::track::thresholds::PROBE_NS as SHORTEST_RTO_NS;

/// Steps of timestamps: 1 ms on Linux since 4.13 (`TCP_TS_HZ`), macOS, FreeBSD and Windows; 4 and 10 ms, the
/// jiffies of Linux before that; 10 ms on older Windows.
pub const TICKS_NS: [f64; 3] = [1e6, 4e6, 1e7];

/// The coarsest of them that is finer than the paths that it is asked about.
pub const COARSEST_TICK_NS: f64 = TICKS_NS[1];
