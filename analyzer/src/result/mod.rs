//! The result of a scan: what was judged, put in order, counted and grouped.

pub mod anonymize;
pub mod blocks;
pub mod both_cores;
pub mod connections;
pub mod findings;
pub mod groups;
pub mod hops;
pub mod nagle_counts;
pub mod pieces;
pub mod scan;
pub mod servers;
mod sorter;
pub mod summary;
pub mod totals;
