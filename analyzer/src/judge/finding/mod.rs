//! Judged connections, their ends, and the verdict.

pub mod half;
pub mod hidden;
pub mod judged;
pub mod losses;
pub mod short;
pub mod superseded;
pub mod unanswered;
pub mod verdict;
