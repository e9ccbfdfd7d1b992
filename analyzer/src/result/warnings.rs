//! Warnings: the facts about a capture without which its report misleads.

use crate::capture::InputEnd;
use crate::capture::times::DAY_NS;
use crate::decode::{Skip, filter};
use crate::pieces::Grouped;
use crate::track::reader::capture_summary::CaptureSummary;
use texts::AboutText;

impl CaptureSummary {
    pub fn is_complete(&self) -> bool {
        self.end == InputEnd::Complete
    }
}

/// A warning, in one sentence.
pub struct Warning {
    pub text: String,
    /// Is a part of the capture missing? Then no verdict stands without it.
    pub is_loss: bool,
}

/// How a capture ended, if not well, and its unused frames; the filter left out some.
pub fn warnings(capture: &CaptureSummary) -> Vec<Warning> {
    let loss = ending(capture).map(|text| Warning { text, is_loss: true });
    let text = capture.about_text.iter().flat_map(|text| text_warnings(text));
    let rest = unused(capture).into_iter().chain(missed_for_tags(capture));
    let rest = rest.chain(clock_jumps(capture)).chain(text).chain(lines_before(capture));
    loss.into_iter().chain(rest.map(|text| Warning { text, is_loss: false })).collect()
}

fn ending(capture: &CaptureSummary) -> Option<String> {
    let read = u64::from(capture.stamps.frames);
    let place = match read {
        0 => "before the first complete frame".to_owned(),
        _ => format!("after frame {read}"),
    };
    match &capture.end {
        InputEnd::Complete if read == 0 => Some("the capture holds no packets".to_owned()),
        InputEnd::Complete => None,
        InputEnd::Cut => Some(format!(
            "the capture is cut off in the middle of a record {place}; everything before it was analysed"
        )),
        InputEnd::Damaged(what) => Some(format!(
            "the capture is damaged {place}: {what}; everything before it was analysed"
        )),
        InputEnd::Failed(error) => {
            Some(format!("reading failed {place}: {error}; everything before it was analysed"))
        }
        InputEnd::Stopped(stopped) => {
            let packets = Grouped(capture.first_frame - 1 + read);
            Some(format!(
                "interrupted after {packets} packets, {stopped}; the rest was not analysed"
            ))
        }
    }
}

/// Frames that were not used, counted once, and why.
fn unused(capture: &CaptureSummary) -> Option<String> {
    let count = |skip: Skip| capture.skipped[skip as usize];
    let skipped: Vec<Skip> = Skip::MEMBERS.into_iter().filter(|&skip| count(skip) > 0).collect();
    let all: u64 = skipped.iter().map(|&skip| count(skip)).sum();
    let reason = |skip: Skip| match skip {
        Skip::Cut if capture.about_text.is_some() => {
            "cut off, or printed without all numbers of its header"
        }
        _ => skip.name(),
    };
    let why: Vec<String> = match skipped.as_slice() {
        [] => return None,
        [only] => vec![reason(*only).to_owned()],
        several => several
            .iter()
            .map(|&skip| format!("{} {}", Grouped(count(skip)), reason(skip)))
            .collect(),
    };
    let (all, packets) = (Grouped(all), Grouped(capture.stamps.frames.into()));
    Some(format!("{all} of {packets} frames not used: {}", why.join(", ")))
}

/// Where its clock jumps by more than a day, if it does.
fn clock_jumps(capture: &CaptureSummary) -> Option<String> {
    let each = capture.stamps.first_jumps.iter().map(|jump| {
        let (frame, next) = (jump.frame, jump.frame + 1);
        let direction = if jump.by_ns < 0 { "back" } else { "forward" };
        format!("{} {direction} from frame {frame} to {next}", days(jump.by_ns.abs()))
    });
    let mut each: Vec<String> = each.collect();
    let more = capture.stamps.jumps - each.len();
    if more > 0 {
        each.push(format!("and {more} more"));
    }
    (!each.is_empty()).then(|| {
        format!(
            "the time jumps by more than a day: {}. Either the clock was set there, or files \
             were put together, or nothing came: no wait across it is counted, and latencies across it are \
             meaningless",
            each.join(", ")
        )
    })
}

/// Text that stood before the capture in its file.
fn lines_before(capture: &CaptureSummary) -> Option<String> {
    counted(
        capture.lines_before.into(),
        "line of text before the capture was skipped",
        "lines of text before the capture were skipped",
    )
}

/// `1 line is ..` or `1,234 lines are ..`; `None` for none.
fn counted(count: u64, one: &str, several: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {several}", Grouped(count))),
    }
}

