//! How many matches the connections of one server would show by accident.
//!
//! A program whose pauses follow no ACK meets one now and then: once in some hundred times on each
//! connection, so that of a thousand connections ten look as if Nagle's algorithm had held something once.
//! What one connection with so few matches shows is therefore weighed against all of its server that have
//! as few: where the matches are no more than so many pauses make likely, they are accidents (the share of
//! false discoveries, Benjamini and Hochberg, 1995). Connections with more matches speak for themselves.
//!
//! Runs before the connections are judged. Leans: doubts true stalls that are few among many other pauses.

use crate::cores;
use crate::judge::path::releases::Releases;
use crate::judge::pooled::ServerDirection;
use crate::judge::thresholds::{FEW_RELEASES, PEAK_OVER_CHANCE};
use crate::track::band::Band;
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::Wait;
use crate::track::{Connection, Pause, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// What the connections of each server that have few matches show together.
#[derive(Debug, Default)]
pub struct Accidents(HashMap<ServerDirection, ServerPauses, RandomState>);

/// The pauses of one direction of a server, on connections with few matches.
#[derive(Debug, Clone, Default)]
pub struct ServerPauses {
    connections: u32,
    /// How many matches within 1 ns of the round trip they make likely.
    per_ns: f64,
    /// How far off the round trip the matches are, in ns, in ascending order.
    off_ns: Vec<i64>,
}

impl Accidents {
    /// Of the connections of all `blocks`.
    pub fn of(blocks: &[Block], clocks: &Clocks, threads: usize) -> Self {
        let mut all = Self::default();
        if !blocks.iter().any(|block| block.waits.iter().any(is_pause)) {
            return all;
        }
        let parts = cores::of_blocks(threads, blocks, |blocks| {
            let mut some = Self::default();
            for block in blocks {
                some.add(block, clocks.coarsest_ns());
            }
            some
        });
        for (of, more) in parts.into_iter().flat_map(|part| part.0) {
            all.0.entry(of).or_default().add(more);
        }
        all.0.retain(|_, pauses| pauses.connections > 1 && !pauses.off_ns.is_empty());
        for pauses in all.0.values_mut() {
            pauses.off_ns.sort_unstable();
        }
        all
    }

    /// What this direction of a connection with few matches is to be weighed against.
    pub fn on_server_of(&self, connection: &Connection, by: Side) -> Option<&ServerPauses> {
        self.0.get(&(connection.ends.server, by))
    }

    fn add(&mut self, block: &Block, clock_ns: i64) {
        let one = ServerPauses { connections: 1, ..ServerPauses::default() };
        let mut directions = vec![[one.clone(), one]; block.connections.len()];
        for wait in block.waits.iter().filter(|wait| is_pause(wait)) {
            let Some(place) = block.place_of(wait) else { continue };
            directions[place][wait.by as usize].add_wait(wait, &block.connections[place], clock_ns);
        }
        for (connection, both) in block.connections.iter().zip(directions) {
            for (by, mut own) in Side::BOTH.into_iter().zip(both) {
                own.add_pauses(connection.half(by).pauses().iter());
                if own.per_ns > 0.0 && own.has_few_matches() {
                    self.0.entry((connection.ends.server, by)).or_default().add(own);
                }
            }
        }
    }
}

impl ServerPauses {
    /// With more a connection is evidence on its own.
    fn has_few_matches(&self) -> bool {
        self.off_ns.len() < FEW_RELEASES as usize
    }

    /// Adds the pauses of a connection that ended too long after an ACK to match.
    fn add_pauses<'a>(&mut self, pauses: impl Iterator<Item = &'a Pause>) {
        for pause in pauses {
            let span_ns = i64::midpoint(pause.min_ns, pause.max_ns);
            self.per_ns += 2.0 * f64::from(pause.count) / span_ns.max(1) as f64;
        }
    }

    fn add_wait(&mut self, wait: &Wait, connection: &Connection, clock_ns: i64) {
        let half = connection.half(wait.by);
        if !self.has_few_matches() || !half.is_path_measured() {
            return;
        }
        let band = Band::new(half.rtt_or_zero_ns(), half.jitter_ns(), clock_ns);
        let off_ns = band.off_ns(wait.release_ns()).abs();
        if off_ns <= band.tolerance_ns {
            self.off_ns.push(off_ns);
        }
        self.per_ns += 2.0 / wait.span_ns().max(1) as f64;
    }

    fn add(&mut self, more: Self) {
        self.connections += more.connections;
        self.per_ns += more.per_ns;
        self.off_ns.extend(more.off_ns);
    }

    /// Of the matches that are no farther off, this share is to be expected by accident; 1 at most.
    pub fn share(&self, off_ns: i64) -> f64 {
        let matches = self.off_ns.partition_point(|&other_ns| other_ns <= off_ns);
        (self.per_ns * off_ns as f64 / matches.max(1) as f64).min(1.0)
    }

    /// Are there more matches so close than so many pauses make likely?
    pub fn peak(&self, off_ns: i64) -> bool {
        PEAK_OVER_CHANCE * self.share(off_ns) < 1.0
    }
}

/// May Nagle's algorithm have made this wait, for all that its time says?
fn is_pause(wait: &Wait) -> bool {
    wait.is_evidence() && wait.is_freed() && Releases::may_hold(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::case::Confidence;
    use crate::judge::conditions::Conditions;
    use crate::judge::findings::Findings;
    use crate::judge::judge;
    use crate::track::story::{CLOCK_NS, MIN_WAIT_NS, Story, Told, block, client, server};

    /// A server at the capture point; its replies come in two pieces, the second so long after the ACK.
    fn connection(release_ms: f64) -> Told {
        let story = Story::new().handshake(0.01, 0.01).after_ms(5.0, client(100));
        let story = story.after_ms(0.1, server(100)).after_ms(40.0, client(0));
        story.after_ms(release_ms, server(50)).after_ms(0.02, client(0)).end()
    }

    /// The confidence of the stalls of connections of one server.
    fn stalls(releases_ms: &[f64]) -> Vec<Confidence> {
        let blocks = [block(releases_ms.iter().map(|&release_ms| connection(release_ms)))];
        let accidents = Accidents::of(&blocks, &Clocks::default(), 1);
        let conditions = Conditions { accidents: &accidents, ..Conditions::alone(MIN_WAIT_NS) };
        let conditions = Conditions { clock_ns: CLOCK_NS, ..conditions };
        let mut rulings = Vec::new();
        let [Block { connections, mut waits, .. }] = blocks;
        for (own, connection) in
            waits.chunk_by_mut(|a, b| a.connection == b.connection).zip(&connections)
        {
            judge(connection, own, conditions, &mut rulings);
        }
        Findings::new(&waits, &rulings).stalls().map(|stall| stall.confidence()).collect()
    }

    #[test]
    fn of_many_pauses_some_end_just_after_an_ack_by_accident() {
        let one_of_many: Vec<f64> = (1..=400).map(|step| 0.05 * f64::from(step)).collect();
        assert_eq!(stalls(&[0.01]), [Confidence::Likely]);
        assert_eq!(stalls(&one_of_many), []);
    }

    #[test]
    fn what_many_connections_show_once_each_is_no_accident() {
        let held = [0.01; 50];
        assert_eq!(stalls(&held), [Confidence::Likely; 50]);
        let among_pauses: Vec<f64> =
            held.into_iter().chain((1..=10).map(|step| 1.5 * f64::from(step))).collect();
        assert_eq!(stalls(&among_pauses).len(), 50);
    }
}
