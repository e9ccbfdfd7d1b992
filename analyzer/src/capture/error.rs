//! Why a capture could not be analysed at all. Anything less is a notice, not an error.

use crate::capture::link;
use crate::capture::progress::Stopped;
use std::borrow::Cow;
use thiserror::Error;

/// One line that a user can act on. `python` maps each kind to an exception.
#[derive(Debug, Error)]
pub enum ScanError {
    #[error("{path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{path}: not a capture file: {reason}")]
    NotACapture { path: String, reason: String },
    /// Nothing, or less than a file header: what a rotating tcpdump leaves when it is killed.
    #[error("{path}: not a capture file: {reason}")]
    NoHeader { path: String, reason: Cow<'static, str> },
    #[error("{path}: interrupted before the first packet")]
    Stopped { path: String },
    #[error(
        "{path}: link type {} is not supported (supported: {})",
        link::refused(*link_type), link::titles()
    )]
    UnknownLinkType { path: String, link_type: u32 },
    #[error("filter {expression:?}: {reason}")]
    BadFilter { expression: String, reason: String },
    #[error("{path}: cannot write: {reason}")]
    Unwritable { path: String, reason: String },
}

impl ScanError {
    pub(super) fn not_a_capture(path: &str, reason: &str) -> Self {
        Self::NotACapture { path: path.to_owned(), reason: reason.to_owned() }
    }

    pub(super) fn no_header(path: &str, reason: &'static str) -> Self {
        Self::NoHeader { path: path.to_owned(), reason: reason.into() }
    }

    /// An I/O error on `path`, in the operating system's words.
    pub fn unreadable(path: &str, error: &std::io::Error) -> Self {
        let path = path.to_owned();
        match error.get_ref() {
            Some(inner) if inner.is::<Stopped>() => Self::Stopped { path },
            _ => Self::Unreadable { path, reason: os_reason(error) },
        }
    }

    /// The same, of a capture that is called so, whatever its path.
    pub fn called(mut self, label: &str) -> Self {
        match &mut self {
            Self::Unreadable { path, .. }
            | Self::NotACapture { path, .. }
            | Self::NoHeader { path, .. }
            | Self::Stopped { path }
            | Self::UnknownLinkType { path, .. }
            | Self::Unwritable { path, .. } => label.clone_into(path),
            Self::BadFilter { .. } => {}
        }
        self
    }

    /// A failure to write `path`.
    pub fn unwritable(path: &str, error: &std::io::Error) -> Self {
        Self::Unwritable { path: path.to_owned(), reason: os_reason(error) }
    }
}

/// The system's message without Rust's `(os error N)`.
fn os_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text,
    }
}