/// Joins those of two remarks that there are.
fn joined(remarks: [Option<String>; 2]) -> Option<String> {
    remarks.into_iter().flatten().reduce(|first, second| format!("{first}; {second}"))
}

/// A time of more than a day, rounded.
fn days(time_ns: i64) -> String {
    const DAYS_OF_A_YEAR: f64 = 365.25;
    let days = time_ns as f64 / DAY_NS as f64;
    match days / DAYS_OF_A_YEAR {
        ..2.0 => format!("{days:.1} days"),
        years => format!("{years:.1} years"),
    }
}

/// Warns that the filter left out VLAN-tagged frames, as tcpdump does; names one that keeps them.
fn missed_for_tags(capture: &CaptureSummary) -> Option<String> {
    let frames = counted(capture.missed_for_tags, "TCP frame", "TCP frames")?;
    let filter = capture.filter.as_deref().unwrap_or("FILTER");
    let wider = filter::for_tagged(filter)?;
    Some(format!(
        "the filter left out {frames} only because of a VLAN tag: -f '{wider}' keeps them"
    ))
}

/// The warning about a text: the facts that it lacks, and the ones that were made up for it.
fn text_warnings(text: &AboutText) -> impl Iterator<Item = String> {
    let no_ids =
        if text.has_ip_ids { "" } else { " (without -v no IP identification, which shows losses)" };
    let no_date = if text.has_dates { "" } else { "; its times have no date" };
    let order = if text.is_sorted { "the order of their times" } else { "the order of the text" };
    let general = format!(
        "read from printed text: no payload, and nothing that was not printed{no_ids}; frames \
         are numbered in {order}{no_date}"
    );
    [
        Some(general),
        rows_sorted(text),
        copies(text),
        runs(text),
        messages(text),
        lines(text),
        names(text),
    ]
    .into_iter()
    .flatten()
}

fn rows_sorted(text: &AboutText) -> Option<String> {
    let unsorted = match text.rows_unsorted {
        0 => String::new(),
        rows => format!(", but {rows} came too late for that: sort the text first"),
    };
    text.is_sorted.then(|| format!("its rows were out of order and were sorted by time{unsorted}"))
}

fn copies(text: &AboutText) -> Option<String> {
    let rows = match text.rows_copied {
        0 => return None,
        1 => "1 row of the text is".to_owned(),
        rows => format!("{rows} rows of the text are"),
    };
    Some(format!(
        "{rows} from a second capture of the same packets, as at the other end: the first one is judged"
    ))
}

/// Two runs are compared, not one conversation.
fn runs(text: &AboutText) -> Option<String> {
    (text.headings > 1).then(|| {
        format!(
            "{} headings part the text ('before', 'after'): give each capture a file of its own, and \
             compare them: nagle-scan AFTER.txt --baseline BEFORE.txt",
            text.headings
        )
    })
}

fn messages(text: &AboutText) -> Option<String> {
    let in_doubt = match text.messages_in_doubt {
        0 => String::new(),
        rows => format!(" ({rows} fit several connections and went to the one that went on first)"),
    };
    let shown = |rows: u64, outcome: &str| {
        let verb = if rows == 1 { "row shows" } else { "rows show" };
        (rows > 0).then(|| format!("{rows} {verb} a message {outcome}"))
    };
    let placed =
        "instead of Seq, Ack and Len: inferred from the length of the frame and the rows around";
    let unplaced = "of which the rows around do not tell the connection: left out; 'tcpdump -nvv' \
                    prints all numbers";
    joined([
        shown(text.messages_placed, &format!("{placed}{in_doubt}")),
        shown(text.messages_unplaced, unplaced),
    ])
}

fn lines(text: &AboutText) -> Option<String> {
    let foreign = counted(
        text.lines_without_packet,
        "line of the text shows no packet: left out",
        "lines of the text show no packet: left out",
    );
    let places = if text.elisions == 1 { "place" } else { "places" };
    let elided = (text.elisions > 0)
        .then(|| format!("rows are missing at {} {places} ('[...]')", text.elisions));
    joined([foreign, elided])
}

fn names(text: &AboutText) -> Option<String> {
    /// Names that are listed; there may be very many.
    const MOST_NAMES: usize = 20;
    let hosts = text.hosts.iter().filter(|(addr, _)| !addr.is_loopback());
    let hosts = hosts.map(|(addr, name)| format!("{addr} is {name}"));
    let ports = text.ports.iter().map(|(port, name)| format!("port {port} is {name}"));
    let all: Vec<String> = hosts.chain(ports).collect();
    let more = all.len().saturating_sub(MOST_NAMES);
    (!all.is_empty()).then(|| {
        let listed = all[..all.len() - more].join(", ");
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("names in the text (without -n) stand for numbers made up here: {listed}{more}")
    })
}
