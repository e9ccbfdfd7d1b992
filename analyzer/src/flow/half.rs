//! What one host sends: its sequence space, what is unacknowledged, and how it behaved.

use super::{Mark, NETWORK_RTT_NS};
use crate::decode::{ACK, Header, Options, SYN};
use crate::seq;
use std::cmp::Ordering;
use std::mem::offset_of;

/// The first ACK that covered something.
#[derive(Debug, Clone, Copy, Default)]
pub struct Release {
    pub mark: Mark,
    /// No payload: the application at the other end cannot have caused it.
    pub pure: bool,
    pub fin: bool,
    /// It covers the last small segment and nothing after it.
    pub exactly_small: bool,
}

/// One direction of a connection, named after its sender.
///
/// Laid out by hand in cache lines: what every segment needs; what an ACK changes; what is asked of
/// both directions; what only the sender's own data needs; and what is seldom touched.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub struct Half {
    /// Next sequence number the sender will use (RFC 9293, SND.NXT), as seen here.
    pub snd_nxt: u32,
    /// Oldest unacknowledged sequence number (SND.UNA).
    pub snd_una: u32,
    /// End of the last small segment sent (Linux `snd_sml`, Minshall's variant of Nagle).
    pub snd_sml: u32,
    /// End and time of the segment whose ACK gives the next round-trip sample.
    timed_end: u32,
    timed_ns: i64,
    /// Stream offset of `snd_nxt`: payload bytes before it.
    pub offset: u64,
    /// Last data sent, retransmissions included, and its length in bytes.
    pub last_data: Mark,
    pub last_len: u32,
    /// Receive window this host advertised last, in bytes.
    pub window: u32,
    /// Segments captured; saturates.
    pub segments: u32,
    window_scale: u8,
    pub known: bool,
    pub timestamps: bool,
    pub window_scale_known: bool,

    /// The ACK that covered the last small segment, and the one that covered everything.
    pub small_acked: Release,
    pub all_acked: Release,
    /// Room left in the peer's window after the last data, in bytes.
    pub room: i32,
    /// Packets in flight, each of an MSS at most, as the congestion window counts them: now, and
    /// when the last data had left.
    packets: u32,
    pub flight: u32,
    /// Packets sent without a pause of half the round trip.
    burst: u32,
    /// The first ACK since the last data that advanced `snd_una`; frame 0 where none did.
    pub advanced: Mark,
    /// Shortest round trip between the capture point and this host, in ns; `i64::MAX` unknown.
    pub rtt_ns: i64,
    /// Sum and count of how far round trips to this host lie over the shortest one, for those
    /// close to it: the jitter of the path.
    pub rtt_over_ns: i64,
    pub rtt_samples: u32,
    /// IP identification of the last data.
    last_ip_id: u16,
    /// Was the last data small?
    pub last_small: bool,
    pub syn: bool,
    /// The last data that was new.
    pub last_new: Mark,
    /// Last frame in which this host advertised a window of zero.
    pub zero_window_frame: u64,

    /// The last small segment and its length.
    pub small_sent: Mark,
    pub small_len: u32,
    /// Small segments sent.
    pub small_segments: u32,
    pub bytes: u64,
    /// Largest payload seen, in bytes, and how often it was sent.
    pub largest: u32,
    largest_count: u32,
    /// Last frame before or in which bytes went missing.
    pub unseen_frame: u64,
    /// Small segments sent while a small one was unacknowledged.
    pub contradictions: u32,
    /// Timestamp value of the last data.
    last_tsval: Option<u32>,
    /// Has sent bytes again since the last new data.
    pub recovering: bool,
    has_stray: bool,

    /// Frames of the last contradiction.
    pub contradiction: (u64, u64),
    /// Payload bytes that were acknowledged or jumped over but never captured.
    pub unseen_bytes: u64,
    /// A full-sized segment and a small one that left while only full-sized ones were
    /// unacknowledged; frames, 0 for none.
    pub tail: (u64, u64),
    pub retransmitted: u32,
    pub duplicated: u32,
    pub reordered: u32,
    /// Sequence number that was too far ahead to be believed at once, if there is one.
    stray: u32,
    /// Announced in the SYN, in bytes; 0 is 'not seen'.
    pub mss_option: u16,
}

