//! What a host received just before it sent something on another connection.

use crate::judge::pooled::relays::ends::WaitEnd;
use crate::track::Endpoint;
use crate::track::tracked::Block;
use crate::track::wait::Wait;

/// An end on another connection that brought something to the host that sends.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
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

/// Where what a direction passes on comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// The same bytes, on a connection to a server: a plain relay.
    Stream(Endpoint),
    /// One connection, whose bytes are changed on the way.
    Connection(u32),
    /// The connections to a server, as a pool of them.
    Server(Endpoint),
}

impl Upstream {
    pub fn is(self, from: &Delivery) -> bool {
        match self {
            Self::Stream(server) => from.server == server && from.same_bytes,
            Self::Connection(connection) => from.connection == connection,
            Self::Server(server) => from.server == server,
        }
    }
}

/// Did `arrived` bring something to who `sent`? A relay is the server of one connection and the client
/// of the other, and passes on in the same direction. Of two connections to the same server see
/// [`fan_out`](crate::judge::pooled::fan_out).
pub fn delivery(blocks: &[Block], sent: &WaitEnd, arrived: &WaitEnd) -> Option<Delivery> {
    if sent.by != arrived.by || sent.server == arrived.server {
        return None;
    }
    let (out, into) = (sent.at.wait(blocks), arrived.at.wait(blocks));
    let same_bytes = (out.len, out.rel_seq) == (into.len, into.rel_seq);
    let is_apart = !sent.sender.is(arrived.receiver);
    if is_apart && !(same_bytes && may_be_one_host(sent, arrived) && !is_copy(out, into)) {
        return None;
    }
    Some(Delivery {
        connection: arrived.connection,
        server: arrived.server,
        ahead_ns: sent.time_ns - arrived.time_ns,
        same_bytes,
        is_apart,
    })
}

/// May a host that has two addresses be in the middle? What shares a client or a server with the other
/// connection is its twin: the replicas under one load, or the clients of one server.
fn may_be_one_host(sent: &WaitEnd, arrived: &WaitEnd) -> bool {
    !sent.sender.is(arrived.sender) && !sent.receiver.is(arrived.receiver)
}

/// May it be the same segment, captured again behind a translation of addresses? That leaves the timestamp as
/// it is.
fn is_copy(out: &Wait, into: &Wait) -> bool {
    out.tsval == 0 || out.tsval == into.tsval
}
