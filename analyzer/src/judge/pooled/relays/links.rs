//! Ends of waits on two connections that may be one thing, passed on.

use crate::judge::pooled::relays::ends::End;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Endpoint, Side};

/// One kind of wait of one direction: between its own data, or before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Direction {
    connection: u32,
    pub by: Side,
    pub own: bool,
}

impl Direction {
    pub fn of(blocks: &[Block], end: &End) -> Self {
        let own = end.wait(blocks).is(fact::OWN_DATA_BEFORE);
        Self { connection: end.connection, by: end.by, own }
    }
}

/// Where what a direction passes on comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Upstream {
    /// The same bytes, on a connection to a server: a plain relay.
    Stream(Endpoint),
    /// One connection, whose bytes are changed on the way.
    Connection(u32),
    /// The connections to a server, as a pool of them.
    Server(Endpoint),
}

impl Upstream {
    pub fn is(self, link: &Link) -> bool {
        match self {
            Self::Stream(server) => link.server == server && link.same_bytes,
            Self::Connection(connection) => link.connection == connection,
            Self::Server(server) => link.server == server,
        }
    }

    /// Those that an end may be of.
    pub fn of(blocks: &[Block], end: &End) -> [Self; 3] {
        let server = end.connection(blocks).ends.server;
        [Self::Connection(end.connection), Self::Stream(server), Self::Server(server)]
    }
}

/// An end on another connection that brought something to the host that sends.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub connection: u32,
    pub server: Endpoint,
    /// How long before the send it arrived.
    pub ahead_ns: i64,
    /// As many bytes at the same place in the stream.
    pub same_bytes: bool,
    /// Did it arrive at another address than that which sends? Then the bytes alone say that both are one
    /// host's.
    pub is_apart: bool,
}

/// Did `arrived` bring something to who `sent`? A relay is the server of one connection and the client
/// of the other, and passes on in the same direction. Of two connections to the same server see
/// [`fan_out`](crate::judge::pooled::fan_out).
pub fn links(blocks: &[Block], sent: &End, arrived: &End) -> Option<Link> {
    let passes = sent.connection != arrived.connection
        && sent.by == arrived.by
        && sent.server != arrived.server;
    if !passes {
        return None;
    }
    let (out, into) = (sent.wait(blocks), arrived.wait(blocks));
    let same_bytes = (out.len, out.rel_seq) == (into.len, into.rel_seq);
    let is_apart = !sent.sender.is(arrived.receiver);
    if is_apart && !(same_bytes && may_be_one_host(sent, arrived) && !is_copy(out, into)) {
        return None;
    }
    Some(Link {
        connection: arrived.connection,
        server: arrived.connection(blocks).ends.server,
        ahead_ns: sent.time_ns - arrived.time_ns,
        same_bytes,
        is_apart,
    })
}

/// May a host that has two addresses be in the middle? What shares a client or a server with the other
/// connection is its twin: the replicas under one load, or the clients of one server.
fn may_be_one_host(sent: &End, arrived: &End) -> bool {
    !sent.sender.is(arrived.sender) && !sent.receiver.is(arrived.receiver)
}

/// May it be the same segment, captured again behind a translation of addresses? That leaves the timestamp as
/// it is.
fn is_copy(out: &Wait, into: &Wait) -> bool {
    out.tsval == 0 || out.tsval == into.tsval
}
