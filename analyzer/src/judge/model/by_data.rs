//! Segments that left right behind data of the peer, which acknowledged all before them: did the kernel
//! let them go, or did the program answer? They are candidates of a kind of their own. They say nothing
//! of Nagle's algorithm: whether it was on, the waits beside them tell that pure ACKs ended.

use crate::judge::model::sets::CandidateSet;
use crate::judge::model::{BlockModel, Held};
use crate::judge::thresholds::POSSIBLE;
use crate::track::tracked::Block;
use crate::track::wait::{Wait, fact};
use std::mem;

/// Drops what data is unlikely to have released: it is no wait.
pub fn drop_unlikely(block: &mut Block, model: &mut BlockModel) {
    let is_kept = |wait: &Wait, held: &Held| {
        !wait.is(fact::DATA_ACK) || f64::from(held.probability) >= POSSIBLE
    };
    if block.waits.iter().zip(&model.held).all(|(wait, held)| is_kept(wait, held)) {
        return;
    }
    let both = mem::take(&mut block.waits).into_iter().zip(mem::take(&mut model.held));
    (block.waits, model.held) = both.filter(|(wait, held)| is_kept(wait, held)).unzip();
}

impl CandidateSet<'_> {
    /// How many followed such data later than a kernel sends: the program wrote them then.
    pub fn late(&self) -> f64 {
        let late =
            self.reactions.is_some().then(|| self.connection.half(self.side).odd().reactions.late);
        late.unwrap_or(0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::Cause;
    use crate::judge::model::{Confidence, model};
    use crate::judge::pooled::paths::SharedPaths;
    use crate::track::clock::Clocks;
    use crate::track::story::{Story, Told, block, client, server};

    /// The server sends two pieces, the second after the client's ACK, and later data of the client
    /// is followed by another piece. `apart` is what it does with nothing outstanding.
    fn ticks(count: u32, release_us: f64, apart_us: f64) -> Told {
        let tick = |story: Story| {
            let sent = story.after_ms(100.0, server(80)).after_ms(41.0, client(0));
            let next = sent.after_ms(0.02, server(60)).after_ms(41.0, client(0));
            let apart = next.after_ms(60.0, client(20)).after_ms(apart_us / 1e3, server(70));
            let pushed = apart.after_ms(25.0, client(21)).after_ms(release_us / 1e3, server(50));
            pushed.after_ms(41.0, client(0))
        };
        Story::new().handshake(0.02, 1.0).times(count, tick).end()
    }

    /// How many segments data is said to have released, surely or at all.
    fn released(mut told: Told) -> (usize, usize) {
        let (_, rulings) = told.judge();
        let all = || rulings.iter().filter(|ruling| ruling.cause == Cause::NagleReply);
        let sure = all().filter(|ruling| ruling.held.confidence() > Some(Confidence::Possible));
        (sure.count(), all().count())
    }

    #[test]
    fn what_is_quicker_than_the_program_ever_is_was_held() {
        assert_eq!(released(ticks(40, 14.0, 900.0)), (40, 40));
        let (sure, all) = released(ticks(2, 14.0, 900.0));
        assert!(sure == 0 && all <= 2, "two may be chance: {sure}, {all}");
    }

    #[test]
    fn a_program_that_is_as_quick_elsewhere_answers() {
        for (release_us, apart_us) in [(14.0, 15.0), (45.0, 50.0), (90.0, 900.0)] {
            assert_eq!(released(ticks(40, release_us, apart_us)).0, 0, "{release_us} us");
        }
    }

    #[test]
    fn where_each_side_waits_for_the_other_they_are_answers() {
        let turn = |story: Story| story.after_ms(25.0, client(20)).after_ms(0.014, server(60));
        assert_eq!(released(Story::new().handshake(0.02, 1.0).times(60, turn).end()), (0, 0));
    }

    #[test]
    fn what_data_may_have_released_changes_no_other_answer() {
        let answers = |with: bool| {
            let mut told = ticks(3, 14.0, 900.0);
            told.by_data.retain(|_| with);
            let blocks = [block([told])];
            let mut models = model(&blocks, &Clocks::default(), &SharedPaths::default(), 1);
            let waits = blocks[0].waits.iter().zip(models.remove(0).held);
            waits.filter(|(wait, _)| !wait.is(fact::DATA_ACK)).map(|(_, held)| held).collect()
        };
        let [with, without]: [Vec<Held>; 2] = [true, false].map(answers);
        assert_eq!(with, without);
    }

    #[test]
    fn a_coarse_clock_tells_nothing() {
        let added = |step_ns| {
            let clocks = Clocks::ticking_every(step_ns);
            let mut blocks = [block([ticks(40, 14.0, 900.0)])];
            let mut models = model(&blocks, &clocks, &SharedPaths::default(), 1);
            drop_unlikely(&mut blocks[0], &mut models[0]);
            blocks[0].waits.iter().filter(|wait| wait.is(fact::DATA_ACK)).count()
        };
        assert_eq!([1_000, 10_000, 1_000_000].map(added), [40, 40, 0]);
    }
}
