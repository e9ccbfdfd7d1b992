//! Why data is said to have released a segment, where that differs from a pure ACK, with frames.

use crate::judge::words::evidence::{Bytes, ExplainedStall, Likelier, plural};
use crate::pieces::{Decimals, Grouped, Ms, put};

impl ExplainedStall<'_> {
    pub(super) fn data_ack(&self, out: &mut String) {
        let (wait, receiver) = (self.wait, self.receiver);
        let after = Ms(wait.ack.time_ns - wait.from.time_ns);
        put!(out, "frame ", wait.ack.frame, " is data of the ", receiver, " (");
        put!(out, Bytes(wait.ack_len.into()), ") and acknowledges all that was outstanding, ");
        put!(out, after, " after frame ", wait.from.frame, ": no delayed-ACK timer fired");
    }

    pub(super) fn data_release(&self, out: &mut String) {
        let (wait, model, by) = (self.wait, &self.model, self.by);
        put!(out, "frame ", wait.to.frame, " follows that data by ", Ms(wait.release_ns()));
        put!(out, ", as the kernel sends before the program wakes up. ");
        match model.reactions {
            0 => put!(out, "How soon this ", by, " reacts to other data is not shown"),
            count => {
                put!(out, "While nothing of its own was outstanding, this ", by, " reacted ");
                put!(out, Grouped(count.into()), " time", plural(count), " to data, the quickest ");
                put!(out, "twentieth within ", Ms::of(model.quickest_ms));
            }
        }
        put!(out, ". This timing is ", Likelier(self.finding.held.ratio.into()));
        put!(out, " if the kernel held the segment than if the program answered");
    }

    pub(super) fn quick(&self, out: &mut String) {
        put!(out, "a ", self.by, " that answers data as soon as a kernel sends would look the ");
        put!(out, "same: probability ", Decimals::<5>(self.model.relay));
        put!(out, ", by how soon it reacts elsewhere");
    }

    pub(super) fn held_at_most(&self, out: &mut String) {
        put!(out, "it was held for ", Ms(self.wait.wait_ns()), " at most: the ", self.by);
        put!(out, " may have written it at any time before frame ", self.wait.ack.frame);
    }
}
