//! A scan as bytes, so that it can be read again without its captures, by the same version.
//!
//! What follows from the rest is left out and added up again. The bytes may come from anyone: whatever is in
//! them, they give a scan whose parts fit together, or an error.

use crate::capture::InputEnd;
use crate::result::packed::{PackedError, pack, unpack};
use crate::result::scan::Scan;
use crate::track::CaptureSummary;
use crate::track::reader::Reading;
use std::io;

/// The scan as bytes.
///
/// # Errors
/// zstd's own.
pub fn save(scan: &Scan) -> io::Result<Vec<u8>> {
    pack(scan)
}

/// The scan of these bytes.
///
/// # Errors
/// They are none, another version's, or damaged.
pub fn load(bytes: &[u8]) -> Result<Scan, PackedError> {
    restored(unpack(bytes)?).ok_or(PackedError::Damaged)
}

/// With what was not saved; `None` if the parts do not fit together.
fn restored(mut scan: Scan) -> Option<Scan> {
    scan.connections = std::mem::take(&mut scan.connections).restored()?;
    if scan.connection_count < scan.connections.len() as u64 || !scan.captures.iter().all(is_plain)
    {
        return None;
    }
    scan.threads = Reading::by_all().threads;
    let Scan { connections, totals, causes, clearest, .. } = &mut scan;
    for index in 0..connections.len() {
        let (judged, findings) = (&connections[index], connections.findings_of(index));
        totals.add(judged, findings);
        causes.add(findings);
        clearest.add(judged, findings);
    }
    Some(scan)
}

/// Can its texts be printed as they are?
fn is_plain(capture: &CaptureSummary) -> bool {
    let end = match &capture.end {
        InputEnd::Damaged(text) => text.as_ref(),
        InputEnd::Failed(text) => text,
        InputEnd::Complete | InputEnd::Cut | InputEnd::Stopped(_) => "",
    };
    let names =
        capture.about_text.iter().flat_map(|text| text.hosts.values().chain(text.ports.values()));
    names.map(String::as_str).chain([end]).all(|text| !text.contains(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::packed::{FORMAT, LEVEL, NAME, SOME_UNPACKED, this};
    use crate::result::scan::tests::example;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// A scan as bytes, of these parts.
    fn packed(unpacked: &[u8]) -> Vec<u8> {
        let head = format!("{NAME}{}\n", this()).into_bytes();
        [head, zstd::encode_all(unpacked, LEVEL).unwrap()].concat()
    }

    fn is_damaged(scan: &Scan) -> bool {
        matches!(load(&save(scan).unwrap()), Err(PackedError::Damaged))
    }

    #[test]
    fn a_scan_that_was_saved_is_the_same() {
        let scan = example();
        let bytes = save(&scan).unwrap();
        let again = load(&bytes).unwrap();
        let sums = |scan: &Scan| format!("{:?} {:?} {:?}", scan.totals, scan.causes, scan.clearest);
        assert_eq!(sums(&again), sums(&scan));
        assert!(again.totals.stalls > 0);
        assert!(again.affected().eq(scan.affected()));
        assert_eq!(save(&again).unwrap(), bytes);
    }

    #[test]
    fn what_was_cut_or_changed_is_an_error() {
        let bytes = save(&example()).unwrap();
        for len in (0..bytes.len()).step_by(7) {
            assert!(load(&bytes[..len]).is_err(), "cut after {len}");
            let mut changed = bytes.clone();
            changed[len] ^= 0x55;
            assert!(load(&changed).is_err(), "changed at {len}");
        }
        assert!(load(&[bytes, vec![1]].concat()).is_err());
    }

    #[test]
    fn another_version_is_named() {
        let other = [b"nagle-scan 9.8.7 (format 3)\n".as_slice(), &[0; 20]].concat();
        let said = load(&other).err().unwrap().to_string();
        let expected = format!("saved by nagle-scan 9.8.7 (format 3), this is {}", this());
        assert!(said.starts_with(&expected), "{said}");
        assert!(matches!(load(b"PAR1 and so on"), Err(PackedError::Other)));
    }

    /// A file of some kB must not take all memory.
    #[test]
    fn a_file_that_unpacks_to_very_much_is_refused() {
        let bomb = packed(&vec![0; 100 << 20]);
        assert!(bomb.len() < 1 << 16);
        assert!(matches!(load(&bomb), Err(PackedError::Damaged)));
        // A list that claims to be longer than anything.
        let endless = [&[0xff; 9][..], &[0x01]].concat();
        assert!(matches!(load(&packed(&endless)), Err(PackedError::Damaged)));
    }

    /// As that of very many servers whose latencies are all alike.
    #[test]
    fn a_scan_that_is_packed_to_very_little_can_be_read_again() {
        let mut scan = example();
        scan.captures[0].path = "a".repeat(SOME_UNPACKED + (1 << 20));
        let bytes = save(&scan).unwrap();
        assert!(bytes.len() > 1 << 14);
        assert!(load(&bytes).is_ok());
    }

    #[test]
    fn what_no_scan_can_hold_is_refused() {
        let mut fewer = example();
        fewer.connection_count = 0;
        assert!(is_damaged(&fewer));
        let mut hostile = example();
        hostile.captures[0].end = InputEnd::Failed("\u{1b}[2J".to_owned());
        assert!(is_damaged(&hostile));
    }

    /// Names and kinds of all that is saved, whatever its values.
    fn shape(value: &Value, place: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    shape(value, &format!("{place}.{name}"), found);
                }
            }
            Value::Array(values) => {
                for value in values {
                    shape(value, &format!("{place}[]"), found);
                }
            }
            Value::Null => {}
            Value::Bool(_) => _ = found.insert(format!("{place} bool")),
            Value::Number(_) => _ = found.insert(format!("{place} number")),
            Value::String(_) => _ = found.insert(format!("{place} text")),
        }
    }

    /// Nothing else would notice: the bytes do not tell what they are.
    #[test]
    fn a_change_of_what_is_saved_raises_the_format() {
        let mut found = BTreeSet::new();
        shape(&serde_json::to_value(example()).unwrap(), "scan", &mut found);
        let hash = found
            .iter()
            .flat_map(|line| line.bytes())
            .fold(0, |hash: u32, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        assert_eq!(
            (FORMAT, hash),
            (9, 2_057_614_541),
            "raise FORMAT, and note the new number here"
        );
    }
}
