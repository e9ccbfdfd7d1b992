//! Sentences that a user reads of a stall.

use super::{held, opened};
use crate::judge::findings::Findings;
use crate::judge::words::evidence::reasons;
use crate::judge::words::rivals::rivals;
use crate::track::story::Story;

#[test]
fn the_evidence_names_the_frames_and_the_probability() {
    for story in [opened().times(3, held), held(opened()), Story::new().times(2, held)] {
        let mut told = story.end();
        let (judged, rulings) = told.judge();
        for finding in Findings::new(&told.waits, &rulings).stalls() {
            let told = reasons(finding, &judged);
            let frames = [finding.wait.from, finding.wait.ack, finding.wait.to];
            for frame in frames.map(|mark| format!("frame {} ", mark.frame)) {
                assert!(told[..3].iter().any(|sentence| sentence.contains(&frame)), "{told:?}");
            }
            let together = format!("a probability of {:.5}", finding.held.probability);
            assert!(told.last().unwrap().ends_with(&together), "{told:?}");
        }
    }
}

#[test]
fn rivals_are_ruled_out_by_what_was_captured() {
    let mut told = opened().times(3, held).end();
    let (judged, rulings) = told.judge();
    let finding = Findings::new(&told.waits, &rulings).stalls().next().unwrap();
    assert!(rivals(finding, &judged).iter().all(|rival| rival.ruled_out));
    let mut told = Story::new().times(3, held).end();
    let (judged, rulings) = told.judge();
    let finding = Findings::new(&told.waits, &rulings).stalls().next().unwrap();
    let left = rivals(finding, &judged);
    let left: Vec<&str> =
        left.iter().filter(|rival| !rival.ruled_out).map(|rival| rival.name).collect();
    assert!(left.contains(&"receiver's window closed or full"), "{left:?}");
}