const _: () = assert!(size_of::<Half>() == 5 * 64, "a direction takes five cache lines");
const _: () = assert!(offset_of!(Half, small_acked) == 64, "the second cache line");
const _: () = assert!(offset_of!(Half, advanced) == 2 * 64, "the third");
const _: () = assert!(offset_of!(Half, small_sent) == 3 * 64, "the fourth");
const _: () = assert!(offset_of!(Half, contradiction) == 4 * 64, "the last");

/// A round trip this much above the shortest one is not jitter of the path any more but a delayed
/// ACK: the shortest delayed-ACK timers fire after 10 ms (`TCP_DELACK_MAX_US`).
const JITTER_LIMIT_NS: i64 = 8_000_000;

/// The longest that packets overtake each other, and the shortest that is not yet a round trip.
const REORDER_NS: i64 = 3_000_000;
const LEAST_REORDER_NS: i64 = 200_000;
/// The capture does not show which MSS a SYN announced.
pub const MSS_CUT: u16 = u16::MAX;
/// More bytes than this are not lost at once from a capture without a word: 64 MiB.
const MAX_JUMP: i32 = 1 << 26;
/// A copy may come after a few newer packets of its sender.
const COPY_IDS: u16 = 64;
/// Without a timestamp or an identification: a copy follows the frame this fast, and a
/// retransmission cannot.
const COPY_NS: i64 = 500_000;

impl Half {
    pub fn new() -> Self {
        Self { rtt_ns: i64::MAX, ..Self::default() }
    }

    /// Reads from the cache lines that every segment needs.
    #[inline]
    pub fn warm(&self) -> u64 {
        u64::from(self.snd_nxt) ^ self.rtt_ns as u64
    }

    /// Reads from the cache line that tells what an ACK released.
    #[inline]
    pub fn warm_release(&self) -> u64 {
        u64::from(self.flight)
    }

    /// In the cache line that only data of this sender needs.
    #[inline]
    pub fn warm_sent(&self) -> &u64 {
        &self.bytes
    }

    /// Starts the sequence space at `seq`, the number of the first payload byte.
    pub fn begin(&mut self, seq: u32) {
        self.known = true;
        self.snd_nxt = seq;
        self.snd_una = seq;
        self.snd_sml = seq;
    }

    /// Does this host send payloads of `largest` bytes time and again? Then that is its MSS, and
    /// no message that happens to be the longest.
    pub fn repeats_largest(&self, largest: u32) -> bool {
        const OFTEN: u32 = 4;
        self.largest == largest && self.largest_count >= OFTEN
    }

    /// Can the stream have come as far as `seq`? A number far ahead (a forged or damaged segment)
    /// is believed only when another one goes on from there.
    pub fn is_plausible(&mut self, seq: u32) -> bool {
        let ahead = seq::distance(self.snd_nxt, seq);
        let goes_on = |stray| (0..=MAX_JUMP).contains(&seq::distance(stray, seq));
        if ahead <= MAX_JUMP {
            self.has_stray = false;
            return true;
        }
        let believed = self.has_stray && goes_on(self.stray);
        (self.stray, self.has_stray) = (seq, !believed);
        if believed {
            // What was acknowledged of the missing bytes is not known: begin anew.
            self.snd_una = seq;
            self.snd_sml = seq;
        }
        believed
    }

    /// Bytes sent and not yet acknowledged, as seen here.
    pub fn in_flight(&self) -> u32 {
        seq::distance(self.snd_una, self.snd_nxt).max(0) as u32
    }

    pub fn small_unacked(&self) -> bool {
        seq::lt(self.snd_una, self.snd_sml)
    }

    /// The window a segment of this host advertises, in bytes; `None` where the handshake, and so
    /// the scale, was not captured. The window of a SYN is never scaled (RFC 7323, section 2.2).
    pub fn window_of(&self, segment: &Header) -> Option<u32> {
        let window = u32::from(segment.window);
        if segment.has(SYN) {
            return Some(window);
        }
        self.window_scale_known.then(|| window << self.window_scale)
    }

