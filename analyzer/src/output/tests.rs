//! The outputs of a shipped capture against the declared fields.

use super::fields::{Field, NamedConnection, Output, Row, StallRow, declared};
use super::file::create;
use super::{table, write};
use crate::judge::findings::Finding;
use crate::result::scan::tests::example;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

/// The bytes that `write` writes into a file of its own.
fn written(name: &str, write: impl FnOnce(&str)) -> String {
    let path = std::env::temp_dir().join(format!("nagle-scan-{name}-{}", std::process::id()));
    write(path.to_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    text
}

fn fields_of<R: Row>(output: Output) -> Vec<Field> {
    let shown = declared::<R>().into_iter().map(|row| row.field);
    shown.filter(|field| field.is_in(output)).collect()
}

fn names_of<R: Row>(output: Output) -> Vec<&'static str> {
    fields_of::<R>(output).iter().map(|field| field.name).collect()
}

fn members(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn array<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().unwrap()
}

#[test]
fn json_holds_every_declared_field_and_no_other() {
    let scan = example();
    let text = written("json", |path| write(&scan, "json", path, None).unwrap().unwrap());
    let document: Value = serde_json::from_str(&text).unwrap();
    let connections = array(&document, "connections");
    let rows = |name| connections.iter().flat_map(move |row| array(row, name));
    for (name, declared) in [
        ("stalls", names_of::<StallRow<'_>>(Output::Json)),
        ("waits", names_of::<Finding<'_>>(Output::Json)),
    ] {
        assert!(rows(name).count() > 0);
        // Without a trace there is no call, and of one capture no other end.
        let of_others = ["call", "capture", "other_end"];
        let declared = declared.into_iter().filter(|name| !of_others.contains(name));
        let declared: BTreeSet<&str> = declared.collect();
        assert!(rows(name).all(|row| members(row) == declared), "{name}");
    }
    assert_eq!(rows("stalls").count() as u64, scan.totals.stalls);
}

#[test]
fn json_leaves_out_of_a_connection_only_what_may_be() {
    let scan = example();
    let text = written("connections", |path| write(&scan, "json", path, None).unwrap().unwrap());
    let document: Value = serde_json::from_str(&text).unwrap();
    let fields = fields_of::<NamedConnection<'_>>(Output::Json);
    let rows = BTreeSet::from(["stalls", "waits"]);
    for connection in array(&document, "connections") {
        let found: BTreeSet<&str> = &members(connection) - &rows;
        let all: BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
        let sparse = fields.iter().filter(|field| field.is_sparse).map(|field| field.name);
        assert!(found.is_subset(&all), "{found:?}");
        assert!((&all - &found).is_subset(&sparse.collect()), "{found:?}");
    }
}

#[test]
fn csv_has_a_column_for_every_declared_field_and_a_row_for_every_stall() {
    let scan = example();
    let text = written("csv", |path| write(&scan, "csv", path, None).unwrap().unwrap());
    let names = names_of::<StallRow<'_>>(Output::Csv);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(names.join(",").as_str()));
    assert!(lines.clone().all(|line| line.split(',').count() == names.len()));
    assert_eq!(lines.count() as u64, scan.totals.stalls);
}

#[test]
fn tables_have_a_column_for_every_declared_field() {
    let scan = example();
    for (table, declared) in [
        (table::stalls(&scan), names_of::<StallRow<'_>>(Output::Table)),
        (table::waits(&scan), names_of::<Finding<'_>>(Output::Table)),
    ] {
        assert!(table.iter().map(|(name, _)| name.as_ref()).eq(declared));
    }
    let connections = table::connections(&scan);
    let names: Vec<&str> = connections.iter().map(|(name, _)| name.as_ref()).collect();
    for name in names_of::<NamedConnection<'_>>(Output::Table) {
        let ends = names.iter().filter(|column| column.starts_with(&format!("{name}_")));
        assert!(names.contains(&name) || ends.count() > 5, "{name}");
    }
}

#[test]
fn nothing_of_an_older_and_longer_file_stays() {
    for (before, after) in [("long content", "short"), ("", "short")] {
        let text = written("older", |path| {
            fs::write(path, before).unwrap();
            create(path).unwrap().write_all(after.as_bytes()).unwrap();
        });
        assert_eq!(text, after);
    }
}
