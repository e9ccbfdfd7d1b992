//! Names of captures in summaries, warnings and errors.

use std::collections::HashMap;

/// By their paths, where they are called otherwise: `/dev/fd/7` may be what a URL names.
#[derive(Debug, Clone, Default)]
pub struct Labels(HashMap<String, String>);

impl Labels {
    pub fn new(by_path: HashMap<String, String>) -> Self {
        Self(by_path)
    }

    pub fn of<'a>(&'a self, path: &'a str) -> &'a str {
        self.0.get(path).map_or(path, String::as_str)
    }
}