    /// The window this segment advertises, in bytes. The window of a SYN is never scaled
    /// (RFC 7323, section 2.2).
    pub fn advertise(&mut self, segment: &Header, frame: u64, scaled: bool) {
        let shift = if scaled { self.window_scale } else { 0 };
        self.window = u32::from(segment.window) << shift;
        if self.window == 0 {
            self.zero_window_frame = frame;
        }
    }

    /// Takes the options of a SYN; those that the capture cut off stay unknown.
    pub fn take_options(&mut self, options: &Options) {
        self.mss_option = if options.cut && options.mss == 0 { MSS_CUT } else { options.mss };
        self.set_window_scale(options.window_scale);
        self.window_scale_known = options.window_scale.is_some() || !options.cut;
    }

    pub fn set_window_scale(&mut self, scale: Option<u8>) {
        self.window_scale = scale.unwrap_or(0);
        self.window_scale_known = true;
    }

    /// Times the segment that ends at `end`, unless one is being timed already.
    pub fn time_segment(&mut self, end: u32, time_ns: i64) {
        if self.timed_ns == 0 {
            self.timed_end = end;
            self.timed_ns = time_ns;
        }
    }

    /// Karn's rule (RFC 6298, section 3): a repeated segment gives no sample.
    pub fn stop_timing(&mut self) {
        self.timed_ns = 0;
    }

    /// Takes an ACK for what this half sent; returns the round trip to the peer it measured.
    pub fn take_ack(&mut self, segment: &Header, now: Mark) -> Option<i64> {
        let ack = segment.ack;
        if !seq::lt(self.snd_una, ack) {
            return None;
        }
        let release = Release {
            mark: now,
            pure: segment.len == 0,
            fin: segment.has(crate::decode::FIN),
            exactly_small: ack == self.snd_sml,
        };
        if seq::lt(self.snd_una, self.snd_sml) && seq::le(self.snd_sml, ack) {
            self.small_acked = release;
        }
        if seq::lt(self.snd_nxt, ack) {
            self.jump_to(ack, now.frame);
        }
        if ack == self.snd_nxt {
            self.all_acked = release;
        }
        if !self.advanced.is_set() {
            self.advanced = now;
        }
        self.acknowledge(ack);
        self.round_trip(ack, now)
    }

    /// Moves `snd_una`; of the packets in flight as large a part leaves as of the bytes.
    fn acknowledge(&mut self, ack: u32) {
        if ack == self.snd_nxt {
            (self.snd_una, self.packets) = (ack, 0);
            return;
        }
        let before = u64::from(self.in_flight().max(1));
        self.snd_una = ack;
        let rest = u64::from(self.in_flight()) * u64::from(self.packets);
        self.packets = rest.div_ceil(before) as u32;
    }

    fn round_trip(&mut self, ack: u32, now: Mark) -> Option<i64> {
        if self.timed_ns == 0 || seq::lt(ack, self.timed_end) {
            return None;
        }
        let sample = now.time_ns - self.timed_ns;
        self.timed_ns = 0;
        (sample >= 0).then_some(sample)
    }

    /// Bytes up to `seq` were never captured.
    pub fn jump_to(&mut self, seq: u32, frame: u64) {
        let missing = seq::distance(self.snd_nxt, seq).max(0) as u64;
        self.offset += missing;
        self.unseen_bytes += missing;
        self.unseen_frame = frame;
        self.snd_nxt = seq;
        self.stop_timing();
    }

    /// A round trip between the capture point and this host was measured.
    /// A pure ACK shows the path's jitter as well; data shows what the program took to answer.
    pub fn add_round_trip(&mut self, sample_ns: i64, pure: bool) {
        self.rtt_ns = self.rtt_ns.min(sample_ns);
        let over = sample_ns - self.rtt_ns;
        if pure && over < JITTER_LIMIT_NS {
            self.rtt_over_ns += over;
            self.rtt_samples += 1;
        }
    }

    /// Mean distance of this host's round trips from the shortest one, in ns.
    pub fn jitter_ns(&self) -> i64 {
        self.rtt_over_ns / i64::from(self.rtt_samples.max(1))
    }

