//! The terms of the model in sentences.

mod data_release;
pub mod evidence;
pub mod rivals;
pub mod terms;
