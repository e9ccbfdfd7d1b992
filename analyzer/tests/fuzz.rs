//! What fuzzing tries, without a fuzzer: every input that was a failure once, kept in `fuzz/crashes`, and
//! a few programs of any bytes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what fails is a test")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use fuzz::targets::run;
use std::fs;
use std::path::PathBuf;

fn kept(target: &str) -> Vec<PathBuf> {
    let folder = format!("{}/fuzz/crashes/{target}", env!("CARGO_MANIFEST_DIR"));
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn runs_what_is_kept(target: &str) {
    let paths = kept(target);
    assert!(!paths.is_empty());
    for path in paths {
        println!("{}", path.display()); // Shown where it fails.
        run(target, &fs::read(path).unwrap());
    }
}

#[test]
fn files_that_were_a_failure_are_none_any_more() {
    runs_what_is_kept("file");
}

#[test]
fn conversations_that_were_a_failure_are_none_any_more() {
    runs_what_is_kept("conversation");
}

#[test]
fn traces_that_were_a_failure_are_none_any_more() {
    runs_what_is_kept("calls");
}

#[test]
fn clocks_that_were_a_failure_are_none_any_more() {
    runs_what_is_kept("clocks");
}

/// xorshift64: the same bytes in each run.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn runs_noise(target: &str) {
    for seed in 1..=36 {
        run(target, &noise(seed, 40 * (1 + seed as usize % 12)));
    }
}

#[test]
fn a_conversation_of_any_bytes_is_the_same_however_it_is_read() {
    runs_noise("conversation");
}

#[test]
fn clocks_of_any_bytes_do_no_harm() {
    runs_noise("clocks");
}

#[test]
fn any_options_are_taken_or_refused() {
    runs_noise("options");
}

#[test]
fn evidence_of_a_conversation_of_any_bytes_holds_no_address_and_says_the_same() {
    runs_noise("evidence");
}
