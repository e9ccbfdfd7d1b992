//! Was a segment that left right behind data of the peer held until that data acknowledged all before it, or is it
//! the program's answer?
//!
//! The kernel sends what it held from within the processing of that ACK; a program has to wake up first. How soon
//! this program reacts, it shows where nothing of its own was outstanding and nothing can have been held. All
//! connections of a server count together. A program that is as quick as a kernel may be behind all of them: that is
//! one coincidence, however many segments there are.

use crate::judge::model::candidates::{self, Size, may_hold};
use crate::judge::model::chain::{MOST_CONTRADICTIONS, SHARES, of_share};
use crate::judge::model::density::{kernel, log_normal};
use crate::judge::model::held::{DirectionModel, Held};
use crate::judge::model::ratios::Densities;
use crate::judge::model::{BlockModel, Terms};
use crate::judge::statistics;
use crate::judge::thresholds::{
    BY_DATA, BY_DATA_IN_TURNS, CONTRADICTION, POSSIBLE, QUICK_PROGRAM, REACTION_MS,
};
use crate::track::clock::Clocks;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Connection, Endpoint, Reactions, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::mem;

/// The ratio of one segment at most: it is a coincidence of one moment.
pub const MOST: f64 = 10.0;
/// A clock with longer steps, in ns, does not tell a kernel from a program.
const COARSE_NS: i64 = 10_000;
/// A reaction that is no later than so many releases in the middle is as quick as a kernel's.
const AS_QUICK: i64 = 3;
/// That two pieces never left in a row elsewhere speaks this much against it at most: a program has many kinds.
const LEAST_TURN: f64 = 0.1;
/// Waits between a sender's own data from which it does not wait for the peer each time.
const FEW_TURNS: u32 = 2;

/// The parameters that all segments of a program share which data may have released.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DataReleases {
    /// How many there are, and how many others left later than a kernel sends.
    pub count: u32,
    pub late: u32,
    /// Reactions of this program to data while nothing of its own was outstanding, and how soon the quickest
    /// twentieth of them came, in ms.
    pub reactions: u32,
    pub quickest_ms: f64,
    /// Probability that such segments are held here at all, and then the share of them that is.
    pub pattern: f64,
    pub share: f64,
}

/// One segment that may have been held.
struct Event {
    block: usize,
    /// Place of its connection.
    place: u32,
    wait: Wait,
    /// Probability that Nagle's algorithm was on, by what contradicts that.
    on: f64,
    hold_ns: i64,
}

/// The answer on it.
struct Weighed {
    densities: Densities,
    /// How usual it is that this sender sends two pieces of these lengths without waiting for the peer.
    turn: f64,
    held: Held,
}

/// Lengths of two pieces of a sender, the second sent though nothing had come of the peer.
#[derive(Default)]
struct Pairs {
    counts: HashMap<(u32, u32), u32, RandomState>,
    /// Pairs that came once, and all of them.
    once: u32,
    all: u32,
}

/// The program of one side of a server.
struct Program {
    reactions: Reactions,
    pairs: Pairs,
    events: Vec<Event>,
}

/// Adds the segments that data is likely to have released to the waits of `blocks`, which are sorted, and what is
/// said of them to their `models`.
pub fn add(blocks: &mut [Block], clocks: &Clocks, models: &mut [BlockModel]) {
    let mut found: Vec<Vec<(Wait, Held)>> = blocks.iter().map(|_| Vec::new()).collect();
    for program in programs(blocks, clocks, models).values() {
        let (releases, all) = program.weigh();
        for (event, weighed) in program.events.iter().zip(all) {
            if f64::from(weighed.held.probability) >= POSSIBLE {
                found[event.block].push((event.wait, weighed.held));
                let key = (event.place, event.wait.by as u8);
                models[event.block].direction_mut(key).data = releases;
            }
        }
    }
    for ((block, model), more) in blocks.iter_mut().zip(models).zip(found) {
        if !more.is_empty() {
            merge(block, model, more);
        }
    }
}

