//! Connections in which jitter may hide holds: what cannot be told must not be called clean.

use crate::judge::findings::{Finding, Findings};
use crate::judge::judged::JudgedHalf;
use crate::judge::nodelay::Nagle;
use crate::judge::thresholds::{BLURRED_RELEASES, BLURRED_RTT_NS, BLURRED_WITHIN};
use crate::track::wait::fact;
use crate::track::{SHORTEST_DELAYED_ACK_NS, Side};

/// May jitter hide holds of `side`, where none was found? Its small segments follow late ACKs by about
/// a round trip, but not as evenly as a kernel answers on a steady path.
pub fn hides_holds(halves: &[JudgedHalf; 2], side: Side, findings: Findings<'_>) -> bool {
    let sender = &halves[side as usize];
    let rtt_ns = sender.detail().releases.evidence.band.center_ns;
    let open = sender.nagle == Nagle::Unknown && rtt_ns >= BLURRED_RTT_NS;
    if !open || findings.stalls().next().is_some() {
        return false;
    }
    let late = |finding: &Finding<'_>| {
        let wait = finding.wait;
        let small = wait.has_pure_ack() && wait.is(fact::SMALL) && !wait.is(fact::LONGEST);
        let delay_ns = wait.ack_delay_ns(halves[wait.acknowledged_by() as usize].rtt_ns());
        small && wait.by == side && delay_ns >= SHORTEST_DELAYED_ACK_NS
    };
    let releases = || findings.iter().filter(late).map(|finding| finding.wait.release_ns());
    let about = (rtt_ns / BLURRED_WITHIN)..=(rtt_ns * BLURRED_WITHIN);
    let near = releases().filter(|release_ns| about.contains(release_ns)).count();
    near >= BLURRED_RELEASES && 2 * near > releases().count()
}
