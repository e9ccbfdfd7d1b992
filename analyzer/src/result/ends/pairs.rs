//! Which connections two captures share, by what is the same wherever a connection is captured:
//! sequence numbers, lengths and timestamps of its segments.
//!
//! Addresses and ports do not prove it (they are used again, and any number of clients may have the
//! same ones behind NAT), and times cannot (each capture has its own clock). Both captures are read
//! by then: it takes a row for each connection, and one for each wait that data ended.

use crate::result::clock_difference::Stamped;
use crate::result::joined::{Stream, seq_of};
use crate::track::ends::Ends;
use crate::track::tracked::{Block, Tracked};
use crate::track::wait::{End, Wait, fact};
use crate::track::{Connection, Side};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Segments without timestamps that must be the same behind NAT: numbers of 32 bits are, by chance,
/// in captures of many connections.
const EQUAL_WITHOUT_TIMESTAMPS: usize = 3;
/// One of 65,536 random first numbers is no larger.
const SMALL_SEQ: u32 = 0xffff;
/// Connections that may begin alike: more are made up, and are compared with no others.
const MOST_ALIKE: usize = 8;

/// A connection of one of the captures.
#[derive(Debug)]
pub struct Beginning {
    pub number: u32,
    ends: Ends,
    streams: [Stream; 2],
    /// Both SYNs were captured.
    is_whole: bool,
    rtts_ns: [Option<i64>; 2],
    pub exchanges: u32,
    /// New data that ended its waits.
    segments: Vec<Segment>,
}

/// A segment as both ends see it, but for its time.
#[derive(Debug, Clone, Copy)]
struct Segment {
    by: Side,
    seq: u32,
    len: u32,
    tsval: u32,
    time_ns: i64,
}

type Identity = (Side, u32, u32, u32);

impl Segment {
    fn of(streams: [Stream; 2], wait: &Wait) -> Option<Self> {
        let is_new = wait.end == End::Data && !wait.is(fact::RETRANSMITTED) && wait.to.is_set();
        is_new.then(|| Self {
            by: wait.by,
            seq: seq_of(streams, wait),
            len: wait.len,
            tsval: wait.tsval,
            time_ns: wait.to.time_ns,
        })
    }

    /// With a timestamp the length says nothing: offloads cut segments before the capture.
    fn identity(&self) -> Identity {
        (self.by, self.seq, self.tsval, if self.tsval == 0 { self.len } else { 0 })
    }
}

/// The connections of a capture that can be recognised elsewhere, in the order of their numbers.
pub fn beginnings(tracked: &Tracked) -> Vec<Beginning> {
    let mut all: Vec<Beginning> = tracked.blocks.iter().flat_map(of_block).collect();
    all.sort_unstable_by_key(|one| one.number);
    all
}

fn of_block(block: &Block) -> Vec<Beginning> {
    let mut all: Vec<Beginning> =
        block.connections.iter().map(|one| Beginning::of(block, one)).collect();
    for wait in block.waits.iter().chain(&block.by_data) {
        let Some(place) = block.place_of(wait) else { continue };
        let segment = Segment::of(all[place].streams, wait);
        all[place].segments.extend(segment);
    }
    all.retain(Beginning::is_recognisable);
    all
}

impl Beginning {
    fn of(block: &Block, connection: &Connection) -> Self {
        Self {
            number: block.numbers[connection.id as usize],
            ends: connection.ends(),
            streams: Side::BOTH.map(|side| Stream::of(connection, side)),
            is_whole: connection.has_handshake(),
            rtts_ns: Side::BOTH.map(|side| connection.half(side).measured_rtt_ns()),
            exchanges: connection.exchanges.count,
            segments: Vec::new(),
        }
    }

    /// Printed text may count its sequence numbers from 0 or 1; and without data there is nothing to
    /// recognise, nor to judge.
    fn is_recognisable(&self) -> bool {
        self.streams.iter().any(|stream| stream.first_seq > 1)
            && self.streams.iter().any(|stream| stream.len > 0)
    }

