//! The terms of a wait in rows, as `--why` prints them: name, number, and what it means.

use crate::judge::doubts::of_wait::{Effect, WaitDoubt};
use crate::judge::model::{DirectionModel, Held, Proof, Terms};
use crate::judge::path::Basis;
use crate::judge::thresholds::BOUND;
use crate::judge::words::evidence::{Digits, Left, UnheldCount, is_mostly_by_sender_clock};
use crate::pieces::Ms;
use crate::track::Connection;
use crate::track::wait::{Wait, fact};

/// A term as people read it.
pub struct TermRow {
    pub name: &'static str,
    pub value: String,
    pub text: String,
}

fn row(name: &'static str, value: String, text: String) -> TermRow {
    TermRow { name, value, text }
}

/// All terms of a wait, in the order in which its probability is computed.
pub fn rows(terms: &Terms, wait: &Wait, connection: &Connection) -> Vec<TermRow> {
    let Terms { exclusion, held, direction, densities, most, .. } = terms;
    let by = wait.by.name();
    if let Some(row) = proof(held) {
        return vec![row];
    }
    let Some(densities) = densities else {
        let (value, text) = match exclusion {
            Some(WaitDoubt { effect: Effect::Impossible, sentence }) => {
                ("0", format!("a hold is impossible: {sentence}"))
            }
            Some(WaitDoubt { sentence, .. }) => ("-", format!("not judged: {sentence}")),
            None => ("-", "not judged: it is no wait between data of one sender".to_owned()),
        };
        return vec![row("probability", value.to_owned(), text)];
    };
    let contradictions = connection.half(wait.by).contradictions();
    let share = direction.share_beside(held, wait);
    let text = format!(
        "frame {} {} the ACK in frame {}; {}",
        wait.to.frame,
        Left(wait),
        wait.ack.frame,
        round_trip(direction, by)
    );
    let (pause, relay) = rivals(wait, direction, by);
    let mut rows = vec![
        row("release", format!("{}/ms", Digits(densities.hold)), text),
        row("pause", format!("{}/ms", Digits(densities.program)), pause),
        row("ratio (LR)", Digits(held.ratio.into()).to_string(), ratio(direction, *most, by)),
        row(
            "P(on)",
            format!("{:.5}", held.on),
            format!("Nagle's algorithm was on, by all waits{}", UnheldCount(contradictions)),
        ),
        row(
            "siblings",
            format!("{:+.2}", direction.siblings),
            format!(
                "log-odds by {} other connections to the same server, part of P(on)",
                direction.sibling_count
            ),
        ),
        row(
            "share (pi)",
            format!("{share:.4}"),
            "share of such waits that are holds while it is on".to_owned(),
        ),
        row("relay", format!("{:.5}", direction.passed_on(wait)), relay),
    ];
    let most = formula(direction.most(wait), held);
    rows.push(row("probability", format!("{:.5}", held.probability), most));
    rows
}

/// The row of what the calls of its program prove.
fn proof(held: &Held) -> Option<TermRow> {
    let before = Ms::of(held.hold_ms.into());
    let (value, text) = match held.proof {
        Proof::None => return None,
        Proof::Proven => (
            "1",
            format!("written {before} before it left, before the ACK came: the kernel held it"),
        ),
        Proof::Refuted => (
            "0",
            format!("written {before} before it left, when the ACK had come: nothing held it"),
        ),
        Proof::Corked => (
            "0",
            format!(
                "written {before} before it left, with more to come: the kernel waited for that"
            ),
        ),
    };
    Some(row("proof", value.to_owned(), text))
}

/// The two sides that the ratio compares: the densities above it, unless the sender's timestamps count, too.
fn ratio(direction: &DirectionModel, (most, why): (f64, &str), by: &str) -> String {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let also = match direction.by_sender_clock {
        0.0 => String::new(),
        weight => format!(
            " to the power of {:.3}, times the same by the timestamps of the {by} to the power of {weight:.3}",
            1.0 - weight
        ),
    };
    format!(
        "release over pause{also}, from {:.5} up to {most}{why}: how much likelier this timing is if the kernel \
         held the segment than if the program wrote it just then",
        1.0 / BOUND
    )
}

/// Other explanations why it left then, and of all such segments.
fn rivals(wait: &Wait, direction: &DirectionModel, by: &str) -> (String, String) {
    let DirectionModel { reactions, quickest_ms, .. } = *direction;
    if wait.is(fact::DATA_ACK) {
        return (
            format!(
                "the {by} answers data so soon, by {reactions} reactions while nothing of its own was outstanding, \
                 the quickest twentieth within {}",
                Ms::of(quickest_ms)
            ),
            format!("the {by} may answer all such data as soon as a kernel does"),
        );
    }
    (
        format!("the {by} wrote {} after its own frame {}", Ms(wait.span_ns()), wait.from.frame),
        format!("the {by} may have passed it on from a connection that is not captured"),
    )
}

/// How the probability follows from the other terms.
fn formula((most, why): (f64, &str), held: &Held) -> String {
    let most = if most < 1.0 { format!(", {most} at most by {why}") } else { String::new() };
    let open = if held.is_open && held.is_unsure() {
        "; no answer: the round trip is not known or varies, so that a hold and a pause look alike"
    } else {
        ""
    };
    format!("P(on) * pi*LR / (1 - pi + pi*LR) * (1 - relay){most}{open}")
}

fn round_trip(direction: &DirectionModel, by: &str) -> String {
    let rtt = Ms::of(direction.path.rtt_or_zero_ms());
    match direction.path.basis {
        _ if is_mostly_by_sender_clock(direction) => {
            format!("compared in the timestamps of the {by}")
        }
        basis @ (Basis::Handshake | Basis::Shared) => {
            format!("the round trip to the {by} is {rtt}{}", basis.elsewhere())
        }
        Basis::Estimate => format!("the fastest reply of the {by} took {rtt}"),
        Basis::Nothing => format!("the round trip to the {by} is not known"),
    }
}
