//! The case in sentences.

pub mod case;
pub mod evidence;
pub mod rivals;
