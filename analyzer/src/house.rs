//! House rules that no compiler knows: no stage uses a later one, no files and no rooms of a stage
//! use each other, and the glossary of `lib.rs` is true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::zip;
use std::path::Path;

/// The stages in the order in which data passes them.
const STAGES: &str = "cores named pieces rules thresholds capture decode track calls judge result output frames python";

/// The code of each module, `crate::judge::path`, without its tests.
pub type Code = BTreeMap<String, String>;

/// The paths in each module that lead to modules of the engine.
type Paths<'a> = BTreeMap<&'a str, Vec<String>>;

/// Modules, or rooms, each with the others that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The code of the engine.
pub fn engine() -> Code {
    crate_in("src", 200)
}

/// The code of the crate in this folder, which has at least so many files.
fn crate_in(folder: &str, files: usize) -> Code {
    let mut code = Code::new();
    add_module("crate", &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut code);
    assert!(code.len() >= files, "files are not found");
    code
}

/// Adds a module, the files of which begin with `stem`, and those that it declares.
fn add_module(module: &str, stem: &Path, code: &mut Code) {
    let files = [stem.with_extension("rs"), stem.join("mod.rs"), stem.join("lib.rs")];
    let file = files.iter().find(|file| file.exists()).unwrap();
    let text = without_tests(&fs::read_to_string(file).unwrap());
    for line in text.lines().filter_map(|line| line.strip_suffix(';')) {
        if let Some(("" | "pub " | "pub(super) ", name)) = line.split_once("mod ") {
            add_module(&format!("{module}::{name}"), &stem.join(name), code);
        }
    }
    code.insert(module.to_owned(), text);
}

/// Test modules may look ahead: they end files. Comments may, too.
fn without_tests(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut code = String::new();
    while let Some(line) = lines.next() {
        match ["#[cfg(test)]", "#[cfg(all(test, feature = \"filter\"))]"].contains(&line) {
            true if lines.next().is_some_and(|next| next.ends_with('{')) => break,
            true => {}
            false => code.extend([line, "\n"]),
        }
    }
    code
}

#[test]
fn only_test_modules_may_look_ahead() {
    let text = "#[cfg(test)]\nmod tests;\nuse a;\n// use c;\n#[cfg(test)]\nmod more {\nuse b;\n}\n";
    assert_eq!(without_tests(text), "use a;\n");
}

/// The paths within the engine that a module has, each name of a `use` with braces by itself.
fn paths(code: &Code, module: &str) -> Vec<String> {
    let (mut path, mut bases, mut found) = (String::new(), Vec::new(), Vec::new());
    for sign in code[module].chars() {
        match sign {
            '{' if path.ends_with("::") => bases.push(path.clone()),
            '_' | ':' | 'a'..='z' | 'A'..='Z' | '0'..='9' => path.push(sign),
            _ => {
                bases.truncate(bases.len().saturating_sub(usize::from(sign == '}')));
                found.push(path.trim_start_matches("self::").to_owned());
                path = bases.last().cloned().unwrap_or_default();
            }
        }
    }
    let own = format!("{module}::");
    let is_ours = |path: &String| match path.split_once("::") {
        Some(("crate" | "super", _)) => !path.starts_with(&own),
        Some((first, _)) => code.contains_key(&format!("{own}{first}")),
        None => false,
    };
    found.retain(|path| !path.ends_with(':') && is_ours(path));
    found
}

/// The module that has what `path` names in the module `at`, which may only pass it on.
fn module_of(all: &Paths, at: &str, path: &str) -> String {
    let mut at = at.to_owned();
    for name in path.split("::") {
        let inner = format!("{at}::{name}");
        match name {
            "crate" => at = "crate".to_owned(),
            "self" => {}
            "super" => at.truncate(at.rfind("::").unwrap()),
            _ if all.contains_key(inner.as_str()) => at = inner,
            _ => {
                let ends = |path: &&String| path.rsplit("::").next() == Some(name);
                let passed_on = all[at.as_str()].iter().find(ends);
                return passed_on.map_or(at.clone(), |path| module_of(all, &at, path));
            }
        }
    }
    at
}

/// The modules that each uses. One that only puts its own together does not use them.
fn uses(code: &Code) -> Uses {
    let all: Paths = code.keys().map(|module| (module.as_str(), paths(code, module))).collect();
    let of = |(module, paths): (&&str, &Vec<String>)| {
        let is_own = |other: &String| format!("{other}::").starts_with(&format!("{module}::"));
        let others = paths.iter().map(|path| module_of(&all, module, path));
        ((*module).to_owned(), others.filter(|other| !is_own(other)).collect())
    };
    all.iter().map(of).collect()
}

/// The files and rooms that use themselves, by way of others.
fn circles(uses: &Uses) -> BTreeSet<&str> {
    let is_round = |one: &&String| {
        let (mut reached, mut left) = (BTreeSet::new(), vec![*one]);
        while let Some(next) = left.pop() {
            left.extend(uses.get(next).into_iter().flatten().filter(|next| reached.insert(*next)));
        }
        reached.contains(one)
    };
    uses.keys().filter(is_round).map(String::as_str).collect()
}

/// The rooms of a stage, each with those that it uses.
fn rooms(uses: &Uses, stage: &str) -> Uses {
    let room_of = |module: &String| {
        let inside = module.strip_prefix(&format!("crate::{stage}::"))?;
        inside.split("::").next().map(str::to_owned)
    };
    let mut rooms = Uses::new();
    for (module, others) in uses {
        let Some(room) = room_of(module) else { continue };
        let others = others.iter().filter_map(room_of).filter(|other| *other != room);
        rooms.entry(room.clone()).or_default().extend(others);
    }
    rooms
}

