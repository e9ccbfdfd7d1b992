//! The verdict on one connection, when all of it is known.

pub mod causes;
pub mod evidence;
pub mod median;
pub mod pace;
pub mod releases;
pub mod resent;
pub mod rivals;
pub mod timers;
pub mod variant;
pub mod verdict;

use crate::judge::causes::{Cause, Direction};
use crate::judge::pace::Pace;
use crate::judge::releases::{Candidate, Lock};
use crate::judge::timers::Timer;
use crate::judge::variant::Variant;
use crate::judge::verdict::{CapturePoint, Confidence, Detail, End, Finding, Nagle, Verdict};
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, DEFAULT_MSS, Half, Rarest, SHORTEST_DELAYED_ACK_NS, Side};

/// Judges `connection` by all its `waits`, in the order of their ends, which `findings` are then;
/// the clock behind them ticks every `clock_ns`.
pub fn judge(
    connection: &Connection,
    waits: &[Wait],
    clock_ns: i64,
    findings: &mut Vec<Finding>,
) -> Verdict {
    findings.clear();
    let mut locks = [Lock::default(); 2];
    if !waits.is_empty() {
        let mut judging = Side::BOTH.map(|side| Judgement::new(connection, side, waits, clock_ns));
        findings.extend(waits.iter().map(|wait| judging[wait.by as usize].next(wait)));
        resent::drop_superseded(findings);
        locks = judging.map(|judgement| judgement.direction.lock);
    }
    let stalls = findings.iter().filter(|finding| finding.cause.is_stall());
    let (mss, mss_inferred) = connection.effective_mss();
    Verdict {
        id: connection.id,
        ends: Side::BOTH.map(|side| end(connection, side, findings, &locks[side as usize])),
        first_ns: connection.first_ns,
        last_ns: connection.last_ns(),
        mss,
        mss_inferred,
        handshake: connection.has_handshake(),
        capture_point: capture_point(connection),
        exchanges: connection.exchanges.count,
        latency_ns: connection.exchanges.latency_ns,
        first_exchange: connection.first_exchange(),
        stalls: stalls.clone().count() as u32,
        stalled_ns: stalls.clone().map(|finding| finding.wait.wait_ns()).sum(),
        exchanges_stalled_ns: stalls
            .filter(|finding| finding.wait.is(fact::IN_EXCHANGE))
            .map(|finding| finding.wait.wait_ns())
            .sum(),
    }
}

/// What judges the waits of one direction, one after the other.
struct Judgement {
    direction: Direction,
    /// For each wait the lock accepts, in order: was Nagle off around it? Never, where none is left.
    contradicted: std::vec::IntoIter<bool>,
    /// Does the program's own pace explain the waits of this direction?
    paced: bool,
    /// Small segments this sender sent while a small one was unacknowledged.
    contradictions: u32,
    mss_certain: bool,
}

impl Judgement {
    fn new(connection: &Connection, side: Side, waits: &[Wait], clock_ns: i64) -> Self {
        // Mostly one side has all of them: nothing is to be looked for among those of the other.
        let waits = if waits.iter().any(|wait| wait.by == side) { waits } else { &[] };
        let lock = Lock::measure(connection, side, waits, clock_ns);
        let held = || waits.iter().filter(|wait| wait.by == side && lock.holds(wait));
        let receiver = connection.half(side.other());
        let total = connection.half(side).contradictions();
        let candidates: Vec<Candidate> = match total {
            // Then nothing speaks against any.
            0 => Vec::new(),
            _ => held().map(|wait| lock.candidate(wait)).collect(),
        };
        Self {
            direction: Direction {
                lock,
                off_or_paced: false,
                resends_needlessly: resent::is_needless(connection, side, waits, held()),
                receiver_seen: receiver.segments > 0,
                receiver_rtt_ns: known(receiver),
                receiver_jitter_ns: receiver.jitter_ns(),
            },
            contradicted: releases::contradicted(&candidates, total).into_iter(),
            paced: pace::is_periodic(held())
                || Pace::of(side, waits, &lock, &connection.half(side).rarest().pauses)
                    .explains_most(held()),
            contradictions: total,
            mss_certain: !connection.effective_mss().1,
        }
    }

    fn next(&mut self, wait: &Wait) -> Finding {
        let locked = self.direction.lock.holds(wait);
        let nagle_off = locked && self.contradicted.next().unwrap_or(false);
        self.direction.off_or_paced = nagle_off || self.paced;
        let cause = Cause::of(wait, &self.direction);
        Finding { wait: *wait, cause, confidence: self.confidence(wait) }
    }

