//! The time that the first client of a chain would wait without the stalls of one hop.

use super::Hop;
use crate::capture::times::sum_ns;
use crate::thresholds::thresholds;
use crate::track::Side;

thresholds! {
    /// Stalls of the hops behind the first that it may not have passed on where a prediction is
    /// made. A relay that waits for the whole reply, or was busy anyway, passes on nothing by
    /// itself: what an exchange would take without the stalls is then unknown.
    UNMATCHED_ONE_OF: u64 = 20 one_of,
        from "judgement",
        larger "makes fewer predictions";
}

/// Sets `first_hop_without_ns` of each hop with stalls. Only where one hop follows the other:
/// behind a relay with several servers it is not known which of them an exchange waited for.
///
/// A hold behind the first hop reaches the first client as a reply that is passed on late. Stalls
/// of several hops are taken to follow each other; where they exceed together what the first hop
/// waited for, they overlapped, and nothing is predicted behind it. No exchange gets shorter than
/// later ones.
pub fn predict(chain: &mut [Hop]) {
    let follows = |(hop, number): (&Hop, u32)| hop.number == number && hop.called_by.len() <= 1;
    let is_line = chain.iter().zip(1..).all(follows);
    let Some((first, behind)) = chain.split_first().filter(|_| is_line) else { return };
    let passed_on_ns = first.passed_on_ns[Side::Server as usize];
    let held_ns = sum_ns(behind.iter().map(|hop| hop.exchanges_stalled_ns));
    let several = behind.iter().filter(|hop| hop.exchanges_stalled_ns > 0).count() > 1;
    let stalls: u64 = behind.iter().map(|hop| hop.server_stalls).sum();
    let unmatched = stalls.saturating_sub(first.passed_on[Side::Server as usize]);
    let is_seen = unmatched * UNMATCHED_ONE_OF <= stalls && (!several || passed_on_ns >= held_ns);
    if first.exchanges == 0 {
        return;
    }
    for at in 0..chain.len() {
        if chain[at].exchanges_stalled_ns > 0 && (at == 0 || is_seen) {
            chain[at].first_hop_without_ns = Some(at_best_ns(chain, at));
        }
    }
}

/// An exchange of the first hop, had the hop at `fixed` held nothing: no shorter than those of the
/// hops behind it would be, and no longer than it is.
fn at_best_ns(chain: &[Hop], fixed: usize) -> i64 {
    let now_ns = chain[0].latency_ns / chain[0].exchanges as i64;
    let lost_ns = chain[fixed].exchanges_stalled_ns;
    let without = chain.iter().enumerate().map(|(at, hop)| {
        // Hops behind the one that held wait only for what a relay passed on of a request.
        let passed_on_ns = hop.passed_on_ns[Side::Client as usize].min(lost_ns);
        let rest_ns = hop.latency_ns - if at <= fixed { lost_ns } else { passed_on_ns };
        // A relay answers some requests by itself, and asks more than once for others.
        rest_ns.max(0) / chain[0].exchanges.max(hop.exchanges) as i64
    });
    without.max().unwrap_or(0).min(now_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Endpoint;

    const MS: i64 = 1_000_000;

    /// Ten exchanges of 50 ms; what it holds and, as a server, passes on.
    fn hop(number: u32, held_ms: i64, passed_on_ms: i64) -> Hop {
        hop_of(500, number, held_ms, passed_on_ms)
    }

    fn hop_of(latency_ms: i64, number: u32, held_ms: i64, passed_on_ms: i64) -> Hop {
        let server = Endpoint { addr: [127, 0, 0, 1].into(), port: 9000 - number as u16 };
        let mut hop = Hop::new((1, number), server);
        (hop.exchanges, hop.latency_ns) = (10, latency_ms * MS);
        (hop.stalled_ns, hop.exchanges_stalled_ns) = (held_ms * MS, held_ms * MS);
        hop.server_stalls = held_ms as u64 / 10;
        hop.passed_on[Side::Server as usize] = passed_on_ms as u64 / 10;
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
        assert_eq!(predicted_ms(vec![hop(1, 400, 0), hop_of(50, 2, 0, 0)]), [Some(10), None]);
    }

    #[test]
    fn an_exchange_takes_as_long_as_those_behind_it() {
        assert_eq!(predicted_ms(vec![hop(1, 450, 0), hop_of(200, 2, 0, 0)]), [Some(20), None]);
        let asked_twice = Hop { exchanges: 20, ..hop_of(400, 2, 0, 0) };
        assert_eq!(predicted_ms(vec![hop(1, 450, 0), asked_twice]), [Some(20), None]);
        assert_eq!(predicted_ms(vec![hop(1, 10, 0), hop_of(900, 2, 0, 0)]), [Some(50), None]);
    }

    #[test]
    fn a_relay_that_passes_on_the_pieces_of_a_request_waits_for_them_too() {
        let mut behind = hop_of(490, 2, 0, 0);
        behind.passed_on_ns[Side::Client as usize] = 450 * MS;
        assert_eq!(predicted_ms(vec![hop(1, 450, 0), behind]), [Some(5), None]);
    }

    #[test]
    fn each_of_several_holders_loses_its_own() {
        let chain = vec![hop(1, 200, 210), hop_of(300, 2, 0, 210), hop_of(300, 3, 200, 0)];
        assert_eq!(predicted_ms(chain), [Some(30), None, Some(30)]);
        let chain = vec![hop(1, 0, 410), hop(2, 200, 210), hop_of(300, 3, 200, 0)];
        assert_eq!(predicted_ms(chain), [None, Some(30), Some(30)]);
    }

    #[test]
    fn nothing_is_said_where_the_stalls_do_not_show_at_the_first_hop() {
        assert_eq!(predicted_ms(vec![hop(1, 0, 390), hop(2, 400, 0)]), [None, Some(10)]);
        assert_eq!(predicted_ms(vec![hop(1, 0, 350), hop(2, 400, 0)]), [None, None]);
        let overlap = vec![hop(1, 0, 350), hop(2, 200, 210), hop(3, 200, 0)];
        assert_eq!(predicted_ms(overlap), [None; 3]);
    }

    #[test]
    fn nothing_is_said_of_a_relay_with_two_servers() {
        assert_eq!(predicted_ms(vec![hop(1, 0, 400), hop(2, 400, 0), hop(2, 0, 0)]), [None; 3]);
    }
}
