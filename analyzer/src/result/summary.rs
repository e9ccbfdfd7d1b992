//! A scan in a few rows: what the terminal report says.

use crate::capture::InputEnd;
use crate::decode::Skip;
use crate::judge::causes::Cause;
use crate::judge::confidence::Confidence;
use crate::judge::findings::Finding;
use crate::judge::judged::JudgedConnection;
use crate::result::scan::Scan;
use crate::track::CaptureSummary;
use crate::track::Side;
use crate::track::wait::fact;

/// Indices of the affected connections, the worst first, at most `limit`.
pub fn affected(scan: &Scan, limit: usize) -> Vec<usize> {
    let order = |index: &usize| (-scan.connections[*index].stalled_ns, *index);
    first_by_key(scan.affected().collect(), limit, order)
}

/// The first `limit` of `rows` in the order of their keys, which all differ.
pub fn first_by_key<T, K: Ord>(mut rows: Vec<T>, limit: usize, key: impl Fn(&T) -> K) -> Vec<T> {
    if limit < rows.len() {
        rows.select_nth_unstable_by_key(limit, &key);
        rows.truncate(limit);
    }
    rows.sort_unstable_by_key(key);
    rows
}

/// The stall to show: of the cause and the side that cost most, the surest, and among those the
/// one released closest to its ACK.
pub fn clearest(scan: &Scan) -> Option<(&JudgedConnection, Finding<'_>)> {
    let main = costliest(scan.findings.iter());
    let all = scan.affected().flat_map(|index| {
        let judged = &scan.connections[index];
        scan.findings_of(index).iter().map(move |finding| (judged, finding))
    });
    all.filter(|(_, finding)| finding.cause.is_stall())
        .min_by_key(|(judged, finding)| (kind(*finding) != main, clearness(judged, *finding)))
}

/// The stalls of the connection with this index, those of the costliest cause and side first, then
/// the clearest.
pub fn clearest_of(scan: &Scan, index: usize, limit: usize) -> Vec<Finding<'_>> {
    let judged = &scan.connections[index];
    let findings = scan.findings_of(index).iter();
    let main = costliest(findings.clone());
    let mut stalls: Vec<_> = findings.filter(|finding| finding.cause.is_stall()).collect();
    stalls.sort_by_key(|finding| (kind(*finding) != main, clearness(judged, *finding)));
    stalls.truncate(limit);
    stalls
}

type Kind = (Cause, Side);

fn kind(finding: Finding<'_>) -> Kind {
    (finding.cause, finding.wait.by)
}

/// The kind of stall that costs most; of two, that which a headline names first.
fn costliest<'a>(findings: impl Iterator<Item = Finding<'a>>) -> Kind {
    const KINDS: [Kind; 4] = [
        (Cause::NagleDelack, Side::Client),
        (Cause::NagleDelack, Side::Server),
        (Cause::NagleRtt, Side::Client),
        (Cause::NagleRtt, Side::Server),
    ];
    let mut lost_ns = [0_i64; KINDS.len()];
    for finding in findings.filter(|finding| finding.cause.is_stall()) {
        let index = 2 * usize::from(finding.cause == Cause::NagleRtt) + finding.wait.by as usize;
        lost_ns[index] = lost_ns[index].saturating_add(finding.wait.wait_ns());
    }
    let most = (0..KINDS.len()).min_by_key(|&index| -lost_ns[index]).unwrap_or(0);
    KINDS[most]
}

fn clearness(
    judged: &JudgedConnection,
    finding: Finding<'_>,
) -> (std::cmp::Reverse<Confidence>, i64, u64) {
    let releases = &judged.half(finding.wait.by).detail().releases;
    let off_ns = (finding.wait.release_ns() - releases.band.center_ns).abs();
    (std::cmp::Reverse(finding.confidence()), off_ns, finding.wait.to.frame)
}

/// Waits of one cause and side: how many, how long in all, and the longest; in ns.
#[derive(Debug, Clone, Copy)]
pub struct CauseTotal {
    pub cause: Cause,
    pub by: Side,
    pub waits: u64,
    pub total_ns: i64,
    pub longest_ns: i64,
}

/// All listed waits by cause and by who ended them, in the order of the causes.
pub fn causes(scan: &Scan) -> Vec<CauseTotal> {
    let mut totals: Vec<CauseTotal> = Vec::new();
    for finding in scan.findings.iter() {
        let (cause, by, wait_ns) = (finding.cause, finding.wait.by, finding.wait.wait_ns());
        let known = totals.iter_mut().find(|total| (total.cause, total.by) == (cause, by));
        match known {
            Some(total) => {
                total.waits += 1;
                total.total_ns = total.total_ns.saturating_add(wait_ns);
                total.longest_ns = total.longest_ns.max(wait_ns);
            }
            None => totals.push(CauseTotal {
                cause,
                by,
                waits: 1,
                total_ns: wait_ns,
                longest_ns: wait_ns,
            }),
        }
    }
    totals.sort_by_key(|total| (total.cause as u8, total.by as u8));
    totals
}

/// The longest waits that are no stalls; those of idle clients last, since they are no problem.
pub fn longest_waits(scan: &Scan, limit: usize) -> Vec<(&JudgedConnection, Finding<'_>)> {
    let waits: Vec<_> = scan
        .connections
        .iter()
        .enumerate()
        .flat_map(|(index, judged)| {
            scan.findings_of(index).iter().map(move |finding| (judged, finding))
        })
        .filter(|(_, finding)| !finding.cause.is_stall())
        .collect();
    let order = |(_, finding): &(&JudgedConnection, Finding<'_>)| {
        let wait = finding.wait;
        let idle_client = wait.by == Side::Client
            && finding.cause == Cause::SenderApp
            && !wait.is(fact::OWN_DATA_BEFORE);
        (idle_client, -wait.wait_ns(), wait.to.frame, wait.by as u8)
    };
    first_by_key(waits, limit, order)
}

impl CaptureSummary {
    pub fn is_complete(&self) -> bool {
        self.end == InputEnd::Complete
    }
}

/// What a reader of the report must know of a capture: how it ended, and the frames not used.
pub fn warnings(capture: &CaptureSummary) -> Vec<String> {
    let read = capture.packets;
    let mut warnings = match &capture.end {
        InputEnd::Complete if read == 0 => vec!["the capture holds no packets".to_owned()],
        InputEnd::Complete => Vec::new(),
        InputEnd::Cut => vec![format!(
            "the capture is cut off in the middle of a record after frame {read}; everything before it was analysed"
        )],
        InputEnd::Damaged(what) => vec![format!(
            "the capture is damaged after frame {read}: {what}; everything before it was analysed"
        )],
        InputEnd::Failed(error) => vec![format!(
            "reading failed after frame {read}: {error}; everything before it was analysed"
        )],
        InputEnd::Stopped(stopped) => {
            let packets = capture.first_frame - 1 + read;
            vec![format!(
                "interrupted after {packets} packets, {stopped}; the rest was not analysed"
            )]
        }
    };
    let skipped = Skip::ALL.iter().filter(|skip| capture.skipped[**skip as usize] > 0);
    warnings.extend(skipped.map(|skip| {
        format!("{} of {read} frames not used: {}", capture.skipped[*skip as usize], skip.reason())
    }));
    warnings
}