    /// Remembers what this host sent last, to tell a copy of it from a repetition.
    pub fn note_sent(&mut self, segment: &Header, now: Mark) {
        self.last_data = now;
        self.last_tsval = segment.options.tsval;
        self.last_ip_id = segment.ip_id;
    }

    /// Moves past new data of `len` bytes that starts at `snd_nxt`.
    pub fn send(&mut self, segment: &Header, len: u32, now: Mark, mss: u32) {
        // One division does for both.
        let (full, rest) = if len < mss { (0, len) } else { (len / mss, len % mss) };
        let small = rest > 0;
        self.count_packets(full + u32::from(small), now);
        self.note_sent(segment, now);
        self.last_new = now;
        self.snd_nxt = self.snd_nxt.wrapping_add(len);
        self.offset += u64::from(len);
        self.last_len = len;
        self.last_small = small;
        match len.cmp(&self.largest) {
            Ordering::Greater => (self.largest, self.largest_count) = (len, 1),
            Ordering::Equal => self.largest_count = self.largest_count.saturating_add(1),
            Ordering::Less => {}
        }
        self.bytes += u64::from(len);
        self.recovering = false;
        self.advanced = Mark::default();
        self.all_acked = Release::default();
        if small {
            self.snd_sml = self.snd_nxt;
            self.small_segments = self.small_segments.saturating_add(1);
            self.small_sent = now;
            self.small_len = len;
            self.small_acked = Release::default();
        }
        self.time_segment(self.snd_nxt, now.time_ns);
    }

    /// Far from the sender, an ACK that passes here has not reached it yet: what left in one burst
    /// is in flight all the same.
    fn count_packets(&mut self, packets: u32, now: Mark) {
        let far = self.rtt_ns != i64::MAX && self.rtt_ns >= NETWORK_RTT_NS;
        if !far || now.time_ns - self.last_new.time_ns >= self.rtt_ns / 2 {
            self.burst = 0;
        }
        self.burst = self.burst.saturating_add(packets);
        self.packets = self.packets.saturating_add(packets);
        self.flight = self.packets.max(self.burst);
    }

    /// Is this segment, which brings nothing new, a second copy of a captured frame (a mirror port,
    /// `-i any`, two taps in one file) and not a retransmission? A retransmission is a packet of
    /// its own: its timestamp and its IP identification are newer.
    pub fn is_copy(&self, segment: &Header, now: Mark) -> bool {
        match (segment.options.tsval, self.last_tsval) {
            (Some(tsval), Some(last)) => !seq::lt(last, tsval),
            _ if segment.ip_id != 0 && self.last_ip_id != 0 => {
                self.last_ip_id.wrapping_sub(segment.ip_id) < COPY_IDS
            }
            _ => now.time_ns - self.last_data.time_ns < COPY_NS && segment.len == self.last_len,
        }
    }

    /// Missing bytes that come sooner than this were reordered by the network: too soon for the
    /// sender to have heard of a loss.
    pub fn reorder_ns(&self) -> i64 {
        match self.rtt_ns {
            i64::MAX => REORDER_NS,
            rtt_ns => (rtt_ns * 3 / 4).clamp(LEAST_REORDER_NS, REORDER_NS),
        }
    }

    /// FIN, which takes one sequence number, follows at `seq`.
    pub fn end_at(&mut self, seq: u32) {
        if seq == self.snd_nxt {
            self.snd_nxt = seq.wrapping_add(1);
        }
    }

    /// A keep-alive repeats the byte before `snd_nxt`, or none (RFC 9293, section 3.8.4).
    pub fn is_keep_alive(&self, segment: &Header) -> bool {
        segment.len <= 1
            && segment.seq == self.snd_nxt.wrapping_sub(1)
            && segment.has(ACK)
            && !segment.has(crate::decode::SYN | crate::decode::FIN | crate::decode::RST)
    }
}

/// A duration that may be unknown, as 0.
pub fn known(duration_ns: i64) -> i64 {
    if duration_ns == i64::MAX { 0 } else { duration_ns }
}