    /// The segments that both captures show.
    fn equal<'a>(&'a self, other: &'a Self) -> Vec<(&'a Segment, &'a Segment)> {
        let known: HashMap<Identity, &Segment> =
            other.segments.iter().map(|one| (one.identity(), one)).collect();
        let same = |one: &'a Segment| Some((one, *known.get(&one.identity())?));
        self.segments.iter().filter_map(same).collect()
    }

    /// How many segments lie at the same place of the stream, with timestamps.
    fn comparable(&self, other: &Self) -> usize {
        let places = |all: &Self| -> HashSet<(Side, u32)> {
            let stamped = all.segments.iter().filter(|one| one.tsval != 0);
            stamped.map(|one| (one.by, one.seq)).collect()
        };
        places(self).intersection(&places(other)).count()
    }

    /// How much speaks for the same connection; `None` if it is another one.
    fn likeness(&self, other: &Self) -> Option<usize> {
        let begins_alike =
            |side: usize| self.streams[side].first_seq == other.streams[side].first_seq;
        let are_whole = self.is_whole && other.is_whole;
        let meet = Side::BOTH.iter().all(|&side| {
            let (own, their) = (self.streams[side as usize], other.streams[side as usize]);
            own.meets(their)
        });
        if !meet || are_whole && !(begins_alike(0) && begins_alike(1)) {
            return None;
        }
        let equal = self.equal(other);
        let stamped = equal.iter().filter(|(one, _)| one.tsval != 0).count();
        if 2 * stamped < self.comparable(other) || !is_causal(&equal) {
            return None;
        }
        // Scripts, and stacks of little memory, begin with the same small numbers each time.
        let is_random = self.streams.iter().all(|stream| stream.first_seq > SMALL_SEQ);
        let is_known = self.ends == other.ends || are_whole;
        let is_like = is_known || equal.len() >= EQUAL_WITHOUT_TIMESTAMPS;
        (stamped > 0 || is_random && is_like).then_some(equal.len())
    }

    /// True if both ends are as far away as from where the other one was captured: from end to end,
    /// what the one has to the client the other has to the server.
    fn is_at_place_of(&self, other: &Self) -> bool {
        let [Some(client_ns), Some(server_ns)] = self.rtts_ns else { return false };
        let difference_ns = self.lean_ns().zip(other.lean_ns()).map(|(own, their)| own - their);
        difference_ns
            .is_some_and(|difference_ns| difference_ns.abs() < i64::midpoint(client_ns, server_ns))
    }

    /// How much nearer the client is than the server, in ns.
    fn lean_ns(&self) -> Option<i64> {
        Some(self.rtts_ns[1]? - self.rtts_ns[0]?)
    }
}

/// Can the segments have come from one capture point to the other, whichever clocks these have? What
/// goes forth and back takes time, so that in no direction all can come before they left. Two runs of
/// a program that always uses the same numbers fail here.
fn is_causal(equal: &[(&Segment, &Segment)]) -> bool {
    let [Some((c_min, c_max)), Some((s_min, s_max))] = Side::BOTH.map(|by| {
        let of_side = equal.iter().filter(|(one, _)| one.by == by);
        let mut lags_ns: Vec<i64> =
            of_side.map(|(one, other)| other.time_ns - one.time_ns).collect();
        lags_ns.sort_unstable();
        // A capture may lack a segment, and show it only when it was sent again.
        let odd = lags_ns.len() / ODD_ONE_OF;
        Some((*lags_ns.get(odd)?, *lags_ns.get(lags_ns.len().checked_sub(1 + odd)?)?))
    }) else {
        return true;
    };
    let span_ns = equal.iter().map(|(one, _)| one.time_ns).max().unwrap_or(0)
        - equal.iter().map(|(one, _)| one.time_ns).min().unwrap_or(0);
    let drift_ns = span_ns / DRIFT_ONE_OF + FINEST_NS;
    // The first capture is at the client, or at the server.
    c_min - s_max >= -drift_ns || s_min - c_max >= -drift_ns
}

/// The share of segments that may seem to come before they left.
const ODD_ONE_OF: usize = 8;
/// Clocks of computers differ by up to 100 ppm.
const DRIFT_ONE_OF: i64 = 5_000;
/// The coarsest clocks stamp to the millisecond.
const FINEST_NS: i64 = 2_000_000;

/// A connection in both captures: its number in each, and where the first capture was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub numbers: [u32; 2],
    pub first_at: Side,
    /// Both were taken at the same place.
    pub is_same: bool,
}

