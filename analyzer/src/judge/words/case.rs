//! The case of a wait in rows: each line with its side, its weight, and the numbers that it compared.

use crate::judge::case::{Line, Room, Weight};
use crate::judge::finding::judged::JudgedConnection;
use crate::judge::judges::Explained;
use crate::judge::path::sender_rtt::Basis;
use crate::judge::thresholds::{
    CHANCE_ALONE, CHANCE_AMONG_OTHERS, CHANCE_LIKELY, FEW_RELEASES, HOLDS_PER_CONTRADICTION,
    PEAK_OVER_CHANCE,
};
use crate::judge::words::evidence::Ms;
use crate::track::NETWORK_RTT_NS;

/// A line of a case as people read it.
pub struct CaseRow {
    pub room: &'static str,
    pub name: &'static str,
    /// Does it speak for a hold, or against one?
    pub is_for: bool,
    /// What it does, if it speaks against a hold, or makes up for what does.
    pub weight: String,
    pub text: String,
    /// Those that the text names.
    pub frames: Vec<u64>,
}

/// All lines that the case of a wait was asked for, room by room.
pub fn rows(explained: &Explained, judged: &JudgedConnection) -> Vec<CaseRow> {
    let numbers = numbers(explained, judged);
    let of_room = |room: Room| Line::ALL.iter().filter(move |line| line.room() == room);
    let asked = Room::ALL.into_iter().flat_map(of_room).filter(|line| is_asked(**line, explained));
    asked.map(|line| row(*line, explained, &numbers)).collect()
}

fn row(line: Line, explained: &Explained, numbers: &[(&str, String)]) -> CaseRow {
    let applies = explained.case.has(line);
    let mut text = line.sentence().replace("{answer}", if applies { "yes" } else { "no" });
    let mut frames = Vec::new();
    for (name, number) in numbers {
        let filled = text.replace(&format!("{{{name}}}"), number);
        if matches!(*name, "from" | "ack" | "to") && filled != text {
            frames.extend(number.parse::<u64>().ok().filter(|&frame| frame != 0));
        }
        text = filled;
    }
    CaseRow {
        room: line.room().name(),
        name: line.name(),
        is_for: applies == line.weight().is_for(),
        weight: if applies { weight(line) } else { String::new() },
        text,
        frames,
    }
}

/// Was this line looked at? Where no ACK ended the wait there is no release, and only a hold has doubts.
fn is_asked(line: Line, explained: &Explained) -> bool {
    match (line, line.weight()) {
        (
            Line::LeftBeforeAck
            | Line::TooLong
            | Line::OffTheAck
            | Line::CongestionWindow
            | Line::Reply
            | Line::NoDelay
            | Line::MayBeLost
            | Line::Lost
            | Line::SlowLink,
            _,
        ) => explained.wait.is_freed(),
        (_, Weight::Doubt(_)) => explained.case.is_hold(),
        (Line::NearTheAck, _) | (_, Weight::Peak) => explained.case.has(line),
        _ => true,
    }
}

/// What the sentences of [`Line::sentence`] name.
fn numbers(explained: &Explained, judged: &JudgedConnection) -> Vec<(&'static str, String)> {
    let Explained { wait, releases, .. } = explained;
    let duration = |duration_ns: i64| Ms(duration_ns).to_string();
    let receiver_rtt_ns = judged.half(wait.by.other()).rtt_ns();
    let siblings = releases.siblings.map_or("none".to_owned(), |siblings| {
        format!("{}, as in frame {}", siblings.connections, siblings.frame)
    });
    vec![
        ("from", wait.from.frame.to_string()),
        ("ack", wait.ack.frame.to_string()),
        ("to", wait.to.frame.to_string()),
        ("by", wait.by.name().to_owned()),
        ("receiver", wait.by.other().name().to_owned()),
        ("receiver_rtt", receiver_rtt_ns.map_or("not known".to_owned(), duration)),
        ("len", wait.len.to_string()),
        ("unacked", wait.unacked_len.to_string()),
        ("skipped", wait.skipped_ids.to_string()),
        ("mss", judged.mss.to_string()),
        ("mss_from", if judged.mss_inferred { "inferred" } else { "of the SYN" }.to_owned()),
        ("full", releases.as_full.map_or(judged.mss, |len| len.min(judged.mss)).to_string()),
        ("ack_ms", duration(wait.ack_ns())),
        ("longest", duration(releases.longest_ack_ns())),
        ("release", duration(wait.release_ns())),
        ("span", duration(wait.span_ns())),
        ("center", duration(releases.band.center_ns)),
        ("tolerance", duration(releases.band.tolerance_ns)),
        ("off", duration(releases.off_ns(wait))),
        ("basis", basis(releases.basis).to_owned()),
        ("holds", releases.in_band.to_string()),
        ("matches", releases.matches().to_string()),
        ("near", releases.near.to_string()),
        ("by_chance", format!("{:.2}", releases.by_chance())),
        ("full_sized", releases.full_sized.to_string()),
        ("small_after", releases.small_after_window.to_string()),
        ("full_after", releases.full_after_window.to_string()),
        ("siblings", siblings),
        ("contradictions", judged.half(wait.by).contradictions.to_string()),
        ("chance", format!("{:.4}", releases.chance(wait))),
        ("alone", CHANCE_ALONE.to_string()),
        ("among", CHANCE_AMONG_OTHERS.to_string()),
        ("likely", CHANCE_LIKELY.to_string()),
        ("few", FEW_RELEASES.to_string()),
        ("per", HOLDS_PER_CONTRADICTION.to_string()),
        ("peak", PEAK_OVER_CHANCE.to_string()),
        ("network", duration(NETWORK_RTT_NS)),
    ]
}

fn weight(line: Line) -> String {
    match line.weight() {
        Weight::Doubt(points) => format!("doubt, {points} of {} points", Weight::POSSIBLE),
        Weight::Excludes => "rules a hold out".to_owned(),
        Weight::Hides => "hides a hold".to_owned(),
        Weight::NoPeak => "no peak".to_owned(),
        Weight::Peak => "makes up for a missing peak".to_owned(),
    }
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Nothing => "nothing",
        Basis::Handshake => "the handshake",
        Basis::AtSender => "a capture at the sender",
        Basis::Replies => "the fastest replies",
        Basis::Releases => "releases that agree",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::case::Lines;
    use crate::judge::causes::Cause;
    use crate::judge::path::releases::Releases;
    use crate::track::story::Story;
    use crate::track::wait::Wait;
    use crate::track::{Mark, Side};

    #[test]
    fn each_sentence_is_complete_and_its_frames_are_those_it_names() {
        let (judged, _) = Story::new().handshake(0.02, 1.0).end().judge();
        let at = |frame| Mark { time_ns: 0, frame };
        let unknown = Wait::unknown(0, Side::Client);
        let wait = Wait { from: at(71), ack: at(72), to: at(73), ..unknown };
        let case = Lines::default();
        let explained =
            Explained { wait, cause: Cause::Unknown, case, releases: Releases::default() };
        let numbers = numbers(&explained, &judged);
        for line in Line::ALL {
            let row = row(*line, &explained, &numbers);
            assert!(!row.text.contains(['{', '}']), "{}", row.text);
            for frame in [71, 72, 73] {
                assert_eq!(row.text.contains(&frame.to_string()), row.frames.contains(&frame));
            }
        }
    }
}
