//! libFuzzer's program: `TARGET` in the environment names what is tried.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<String> = LazyLock::new(|| std::env::var("TARGET").unwrap());

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nagle_scan_fuzz::targets::run(&TARGET, bytes));