#[test]
fn a_circle_is_seen_however_its_files_name_each_other() {
    let files = |a: &str, b: &str| {
        let room = "pub use self::b::B;\nfn of(_: a::A, _: B) {}";
        let modules = ["", "::room", "::room::a", "::room::b", "::room::c"];
        let texts = ["mod room;", room, a, b, "use super::{a::A, b};"];
        let named = zip(modules, texts);
        uses(&named.map(|(module, text)| (format!("crate{module}"), text.to_owned())).collect())
    };
    let both = ["crate::room::a", "crate::room::b"];
    let back = "#[cfg(x)]\nuse super::{\n    c::{Other, self},\n    a::A as One,\n};";
    for to in ["use super::b::B;", "fn f() { super::b::g(); }", "use super::B;"] {
        assert_eq!(circles(&files(to, "use std::fmt;")), BTreeSet::new());
        let found = files(to, back);
        assert!(circles(&found).is_superset(&both.into()), "{to}");
        assert_eq!(rooms(&found, "room")["a"], ["b".to_owned()].into());
    }
}

#[test]
fn no_files_use_each_other() {
    assert_eq!(circles(&uses(&engine())), BTreeSet::new());
    assert_eq!(circles(&uses(&crate_in("texts/src", 15))), BTreeSet::new());
}

#[test]
fn no_rooms_of_a_stage_use_each_other() {
    let uses = uses(&engine());
    for stage in STAGES.split(' ').skip(5) {
        let rooms = rooms(&uses, stage);
        assert!(rooms.len() > 3, "{stage} has no rooms");
        assert_eq!(circles(&rooms), BTreeSet::new(), "{stage}");
    }
}

#[test]
fn no_stage_uses_a_later_one() {
    let rank = |module: &str| {
        let stage = module.split("::").nth(1)?;
        let rank = STAGES.split(' ').position(|known| known == stage);
        assert!(rank.is_some(), "no stage: {stage}");
        rank
    };
    for (module, others) in uses(&engine()) {
        for other in others {
            assert!(rank(&other) <= rank(&module), "{module} uses {other}");
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

/// The bold words of the glossary, in the singular, each with the heading of its part.
fn glossary() -> Vec<(&'static str, Vec<String>)> {
    let (mut heading, mut found) = ("", Vec::new());
    for line in include_str!("lib.rs").lines().map_while(|line| line.strip_prefix("//!")) {
        if line.ends_with(':') && !line.contains("**") {
            heading = line;
        }
        let bold = line.split("**").skip(1).step_by(2);
        found.extend(bold.map(|word| (heading, word.split(' ').map(singular).collect())));
    }
    assert!(found.len() > 40, "the glossary is not found");
    found
}

fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    let plural = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    plural.or(word.strip_suffix('s').map(str::to_owned)).unwrap_or(word)
}

fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|sign: char| sign != '_' && !sign.is_alphanumeric()).filter(|name| !name.is_empty())
}

/// The names that code declares: of modules, types, their fields and variants, and constants.
fn declared(code: &str) -> BTreeSet<Vec<String>> {
    let (mut found, mut is_type) = (BTreeSet::new(), false);
    for line in code.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let mut parts = names(line).skip_while(|part| ["pub", "super"].contains(part));
        let first = parts.next().unwrap_or_default();
        if ["mod", "struct", "enum", "const"].contains(&first) {
            found.extend(parts.next().map(words));
            is_type = ["struct", "enum"].contains(&first) && line.ends_with('{');
        } else if is_type || line.trim_end_matches(',') == first.to_uppercase() {
            // A field, a variant, or one of a macro's constants.
            found.insert(words(first));
            is_type &= line != "}";
        }
    }
    found
}

#[test]
fn every_word_of_the_glossary_is_a_type_a_field_or_a_module_of_its_stages() {
    let engine = engine();
    let stages = engine.keys().map(|module| module.split("::").nth(1).unwrap_or_default());
    let known: Vec<_> = zip(stages, engine.values().map(|code| declared(code))).collect();
    for (heading, word) in glossary() {
        let is_of = |stage: &str| heading.contains(&format!("`{stage}`"));
        let is_known = known.iter().any(|(stage, names)| is_of(stage) && names.contains(&word));
        assert!(is_known, "{word:?} is not declared:{heading}");
    }
}

#[test]
fn every_type_of_the_model_has_a_word_in_the_glossary() {
    let glossary: BTreeSet<String> = glossary().into_iter().flat_map(|(_, word)| word).collect();
    let engine = engine();
    let model = engine.iter().filter(|(module, _)| module.contains("::judge::model"));
    let lines = model.flat_map(|(_, code)| code.lines());
    let prefixed =
        |line| ["pub struct ", "pub enum "].iter().find_map(|it| str::strip_prefix(line, it));
    let types: Vec<&str> = lines.filter_map(prefixed).collect();
    assert!(types.len() > 15, "the model is not found");
    for line in types {
        // `Held` and `Learning` are forms of their words.
        let name =
            names(line).next().unwrap().replace("Held", "Hold").replace("Learning", "Learnt");
        assert!(words(&name).iter().any(|part| glossary.contains(part)), "{name}");
    }
}

#[test]
fn track_passes_on_five_names_and_its_rooms_have_the_others() {
    let engine = engine();
    let passed_on = engine["crate::track"].lines().filter(|line| line.starts_with("pub use "));
    let types = passed_on.flat_map(names).filter(|name| name.starts_with(char::is_uppercase));
    assert_eq!(
        types.collect::<BTreeSet<_>>(),
        ["Connection", "Endpoint", "Exchange", "Mark", "Side"].into()
    );
}
