//! Sums over the connections of a scan.

use crate::capture::times::sum_ns;
use crate::judge::doubts::{DOUBTS, Doubt, Hidden};
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::finding::verdict::Verdict;
use crate::judge::findings::{Finding, Findings};
use crate::judge::model::Confidence;
use crate::result::sums::{Sum, sums};

sums! {
    /// Sums over connections.
    pub struct Totals {
        pub stalls: u64,
        pub stalled_ns: i64,
        pub exchanges: u64,
        /// Cost of the stalls, by the verdict on their connections, stalls or possible.
        costs: [Cost; 2],
        pub by_confidence: ByConfidence,
        /// Connections that are clean, and those among them that may hold something shorter.
        pub clean: u64,
        pub unproven: u64,
        /// Clean connections, by side: how often it could have stalled, and how many have data of it, unless
        /// `TCP_NODELAY` was in effect; on how many of these some of that was acknowledged.
        pub opportunities: [u64; 2],
        pub undecided: [u64; 2],
        pub acked: [u64; 2],
        /// Connections that cannot be judged, by [`Hidden`].
        pub hidden: [u64; Hidden::COUNT],
        /// Holds too short to be listed, the part of them that lies in exchanges, and the latency
        /// of all exchanges of their connections.
        pub short_holds: u64,
        pub short_ns: i64,
        pub short_latency_ns: i64,
        /// Connections with data and without a captured handshake.
        pub without_handshake: u64,
        /// Connections among them without a SYN of either end: which is the server, only their ports tell.
        pub guessed_servers: u64,
    }
}

sums! {
    /// Connections with stalls, their exchanges, the latencies' sum, and what stalls took of it.
    #[derive(Copy)]
    pub struct Cost {
        pub connections: u64,
        pub exchanges: u64,
        pub latency_ns: i64,
        pub stalled_ns: i64,
    }
}

sums! {
    /// Stalls and their waits by [`Confidence`].
    #[derive(Copy)]
    pub struct ByConfidence {
        pub stalls: [u64; 3],
        pub stalled_ns: [i64; 3],
    }
}

impl ByConfidence {
    /// Counts the stalls among `findings`.
    pub fn of(findings: Findings<'_>) -> Self {
        let mut sums = Self::default();
        findings.stalls().for_each(|stall| _ = sums.add(&stall));
        sums
    }

    /// Adds a stall, and tells how sure it is.
    #[inline]
    pub fn add(&mut self, stall: &Finding<'_>) -> Confidence {
        let confidence = stall.confidence();
        self.stalls[confidence as usize] += 1;
        let sum_ns = &mut self.stalled_ns[confidence as usize];
        *sum_ns = sum_ns.saturating_add(stall.lost_ns());
        confidence
    }

    /// All stalls, and the time they lost.
    pub fn total(&self) -> (u64, i64) {
        (self.stalls.iter().sum(), sum_ns(self.stalled_ns))
    }

    /// The confidence of the surest.
    pub fn surest(&self) -> Confidence {
        match self.stalls {
            [_, 0, 0] => Confidence::Possible,
            [_, _, 0] => Confidence::Likely,
            _ => Confidence::Certain,
        }
    }

    /// Likely and certain stalls, and the time they lost: possible ones do not count beside them.
    pub fn sure(&self) -> (u64, i64) {
        let [_, likely, certain] = self.stalls;
        let [_, likely_ns, certain_ns] = self.stalled_ns;
        (likely + certain, likely_ns.saturating_add(certain_ns))
    }

    /// Orders sums of stalls: those with sure ones first, then by the time that counts.
    pub fn order(&self) -> (bool, i64) {
        let (sure, sure_ns) = self.sure();
        (sure == 0, -if sure > 0 { sure_ns } else { self.stalled_ns[0] })
    }
}

