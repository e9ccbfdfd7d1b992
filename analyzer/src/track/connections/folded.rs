//! Connections of a port scan, compacted: most were refused or never answered.

use crate::track::Ends;
use crate::track::connection::Connection;
use crate::track::half::Asked;
use std::collections::BTreeMap;

/// The connections of one block, by their numbers.
#[derive(Debug, Default)]
pub struct Folded {
    /// In the order of their numbers, as the others are.
    unanswered: Vec<Unanswered>,
    others: BTreeMap<u32, Connection>,
}

/// A SYN without an answer so far.
#[derive(Debug)]
struct Unanswered {
    id: u32,
    ends: Ends,
    syn: Asked,
}

impl Folded {
    pub fn new(connections: Vec<Connection>) -> Self {
        let mut folded = Self::default();
        for connection in connections.into_iter().filter(|connection| !connection.is_refused()) {
            match connection.asked() {
                Some(syn) => {
                    let (id, ends) = (connection.id, connection.ends);
                    folded.unanswered.push(Unanswered { id, ends, syn });
                }
                None => {
                    folded.others.insert(connection.id, connection);
                }
            }
        }
        folded.unanswered.shrink_to_fit();
        folded
    }

    /// `None` for one that was refused, whatever follows.
    #[cold]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Connection> {
        if !self.others.contains_key(&id) {
            let at = self.unanswered.binary_search_by_key(&id, |unanswered| unanswered.id).ok()?;
            let Unanswered { ends, syn, .. } = &self.unanswered[at];
            self.others.insert(id, Connection::after_syn(id, *ends, syn));
        }
        self.others.get_mut(&id)
    }

    /// Those that were answered, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.others.values_mut()
    }

    /// As `iter_mut`.
    pub fn into_connections(self) -> Vec<Connection> {
        self.others.into_values().collect()
    }
}