    /// From the chance that the release met the ACK by accident. Alone, an event is certain if it
    /// happens once in a thousand times by accident; among others like it, once in a hundred.
    fn confidence(&self, wait: &Wait) -> Confidence {
        let lock = &self.direction.lock;
        let chance = lock.chance(wait);
        let doubts = [
            !lock.measured && lock.in_band < 3,
            !wait.is(fact::UNACKED_SMALL) && lock.in_band < 3,
            wait.is(fact::ACK_FIN),
            wait.is(fact::LARGE_FLIGHT),
            !self.mss_certain && wait.len >= DEFAULT_MSS,
            self.direction.receiver_rtt_ns.is_none(),
            wait.is(fact::RESENT),
            self.contradictions > 0 && lock.in_band < 10 * self.contradictions,
        ];
        let doubts = doubts.iter().filter(|&&doubt| doubt).count();
        let rare = if lock.in_band > 1 { 0.01 } else { 0.001 };
        match doubts {
            0 if chance < rare => Confidence::Certain,
            0 | 1 if chance.powi(lock.in_band.clamp(1, 4) as i32) < 0.05 => Confidence::Likely,
            _ => Confidence::Possible,
        }
    }
}

fn end(connection: &Connection, side: Side, findings: &[Finding], lock: &Lock) -> End {
    let half = connection.half(side);
    let one_sided = connection.half(side.other()).segments == 0;
    let (nagle, proof) = match one_sided {
        // Without the receiver's ACKs everything looks unacknowledged.
        true => (Nagle::Unknown, (0, 0)),
        false => nagle(half, side, findings),
    };
    let Rarest { retransmitted, duplicated, reordered, unseen_bytes, .. } = *half.rarest();
    let told = !findings.is_empty()
        || unseen_bytes > 0
        || [retransmitted, duplicated, reordered] != [0; 3];
    // Most ends have nothing to tell.
    let detail = told.then(|| {
        let (variant, variant_proof) = Variant::of(nagle, half, side, findings);
        let delayed_acks = timer(half, side, findings);
        Box::new(Detail {
            variant,
            variant_proof,
            retransmitted,
            duplicated,
            reordered,
            unseen_bytes,
            delayed_acks,
            lock: *lock,
        })
    });
    End {
        endpoint: connection.endpoint(side),
        nagle,
        proof,
        segments: half.segments,
        bytes: half.bytes(),
        rtt_ns: half.rtt_ns,
        detail,
    }
}

pub fn known(half: &Half) -> Option<i64> {
    (half.rtt_ns != i64::MAX).then_some(half.rtt_ns)
}

fn nagle(half: &Half, side: Side, findings: &[Finding]) -> (Nagle, (u64, u64)) {
    let stalls = || {
        findings
            .iter()
            .filter(|finding| finding.wait.by == side && finding.cause.is_stall())
            .filter(|finding| finding.confidence > Confidence::Possible)
            .map(|finding| finding.wait)
    };
    let contradictions = half.contradictions();
    // Set in the middle of a connection, as SSH does after the login, TCP_NODELAY stays set.
    let switched_off =
        contradictions as usize > stalls().count() && stalls().all(|wait| wait.contradictions == 0);
    match stalls().next() {
        Some(wait) if !switched_off => (Nagle::On, (wait.ack.frame, wait.to.frame)),
        None if contradictions == 0 => (Nagle::Unknown, (0, 0)),
        _ => (Nagle::Off, half.rare().contradiction),
    }
}

/// The delays of `side`'s ACKs: those that held something back if there are any, else all that
/// ended a wait or that nothing followed.
fn timer(half: &Half, side: Side, findings: &[Finding]) -> Option<Timer> {
    let delay_ns = |finding: &Finding| finding.wait.ack_delay_ns(known(half));
    let late = |finding: &&Finding| {
        let wait = &finding.wait;
        wait.acknowledged_by() == side
            && wait.is(fact::PURE_ACK)
            // Cut short: the timer is longer than that. Or picked for its length.
            && !wait.has_any(fact::RESENT | fact::LONGEST)
            && delay_ns(finding) >= SHORTEST_DELAYED_ACK_NS
    };
    let delays = |stalls_only: bool| {
        let chosen = findings
            .iter()
            .filter(late)
            .filter(|finding| !stalls_only || finding.cause == Cause::NagleDelack);
        Timer::of(&mut chosen.map(delay_ns).collect::<Vec<i64>>())
    };
    delays(true).or_else(|| delays(false))
}

/// The end whose share of the round trip is (nearly) nothing is where the capture was taken.
pub fn capture_point(connection: &Connection) -> CapturePoint {
    let [client, server] = connection.halves.each_ref().map(known);
    let (Some(client), Some(server)) = (client, server) else {
        return CapturePoint::Unknown;
    };
    let quarter = (client + server) / 4;
    match (client <= quarter, server <= quarter) {
        _ if connection.is_loopback() => CapturePoint::Unknown,
        (true, false) => CapturePoint::Client,
        (false, true) => CapturePoint::Server,
        _ => CapturePoint::Between,
    }
}
