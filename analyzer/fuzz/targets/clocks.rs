#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nagle_scan_fuzz::targets::clocks(bytes));