fn merge(block: &mut Block, model: &mut BlockModel, more: Vec<(Wait, Held)>) {
    let waits = mem::take(&mut block.waits).into_iter().zip(mem::take(&mut model.held));
    let mut all: Vec<(Wait, Held)> = waits.chain(more).collect();
    all.sort_by_key(|(wait, _)| (wait.connection, wait.to.frame, wait.by as u8));
    (block.waits, model.held) = all.into_iter().unzip();
}

/// The terms of a segment that data may have released.
pub fn explain(
    blocks: &mut [Block],
    clocks: &Clocks,
    models: &[BlockModel],
    block: usize,
    wait: &Wait,
) -> Option<Terms> {
    let is_it = |event: &Event| {
        event.block == block
            && (event.wait.connection, event.wait.to.frame) == (wait.connection, wait.to.frame)
    };
    let programs = programs(blocks, clocks, models);
    programs.values().find_map(|program| {
        let at = program.events.iter().position(is_it)?;
        let (releases, mut all) = program.weigh();
        let Weighed { densities, turn, held } = all.swap_remove(at);
        Some(Terms {
            exclusion: None,
            held,
            direction: DirectionModel { data: releases, ..DirectionModel::default() },
            densities: Some(densities),
            most: MOST,
            turn,
        })
    })
}

type Programs = HashMap<(Endpoint, Side), Program, RandomState>;

fn programs(blocks: &mut [Block], clocks: &Clocks, models: &[BlockModel]) -> Programs {
    let mut all = Programs::default();
    for (number, block) in blocks.iter_mut().enumerate() {
        block.by_data.sort_unstable_by_key(|wait| (wait.connection, wait.to.frame));
        let (block, model) = (&*block, &models[number]);
        for by_data in block.by_data.chunk_by(|one, next| one.connection == next.connection) {
            let Some(place) = block.place_of(&by_data[0]) else { continue };
            let connection = &block.connections[place];
            let is_told_apart = connection.is_in_order() && clocks.behind_ns(by_data) <= COARSE_NS;
            if !is_told_apart {
                continue;
            }
            let id = by_data[0].connection;
            let begin = block.waits.partition_point(|wait| wait.connection < id);
            let end = block.waits.partition_point(|wait| wait.connection <= id);
            for side in Side::BOTH {
                let is_own = |wait: &&Wait| wait.by == side && may_be_held(wait, connection);
                let mut own = by_data.iter().filter(is_own).peekable();
                if own.peek().is_none() {
                    continue;
                }
                let program =
                    all.entry((connection.ends().server, side)).or_insert_with(Program::new);
                let own_waits = block.waits[begin..end].iter().zip(&model.held[begin..end]);
                program.add_pairs(side, own_waits.clone().map(|(wait, _)| wait));
                program.reactions.extend(connection.half(side).reactions());
                let on = on(connection, side, own_waits);
                program.events.extend(own.map(|wait| Event {
                    block: number,
                    place: place as u32,
                    wait: *wait,
                    on,
                    hold_ns: wait.wait_ns(),
                }));
            }
        }
    }
    all
}

fn may_be_held(wait: &Wait, connection: &Connection) -> bool {
    let half = connection.half(wait.by);
    let is_cut = Size::of(wait, connection) == Size::Carried;
    may_hold(wait) && !is_cut && !candidates::left_before_ack(wait, half)
}

/// Probability that Nagle's algorithm is on, as far as anything contradicts it: what is held until pure ACKs
/// proves nothing here.
fn on<'a>(
    connection: &Connection,
    side: Side,
    waits: impl Iterator<Item = (&'a Wait, &'a Held)>,
) -> f64 {
    let contradictions = connection.half(side).contradictions();
    if contradictions == 0 {
        return 1.0;
    }
    let asked =
        waits.filter(|(wait, held)| wait.by == side && !wait.is(fact::DATA_ACK) && held.on > 0.0);
    let (sum, count) =
        asked.fold((0.0, 0.0), |(sum, count), (_, held)| (sum + f64::from(held.on), count + 1.0));
    if count > 0.0 {
        sum / count
    } else {
        CONTRADICTION.powi(contradictions.min(MOST_CONTRADICTIONS) as i32)
    }
}

