//! Connections in which jitter, or a round trip that nothing shows, may hide holds: what cannot be told
//! must not be called clean.

use crate::judge::findings::{Finding, Findings};
use crate::judge::nagle::nodelay::Nagle;
use crate::judge::path::releases::Releases;
use crate::judge::thresholds::{BLURRED_RTT_NS, BLURRED_WITHIN, FEW_RELEASES};
use crate::track::Side;
use crate::track::wait::fact;

/// May there be holds of `side` where none was found?
pub fn hides_holds(nagle: Nagle, side: Side, findings: Findings<'_>, releases: &Releases) -> bool {
    nagle == Nagle::Unknown
        && findings.stalls().next().is_none()
        && (findings.iter().any(|finding| finding.wait.by == side && finding.may_be_held())
            || jitter_hides(releases, side, findings))
}

/// May jitter hide holds? The sender's small segments follow ACKs by about a round trip, but not as evenly
/// as a kernel answers on a steady path.
fn jitter_hides(releases: &Releases, side: Side, findings: Findings<'_>) -> bool {
    let rtt_ns = releases.band.center_ns;
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
