//! nagle-scan's engine: from captured bytes to verdicts, in one streaming pass.
//!
//! The data's way: `capture -> decode -> track -> judge -> result -> output`. Frames read again for
//! an evidence file go through `frames`; only `python` knows Python. No `use` points against this
//! order.

#[cfg(test)]
mod house;

mod capture;
mod decode;
mod frames;
mod judge;
mod output;
mod python;
mod result;
mod track;
