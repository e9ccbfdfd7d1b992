//! nagle-scan's engine: from captured bytes to verdicts, in one streaming pass.
//!
//! The data's way: `capture -> decode -> track -> judge -> result -> output`. `calls` reads what
//! strace saw. Frames read again for an evidence file go through `frames`; only `python` knows
//! Python. No `use` points against this order or in a circle, and every word below is declared in
//! the stages of its heading (see `house`).
//!
//! # Words
//!
//! What the wire shows, in `capture`, `decode` and `track`:
//!
//! - **side**: client or server. **half**: one direction of a connection, named after its sender.
//! - **mss**: the longest payload that a segment carries on this path. **small**: not a whole
//!   number of these; only such segments are held by Nagle's algorithm.
//! - **wait**: the time from the last data of either end to the next; a **fact** is what is seen of it.
//! - **from**, **ack**, **to**: of a wait that may be a hold, the unacknowledged segment, the ACK
//!   that covers it and the segment that left then; A, K and B in reports.
//! - **release**: the time from that ACK to the next data, at the capture point. **pause**: the
//!   time from the last data of either end, or from the ACK, to the next data of a program.
//! - **band**: the releases that one round trip to the sender and a tolerance explain, as the
//!   tracker estimates it.
//! - **contradiction**: a small segment sent while a small one was unacknowledged; the algorithm was off.
//! - **exchange**: a client's bytes, then the server's, until the client sends again, or the server begins
//!   another message, for which nobody asked. **suspect**:
//!   one with a wait that may be a stall. **arrival**: data of a client, as a relay may pass it on.
//! - **reaction**: the time from a peer's data to the answer, while nothing of the sender is outstanding.
//! - **range**: a piece of a capture that one thread reads and decodes. **shard**: a sixteenth of
//!   the connections, chosen by addresses and ports; it takes the ranges in order. **block**: 1,024
//!   connections of a shard; they are kept and judged together.
//!
//! What the model makes of it, in `judge`:
//!
//! - **hold**: a small segment that Nagle's algorithm kept back until an ACK or data of the other
//!   side released it. Its probability is its **confidence**: `certain`, `likely` or `possible`;
//!   one that is listed is a **stall**.
//! - **candidate**: a wait that may have been a hold. **exclusion**: why another wait is none.
//!   **size**: how a segment compares with what the path carries.
//! - **kind**: the server, its side, and whether an ACK or data released (**by data**): waits of
//!   one kind are learnt alike. **group**: the sets of one kind. **member**: a set in its group,
//!   with its **state** between two rounds.
//! - **direction**: what is known of one half apart from its waits: its **path** (round trip to the
//!   capture point, and jitter), the delays of its ACKs. **set**: candidates that are weighed together.
//! - **event**: a candidate with its release and its pause, in ms. **series**: the events of a
//!   group, by the clock of the capture, or of a direction, by its sender's. **manner**: how wide
//!   the bins are in which a series is **learnt**.
//! - **ratio** (LR): how much likelier the timing of an event is of a hold than of a program that
//!   wrote then, from two **densities**. A **sender clock** that ticks in timestamps gives both by
//!   the sender's own time.
//! - **on**: the probability that the algorithm was on at a wait, by the **chain** of all waits
//!   of its direction, whose other **evidence** is contradictions and **siblings**, the other
//!   connections of the server.
//! - **share**: the part of such waits that are holds while the algorithm is on.
//! - **weighing**: the rounds in which all groups settle. **terms**: the numbers from which a probability was
//!   computed; `--why` prints them. **model**: the answers on all waits of a block.
//! - **relay**: a program that passes on what arrives elsewhere, and so looks held. **proof**:
//!   the system calls of a program say that a segment was held or was not. **corked**: held by
//!   `TCP_CORK` or `MSG_MORE`, for 200 ms.
//! - **ruling**: the cause of a wait, and how likely it was held. **finding**: a wait with its ruling.
//! - **doubt**: what a capture does not show of a connection, and so hides: one row of a table each.
//!   The first is why a connection gets no verdict.

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
mod pieces;
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
pub use track::reader::Reading;
pub use track::reader::capture_summary::CaptureSummary;
pub use track::reader::labels::Labels;
pub use track::table::key::SHARDS;
