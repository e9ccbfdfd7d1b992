//! House rules that no compiler knows: no stage uses a later one, no two rooms of a stage use each other, and the
//! glossary of `lib.rs` is true.

use std::collections::{BTreeMap, BTreeSet};
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

/// The rooms of a stage, each with those that it uses; a name that `mod.rs` passes on is its room's.
fn rooms(stage: &str) -> BTreeMap<String, BTreeSet<String>> {
    let folder = root().join(stage);
    let passed_on: BTreeMap<String, String> =
        used(&fs::read_to_string(folder.join("mod.rs")).unwrap(), "pub use ")
            .into_iter()
            .filter_map(|path| {
                Some((path.last()?.clone(), path.iter().find(|part| *part != "self")?.clone()))
            })
            .collect();
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources().iter().filter(|file| file.starts_with(&folder)) {
        let inside = file.strip_prefix(&folder).unwrap().with_extension("");
        let room = inside.iter().next().unwrap().to_str().unwrap().to_owned();
        let is_test = inside
            .iter()
            .any(|part| ["tests", "story", "allocations"].iter().any(|it| part == *it));
        if is_test || room == "mod" {
            continue;
        }
        let own = rooms.entry(room).or_default();
        for path in used(&code(file), &format!("use crate::{stage}::")) {
            own.insert(passed_on.get(&path[0]).unwrap_or(&path[0]).clone());
        }
    }
    rooms
}

/// The paths of the `use` lines that begin like this, behind that beginning; those in one pair of braces singly.
fn used(code: &str, beginning: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for part in code.split(beginning).skip(1) {
        let (path, _) = part.split_once(';').unwrap_or((part, ""));
        let (base, names) = path.split_once('{').unwrap_or((path, ""));
        for name in names
            .split([',', '}'])
            .map(str::trim)
            .filter(|name| !name.is_empty() || names.is_empty())
        {
            let whole = format!("{base}{name}");
            found.push(whole.split("::").map(str::to_owned).collect());
        }
    }
    found
}

#[test]
fn no_two_rooms_of_a_stage_use_each_other() {
    for stage in STAGES.iter().filter(|stage| root().join(stage).is_dir()) {
        let rooms = rooms(stage);
        assert!(rooms.len() > 3, "{stage} has no rooms");
        for room in rooms.keys() {
            let (mut reached, mut left) = (BTreeSet::new(), vec![room]);
            while let Some(one) = left.pop() {
                for next in rooms.get(one).into_iter().flatten().filter(|next| *next != one) {
                    if reached.insert(next) {
                        left.push(next);
                    }
                }
            }
            assert!(
                !reached.contains(room),
                "{stage}: {room} and rooms that it uses form a circle: {reached:?}"
            );
        }
    }
}

/// The words of a name, in the singular: `OwnClocks` and `own_clock` are `own`, `clock`.
fn words(name: &str) -> Vec<String> {
    let (mut spaced, mut before) = (String::new(), '_');
    for letter in name.chars() {
        if letter.is_uppercase() && !before.is_uppercase() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
        before = letter;
    }
    spaced.split([' ', '_']).filter(|word| !word.is_empty()).map(singular).collect()
}

/// The bold words of the glossary, in the singular.
fn glossary() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("lib.rs")).unwrap();
    let header = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<String>();
    let bold = header.split("**").skip(1).step_by(2);
    bold.map(|word| word.split(' ').map(singular).collect()).collect()
}

fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    let plural = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    plural.or(word.strip_suffix('s').map(str::to_owned)).unwrap_or(word)
}

fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|sign: char| sign != '_' && !sign.is_alphanumeric()).filter(|name| !name.is_empty())
}

#[test]
fn every_word_of_the_glossary_is_a_name_in_the_code() {
    let mut known = BTreeSet::new();
    for file in sources().iter().filter(|file| !file.ends_with("lib.rs")) {
        let code = code(file);
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        // Every second part stands in quotes.
        let unquoted = lines.flat_map(|line| line.split('"').step_by(2));
        known.extend(unquoted.flat_map(names).map(words));
    }
    let glossary = glossary();
    assert!(glossary.len() > 40, "the glossary is not found");
    for word in glossary {
        assert!(known.contains(&word), "{word:?} is no name in the code");
    }
}

#[test]
fn every_type_of_the_model_has_a_word_in_the_glossary() {
    let glossary: BTreeSet<String> = glossary().concat().into_iter().collect();
    let mut seen = 0;
    for file in sources().iter().filter(|file| file.starts_with(root().join("judge/model"))) {
        for line in code(file).lines() {
            let declared = line.trim().strip_prefix("pub ").unwrap_or_default();
            let Some(name) = ["struct ", "enum "].iter().find_map(|it| declared.strip_prefix(it))
            else {
                continue;
            };
            let name = names(name).next().unwrap();
            let parts = words(name);
            seen += 1;
            // `Held` and `Learning` are forms of their words.
            let of = |part: &String| match part.as_str() {
                "held" => "hold".to_owned(),
                "learning" => "learnt".to_owned(),
                other => other.to_owned(),
            };
            assert!(parts.iter().map(of).any(|part| glossary.contains(&part)), "{name}");
        }
    }
    assert!(seen > 15, "the model is not found");
}

#[test]
fn track_passes_on_five_names_and_its_rooms_have_the_others() {
    let text = fs::read_to_string(root().join("track/mod.rs")).unwrap();
    let mut names: Vec<String> =
        used(&text, "pub use ").into_iter().filter_map(|mut path| path.pop()).collect();
    names.sort();
    assert_eq!(names, ["Connection", "Endpoint", "Exchange", "Mark", "Side"]);
}
