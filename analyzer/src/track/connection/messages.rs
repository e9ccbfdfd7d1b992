//! Messages that announce their length, and whether the rest of it came.

use crate::decode::Header;
use crate::decode::message::Announced;
use crate::track::Side;
use crate::track::connection::{Connection, Recorder};
use hashbrown::HashMap;

/// The last message of each end of a connection that announced more than its first segment held.
pub type Messages = HashMap<u32, [Message; 2], foldhash::fast::RandomState>;

/// Stream offsets of a message: from where on it is known to have content, and its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Message {
    begin: u64,
    end: u64,
    asks_leave: bool,
    /// Bytes that the other end had sent by then: if it sends more, the message is over, whatever it
    /// announced, as the reply to HEAD is.
    other_sent: u64,
}

impl Connection {
    /// A message begins with this segment of `side`, which comes next.
    #[cold]
    pub fn begin_message(
        &self,
        side: Side,
        segment: &Header,
        announced: &Announced,
        recorder: &mut Recorder,
    ) {
        // Within a message, a head is content.
        if self.missing_of_message(side, recorder) > 0 {
            return;
        }
        let at = self.rel_seq(side, segment);
        let message = Message {
            begin: at + announced.head + u64::from(!announced.is_request),
            end: at.saturating_add(announced.len),
            asks_leave: announced.asks_leave,
            other_sent: self.half(side.other()).offset,
        };
        recorder.messages.entry(self.id).or_default()[side as usize] = message;
    }

    fn message(&self, side: Side, recorder: &Recorder) -> Message {
        let other_sent = self.half(side.other()).offset;
        let message = recorder.messages.get(&self.id).map(|both| both[side as usize]);
        message.filter(|message| message.other_sent == other_sent).unwrap_or_default()
    }

    /// How many bytes are missing of the message that `side` announced last, if any.
    pub(super) fn missing_of_message(&self, side: Side, recorder: &Recorder) -> u64 {
        let (message, offset) = (self.message(side, recorder), self.half(side).offset);
        if offset >= message.begin { message.end.saturating_sub(offset) } else { 0 }
    }

    /// Has `side` sent no more of its message than what it looks like a part of? By the length that it
    /// announced, else by its last segment.
    pub(super) fn is_cut(&self, side: Side, recorder: &Recorder) -> bool {
        let (message, half) = (self.message(side, recorder), self.half(side));
        let is_whole = message.end > 0 && half.offset == message.end;
        self.missing_of_message(side, recorder) > 0 || (half.is_last_cut() && !is_whole)
    }

    /// Does the client wait for leave to send the content of its request?
    pub(super) fn waits_for_leave(&self, recorder: &Recorder) -> bool {
        let message = self.message(Side::Client, recorder);
        message.asks_leave && self.half(Side::Client).offset == message.begin
    }
}
