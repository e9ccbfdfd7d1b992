//! Why data is said to have released a segment, where that differs from a pure ACK, with frames.

use crate::capture::progress::Grouped;
use crate::judge::words::evidence::{Bytes, Decimals, ExplainedStall, Likelier, Ms, plural};
use std::fmt::{self, Write};

impl ExplainedStall<'_> {
    pub(super) fn data_ack(&self, out: &mut String) -> fmt::Result {
        let (wait, receiver) = (self.wait, self.receiver);
        write!(
            out,
            "frame {} is data of the {receiver} ({}) and acknowledges all that was outstanding, {} after frame {}: no \
             delayed-ACK timer fired",
            wait.ack.frame,
            Bytes(wait.ack_len.into()),
            Ms(wait.ack.time_ns - wait.from.time_ns),
            wait.from.frame
        )
    }

    pub(super) fn data_release(&self, out: &mut String) -> fmt::Result {
        let (wait, model, by) = (self.wait, &self.model, self.by);
        write!(
            out,
            "frame {} follows that data by {}, as the kernel sends before the program wakes up. ",
            wait.to.frame,
            Ms(wait.release_ns())
        )?;
        match model.reactions {
            0 => write!(out, "How soon this {by} reacts to other data is not shown"),
            count => write!(
                out,
                "While nothing of its own was outstanding, this {by} reacted {} time{} to data, the quickest \
                 twentieth within {}",
                Grouped(count.into()),
                plural(count),
                Ms::of(model.quickest_ms)
            ),
        }?;
        let likelier = Likelier(self.finding.held.ratio.into());
        write!(
            out,
            ". This timing is {likelier} if the kernel held the segment than if the program answered"
        )
    }

    pub(super) fn quick(&self, out: &mut String) -> fmt::Result {
        write!(
            out,
            "a {} that answers data as soon as a kernel sends would look the same: probability {}, by how soon it \
             reacts elsewhere",
            self.by,
            Decimals::<5>(self.model.relay)
        )
    }

    pub(super) fn held_at_most(&self, out: &mut String) -> fmt::Result {
        let most = Ms(self.wait.wait_ns());
        write!(
            out,
            "it was held for {most} at most: the {} may have written it at any time before frame {}",
            self.by, self.wait.ack.frame
        )
    }
}
