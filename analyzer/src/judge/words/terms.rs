//! The terms of a wait in rows, as `--why` prints them: name, number, and what it means.

use crate::judge::model::{DirectionModel, Terms};
use crate::judge::words::evidence::{Ms, Ratio};
use crate::track::Connection;
use crate::track::wait::Wait;

/// A term as people read it.
pub struct TermRow {
    pub name: &'static str,
    pub value: String,
    pub text: String,
}

/// All terms of a wait, in the order in which its probability is computed.
pub fn rows(terms: &Terms, wait: &Wait, connection: &Connection) -> Vec<TermRow> {
    let Terms { exclusion, held, direction, densities, full } = terms;
    let by = wait.by.name();
    let row = |name, value: String, text: String| TermRow { name, value, text };
    let Some(densities) = densities else {
        let why = exclusion.unwrap_or("it is no wait between small segments of one sender");
        return vec![row("probability", "0".to_owned(), format!("a hold is impossible: {why}"))];
    };
    let contradictions = connection.half(wait.by).contradictions();
    let own = f64::from(held.probability) / ((1.0 - direction.relay) * (1.0 - full));
    let share = direction.share(own.min(1.0), held.on.into());
    let text = format!(
        "frame {} left {} after the ACK in frame {}; {}",
        wait.to.frame,
        Ms(wait.release_ns()),
        wait.ack.frame,
        round_trip(direction, by)
    );
    let mut rows = vec![
        row("release", format!("{:.4}/ms", densities.hold), text),
        row(
            "pause",
            format!("{:.4}/ms", densities.program),
            format!("the {by} wrote {} after frame {}", Ms(wait.span_ns()), wait.from.frame),
        ),
        row(
            "ratio (LR)",
            Ratio(held.ratio).to_string(),
            "release over pause, 0.001 to 1,000: how much likelier it was held than written then"
                .to_owned(),
        ),
        row(
            "P(on)",
            format!("{:.5}", held.on),
            format!(
                "Nagle's algorithm was on, by all waits; {contradictions} small segments were sent unheld"
            ),
        ),
        row(
            "siblings",
            format!("{:+.2}", direction.siblings),
            format!(
                "log-odds by {} other connections of this server, part of P(on)",
                direction.sibling_count
            ),
        ),
        row(
            "share (pi)",
            format!("{share:.4}"),
            "share of such waits that are holds while it is on".to_owned(),
        ),
        row(
            "relay",
            format!("{:.5}", direction.relay),
            format!("the {by} may have passed it on from a connection that is not captured"),
        ),
        row(
            "full-sized",
            format!("{full:.2}"),
            format!("frame {} has {} bytes", wait.to.frame, wait.len),
        ),
    ];
    rows.push(row(
        "probability",
        format!("{:.5}", held.probability),
        match direction.most < 1.0 {
            false => "P(on) * pi*LR / (1 - pi + pi*LR) * (1 - relay) * (1 - full-sized)".to_owned(),
            true => format!(
                "P(on) * pi*LR / (1 - pi + pi*LR) * (1 - relay) * (1 - full-sized), {} at most by a coarse \
                 clock",
                direction.most
            ),
        },
    ));
    rows.push(row(
        "held for",
        Ms(held.hold_ns()).to_string(),
        format!(
            "if it was held: {} at most, less what the program itself takes",
            Ms(wait.wait_ns())
        ),
    ));
    rows
}

fn round_trip(direction: &DirectionModel, by: &str) -> String {
    let rtt = Ms((direction.rtt_ms * 1e6) as i64);
    match (direction.rtt_ms >= 0.0, direction.measured) {
        _ if direction.by_sender_clock => format!("compared in the timestamps of the {by}"),
        (true, true) => format!("the round trip to the {by} is {rtt}"),
        (true, false) => format!("the fastest reply of the {by} took {rtt}"),
        (false, _) => format!("the round trip to the {by} is not known"),
    }
}
