//! Waits that may have been holds.

use crate::judge::capture::spurious;
use crate::judge::doubts::of_wait::DoubtedWait;
use crate::judge::doubts::size::REPEATED;
use crate::judge::path::Path;
use crate::track::wait::{Facts, Wait, fact};
use crate::track::{Connection, Side};

/// The places of the candidates of `side` among its connection's `waits`: those that pure ACKs may
/// have released, or those that data may have.
pub fn candidates(
    connection: &Connection,
    side: Side,
    waits: &[Wait],
    by_data: bool,
    paths: &[Path; 2],
) -> Vec<u32> {
    let is_own = |at: usize, wait: &Wait| {
        // The condition that most waits fail comes first.
        wait.by == side
            && if by_data { wait.is(fact::DATA_ACK) } else { wait.has_pure_ack() }
            && DoubtedWait { wait, connection, paths: paths.each_ref(), before: &waits[..at] }
                .exclusion()
                .is_none()
    };
    let all = (0..).zip(waits).filter(|(at, wait)| is_own(*at as usize, wait));
    let mut places: Vec<u32> = all.map(|(at, _)| at).collect();
    let is_again = |at: &u32| {
        let wait = &waits[*at as usize];
        wait.is(fact::RESENT) && !wait.is(fact::NEEDLESS)
    };
    let own = places.iter().map(|&at| &waits[at as usize]);
    let is_needless = || spurious::is_needless(connection, side, waits, own, paths);
    if places.iter().any(is_again) && !is_needless() {
        places.retain(|at| !is_again(at));
    }
    places
}

/// Is it a pause between the sender's own data that was no hold, and that the program may have made?
pub fn is_other_pause(wait: &Wait) -> bool {
    const OTHER: Facts =
        Facts::of([REPEATED, fact::DATA_ACK, fact::ACK_FIN, fact::FIN, fact::UNSEEN, fact::RESENT]);
    wait.is(fact::OWN_DATA_BEFORE) && wait.len > 0 && !wait.has_any(OTHER)
}

#[cfg(test)]
mod tests {
    use crate::track::story::{Story, StorySegment, client, server};

    /// Joined midway: a head of 100 bytes, and a body that waits for its ACK.
    fn held(body: StorySegment) -> impl Fn(Story) -> Story {
        move |story: Story| {
            let head = story.after_ms(5.0, client(100)).after_ms(40.0, server(0));
            head.after_ms(0.02, body).after_ms(1.0, server(200))
        }
    }

    fn stalls(story: Story) -> usize {
        story.end().judge().1.iter().filter(|ruling| ruling.cause.is_stall()).count()
    }

    /// An upload of pieces of `len` bytes, cut where the path carries no more.
    fn upload(story: Story, len: u32) -> Story {
        let cut = (0..6).fold(story, |story, _| story.after_ms(0.01, client(len).more()));
        cut.after_ms(0.01, client(90)).after_ms(1.0, server(0)).after_ms(1.0, server(200))
    }

    #[test]
    fn joined_midway_the_largest_segment_may_have_been_held() {
        assert_eq!(stalls(Story::new().times(6, held(client(1300)))), 6);
        assert_eq!(stalls(Story::new().times(6, held(client(8000)))), 6);
        // Its sender had more to send: the first part of that is full-sized.
        assert_eq!(stalls(Story::new().times(6, held(client(1300).more()))), 0);
    }

    #[test]
    fn where_messages_were_cut_a_segment_as_long_is_full_sized() {
        for (carried, body) in [(1300, 1300), (524, 524), (8948, 8948)] {
            let story = upload(Story::new(), carried).times(6, held(client(body)));
            assert_eq!(stalls(story), 0, "{carried}");
        }
        assert_eq!(stalls(upload(Story::new(), 8948).times(6, held(client(2000)))), 6);
        // With a handshake that announced 1,460 bytes.
        let opened = || Story::new().handshake(0.02, 1.0);
        assert_eq!(stalls(opened().times(6, held(client(1024)))), 6);
        assert_eq!(stalls(upload(opened(), 1024).times(6, held(client(1024)))), 0);
    }

