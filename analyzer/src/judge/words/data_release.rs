//! Why it is believed that data released a segment: sentences with frame numbers, and the terms of `--why`.

use crate::judge::model::{Terms, data_release};
use crate::judge::words::evidence::{Contradictions, Digits, ExplainedStall, Ms, plural};
use crate::judge::words::terms::{TermRow, row};
use crate::track::Connection;
use crate::track::wait::Wait;
use std::fmt::{self, Write};

impl ExplainedStall<'_> {
    pub(super) fn data_ack(&self, out: &mut String) -> fmt::Result {
        let (wait, receiver) = (self.wait, self.receiver);
        write!(
            out,
            "frame {} is data of the {receiver} ({} bytes) and acknowledges all that was outstanding, {} after frame {}: no \
             delayed-ACK timer fired",
            wait.ack.frame,
            wait.ack_len,
            Ms(wait.ack.time_ns - wait.from.time_ns),
            wait.from.frame
        )
    }

    pub(super) fn data_release(&self, out: &mut String) -> fmt::Result {
        let (wait, data, by) = (self.wait, self.model.data, self.by);
        write!(
            out,
            "frame {} follows that data by {}, as the kernel sends before the program wakes up. ",
            wait.to.frame,
            Ms(wait.release_ns())
        )?;
        match data.reactions {
            0 => write!(out, "How soon this {by} reacts to other data is not shown"),
            count => write!(
                out,
                "While nothing of its own was outstanding, this {by} reacted {count} time{} to data, the quickest \
                 twentieth within {}",
                plural(count),
                Ms::of(data.quickest_ms)
            ),
        }?;
        let ratio = Digits(self.finding.held.ratio.into());
        write!(
            out,
            ". Its release and its turn are {ratio} times as likely of a held segment as of an answer"
        )
    }

    pub(super) fn pattern(&self, out: &mut String) -> fmt::Result {
        let (data, on) = (self.model.data, f64::from(self.finding.held.on));
        write!(
            out,
            "Nagle's algorithm was on with a probability of {on:.5}, with {}. By {} such segment{} of this server \
             and {} that left later, data releases them here with a probability of {:.5}; then {:.4} of such \
             waits are holds",
            Contradictions(self.judged.half(self.wait.by).contradictions),
            data.count,
            plural(data.count),
            data.late,
            data.pattern,
            data.share
        )
    }

    pub(super) fn held_at_most(&self, out: &mut String) -> fmt::Result {
        let (wait, held) = (self.wait, Ms(self.finding.lost_ns()));
        let most = Ms(wait.wait_ns());
        write!(
            out,
            "it was held for {most} at most: the {} may have written it at any time before frame {}. By its pauses \
             elsewhere, {held} are expected",
            self.by, wait.ack.frame
        )
    }
}

/// All terms of a segment that data may have released, in the order in which its probability is computed.
pub fn rows(terms: &Terms, wait: &Wait, connection: &Connection) -> Vec<TermRow> {
    let Terms { held, direction, densities: Some(densities), turn, .. } = terms else {
        return Vec::new();
    };
    let (data, by) = (direction.data, wait.by.name());
    let (to, ack) = (wait.to.frame, wait.ack.frame);
    let contradictions = connection.half(wait.by).contradictions();
    vec![
        row(
            "release",
            format!("{}/ms", Digits(densities.hold)),
            format!("frame {to} left {} after the data in frame {ack}", Ms(wait.release_ns())),
        ),
        row(
            "answer",
            format!("{}/ms", Digits(densities.program)),
            format!(
                "a program reacts so soon, by {} reactions of this {by} while nothing of its own was outstanding, \
                 the quickest twentieth within {}",
                data.reactions,
                Ms::of(data.quickest_ms)
            ),
        ),
        row(
            "turn",
            format!("{turn:.4}"),
            format!(
                "how usual pieces of {} and {} bytes are without data of the other side between them",
                wait.unacked_len, wait.len
            ),
        ),
        row(
            "ratio (LR)",
            Digits(held.ratio.into()).to_string(),
            format!(
                "release over answer, times turn, from {} up to {}",
                1.0 / data_release::MOST,
                terms.most
            ),
        ),
        row(
            "pattern",
            format!("{:.5}", data.pattern),
            format!(
                "data releases such segments of this server, by {} of them together and {} that left later",
                data.count, data.late
            ),
        ),
        row(
            "share (pi)",
            format!("{:.4}", data.share),
            "share of them that is held then".to_owned(),
        ),
        row(
            "P(on)",
            format!("{:.5}", held.on),
            format!(
                "Nagle's algorithm was on, by what contradicts it; {contradictions} small segments were sent unheld"
            ),
        ),
        row(
            "probability",
            format!("{:.5}", held.probability),
            "P(on) * pattern * pi*LR / (1 - pi + pi*LR)".to_owned(),
        ),
        row(
            "held for",
            Ms(held.hold_ns()).to_string(),
            format!(
                "if it was held: {} at most, less what the program itself takes",
                Ms(wait.wait_ns())
            ),
        ),
    ]
}
