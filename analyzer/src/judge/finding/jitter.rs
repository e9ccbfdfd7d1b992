//! Connections in which jitter, or a round trip that nothing shows, may hide holds: what cannot be told
//! must not be called clean.

use crate::judge::finding::judged::JudgedHalf;
use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::path::releases::Releases;
use crate::judge::path::sender_rtt::Basis;
use crate::judge::thresholds::{BLURRED_RTT_NS, BLURRED_WITHIN, FEW_RELEASES};
use crate::track::Side;
use crate::track::thresholds::LONGEST_DELAYED_ACK_NS;
use crate::track::wait::{Wait, fact};

/// May there be holds of `side` where none was found?
pub fn hides_holds(halves: &[JudgedHalf; 2], side: Side, findings: Findings<'_>) -> bool {
    let sender = &halves[side as usize];
    if sender.nagle != Nagle::Unknown || findings.stalls().next().is_some() {
        return false;
    }
    match sender.detail().releases.evidence.basis {
        Basis::Nothing => findings.iter().any(|finding| may_be_hold(finding.wait, side)),
        _ => jitter_hides(halves, side, findings),
    }
}

/// May this wait of `side` have been a hold, on a path of which nothing is known?
fn may_be_hold(wait: &Wait, side: Side) -> bool {
    wait.by == side
        && wait.is_freed()
        && Releases::may_hold(wait)
        && (0..=LONGEST_DELAYED_ACK_NS).contains(&wait.release_ns())
}

/// May jitter hide holds of `side`? Its small segments follow ACKs by about a round trip, but not as evenly
/// as a kernel answers on a steady path.
fn jitter_hides(halves: &[JudgedHalf; 2], side: Side, findings: Findings<'_>) -> bool {
    let rtt_ns = halves[side as usize].detail().releases.evidence.band.center_ns;
    if rtt_ns < BLURRED_RTT_NS {
        return false;
    }
    let small = |finding: &Finding<'_>| {
        let wait = finding.wait;
        wait.by == side && wait.has_pure_ack() && wait.is(fact::SMALL) && !wait.is(fact::LONGEST)
    };
    let releases = || findings.iter().filter(small).map(|finding| finding.wait.release_ns());
    let about = (rtt_ns / BLURRED_WITHIN)..=(rtt_ns * BLURRED_WITHIN);
    let near = releases().filter(|release_ns| about.contains(release_ns)).count();
    near >= FEW_RELEASES as usize && 2 * near > releases().count()
}
