//! Evidence as it leaves: without payload, anonymised.

use super::addresses::{HOSTS, World};
use super::conversation::Conversation;
use super::memory::InMemory;
use super::properties::{json, report, usual, written};
use nagle_scan_core::{
    Anonymizer, Excerpt, FileComments, Policy, Wanted, choose, read_frames, scan, write_evidence,
};
use serde_json::Value;

/// Files that leave the house after a conversation: an evidence file, and the outputs beside it.
pub struct Evidence {
    world: World,
    /// The result of the capture itself, and the step of its clock.
    report: Value,
    clock_ns: i64,
    frames: usize,
    files: [(&'static str, Vec<u8>); 3],
}

pub fn of(conversation: &Conversation) -> Evidence {
    let file = InMemory::new(&conversation.capture());
    let paths = [file.path.clone()];
    let key = std::array::from_fn(|at| at as u8 * 7 + 1);
    let anonymizer = Anonymizer::new(key).unwrap();
    let mut scan = scan(&paths, &usual(), &<_>::default()).unwrap();
    let report = json(&scan);
    let clock_ns = scan.captures[0].stamps.step.step_ns();
    let frames = frames(&paths, scan.connection_count as u32, &anonymizer);
    let mut written_to = InMemory::new(b"");
    let file_comments =
        FileComments { about: "", comments: &<_>::default(), names: &<_>::default() };
    write_evidence(&written_to.path, &file_comments, |writer| {
        frames.iter().try_for_each(|one| writer.frame(one))
    })
    .unwrap();
    anonymizer.anonymize(&mut scan);
    Evidence {
        world: conversation.world,
        report,
        clock_ns,
        frames: frames.len(),
        files: [
            ("pcapng", written_to.content()),
            ("json", written(&scan, "json")),
            ("csv", written(&scan, "csv")),
        ],
    }
}

/// All frames of so many connections, as they may leave.
fn frames(paths: &[String], connections: u32, anonymizer: &Anonymizer) -> Vec<Excerpt> {
    let wanted = |connection| Wanted { connection, spans: Vec::new() };
    let wanted: Vec<Wanted> = (0..connections).map(wanted).collect();
    let shown = choose(paths, None, &wanted, usual().reading).unwrap();
    let numbers = shown.iter().flat_map(|one| &one.frames).map(|&(frame, _)| frame);
    let policy = Policy { payload: false, anonymizer: Some(anonymizer) };
    read_frames(paths, &[], &numbers.collect::<Vec<_>>(), policy).unwrap()
}

/// Bytes that are a host's address by chance are the same in both worlds; a byte of an address never is.
pub fn holds_no_address(one: &Evidence, other: &Evidence) {
    for ((what, one_file), (_, other_file)) in one.files.iter().zip(&other.files) {
        for host in 0..HOSTS {
            let addresses = one.world.all(host).into_iter().zip(other.world.all(host));
            for (address, in_other) in addresses {
                let leak = places(one_file, &address).find(|&at| {
                    other_file.get(at..).is_some_and(|rest| rest.starts_with(&in_other))
                });
                assert!(leak.is_none(), "{what}: address {address:x?} of host {host} at {leak:?}");
            }
            for address in one.world.printed(host) {
                let text = String::from_utf8_lossy(one_file);
                assert!(*what == "pcapng" || !text.contains(&address), "{what}: {address}");
            }
        }
    }
}

fn places<'a>(file: &'a [u8], address: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let windows = file.windows(address.len()).enumerate();
    windows.filter(move |(_, bytes)| *bytes == address).map(|(at, _)| at)
}

/// The evidence file shows what the capture does.
pub fn says_the_same(evidence: &Evidence) {
    let again = report(&[&evidence.files[0].1], &usual()).unwrap();
    assert_eq!(again["captures"][0]["packets"], evidence.frames);
    let all = evidence.report["summary"]["tcp_packets"] == evidence.frames;
    // Other frames show a clock's step as well.
    let clock = again["captures"][0]["clock_ns"] == evidence.clock_ns;
    if all && clock {
        for name in
            ["connections", "tcp_packets", "stalls", "stalls_by_confidence", "exchanges", "verdict"]
        {
            let (before, after) = (&evidence.report["summary"][name], &again["summary"][name]);
            assert_eq!(before, after, "{name}");
        }
    }
}
