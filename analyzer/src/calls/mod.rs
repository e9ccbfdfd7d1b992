//! System calls of a program, as strace saw them: which call wrote a held segment, and when.
//!
//! `files` puts lines in order, `line` reads one, `reading` makes calls of them, `sockets` follows
//! descriptors, and all of it is a `trace`. `place` and `clock` find its bytes and its times in the
//! capture, and `written` answers the judge's only question: when was this byte written? `alone` needs no capture.

pub mod alone;
mod clock;
pub mod directions;
mod files;
mod foreign;
mod line;
pub mod name;
mod place;
mod reading;
pub mod rows;
pub mod sockets;
pub mod stack;
pub mod trace;
pub mod written;

#[cfg(test)]
mod tests;
