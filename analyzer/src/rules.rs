//! Every rule that can be switched off, to measure what it decides: `make rules` writes
//! docs/rules.md.
//!
//! A release has no switch: without the feature `ablation` all rules are on, and the compiler
//! knows it.

/// The environment variable that names the rules to switch off, with commas between them.
#[cfg(feature = "ablation")]
const VARIABLE: &str = "NAGLE_SCAN_RULES_OFF";

/// Is the rule of this name switched off?
#[cfg(not(feature = "ablation"))]
#[inline]
pub const fn off(_: &str) -> bool {
    false
}

/// Is the rule of this name switched off?
#[cfg(feature = "ablation")]
pub fn off(name: &str) -> bool {
    static ALL: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::var(VARIABLE).unwrap_or_default());
    !ALL.is_empty() && ALL.split(',').any(|one| one == name)
}

/// The weight that a rule has: none if it is switched off.
#[inline]
pub fn weight(name: &str, weight: f64) -> f64 {
    if off(name) { 0.0 } else { weight }
}

/// Each rule, and what it guards; above those that decide little, the input that shows it, in
/// captures/ or ../shared. Causes, and reasons not to judge, have tables of their own.
#[cfg(any(test, feature = "ablation"))]
pub const DECLARED: &[(&str, &str)] = &[
    ("allows", "No hold is learnt from releases that the round trip makes impossible."),
    ("bursts", "An ACK of part of what is in flight ends the wait of the burst that it covers."),
    ("by_data", "Holds that an ACK on data released are found, where they are a program's habit."),
    // labelled/, by a clock of 1 ms (metamorphic.py): 11 holds would become certain by it.
    ("clock_bound", "A clock of a millisecond or more makes no stall certain."),
    // labelled/hard-clocks-*: 43 false stalls would be likely, and 102 more possible.
    ("coarse", "Waits that a coarse clock rounds to the same number are not independent evidence."),
    // tests/report/test_one_meaning.py: captured before and behind NAT, on one host.
    ("copies", "Stalls of a connection that a capture holds twice are counted once."),
    ("delay", "A late ACK on a path with jitter is not taken for a delayed one."),
    ("doubt", "A round trip that was measured once does not decide alone."),
    ("echo", "A timestamp echo shows that a segment left before the ACK, so that nothing held it."),
    // labelled/, with 30 % of the pure ACKs lost (metamorphic.py): 109 wrong answers on
    // TCP_NODELAY; with the server stamped 0.25 ms late 39.
    ("echo_unseen", "An ACK that the capture lacks or stamps late is known by its echo."),
    // shared/disturbed/even_1us, back_10us: clean without it.
    ("even", "Times that a script made up are not judged."),
    // labelled/, with 30 % of the pure ACKs lost (metamorphic.py): 17 wrong answers on
    // TCP_NODELAY, 4 captures clean with three holds or more, and 70 holds missed.
    ("excuse", "An ACK that the capture lost shows in the IP identifications: no contradiction."),
    ("fan_out", "A broker's push is not called a stall, though an ACK came just before it."),
    ("late", "A relay behind a network shows by releases that spread more than the path does."),
    ("most", "An answer to data or to a FIN is not taken for a release."),
    // labelled/lwip-*: 77 stalls in 22 captures.
    ("needless", "Holds that a retransmission ended, with nothing lost, are found (lwIP)."),
    ("open", "Waits that look alike, held or not, are not blamed on the program."),
    // shared/rare-and-relayed/3_nginx_nodelay_56052, shared/strangers/2_haproxy_sidecar_42032:
    // ten pieces that a relay with TCP_NODELAY passed on would be likely stalls.
    ("other_pauses", "Pauses in which nothing can be held show how the program pauses."),
    ("own_clock", "The sender's timestamps show holds that a path with jitter hides."),
    // shared/strangers/2_haproxy_sidecar_42032: three such pieces; labelled/bulk-reply-512kbit.
    ("own_kind", "Pauses of other kinds do not thin out those of this kind."),
    ("prompt", "A hold that a prompt ACK ended across a network is no relay's timer."),
    ("reaction", "A kernel that releases is known by its speed; a program has to wake up first."),
    ("relay", "What a relay passed on from outside the capture is not called a certain stall."),
    ("relays", "Bytes that came on another connection name the upstream that stalls."),
    ("rounds", "Each wait is judged by all others of its kind, later ones too."),
    // shared/waits/made-up-cork, -sender-app and -stop-and-wait: clean without it.
    ("scripted", "Times of simulators, with a few lengths or round ones, are not judged."),
    ("share", "A direction that is seldom held is not judged as one that always is."),
    ("share_of_siblings", "A short connection is judged by how often its siblings are held."),
    ("shared_paths", "A connection joined midway has the round trip of others of its two hosts."),
    // labelled/quickack-each-time, reply-split-think60, gvisor-*-rtt2.
    ("short", "Holds too short to be listed are counted, with the time that they took."),
    ("siblings", "Connections of one server support one another."),
    ("superseded", "A wait within a stall, or before bytes that had arrived, is not listed twice."),
    ("switches", "A session that sets TCP_NODELAY later, or for each message, keeps its stalls."),
    ("taught", "Holds are not learnt as pauses of the program because they are many."),
];

#[cfg(test)]
mod tests {
    use super::DECLARED;
    use crate::house::engine;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_says_what_it_guards_and_every_sentence_has_its_rule() {
        let mut used = BTreeSet::new();
        for code in engine().values() {
            for call in ["rules::off(\"", "rules::weight(\""] {
                let names = code.split(call).skip(1).filter_map(|rest| rest.split('"').next());
                used.extend(names.map(str::to_owned));
            }
        }
        let declared: Vec<&str> = DECLARED.iter().map(|(name, _)| *name).collect();
        assert_eq!(declared, used.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(DECLARED.iter().all(|(_, guards)| guards.ends_with('.')));
    }
}
