//! Properties that hold whatever was captured, said of the outputs: what a user sees.

use super::conversation::Conversation;
use super::memory::InMemory;
use nagle_scan_core::{Reading, Scan, ScanOptions, scan, write};
use serde_json::Value;
use std::collections::BTreeSet;

/// Scans as the command does, but by one thread.
pub fn usual() -> ScanOptions {
    ScanOptions { exchanges: true, ..ScanOptions::usual(Reading::by(1)) }
}

/// The JSON of captures; `None` if they are refused.
pub fn report(captures: &[&[u8]], options: &ScanOptions) -> Option<Value> {
    let files: Vec<InMemory> = captures.iter().map(|bytes| InMemory::new(bytes)).collect();
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let scan = scan(&paths, options, &<_>::default()).ok()?;
    let mut report = json(&scan);
    for (row, capture) in report["captures"].as_array_mut().unwrap().iter_mut().zip(&scan.captures)
    {
        row["path"] = Value::Null;
        row["clock_ns"] = capture.stamps.step.step_ns().into();
    }
    holds(&scan, &report, options);
    Some(report)
}

pub fn json(scan: &Scan) -> Value {
    serde_json::from_slice(&written(scan, "json")).unwrap()
}

/// A whole output.
pub fn written(scan: &Scan, format: &str) -> Vec<u8> {
    let mut file = InMemory::new(b"");
    write(scan, format, &file.path, None).unwrap().unwrap();
    file.content()
}

/// Properties of each scan.
pub fn holds(scan: &Scan, report: &Value, options: &ScanOptions) {
    every_frame_is_used_or_counted_as_skipped(scan, report);
    no_listed_wait_is_below_the_limit(report, options.min_wait_ns);
    if report["summary"]["stalls_not_listed"] == 0 {
        sums_are_those_of_the_rows(report);
    }
    assert!(options.exchanges || scan.exchanges.is_none());
}

fn every_frame_is_used_or_counted_as_skipped(scan: &Scan, report: &Value) {
    for capture in &scan.captures {
        let skipped: u64 = capture.skipped.iter().sum();
        assert_eq!(u64::from(capture.stamps.frames), capture.tcp_packets + skipped);
        assert!(capture.stamps.first_ns() <= capture.stamps.last_ns());
    }
    if report["summary"]["connections_not_listed"] == 0 {
        let segments = |end: &Value| end["segments"].as_u64().unwrap();
        let of_both = |row: &Value| segments(&row["client"]) + segments(&row["server"]);
        let segments: u64 = rows(report, "connections").iter().map(of_both).sum();
        assert_eq!(report["summary"]["tcp_packets"], segments, "each is a connection's");
    }
}

fn no_listed_wait_is_below_the_limit(report: &Value, min_wait_ns: i64) {
    // Outputs round to 1 us.
    let limit_ms = (min_wait_ns / 1_000) as f64 / 1e3;
    for connection in rows(report, "connections") {
        for wait in rows(connection, "stalls").iter().chain(rows(connection, "waits")) {
            let wait_ms = wait["wait_ms"].as_f64().unwrap();
            assert!(wait_ms >= limit_ms && wait_ms >= 0.0, "limit {limit_ms}: {wait}");
        }
    }
}

fn sums_are_those_of_the_rows(report: &Value) {
    let connections = rows(report, "connections");
    let summary = &report["summary"];
    let stalls = |row: &Value| rows(row, "stalls").len();
    let affected = connections
        .iter()
        .filter(|row| row["verdict"] == summary["verdict"] && stalls(row) > 0)
        .count();
    assert_eq!(summary["stalls"], connections.iter().map(stalls).sum::<usize>());
    assert_eq!(summary["affected_connections"], affected);
    let stalls = || connections.iter().flat_map(|row| rows(row, "stalls"));
    sum_is(&summary["stalled_ms"], stalls());
    for level in ["certain", "likely", "possible"] {
        let of_level = || stalls().filter(|stall| stall["confidence"] == level);
        assert_eq!(summary["stalls_by_confidence"][level], of_level().count(), "{level}");
        sum_is(&summary["stalled_ms_by_confidence"][level], of_level());
    }
    // Servers without a complete exchange have no row.
    let of_servers = rows(report, "servers").iter().map(|row| row["stalls"].as_u64().unwrap());
    assert!(of_servers.sum::<u64>() <= summary["stalls"].as_u64().unwrap());
}

fn sum_is<'a>(said_ms: &Value, stalls: impl Iterator<Item = &'a Value>) {
    let holds_ms: Vec<f64> = stalls.map(|stall| stall["hold_ms"].as_f64().unwrap()).collect();
    let (sum_ms, said_ms) = (holds_ms.iter().sum::<f64>(), said_ms.as_f64().unwrap());
    let rounded_ms = 1e-3 * (holds_ms.len() + 1) as f64 + said_ms.abs() * 1e-9;
    assert!((sum_ms - said_ms).abs() <= rounded_ms, "{sum_ms} {said_ms}");
}

fn rows<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().unwrap()
}

/// A limit just above a listed wait: [`holds`] says that this one is listed no more.
pub fn a_limit_holds_for_the_shortest_wait(capture: &[u8], whole: &Value) {
    let connections = rows(whole, "connections").iter();
    let listed = connections.flat_map(|row| rows(row, "stalls").iter().chain(rows(row, "waits")));
    let waits_ms = listed.map(|wait| wait["wait_ms"].as_f64().unwrap());
    let Some(shortest_ms) = waits_ms.min_by(f64::total_cmp) else { return };
    let min_wait_ns = (shortest_ms * 1e6) as i64 + 2_000;
    report(&[capture], &ScanOptions { min_wait_ns, ..usual() }).unwrap();
}

