//! The house rule that `use` lines can break: no stage knows a later one.

use std::fs;
use std::path::{Path, PathBuf};

/// The stages in the order in which data passes them.
const STAGES: [&str; 13] = [
    "cores",
    "named",
    "rules",
    "thresholds",
    "capture",
    "decode",
    "track",
    "calls",
    "judge",
    "result",
    "output",
    "frames",
    "python",
];

/// All files of the engine.
pub fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    add_sources(&root(), &mut files);
    files
}

/// A file's text without its tests.
pub fn code(file: &Path) -> String {
    without_tests(&fs::read_to_string(file).unwrap())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn add_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            found.push(path);
        }
    }
}

/// Test modules may look ahead: they end files.
fn without_tests(text: &str) -> String {
    let mut parts = text.split("#[cfg(test)]\n");
    let mut code = parts.next().unwrap().to_owned();
    for part in parts {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        match (first.ends_with(';'), first.starts_with("mod ")) {
            (true, _) => code.push_str(rest),
            (_, true) => break,
            _ => code.push_str(part),
        }
    }
    code
}

#[test]
fn only_test_modules_may_look_ahead() {
    let text = "#[cfg(test)]\nmod tests;\nuse a;\n#[cfg(test)]\nmod more {\nuse b;\n}\n";
    assert_eq!(without_tests(text), "use a;\n");
}

#[test]
fn no_stage_knows_a_later_one() {
    let files = sources();
    assert!(files.len() > 60, "files are not found");
    for file in files {
        let inside = file.strip_prefix(root()).unwrap().with_extension("");
        let stage = inside.iter().next().unwrap().to_str().unwrap();
        let Some(rank) = STAGES.iter().position(|known| *known == stage) else {
            assert!(["lib", "house"].contains(&stage), "no stage: {stage}");
            continue;
        };
        let code = code(&file);
        for later in &STAGES[rank + 1..] {
            let is_test = file.ends_with("tests.rs");
            assert!(
                is_test || !code.contains(&format!("crate::{later}::")),
                "{file:?} uses {later}"
            );
        }
    }
}
