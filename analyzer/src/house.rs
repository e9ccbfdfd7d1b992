//! The house rule that `use` lines can break: no stage knows a later one.

use std::fs;
use std::path::{Path, PathBuf};

/// The stages in the order in which data passes them.
const STAGES: [&str; 10] = [
    "cores",
    "thresholds",
    "capture",
    "decode",
    "track",
    "judge",
    "result",
    "output",
    "frames",
    "python",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_stage_knows_a_later_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 60, "files are not found");
    for file in files {
        let inside = file.strip_prefix(&root).unwrap().with_extension("");
        let stage = inside.iter().next().unwrap().to_str().unwrap();
        let Some(rank) = STAGES.iter().position(|known| *known == stage) else {
            assert!(["lib", "house"].contains(&stage), "no stage: {stage}");
            continue;
        };
        // Tests may look ahead.
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for later in &STAGES[rank + 1..] {
            let is_test = file.ends_with("tests.rs");
            assert!(
                is_test || !code.contains(&format!("crate::{later}::")),
                "{file:?} uses {later}"
            );
        }
    }
}
