//! The fields of a hop of a path over relays.

use super::Output::{Json, Python};
use super::{Field, Fields, Row, field};
use crate::capture::times::sum_ns;
use crate::output::values::enclosed;
use crate::result::hops::Hop;
use crate::track::Side;
use std::io::Write;

const CALLED_BY: Field =
    field!("called_by", "Listening `addr:port` of the relays that are its clients.");

impl Row for &Hop {
    const NAME: &'static str = "hop";

    fn fields(to: &mut impl Fields<Self>) {
        to.integer(field!("chain", "Number of its chain; chains share no server."), |hop| {
            hop.chain
        });
        to.integer(field!("number", "Its place there: 1 is what the first client calls."), |hop| {
            hop.number
        });
        to.integer(field!("clients", "How many hosts call."), |hop| hop.clients.len() as u64);
        to.address(field!("client_addr", "Address of one of them.").except(Python), |hop| {
            hop.clients.first().copied().unwrap_or(hop.server.addr)
        });
        to.json(CALLED_BY.only(Json), |hop| Some(*hop), called_by);
        to.address(field!("server_addr", "Address of the server.").except(Python), |hop| {
            hop.server.addr
        });
        to.integer(field!("server_port", "Port of the server.").except(Python), |hop| {
            hop.server.port
        });
        to.integer(field!("connections", "How many connections."), |hop| hop.connections);
        to.integer(field!("exchanges", "How many exchanges."), |hop| hop.exchanges);
        sockets(to);
        losses(to);
    }
}

fn sockets<'a>(to: &mut impl Fields<&'a Hop>) {
    let client = field!("client_nagle", "Nagle on the clients' sockets: on, off, unknown, mixed.");
    let server = field!("server_nagle", "The same of the server's sockets.");
    to.text(client, |hop| hop.nagle[Side::Client as usize].name());
    to.text(server, |hop| hop.nagle[Side::Server as usize].name());
}

fn losses<'a>(to: &mut impl Fields<&'a Hop>) {
    to.integer(field!("client_stalls", "Stalls of requests at this hop."), |hop| hop.client_stalls);
    to.integer(field!("server_stalls", "Stalls of replies at this hop."), |hop| hop.server_stalls);
    to.duration(field!("stalled_ms", "What these stalls took."), |hop| hop.stalled_ns);
    to.integer(
        field!("client_passed_on", "Waits whose end the client passed on from another hop."),
        |hop| hop.passed_on[Side::Client as usize],
    );
    to.integer(field!("server_passed_on", "The same of the server."), |hop| {
        hop.passed_on[Side::Server as usize]
    });
    to.duration(
        field!(
            "passed_on_ms",
            "Their total time, client idle time included; not lost at this hop."
        ),
        |hop| sum_ns(hop.passed_on_ns),
    );
    to.maybe_duration(field!("mean_latency_ms", "Mean latency of its exchanges."), |hop| {
        hop.mean_latency_ns()
    });
    to.maybe_duration(
        field!(
            "first_hop_predicted_latency_ms",
            "What is left of the first hop's mean latency, about, without the stalls of this hop."
        ),
        |hop| hop.first_hop_without_ns,
    );
}

fn called_by(out: &mut Vec<u8>, hop: &Hop) {
    enclosed(out, *b"[]", |out| {
        for relay in &hop.called_by {
            // Memory takes all that is written.
            let _ = write!(out, ",\"{relay}\"");
        }
    });
}