/// No result depends on how many threads read how much at once.
pub fn one_thread_is_as_many(capture: &[u8], whole: Option<&Value>) {
    for (threads, range_len) in [(3, 200), (2, 1)] {
        let reading = Reading { range_len, ..Reading::by(threads) };
        let by_many = report(&[capture], &ScanOptions { reading, ..usual() });
        assert_same(whole, by_many.as_ref(), "by many threads");
    }
}

/// Files in the order of their frames are as one file.
pub fn split_is_as_whole(conversation: &Conversation, at: usize, whole: &Value) {
    let (first, second) = conversation.frames.split_at(at);
    let (Some(begin), Some(next)) = (first.first(), second.first()) else { return };
    let last_ns = first.iter().map(|frame| frame.time_ns).max().unwrap_or(begin.time_ns);
    // Files come in the order of their first frames, and those that overlap are no rotated set.
    if next.time_ns < last_ns {
        return;
    }
    let split = conversation.captures(at);
    let split = report(&split.each_ref().map(Vec::as_slice), &usual()).unwrap();
    // Each file tells its own clock, which may look coarser where it has few frames.
    let clock = &whole["captures"][0]["clock_ns"];
    if rows(&split, "captures").iter().any(|file| &file["clock_ns"] != clock) {
        return;
    }
    for part in ["connections", "servers", "hops", "summary"] {
        assert_same(Some(&whole[part]), Some(&split[part]), "in two files");
    }
}

/// Frames outside of all tunnels are the same connections as those inside.
pub fn a_tunnel_changes_nothing(bare: &[u8], whole: &Value) {
    let bare = report(&[bare], &usual()).unwrap();
    for part in ["connections", "servers", "hops", "summary"] {
        assert_same(Some(&bare[part]), Some(&whole[part]), "in tunnels");
    }
}

/// A filter for two ends leaves the rows of their connections as they are. What other connections of the
/// same hosts say can change how these are judged, but not what was counted and measured.
pub fn a_filter_changes_nothing(capture: &[u8], whole: &Value) {
    let connections = rows(whole, "connections");
    let all_ends: BTreeSet<_> = connections.iter().map(ends).collect();
    for ends in all_ends {
        let (between, others): (Vec<&Value>, Vec<&Value>) =
            connections.iter().partition(|row| self::ends(row) == ends);
        let options = ScanOptions { filter: Some(filter_for(between[0])), ..usual() };
        let filtered = report(&[capture], &options).unwrap();
        // Few frames may show a coarser clock.
        if filtered["captures"][0]["clock_ns"] != whole["captures"][0]["clock_ns"] {
            continue;
        }
        let filtered = rows(&filtered, "connections");
        assert_eq!(filtered.len(), between.len(), "{:?}", options.filter);
        let hosts = hosts(between[0]);
        let is_alone = others.iter().all(|other| self::hosts(other).is_disjoint(&hosts));
        for (row, alone) in between.into_iter().zip(filtered) {
            match is_alone {
                true => assert_same(
                    Some(&without_number(row)),
                    Some(&without_number(alone)),
                    "filtered",
                ),
                false => measured(row, alone)
                    .for_each(|name| assert_same(Some(&row[name]), Some(&alone[name]), name)),
            }
        }
    }
}

/// Findings in which no other connection has a say.
const MEASURED: [&str; 5] = ["first_ns", "last_ns", "handshake", "mss", "exchanges"];
/// Findings on the path: others have none, unless a report says that it borrowed a round trip of theirs.
const OF_PATH: [&str; 3] = ["rtt_ms", "capture_point", "connect_ms"];

/// The findings that two reports on a connection, with others and without, share.
fn measured(whole: &Value, alone: &Value) -> impl Iterator<Item = &'static str> {
    let is_borrowed = [whole, alone].iter().any(|row| row["rtt_borrowed"] == true);
    MEASURED.into_iter().chain(OF_PATH.into_iter().filter(move |_| !is_borrowed))
}

fn filter_for(row: &Value) -> String {
    let end =
        |end: &Value| format!("host {} and port {}", end["addr"].as_str().unwrap(), end["port"]);
    format!("{} and {}", end(&row["client"]), end(&row["server"]))
}

fn ends(row: &Value) -> BTreeSet<(&str, u64)> {
    let end = |end: &'static str| {
        (row[end]["addr"].as_str().unwrap(), row[end]["port"].as_u64().unwrap())
    };
    ["client", "server"].map(end).into()
}

fn hosts(row: &Value) -> BTreeSet<&str> {
    ends(row).into_iter().map(|(host, _)| host).collect()
}

fn without_number(row: &Value) -> Value {
    let mut row = row.clone();
    row.as_object_mut().unwrap().remove("connection");
    row
}

pub fn assert_same(expected: Option<&Value>, found: Option<&Value>, how: &str) {
    let text = |value: Option<&Value>| value.map_or_else(String::new, |value| format!("{value:#}"));
    if expected != found {
        let (expected, found) = (text(expected), text(found));
        let lines = || expected.lines().zip(found.lines()).enumerate();
        let at = lines().find(|(_, (one, other))| one != other);
        panic!("{how} it is not the same: {at:?}\n{expected}\n{found}");
    }
}
