use super::*;
use crate::output::json::members::array;
use crate::output::table::columns::columns;
use std::collections::BTreeSet;

#[test]
fn every_field_says_what_it_is_and_in_which_unit() {
    for (row, fields) in everything() {
        assert!(!fields.is_empty());
        for Declared { field, kind, .. } in fields {
            let name = field.name;
            assert!(field.doc.len() > 5 && field.doc.ends_with(['.', '?']), "{row}.{name}");
            assert_eq!(name.ends_with("_ns"), kind == ValueKind::Time, "{row}.{name}");
            assert_eq!(name.ends_with("_ms"), kind.name() == "float, ms", "{row}.{name}");
            assert!(!field.outputs().is_empty(), "{row}.{name}");
        }
    }
}

#[test]
fn no_output_has_two_fields_of_one_name() {
    for (row, fields) in everything() {
        for output in [Output::Table, Output::Json, Output::Csv, Output::Python] {
            let shown = fields.iter().filter(|row| row.field.is_in(output));
            let names: Vec<&str> = shown.map(|row| row.field.name).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{row}");
        }
    }
}

/// A row with one field, declared in one line.
struct ClosedWindows(u32);

impl Row for ClosedWindows {
    const NAME: &'static str = "closed windows";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(field!("windows", "How many windows were closed."), |row| row.0);
    }
}

/// `tests/api/test_contract.py` has the same of what type checkers see.
#[test]
fn one_line_makes_a_field_of_every_output() {
    let [Declared { field, kind, .. }] = &declared::<ClosedWindows>()[..] else {
        panic!("one field")
    };
    assert_eq!(
        (field.name, *kind, field.outputs()),
        ("windows", ValueKind::Integer, vec!["DataFrame", "JSON", "CSV"])
    );
    let mut json = Vec::new();
    array(&mut json, [ClosedWindows(7)]);
    assert_eq!(String::from_utf8(json).unwrap(), r#"[{"windows":7}]"#);
    let names: Vec<_> = columns(&[ClosedWindows(7)]).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["windows"]);
}
