//! Parts of the Python module that stand by themselves.

pub mod progress;
