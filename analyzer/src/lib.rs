//! nagle-scan's engine: from captured bytes to verdicts, in one streaming pass.
//!
//! The data's way: `capture -> decode -> track -> judge -> result -> output`. `calls` reads what strace saw. Frames read again for
//! an evidence file go through `frames`; only `python` knows Python. No `use` points against this
//! order (see `house`).
//!
//! # Words
//!
//! - **A, K, B**: the unacknowledged segment, the ACK that covers it, the segment held until that ACK
//!   (`Wait::from`, `ack`, `to`; `frame_unacked`, `frame_ack`, `frame_held` in outputs).
//! - **small**: not a whole number of effective MSS; only such segments are held by Nagle's algorithm.
//! - **side**: client or server. **half**: one direction of a connection, named after its sender.
//! - **exchange**: a client's bytes, then the server's, until the client sends again.
//! - **wait**: the time from the last data of either end to the next, raw, as `track` saw it.
//! - **release**: the time from an ACK to the next data, at the capture point.
//! - **band**: the releases that an ACK explains: the round trip to the sender and a tolerance.
//! - **candidate**: a wait that may have been a hold: nothing that the capture shows rules it out.
//! - **direction**: the candidates of one half, of one kind. Directions of one server and kind are a **group**.
//! - **ratio** (LR): how much likelier its timing is of a hold than of a program that wrote then, from the two
//!   **densities** of its release and its pause.
//! - **P(on)**: the probability that Nagle's algorithm was on at a wait, by the **chain** of all waits of its direction;
//!   its **siblings** are the other connections of the server.
//! - **share**: the part of such waits that are holds while the algorithm is on.
//! - **relay**: a program that passes on what arrives elsewhere, and so looks held.
//! - **hold**: a small segment that Nagle's algorithm kept back until an ACK or data of the other side released it.
//!   Its probability, of these terms, makes it `certain`, `likely` or `possible`; one that is listed is a **stall**.
//! - **contradiction**: a small segment sent while a small one was unacknowledged; Nagle was off.
//! - **terms**: the numbers from which the probability of a hold was computed; `--why` prints them.
//! - **ruling**: the cause of a wait, and how likely it was held. **finding**: a wait with its ruling.
//! - **reason**: why a connection gets no verdict; one row of a table each.
//! - **range**: a piece of a capture that one thread reads and decodes.
//! - **shard**: a sixteenth of the connections, chosen by addresses and ports; it takes the ranges in order.
//! - **block**: 1,024 connections of a shard; they are kept and judged together.

// Much is there for Python alone.
#![cfg_attr(not(feature = "python"), allow(dead_code, unused_imports))]

#[cfg(test)]
mod house;

mod calls;
mod capture;
mod cores;
mod decode;
mod frames;
mod judge;
mod named;
mod output;
#[cfg(feature = "python")]
mod python;
mod result;
mod rules;
mod thresholds;
mod track;

// The names that programs in Rust may use, and the fuzz targets do.
pub use calls::alone::alone;
pub use calls::trace::Trace;
pub use capture::error::ScanError;
pub use capture::progress::Progress;
pub use frames::excerpt::{Chosen, Wanted, choose};
pub use frames::pcapng::{FileComments, write as write_evidence};
pub use frames::{Excerpt, Policy, read as read_frames};
pub use output::write;
pub use result::anonymize::Anonymizer;
pub use result::names::Names;
pub use result::scan::{Scan, ScanOptions, scan};
pub use track::CaptureSummary;
pub use track::reader::Reading;
pub use track::reader::labels::Labels;
pub use track::reader::range::SHARDS;
