//! The house rules that `use` lines can break: no stage knows a later one, and files know each
//! other in a circle only within a module and its own folder.

use std::collections::{BTreeMap, BTreeSet};
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

/// A file as the path of its module: `["track", "half", "acks"]`.
type Module = Vec<String>;

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

fn module(file: &Path, root: &Path) -> Module {
    let names = file.strip_prefix(root).unwrap().with_extension("");
    let mut names: Module = names.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// What the code (no test, no comment) of a file uses of the crate, as paths of modules.
fn uses(
    code: &str,
    of: &Module,
    modules: &BTreeSet<Module>,
    exports: &Exports,
) -> BTreeSet<Module> {
    let above = &of[..of.len().saturating_sub(1)];
    let inside =
        modules.iter().filter(|&module| module.len() == of.len() + 1 && module.starts_with(of));
    let starts = inside.map(|child| (format!("{}::", child[of.len()]), child.as_slice()));
    let starts = starts.chain([("crate::".to_owned(), &[][..]), ("super::".to_owned(), above)]);
    let mut found = BTreeSet::new();
    for (start, from) in starts {
        for (at, _) in code.match_indices(&start) {
            let before = code[..at].trim_end_matches("self::");
            let goes_on = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            let handed_on = from.starts_with(of) && before.ends_with("pub use ");
            if goes_on || handed_on {
                continue;
            }
            for path in paths(&code[at + start.len()..]) {
                let full: Module = from.iter().cloned().chain(path).collect();
                found.extend(home(&full, modules, exports));
            }
        }
    }
    found.remove(of);
    found
}

/// The module in which a path ends, by way of `pub use` where that leads on.
fn home(path: &[String], modules: &BTreeSet<Module>, exports: &Exports) -> Option<Module> {
    let len = (1..=path.len()).rev().find(|&len| modules.contains(&path[..len]))?;
    let module = path[..len].to_vec();
    let exported = path.get(len).and_then(|name| exports.get(&(module.clone(), name.clone())));
    Some(exported.cloned().unwrap_or(module))
}

/// What a module hands on: (module, name) and the module that the name is from.
type Exports = BTreeMap<(Module, String), Module>;

fn exports(code: &str, of: &Module, modules: &BTreeSet<Module>) -> Exports {
    let mut found = Exports::new();
    for (at, _) in code.match_indices("pub use ") {
        let text = code[at + "pub use ".len()..].trim_start_matches("self::");
        for path in paths(text) {
            let full = [of.clone(), path.clone()].concat();
            if let Some(from) = home(&full, modules, &Exports::new()) {
                found.insert((of.clone(), path.last().unwrap().clone()), from);
            }
        }
    }
    found
}

/// The code of a file without its tests and comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.replace("\npub mod tests {", "\nmod tests {");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim().starts_with("//")).collect();
    code.join("\n").replace("super::super::", "crate::")
}

/// `a::b`, or each path of `a::{b, c::D}`.
fn paths(text: &str) -> Vec<Module> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name: String = text.chars().take_while(|&c| is_name(c)).collect();
    let rest = &text[name.len()..];
    if let Some(list) = text.strip_prefix('{') {
        let end = list.find("};").unwrap_or(list.len());
        let mut depth = 0;
        let parts = list[..end].split(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        return parts.flat_map(|part| paths(part.trim())).collect();
    }
    let more = rest.strip_prefix("::").map(paths).unwrap_or_default();
    match more.is_empty() {
        true => vec![vec![name]],
        false => more.into_iter().map(|path| [vec![name.clone()], path].concat()).collect(),
    }
}

fn graph() -> BTreeMap<Module, BTreeSet<Module>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.retain(|file| {
        !["house.rs", "lib.rs"].contains(&file.file_name().unwrap().to_str().unwrap())
    });
    files.retain(|file| !file.ends_with("tests.rs"));
    let files: Vec<(Module, String)> =
        files.iter().map(|file| (module(file, &root), code(file))).collect();
    let modules: BTreeSet<Module> = files.iter().map(|(of, _)| of.clone()).collect();
    let exports = files.iter().flat_map(|(of, code)| exports(code, of, &modules)).collect();
    files.iter().map(|(of, code)| (of.clone(), uses(code, of, &modules, &exports))).collect()
}

#[test]
fn calls_into_child_modules_are_uses_and_what_is_handed_on_is_none() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let modules = ["judge", "judge::pace", "judge::link", "judge::words"].map(module).into();
    let code = "mod pace;\nmod link;\nmod words;\npub use words::Said;\nx(pace::is_even(), self::link::of())";
    let found = uses(code, &module("judge"), &modules, &Exports::new());
    assert_eq!(found, ["judge::pace", "judge::link"].map(module).into());
}

fn stage(module: &Module) -> usize {
    let name = &module[0];
    STAGES.iter().position(|stage| stage == name).unwrap_or_else(|| panic!("no stage: {name}"))
}

#[test]
fn no_stage_knows_a_later_one() {
    let graph = graph();
    assert!(graph.len() > 60, "files are not found");
    for (file, uses) in &graph {
        for used in uses {
            assert!(
                stage(used) <= stage(file),
                "{} uses {}: the data goes {}",
                file.join("::"),
                used.join("::"),
                STAGES.join(" -> ")
            );
        }
    }
}

#[test]
fn circles_stay_within_a_module_and_its_folder() {
    let graph = graph();
    let reached = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from.clone()];
        while let Some(module) = next.pop() {
            for used in &graph[&module] {
                if seen.insert(used.clone()) {
                    next.push(used.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&Module, BTreeSet<Module>> =
        graph.keys().map(|file| (file, reached(file))).collect();
    let circles = all.iter().filter_map(|(file, reached)| {
        let circle: Vec<&Module> =
            reached.iter().filter(|other| *other == *file || all[other].contains(*file)).collect();
        (circle.len() > 1).then_some(circle)
    });
    let wide: BTreeSet<String> = circles
        .filter(|circle| {
            let shortest = circle.iter().min_by_key(|file| file.len()).unwrap();
            shortest.len() == 1 || !circle.iter().all(|file| file.starts_with(shortest))
        })
        .map(|circle| circle.iter().map(|file| file.join("::")).collect::<Vec<_>>().join(", "))
        .collect();
    assert!(wide.is_empty(), "circles: {wide:#?}");
}
