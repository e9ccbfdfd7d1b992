//! System calls of a program, as strace saw them, beside the capture: which call wrote a held segment, and when.
//!
//! `line` reads a line, `sockets` follows descriptors, `trace` puts files together; `align` finds the clock of the
//! trace in the capture, and `written` answers the judge's only question: when was this byte written?

mod align;
pub mod alone;
mod line;
pub mod name;
pub mod sockets;
mod stack;
pub mod told;
pub mod trace;
pub mod written;

#[cfg(test)]
mod tests;