    /// The path carries 1,400 bytes, whatever the SYN announced.
    #[test]
    fn a_path_that_carries_less_than_the_syn_said_proves_no_nodelay() {
        let told = |cut: StorySegment| {
            let story = upload(Story::new().handshake(0.02, 1.0), 1360);
            let sent = story.after_ms(5.0, client(147)).after_ms(0.1, cut);
            sent.after_ms(0.01, client(1360)).after_ms(1.0, server(0)).end()
        };
        let contradictions = |cut| told(cut).half(crate::track::Side::Client).contradictions();
        assert_eq!(
            [client(1360).more(), client(1360), client(1200)].map(contradictions),
            [0, 0, 1]
        );
        assert_eq!(told(client(1360)).connection.effective_mss(), (1360, true));
    }

    /// The option of Multipath TCP takes 20 bytes of the first segment, which is full-sized.
    #[test]
    fn a_tail_behind_a_segment_that_options_shortened_proves_no_nodelay() {
        let opened = Story::new().handshake(0.02, 1.0).after_ms(5.0, client(100));
        let answered = opened.after_ms(30.0, server(1440).more()).after_ms(0.01, server(43));
        assert_eq!(answered.half(crate::track::Side::Server).contradictions(), 0);
    }

    /// The server's numbers show two packets lost before the capture: its timer sent the head again.
    #[test]
    fn what_follows_a_segment_that_a_timer_sent_again_is_no_stall() {
        let held = |lost: u16| {
            let asked = |story: Story, at: u16| {
                let story = story.after_ms(5.0, client(100));
                story.after_ms(1.0, server(200).ip_id(at)).after_ms(0.02, client(0))
            };
            let story = (1..=8).fold(Story::new().handshake(0.02, 1.0), asked);
            let sent =
                story.after_ms(5.0, client(100)).after_ms(203.0, server(1460).ip_id(9 + lost));
            let late = sent.after_ms(200.0, client(0));
            stalls(late.after_ms(1.0, server(700).ip_id(10 + lost)).after_ms(1.0, client(0)))
        };
        assert_eq!([0, 2].map(held), [1, 0]);
    }

    /// Ten full-sized segments fill the initial window, so that their tail waits for room.
    #[test]
    fn a_tail_behind_a_full_window_is_no_stall_by_itself() {
        let tail = |segments: u32| {
            let opened = Story::new().handshake(0.02, 160.0).after_ms(5.0, client(100));
            let first = opened.after_ms(170.0, server(1460).more());
            let more =
                first.times(segments - 1, |story| story.after_ms(0.001, server(1460).more()));
            let acked = more.after_ms(0.2, client(0)).after_ms(160.0, server(173));
            stalls(acked.after_ms(0.2, client(0)))
        };
        assert_eq!([3, 10].map(tail), [1, 0]);
    }

    /// A TLS session ends: the server answers the FIN, whatever that acknowledges. At its own host
    /// no program is as quick as the kernel.
    #[test]
    fn the_answer_to_a_fin_from_afar_is_no_stall() {
        let ended = |last: StorySegment, rtt_ms: f64| {
            let story = Story::new().handshake(0.02, rtt_ms).times(3, |story| {
                let asked = story.after_ms(5.0, client(100)).after_ms(rtt_ms, server(285));
                let held = asked.after_ms(40.0, client(0)).after_ms(rtt_ms, server(50));
                held.after_ms(0.02, client(0))
            });
            let sent = story.after_ms(5.0, client(100)).after_ms(rtt_ms, server(285));
            let answered = sent.after_ms(40.0, last).after_ms(rtt_ms, server(42));
            stalls(answered.after_ms(0.0, server(0).fin()))
        };
        let both = [client(0), client(0).fin()];
        assert_eq!(both.map(|last| ended(last, 37.0)), [4, 3]);
        assert_eq!(both.map(|last| ended(last, 0.02)), [4, 4]);
    }
}
