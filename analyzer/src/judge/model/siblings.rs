//! Evidence of one direction on another: other connections of the same server, and waits of other
//! kinds on the same socket.

use crate::judge::model::chain::{Chain, logistic};
use crate::judge::model::groups::{Group, Member};
use crate::judge::model::sets::CandidateSet;
use crate::judge::model::settle::Weighing;
use crate::judge::thresholds::{NAGLE_ON, OPEN_ON, SIBLING, SIBLING_BOUNDS, SIBLINGS_BOUNDS};
use crate::rules;
use crate::track::{Endpoint, Side};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Evidence from which no other connection changes the answer, as a logarithm.
const BEYOND_DOUBT: f64 = 20.0;

/// One side of a connection: its block, the place there, and the side.
type ConnectionSide = (u32, u32, Side);
/// Sum of the evidence of a server's directions, and their number.
type ServerEvidence = (f64, u32);

impl<'a> Weighing<'a> {
    /// Gives each direction what others of its server show, and weighs it again if that may matter.
    pub fn ask_siblings(&mut self) {
        let servers = self.by_server();
        let evidence = self.evidence_by_side();
        let asked = self.of_members(|group, member| {
            let (kind, state) = (group.kind, &member.state);
            let server = servers.get(&(kind.server, kind.side)).copied();
            let [of_evidence, of_short] = server.unwrap_or_default();
            // Short ones are asked where nothing else is.
            let is_asked = kind.is_short && !kind.by_data && of_evidence.1 == 0;
            let (sum, count) = if is_asked { of_short } else { of_evidence };
            let beside = evidence.get(&connection_side(&member.set)).copied();
            let own = if is_asked || kind.is_base() { Some((group, member)) } else { beside };
            let others = sum - own.map_or(0.0, |(_, own)| bounded(own));
            let siblings = rules::weight("siblings", SIBLING) * others;
            let siblings = siblings.clamp(SIBLINGS_BOUNDS.0, SIBLINGS_BOUNDS.1);
            let count = count - u32::from(own.is_some());
            let advised = NAGLE_ON + siblings;
            // Many connections with a wait each leave as much open as one with many.
            let is_blurred = group.is_blurred && member.set.blurred() > 0;
            let is_open = state.is_open || is_blurred && logistic(advised) >= OPEN_ON;
            let ratios = member.ratios(group);
            let chain = if !kind.is_base() {
                Some(chain_beside((group, member), beside, advised))
            } else if count > 0 && state.chain.evidence < BEYOND_DOUBT {
                Some(member.set.chain(&ratios, advised))
            } else {
                None
            };
            let known = chain.as_ref().unwrap_or(&state.chain);
            let held = |(place, ratio): (usize, &f32)| known.held(place, f64::from(*ratio)) as f32;
            let held: Vec<f32> = ratios.iter().enumerate().map(held).collect();
            ((siblings, count, is_open), chain, held)
        });
        drop(evidence);
        self.put(asked, |member, (told, chain, own), held| {
            member.put(&own, held);
            let state = &mut member.state;
            (state.siblings, state.sibling_count, state.is_open) = told;
            if let Some(chain) = chain {
                state.chain = chain;
            }
        });
    }

    /// Sums over each server's directions: of evidence, and of short waits.
    fn by_server(&self) -> HashMap<(Endpoint, Side), [ServerEvidence; 2], RandomState> {
        let mut servers: HashMap<_, [ServerEvidence; 2], RandomState> = HashMap::default();
        for group in self.groups.iter().filter(|group| !group.kind.by_data) {
            let sums = servers.entry((group.kind.server, group.kind.side)).or_default();
            let sum = &mut sums[usize::from(group.kind.is_short)];
            for member in &group.members {
                *sum = (sum.0 + bounded(member), sum.1 + 1);
            }
        }
        servers
    }

    /// The directions of evidence by side, if others ask for them: short waits, and segments that
    /// data may have released.
    fn evidence_by_side(&self) -> HashMap<ConnectionSide, (&Group<'a>, &Member<'a>), RandomState> {
        if self.groups.iter().all(|group| group.kind.is_base()) {
            return HashMap::default();
        }
        let bases = self.groups.iter().filter(|group| group.kind.is_base());
        let members = bases.flat_map(|group| group.members.iter().map(move |one| (group, one)));
        members.map(|(group, member)| (connection_side(&member.set), (group, member))).collect()
    }
}

fn bounded(member: &Member<'_>) -> f64 {
    member.state.chain.evidence.clamp(SIBLING_BOUNDS.0, SIBLING_BOUNDS.1)
}

fn connection_side(set: &CandidateSet<'_>) -> ConnectionSide {
    (set.block, set.place, set.side)
}

/// The chain of a direction that is no base: Nagle's algorithm was on as the waits `beside` them
/// show. Short waits show it, too; segments that data may have released do not.
fn chain_beside(
    (group, member): (&Group<'_>, &Member<'_>),
    beside: Option<(&Group<'_>, &Member<'_>)>,
    log_odds: f64,
) -> Chain {
    let set = &member.set;
    let own = set.candidates.iter().zip(member.ratios(group));
    let own = own.map(|(&wait, ratio)| (wait, if group.kind.by_data { 1.0 } else { ratio }, true));
    let mut all: Vec<(u32, f32, bool)> = own.collect();
    if let Some((group, beside)) = beside {
        let others = beside.set.candidates.iter().zip(beside.ratios(group));
        all.extend(others.map(|(&wait, ratio)| (wait, ratio, false)));
        all.sort_unstable_by_key(|(wait, ..)| *wait);
    }
    let waits = all.iter().map(|(wait, ..)| &set.waits[*wait as usize]);
    let ratios: Vec<f32> = all.iter().map(|(_, ratio, _)| *ratio).collect();
    let on = set.chain_of(waits, &ratios, log_odds).on;
    let own = all.iter().zip(on).filter(|((.., is_own), _)| *is_own);
    Chain { on: own.map(|(_, on)| on).collect(), ..member.state.chain.clone() }
}
