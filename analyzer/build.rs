//! Collects the documentation of the causes: the doc comment at the top of each file in
//! `src/judge/causes`, which is the only place where it is written.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

const CAUSES: &str = "src/judge/causes";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={CAUSES}");
    let mut paths: Vec<_> =
        fs::read_dir(CAUSES)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    let mut table = String::from("[\n");
    for path in paths.iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "rs")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(table, "    ({name:?}, {:?}),", documentation(&fs::read_to_string(path)?));
    }
    table.push(']');
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&folder).join("documentation.rs"), table)
}

/// The leading `//!` lines, without these marks.
fn documentation(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}
