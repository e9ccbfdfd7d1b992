//! The case in sentences.

pub mod evidence;
pub mod rivals;
pub mod terms;
