//! Deliveries: data that let a host go on just before it sent something on another connection.

use crate::judge::pooled::relays::ends::WaitEnd;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use crate::track::{Endpoint, Side};

/// An end on another connection that brought something to the sender, or the rest of its request.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    pub connection: u32,
    pub server: Endpoint,
    /// How long before the send it passed.
    pub ahead_ns: i64,
    /// Equally many bytes at the same place in the stream.
    pub same_bytes: bool,
    /// Did it arrive at another address than that which sends? Then the bytes alone say that both are one
    /// host's.
    pub is_apart: bool,
    /// Was it held there by the host itself, as part of a request whose reply it passes on?
    pub is_request: bool,
}

impl Delivery {
    /// May a relay that changes no bytes have waited for it?
    pub fn is_of_stream(&self) -> bool {
        self.same_bytes || self.is_request
    }
}

/// Where what a direction passes on comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// Equal bytes, on a connection to a server: a plain relay.
    Stream(Endpoint),
    /// One connection, whose bytes are changed on the way.
    Connection(u32),
    /// The connections to a server, as a pool of them.
    Server(Endpoint),
}

impl Upstream {
    pub fn is(self, from: &Delivery) -> bool {
        match self {
            Self::Stream(server) => from.server == server && from.is_of_stream(),
            Self::Connection(connection) => from.connection == connection,
            Self::Server(server) => from.server == server,
        }
    }
}

/// Did `earlier` bring something to who `sent`, or was it the rest of a request of its own? A relay is the
/// server of one connection and the client of the other. Of two connections to the same server see
/// [`fan_out`](crate::judge::pooled::fan_out).
pub fn delivery(blocks: &[Block], sent: &WaitEnd, earlier: &WaitEnd) -> Option<Delivery> {
    if sent.server == earlier.server {
        return None;
    }
    match (earlier.by, sent.by) {
        (Side::Client, Side::Server) => held_request(blocks, sent, earlier),
        (earlier_by, by) if earlier_by == by => arrival(blocks, sent, earlier),
        _ => None,
    }
}

/// The rest of a request, which the host held for most of the wait for its reply.
fn held_request(blocks: &[Block], sent: &WaitEnd, request: &WaitEnd) -> Option<Delivery> {
    let (reply, held) = (sent.at.wait(blocks), request.at.wait(blocks));
    let is_reply = !reply.is(fact::OWN_DATA_BEFORE) && sent.sender.is(request.sender);
    (is_reply && held.is_freed() && is_most_of(held, reply)).then_some(Delivery {
        connection: request.connection,
        server: request.server,
        ahead_ns: sent.time_ns - request.time_ns,
        same_bytes: false,
        is_apart: false,
        is_request: true,
    })
}

/// Did one wait take more than half of the time of another?
fn is_most_of(wait: &Wait, other: &Wait) -> bool {
    let begin_ns = wait.from.time_ns.max(other.from.time_ns);
    let end_ns = wait.to.time_ns.min(other.to.time_ns);
    2 * (end_ns - begin_ns) > other.span_ns()
}

/// Data that arrived in the same direction.
fn arrival(blocks: &[Block], sent: &WaitEnd, arrived: &WaitEnd) -> Option<Delivery> {
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
        is_request: false,
    })
}

/// May a host that has two addresses be in the middle? What shares a client or a server with the other
/// connection is its twin: the replicas under one load, or the clients of one server.
fn may_be_one_host(sent: &WaitEnd, arrived: &WaitEnd) -> bool {
    !sent.sender.is(arrived.sender) && !sent.receiver.is(arrived.receiver)
}

/// May it be the same segment, captured again behind a translation of addresses? That leaves the timestamp as
/// it is. Without timestamps a hold is not denied for that, and first data of a reply is none.
fn is_copy(out: &Wait, into: &Wait) -> bool {
    match out.tsval {
        0 => !out.is_reply(),
        tsval => tsval == into.tsval,
    }
}