impl Totals {
    /// Adds a connection with its findings.
    pub fn add(&mut self, judged: &JudgedConnection, findings: Findings<'_>) {
        if judged.is_copy() {
            self.hidden[Hidden::Copied as usize] += 1;
            return;
        }
        let has_data = judged.halves.iter().any(|end| end.bytes > 0);
        self.exchanges += u64::from(judged.exchanges);
        self.without_handshake += u64::from(!judged.handshake && has_data);
        self.guessed_servers += u64::from(judged.is_server_guessed && has_data);
        match judged.verdict() {
            Verdict::Stalls | Verdict::Possible => self.add_affected(judged, findings),
            Verdict::Inconclusive => self.hidden[judged.hidden as usize] += 1,
            Verdict::Clean => {
                self.clean += 1;
                self.unproven += u64::from(!judged.nothing_held);
                for (side, end) in judged.halves.iter().enumerate() {
                    self.opportunities[side] += u64::from(end.opportunities);
                    let is_undecided = end.bytes > 0 && !end.nagle.is_off();
                    self.undecided[side] += u64::from(is_undecided);
                    self.acked[side] += u64::from(is_undecided && end.is_acked);
                }
                if judged.short.count > 0 {
                    self.short_holds += u64::from(judged.short.count);
                    let short_ns = judged.short.in_exchanges_ns.min(judged.latency_ns);
                    self.short_ns = self.short_ns.saturating_add(short_ns);
                    self.short_latency_ns = self.short_latency_ns.saturating_add(judged.latency_ns);
                }
            }
        }
    }

    fn add_affected(&mut self, judged: &JudgedConnection, findings: Findings<'_>) {
        self.stalls += u64::from(judged.stalls);
        self.stalled_ns = self.stalled_ns.saturating_add(judged.stalled_ns);
        self.by_confidence.add_up(ByConfidence::of(findings));
        self.costs[usize::from(!judged.surely_stalls)].add_up(Cost {
            connections: 1,
            exchanges: judged.exchanges.into(),
            latency_ns: judged.latency_ns,
            stalled_ns: judged.exchanges_stalled_ns,
        });
    }

    /// Do all stalls count, because none is more than possible? Else likely and certain ones do.
    pub fn counts_possible(&self) -> bool {
        self.verdict() != Verdict::Stalls
    }

    /// The connections with stalls that count, and what these cost.
    pub fn cost(&self) -> Cost {
        self.costs[usize::from(self.counts_possible())]
    }

    /// Connections with only possible stalls, where others have certain or likely ones.
    pub fn possible_connections(&self) -> u64 {
        if self.counts_possible() { 0 } else { self.costs[1].connections }
    }

    /// Connections with data that cannot be judged, by the reason.
    pub fn not_judged_by(&self) -> impl Iterator<Item = (Hidden, u64)> {
        let of = |reason: &Doubt| (reason.hidden, self.hidden[reason.hidden as usize]);
        let has_nothing_to_judge = |why| matches!(why, Hidden::NoData | Hidden::Copied);
        let each = DOUBTS.iter().map(of);
        each.filter(move |&(why, count)| count > 0 && !has_nothing_to_judge(why))
    }

    /// How many they are.
    pub fn not_judged(&self) -> u64 {
        self.not_judged_by().map(|(_, count)| count).sum()
    }

    /// Most of the connections with data must be clean, for all of them to be called so.
    pub fn verdict(&self) -> Verdict {
        match self.by_confidence.stalls {
            [0, 0, 0] if self.clean > self.not_judged() => Verdict::Clean,
            [0, 0, 0] => Verdict::Inconclusive,
            [_, 0, 0] => Verdict::Possible,
            _ => Verdict::Stalls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls(possible: u64, likely: u64, certain: u64) -> Totals {
        let by_confidence =
            ByConfidence { stalls: [possible, likely, certain], ..ByConfidence::default() };
        Totals { by_confidence, clean: 9, ..Totals::default() }
    }

    fn hidden(why: Hidden, count: u64) -> [u64; Hidden::COUNT] {
        let mut hidden = [0; Hidden::COUNT];
        hidden[why as usize] = count;
        hidden
    }

    #[test]
    fn only_what_is_at_least_likely_is_a_stall() {
        assert_eq!(stalls(5, 0, 0).verdict(), Verdict::Possible);
        assert_eq!(stalls(5, 1, 0).verdict(), Verdict::Stalls);
        assert_eq!(stalls(0, 0, 1).verdict(), Verdict::Stalls);
        assert_eq!(stalls(0, 0, 0).verdict(), Verdict::Clean);
    }

    #[test]
    fn a_capture_is_clean_if_most_of_it_can_be_judged() {
        let verdict = |clean, why, count| {
            Totals { clean, hidden: hidden(why, count), ..Totals::default() }.verdict()
        };
        assert_eq!(verdict(2, Hidden::OneDirection, 1), Verdict::Clean);
        assert_eq!(verdict(2, Hidden::Blurred, 2), Verdict::Inconclusive);
        assert_eq!(verdict(0, Hidden::Nothing, 0), Verdict::Inconclusive);
        // Without data there is nothing to hold.
        assert_eq!(verdict(1, Hidden::NoData, 9), Verdict::Clean);
    }
}
