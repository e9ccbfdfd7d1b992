//! System calls of a program, as strace saw them: which call wrote a held segment, and when.
//!
//! `files` puts lines in order, `line` reads one, `reading` makes calls of them, `sockets` follows
//! descriptors, and all of it is a `trace`. `align` finds its clock in the capture, and `written`
//! answers the judge's only question: when was this byte written? `alone` needs no capture.

mod align;
pub mod alone;
pub mod directions;
mod files;
mod line;
pub mod name;
mod reading;
pub mod rows;
pub mod sockets;
mod stack;
pub mod trace;
pub mod written;

#[cfg(test)]
mod tests;
