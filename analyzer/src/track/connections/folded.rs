//! A block of connections most of which carried no data: a port scan, a SYN flood. What they opened with
//! is kept; of those that were refused, and of the oldest of very many, nothing.

use crate::decode::Header;
use crate::track::connection::Connection;
use crate::track::connections::packed::Packed;
use crate::track::{BLOCK_LEN, Ends, Mark};

/// The connections of one block.
#[derive(Debug)]
pub struct Folded {
    /// What is left of each connection: see [`Left`].
    places: Vec<u16>,
    /// The first segment that is kept.
    base: Mark,
    /// Those of each connection follow one another.
    segments: Vec<Packed>,
    /// In the order in which they came back.
    whole: Vec<Connection>,
}

/// What is left of a connection: all of it or the segments that it opened with, from this index on.
enum Left {
    Nothing,
    Opening(usize),
    Whole(usize),
}

const NOTHING: u16 = u16::MAX;
const WHOLE: u16 = 1 << 15;
const _: () = assert!(3 * BLOCK_LEN < WHOLE as usize, "three segments of each connection at most");

impl Folded {
    /// Are most of these connections such that they can be folded?
    pub fn pays(connections: &[Connection]) -> bool {
        let little =
            |connection: &&Connection| connection.is_refused() || connection.openings().is_some();
        connections.iter().filter(little).count() > connections.len() / 4 * 3
    }

    pub fn new(connections: Vec<Connection>) -> Self {
        let first = connections.iter().find_map(|connection| connection.openings()?.next());
        let mut folded = Self {
            places: Vec::with_capacity(connections.len()),
            base: first.map_or(Mark::NONE, |opening| opening.mark),
            segments: Vec::new(),
            whole: Vec::new(),
        };
        for connection in connections {
            let place = folded.fold(connection);
            folded.places.push(place);
        }
        folded.segments.shrink_to_fit();
        folded
    }

    /// How many segments it keeps.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Forgets what connections opened with: from now on they are as those that were refused.
    pub fn forget(&mut self) {
        let is_opening = |place: &&mut u16| **place != NOTHING && **place & WHOLE == 0;
        self.places.iter_mut().filter(is_opening).for_each(|place| *place = NOTHING);
        self.segments = Vec::new();
    }

    /// Keeps what is needed of a connection; returns where.
    fn fold(&mut self, connection: Connection) -> u16 {
        if connection.is_refused() {
            return NOTHING;
        }
        let begin = self.segments.len();
        if self.pack(&connection).is_some() && self.opened(begin, &connection) == connection {
            return begin as u16;
        }
        self.segments.truncate(begin);
        self.keep(connection)
    }

    /// Adds the segments that it opened with.
    fn pack(&mut self, connection: &Connection) -> Option<()> {
        for opening in connection.openings()? {
            self.segments.push(Packed::new(&opening, self.base)?);
        }
        let last = self.segments.last_mut()?;
        *last = last.last();
        Some(())
    }

    /// The connection whose segments begin there, between the same ends as `like`.
    fn opened(&self, begin: usize, like: &Connection) -> Connection {
        self.open(begin, like.id, like.ends)
    }

    fn open(&self, begin: usize, id: u32, ends: Ends) -> Connection {
        let more = self.segments[begin..].iter();
        let count = more.clone().take_while(|segment| !segment.is_last()).count() + 1;
        let segments = more.take(count).map(|segment| segment.opening(self.base));
        Connection::opened_by(id, ends, segments)
    }

    fn keep(&mut self, connection: Connection) -> u16 {
        self.whole.push(connection);
        WHOLE | (self.whole.len() - 1) as u16
    }

    fn left(&self, at: usize) -> Left {
        match self.places[at] {
            NOTHING => Left::Nothing,
            place if place & WHOLE != 0 => Left::Whole(usize::from(place & !WHOLE)),
            place => Left::Opening(place.into()),
        }
    }

    /// The connection at a place, if it is whole.
    pub fn get_whole(&self, at: usize) -> Option<&Connection> {
        match self.left(at) {
            Left::Whole(index) => self.whole.get(index),
            _ => None,
        }
    }

    /// The connection at a place, which takes this segment. `None` for one that was refused, until it
    /// carries data after all: then it begins there.
    #[cold]
    pub fn get_mut(
        &mut self,
        at: usize,
        id: u32,
        segment: &Header,
        ends: impl FnOnce() -> Ends,
    ) -> Option<&mut Connection> {
        let index = match self.left(at) {
            Left::Nothing if segment.len == 0 => return None,
            Left::Nothing => self.come_back(at, Connection::new(id, ends())),
            Left::Opening(begin) => self.come_back(at, self.open(begin, id, ends())),
            Left::Whole(index) => index,
        };
        self.whole.get_mut(index)
    }

    fn come_back(&mut self, at: usize, connection: Connection) -> usize {
        self.places[at] = self.keep(connection);
        self.whole.len() - 1
    }

    /// Those that are whole, in the order of their numbers.
    pub fn into_connections(self) -> Vec<Connection> {
        let mut whole = self.whole;
        whole.sort_unstable_by_key(|connection| connection.id);
        whole
    }
}