/// The connections that both captures hold, each once.
pub fn pairs(first: &[Beginning], second: &[Beginning]) -> Vec<Pair> {
    let found = Index::of(second).partners(first, second);
    let leans = |&(one, other): &(usize, usize)| {
        let difference_ns = first[one].lean_ns()? - second[other].lean_ns()?;
        Some(difference_ns).filter(|&difference_ns| difference_ns != 0)
    };
    let votes: i64 = found.iter().filter_map(leans).map(i64::signum).sum();
    let pair = |both: &(usize, usize)| {
        let is_at_client = leans(both).map_or(votes >= 0, |difference_ns| difference_ns > 0);
        let first_at = if is_at_client { Side::Client } else { Side::Server };
        let (one, other) = (&first[both.0], &second[both.1]);
        let is_same = one.is_at_place_of(other);
        Pair { numbers: [one.number, other.number], first_at, is_same }
    };
    found.iter().map(pair).collect()
}

/// The segments of these pairs that both captures stamped.
pub fn stamped(first: &[Beginning], second: &[Beginning], pairs: &[Pair]) -> Vec<Stamped> {
    let of = |all: &[Beginning], number| all.binary_search_by_key(&number, |one| one.number);
    let mut found = Vec::new();
    for pair in pairs.iter().filter(|pair| !pair.is_same) {
        let [one, other] = pair.numbers;
        let (Ok(one), Ok(other)) = (of(first, one), of(second, other)) else { continue };
        found.extend(first[one].equal(&second[other]).into_iter().map(|(one, other)| Stamped {
            first_ns: one.time_ns,
            later_ns: other.time_ns - one.time_ns,
            is_forth: one.by == pair.first_at,
        }));
    }
    found
}

/// Where connections of a capture are found again.
#[derive(Default)]
struct Index {
    ends: HashMap<Ends, Vec<usize>>,
    beginning: HashMap<[u32; 2], Vec<usize>>,
    segments: HashMap<Identity, Vec<usize>>,
}

impl Index {
    fn of(all: &[Beginning]) -> Self {
        let mut index = Self::default();
        for (at, one) in all.iter().enumerate() {
            index.ends.entry(one.ends).or_default().push(at);
            if one.is_whole {
                let firsts = one.streams.map(|stream| stream.first_seq);
                index.beginning.entry(firsts).or_default().push(at);
            }
            for segment in &one.segments {
                let same = index.segments.entry(segment.identity()).or_default();
                if same.last() != Some(&at) {
                    same.push(at);
                }
            }
        }
        index
    }

    /// Connections that may be the same as this one.
    fn candidates(&self, one: &Beginning) -> Vec<usize> {
        let firsts = one.streams.map(|stream| stream.first_seq);
        let whole = self.beginning.get(&firsts).filter(|_| one.is_whole);
        let segments = one.segments.iter().filter_map(|one| self.segments.get(&one.identity()));
        let lists = self.ends.get(&one.ends).into_iter().chain(whole).chain(segments);
        let mut votes: HashMap<usize, usize> = HashMap::new();
        for &at in lists.filter(|all| all.len() <= MOST_ALIKE).flatten() {
            *votes.entry(at).or_default() += 1;
        }
        let mut found: Vec<usize> = votes.keys().copied().collect();
        found.sort_unstable_by_key(|at| (Reverse(votes[at]), *at));
        found.truncate(MOST_ALIKE);
        found
    }

    /// Pairs that are the same connection, the likest first; each is taken once.
    fn partners(&self, first: &[Beginning], second: &[Beginning]) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for (at, one) in first.iter().enumerate() {
            for other in self.candidates(one) {
                if let Some(likeness) = one.likeness(&second[other]) {
                    all.push((likeness, at, other));
                }
            }
        }
        all.sort_unstable_by_key(|&(likeness, at, other)| (Reverse(likeness), at, other));
        let (mut of_first, mut of_second) = (HashSet::new(), HashSet::new());
        let is_free = |&(_, at, other): &(usize, usize, usize)| {
            !of_first.contains(&at) && !of_second.contains(&other) && {
                of_first.insert(at);
                of_second.insert(other)
            }
        };
        let mut found: Vec<_> = all.into_iter().filter(is_free).collect();
        found.sort_unstable_by_key(|row| row.1);
        found.into_iter().map(|(_, at, other)| (at, other)).collect()
    }
}
