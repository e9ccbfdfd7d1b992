//! The result of a scan. Blocks of connections are judged on all cores and put in order; then they
//! are counted and grouped, and the few rows a report shows are picked.

pub mod anonymize;
mod blocks;
mod booked;
pub mod calls;
pub mod cause_totals;
pub mod clearest;
pub mod clock_difference;
pub mod connecting;
pub mod connections;
pub mod ends;
pub mod first;
pub mod groups;
pub mod hops;
mod in_ms;
pub mod joined;
pub mod late_acks;
pub mod nagle_counts;
pub mod names;
pub mod open;
pub mod parts;
pub mod scan;
pub mod segments;
pub mod server_exchanges;
pub mod servers;
mod sums;
pub mod totals;
pub mod turns;
pub mod warnings;
pub mod why;
pub mod worst;