impl Pairs {
    fn add(&mut self, wait: &Wait) {
        let count = self.counts.entry((wait.unacked_len, wait.len)).or_default();
        *count += 1;
        self.all += 1;
        match *count {
            1 => self.once += 1,
            2 => self.once -= 1,
            _ => {}
        }
    }

    /// How usual two pieces of these lengths are without data of the peer between them; those seen once tell how
    /// many are new each time (Good and Turing).
    fn turn(&self, wait: &Wait) -> f64 {
        let seen = self.counts.get(&(wait.unacked_len, wait.len)).copied().unwrap_or(0);
        (f64::from(seen + self.once + 1) / f64::from(self.all + 1)).clamp(LEAST_TURN, 1.0)
    }
}

impl Program {
    fn new() -> Self {
        Self { reactions: Reactions::NONE, pairs: Pairs::default(), events: Vec::new() }
    }

    /// Adds what a connection of it sent twice in a row.
    fn add_pairs<'a>(&mut self, side: Side, waits: impl Iterator<Item = &'a Wait>) {
        let is_own = |wait: &&Wait| {
            wait.by == side && wait.is_evidence() && candidates::is_other_pause(wait)
        };
        for wait in waits.filter(is_own) {
            self.pairs.add(wait);
        }
    }

    fn densities(&self, wait: &Wait) -> Densities {
        let release_ms = (wait.release_ns() as f64 / 1e6).max(1e-3);
        let about = self.reactions.about(wait.release_ns()) / (Reactions::WIDTH * release_ms);
        let usual = log_normal(release_ms, REACTION_MS.0, REACTION_MS.1);
        let program = (about + usual) / f64::from(self.reactions.count() + 1);
        Densities { hold: kernel(release_ms, 0.0), program }
    }

    /// The parameters that its segments share, and the answer on each.
    fn weigh(&self) -> (DataReleases, Vec<Weighed>) {
        let terms = |event: &Event| {
            let (densities, turn) = (self.densities(&event.wait), self.pairs.turn(&event.wait));
            let ratio = densities.hold / densities.program.max(1e-12) * turn;
            (densities, turn, ratio.clamp(1.0 / MOST, MOST))
        };
        let all: Vec<(Densities, f64, f64)> = self.events.iter().map(terms).collect();
        let releases = self.releases(&all);
        let weigh = |(event, &(densities, turn, ratio)): (&Event, &(Densities, f64, f64))| {
            let held = releases.pattern * of_share(releases.share, ratio);
            let probability = event.on * held;
            let held = Held::new(probability as f32, event.on as f32, ratio as f32);
            Weighed { densities, turn, held: held.lasting(event.hold_ns) }
        };
        (releases, self.events.iter().zip(&all).map(weigh).collect())
    }

    fn releases(&self, all: &[(Densities, f64, f64)]) -> DataReleases {
        let of_events = || self.events.iter().zip(all);
        let has_evidence = self.events.iter().any(|event| event.wait.is_evidence());
        let counts = |(event, _): &(&Event, _)| !has_evidence || event.wait.is_evidence();
        let log = |share: f64| {
            let each = of_events().filter(counts);
            let late = f64::from(self.reactions.late) * (1.0 - share).ln();
            late + each.map(|(_, (_, _, ratio))| (1.0 - share + share * ratio).ln()).sum::<f64>()
        };
        let logs = SHARES.map(log);
        let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.map(|log| (log - best).exp());
        let sum: f64 = weights.iter().sum();
        let share = weights.iter().zip(SHARES).map(|(weight, share)| weight * share).sum::<f64>();
        let likelihood = best + (sum / SHARES.len() as f64).ln();
        // If it answers data of this kind as quickly as a kernel, that explains them all.
        let quick =
            (f64::from(self.as_quick()) + QUICK_PROGRAM) / f64::from(self.reactions.count() + 1);
        let odds = self.prior() / (quick + (1.0 - quick) * (-likelihood).exp());
        DataReleases {
            count: self.events.len() as u32,
            late: self.reactions.late.into(),
            reactions: self.reactions.count(),
            quickest_ms: self.reactions.quickest_ns().unwrap_or(0) as f64 / 1e6,
            pattern: odds / (1.0 + odds),
            share: share / sum,
        }
    }

    /// How many of its reactions came as soon as a kernel's.
    fn as_quick(&self) -> u32 {
        let mut releases_ns: Vec<i64> =
            self.events.iter().map(|event| event.wait.release_ns()).collect();
        let middle_ns = statistics::upper(&mut releases_ns).unwrap_or(0);
        self.reactions.within(AS_QUICK * middle_ns)
    }

    /// Odds that data releases its segments, before their times are asked. Where each side waits for the other, they
    /// are answers.
    fn prior(&self) -> f64 {
        let chance = if self.pairs.all >= FEW_TURNS { BY_DATA } else { BY_DATA_IN_TURNS };
        chance / (1.0 - chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::Cause;
    use crate::judge::model::{Confidence, model};
    use crate::track::story::{Story, Told, block, client, server};

    /// The server sends two pieces, the second after the client's ACK, and later data of the client is followed by
    /// another piece. `apart` is what it does with nothing outstanding.
    fn ticks(count: u32, release_us: f64, apart_us: f64) -> Told {
        let tick = |story: Story| {
            let sent = story.after_ms(100.0, server(80)).after_ms(41.0, client(0));
            let next = sent.after_ms(0.02, server(60)).after_ms(41.0, client(0));
            let apart = next.after_ms(60.0, client(20)).after_ms(apart_us / 1e3, server(70));
            let pushed = apart.after_ms(25.0, client(21)).after_ms(release_us / 1e3, server(50));
            pushed.after_ms(41.0, client(0))
        };
        Story::new().handshake(0.02, 1.0).times(count, tick).end()
    }

    /// How many segments data is said to have released, surely or at all.
    fn released(mut told: Told) -> (usize, usize) {
        let (_, rulings) = told.judge();
        let all = || rulings.iter().filter(|ruling| ruling.cause == Cause::NagleReply);
        let sure = all().filter(|ruling| ruling.held.confidence() > Some(Confidence::Possible));
        (sure.count(), all().count())
    }

    #[test]
    fn what_is_quicker_than_the_program_ever_is_was_held() {
        assert_eq!(released(ticks(40, 14.0, 900.0)), (40, 40));
        let (sure, all) = released(ticks(2, 14.0, 900.0));
        assert!(sure == 0 && all <= 2, "two may be chance: {sure}, {all}");
    }

    #[test]
    fn a_program_that_is_as_quick_elsewhere_answers() {
        for (release_us, apart_us) in [(14.0, 15.0), (45.0, 50.0), (90.0, 900.0)] {
            assert_eq!(released(ticks(40, release_us, apart_us)).0, 0, "{release_us} us");
        }
    }

    #[test]
    fn where_each_side_waits_for_the_other_they_are_answers() {
        let turn = |story: Story| story.after_ms(25.0, client(20)).after_ms(0.014, server(60));
        assert_eq!(released(Story::new().handshake(0.02, 1.0).times(60, turn).end()), (0, 0));
    }

    #[test]
    fn a_coarse_clock_tells_nothing() {
        let added = |step_ns| {
            let clocks = Clocks::ticking_every(step_ns);
            let mut blocks = [block([ticks(40, 14.0, 900.0)])];
            let mut models = model(&blocks, &clocks, 1);
            add(&mut blocks, &clocks, &mut models);
            blocks[0].waits.iter().filter(|wait| wait.is(fact::DATA_ACK)).count()
        };
        assert_eq!([1_000, 1_000_000].map(added), [40, 0]);
    }
}
