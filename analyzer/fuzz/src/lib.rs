//! Demands on the engine, whatever it is given. libFuzzer runs it by `main.rs`, `cargo test` by
//! `tests/fuzz.rs` of the engine, for every input that was a failure once.

mod addresses;
mod asked;
mod conversation;
mod evidence;
mod memory;
mod properties;
pub mod targets;
mod wire;
