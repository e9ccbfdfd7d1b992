//! Connections between the same addresses and ports in several tunnels.
//!
//! Each direction of a connection has its own identifier: TEIDs of GTP-U always differ, GRE keys and
//! VNIs may. So the first segment of the other direction joins the connection in a tunnel of the same
//! identifier, or the one whose data it acknowledges.

use crate::decode::tunnel::Tunnel;
use crate::decode::{FIN, Header, SYN, seq};
use crate::track::table::key::KeyInside;
use crate::track::thresholds::NEAR_SEQUENCE;
use foldhash::quality::RandomState;
use std::collections::HashMap;

/// More connections between the same ends are one: each segment looks at all of them.
const MOST_PLACES: usize = 64;

/// The connections of all ends that have some in tunnels.
#[derive(Default)]
pub struct Tunnels {
    places: HashMap<KeyInside, Vec<TunnelledPair>, RandomState>,
}

/// Both directions of a connection, that of the higher endpoint first.
#[derive(Default)]
struct TunnelledPair {
    tunnels: [Option<Tunnel>; 2],
    /// The sequence numbers that each side will send next.
    next_seq: [u32; 2],
}

impl Tunnels {
    /// Which of the connections between its ends a segment belongs to, from 0.
    pub fn place(
        &mut self,
        key: KeyInside,
        tunnel: Tunnel,
        from_low: bool,
        header: &Header,
    ) -> u32 {
        let places = self.places.entry(key).or_default();
        let own = usize::from(from_low);
        let known = places.iter().position(|place| place.tunnels[own] == Some(tunnel));
        let at = known.or_else(|| joined(places, tunnel, own, header)).unwrap_or_else(|| {
            if places.len() < MOST_PLACES {
                places.push(TunnelledPair::default());
            }
            places.len() - 1
        });
        let place = &mut places[at];
        let flags = u32::from(header.has(SYN)) + u32::from(header.has(FIN));
        place.tunnels[own] = Some(tunnel);
        place.next_seq[own] = header.seq.wrapping_add(header.len).wrapping_add(flags);
        at as u32
    }
}

/// The connection of which this is the first segment of its direction.
fn joined(places: &[TunnelledPair], tunnel: Tunnel, own: usize, header: &Header) -> Option<usize> {
    let other = 1 - own;
    let far =
        |place: &TunnelledPair| seq::distance(place.next_seq[other], header.ack).unsigned_abs();
    let is_same = |place: &TunnelledPair| place.tunnels[other] == Some(tunnel);
    let fits = |place: &TunnelledPair| {
        is_same(place) || (!header.is_opening() && far(place) < NEAR_SEQUENCE)
    };
    let free = places.iter().enumerate().filter(|(_, place)| place.tunnels[own].is_none());
    let fitting = free.filter(|(_, place)| fits(place));
    fitting.min_by_key(|(_, place)| (!is_same(place), far(place))).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{ACK, Addresses, Options, Ports};
    use crate::track::table::key::{Key, addresses_inside};

    const ENDS: [u8; 8] = [10, 0, 0, 1, 10, 0, 0, 2];

    fn place(tunnels: &mut Tunnels, id: u32, from_low: bool, numbers: [u32; 2]) -> u32 {
        let flags = if numbers[1] == 0 { SYN } else { ACK };
        let [seq, ack] = numbers;
        let (len, window, ip_id, options) = (0, 0, 0, Options::default());
        let header = Header { seq, ack, len, window, ip_id, options, flags };
        let (key, _) =
            Key::new(addresses_inside(Addresses::V4(&ENDS)), Ports { src: 40_000, dst: 80 });
        tunnels.place(key, Tunnel::of_test(id), from_low, &header)
    }

    #[test]
    fn one_identifier_is_one_connection_and_another_is_another() {
        let mut tunnels = Tunnels::default();
        let places = [(7, true), (8, true), (7, false), (8, false), (7, true)]
            .map(|(id, from_low)| place(&mut tunnels, id, from_low, [5, 6]));
        assert_eq!(places, [0, 1, 0, 1, 0]);
    }

    /// Two users with the same addresses and ports, four TEIDs.
    #[test]
    fn directions_with_other_identifiers_are_joined_by_what_they_acknowledge() {
        let mut tunnels = Tunnels::default();
        let syns =
            [(1, 1_000), (2, 900_000_000)].map(|(id, seq)| place(&mut tunnels, id, true, [seq, 0]));
        assert_eq!(syns, [0, 1]);
        let answers = [(4, 900_000_001), (3, 1_001)]
            .map(|(id, ack)| place(&mut tunnels, id, false, [5, ack]));
        assert_eq!(answers, [1, 0]);
        assert_eq!(place(&mut tunnels, 9, false, [5, 1_001]), 2);
    }

    #[test]
    fn however_many_there_are_only_some_are_told_apart() {
        let mut tunnels = Tunnels::default();
        let places: Vec<u32> =
            (0..100).map(|id| place(&mut tunnels, id, true, [id << 25, 0])).collect();
        assert_eq!(places[..64], (0..64).collect::<Vec<u32>>());
        assert_eq!(places[64..], [63; 36]);
    }
}
