//! What the first client of a chain would wait without the stalls of one hop.

use super::Hop;
use crate::track::Side;

/// The waits that the first hop passed on must be at least so much of what the hops behind it hold (in
/// quarters), or the stalls do not show there and nothing is said. Some of them do not: a relay that waits
/// for the whole reply, or that was busy anyway, passes on nothing by itself.
/// Leans: larger, fewer predictions.
const SEEN_QUARTERS: i64 = 3;

/// Predicts it for each hop of one chain with stalls. Only where one hop follows the other: behind a relay
/// with several servers it is not known which of them an exchange waited for.
///
/// What a hop behind the first holds reaches the first client as a reply that is passed on late, so no more
/// than those waits is taken off. Where several hops hold, each is taken to have lost its own: stalls of
/// one exchange follow each other, unless they are more than what the first hop waited for.
pub fn predict(chain: &mut [Hop]) {
    let follows = |(hop, number): (&Hop, u32)| hop.number == number && hop.called_by.len() <= 1;
    let is_line = chain.iter().zip(1..).all(follows);
    let Some((first, behind)) = chain.split_first().filter(|_| is_line) else { return };
    let (latency_ns, exchanges) = (first.latency_ns, first.exchanges as i64);
    let passed_on_ns = first.passed_on_ns[Side::Server as usize];
    let held_ns: i64 = behind.iter().map(|hop| hop.exchanges_stalled_ns).sum();
    let several = behind.iter().filter(|hop| hop.exchanges_stalled_ns > 0).count() > 1;
    let is_seen =
        passed_on_ns / SEEN_QUARTERS >= held_ns / 4 && (!several || passed_on_ns >= held_ns);
    if exchanges == 0 {
        return;
    }
    for hop in chain.iter_mut().filter(|hop| hop.exchanges_stalled_ns > 0) {
        let lost_ns = match hop.number {
            1 => hop.exchanges_stalled_ns,
            _ if !is_seen => continue,
            _ => hop.exchanges_stalled_ns.min(passed_on_ns),
        };
        hop.first_hop_without_ns = Some((latency_ns - lost_ns).max(0) / exchanges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Endpoint;

    const MS: i64 = 1_000_000;

    /// Ten exchanges of 50 ms; what it holds and, as a server, passes on.
    fn hop(number: u32, held_ms: i64, passed_on_ms: i64) -> Hop {
        let server = Endpoint { addr: [127, 0, 0, 1].into(), port: 9000 - number as u16 };
        let mut hop = Hop::new(1, number, server);
        (hop.exchanges, hop.latency_ns) = (10, 500 * MS);
        (hop.stalled_ns, hop.exchanges_stalled_ns) = (held_ms * MS, held_ms * MS);
        hop.passed_on_ns[Side::Server as usize] = passed_on_ms * MS;
        hop
    }

    fn predicted_ms(mut chain: Vec<Hop>) -> Vec<Option<i64>> {
        predict(&mut chain);
        chain.iter().map(|hop| hop.first_hop_without_ns.map(|ns| ns / MS)).collect()
    }

    #[test]
    fn what_the_holder_loses_is_taken_off_the_first_hop() {
        let chain = vec![hop(1, 0, 410), hop(2, 0, 410), hop(3, 400, 0)];
        assert_eq!(predicted_ms(chain), [None, None, Some(10)]);
        assert_eq!(predicted_ms(vec![hop(1, 400, 0), hop(2, 0, 0)]), [Some(10), None]);
    }

    #[test]
    fn no_more_than_the_first_hop_waited_for() {
        assert_eq!(predicted_ms(vec![hop(1, 0, 350), hop(2, 400, 0)]), [None, Some(15)]);
    }

    #[test]
    fn each_of_several_holders_loses_its_own() {
        let chain = vec![hop(1, 200, 210), hop(2, 0, 210), hop(3, 200, 0)];
        assert_eq!(predicted_ms(chain), [Some(30), None, Some(30)]);
        let chain = vec![hop(1, 0, 410), hop(2, 200, 210), hop(3, 200, 0)];
        assert_eq!(predicted_ms(chain), [None, Some(30), Some(30)]);
    }

    #[test]
    fn nothing_is_said_where_the_stalls_do_not_show_at_the_first_hop() {
        assert_eq!(predicted_ms(vec![hop(1, 0, 100), hop(2, 400, 0)]), [None, None]);
        let overlap = vec![hop(1, 0, 350), hop(2, 200, 210), hop(3, 200, 0)];
        assert_eq!(predicted_ms(overlap), [None; 3]);
    }

    #[test]
    fn nothing_is_said_of_a_relay_with_two_servers() {
        assert_eq!(predicted_ms(vec![hop(1, 0, 400), hop(2, 400, 0), hop(2, 0, 0)]), [None; 3]);
    }
}
