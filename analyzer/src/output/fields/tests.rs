use super::declared::{Declared, ValueKind, everything};
use super::*;
use std::collections::BTreeSet;

#[test]
fn every_field_says_what_it_is_and_in_which_unit() {
    for (row, fields) in everything() {
        assert!(!fields.is_empty());
        for Declared { field, kind, .. } in fields {
            let name = field.name;
            assert!(field.doc.len() > 5 && field.doc.ends_with(['.', '?']), "{row}.{name}");
            assert_eq!(name.ends_with("_ns"), kind == ValueKind::Time, "{row}.{name}");
            assert_eq!(name.ends_with("_ms"), kind == ValueKind::Duration, "{row}.{name}");
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
