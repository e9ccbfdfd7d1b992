//! Judges both directions of a connection, and shows how it judged one wait.

use crate::judge::case::Lines;
use crate::judge::causes::Cause;
use crate::judge::conditions::Conditions;
use crate::judge::direction::Judge;
use crate::judge::findings::Ruling;
use crate::judge::path::reference;
use crate::judge::path::releases::{Releases, ReleasesOf};
use crate::track::wait::Wait;
use crate::track::{Connection, Side};

/// The judges of both sides that have waits. Waits that are evidence are judged against each other only. Shorter ones are
/// there if they are to be listed, and are judged against all.
pub struct Judges<'a> {
    by_evidence: OfSides<'a>,
    by_all: Option<OfSides<'a>>,
}

/// Boxed: to move them takes as long as to judge.
type OfSides<'a> = [Option<Box<Judge<'a>>>; 2];

impl<'a> Judges<'a> {
    pub fn new(connection: &Connection, waits: &[Wait], conditions: Conditions<'a>) -> Self {
        let has_waits = Side::BOTH.map(|side| waits.iter().any(|wait| wait.by == side));
        let judges = |waits: &[Wait], conditions| {
            Side::BOTH.map(|side| {
                let judge = || Box::new(Judge::new(connection, side, waits, conditions));
                has_waits[side as usize].then(judge)
            })
        };
        if waits.iter().all(Wait::is_evidence) {
            return Self { by_evidence: judges(waits, conditions), by_all: None };
        }
        let evidence: Vec<Wait> = waits.iter().filter(|wait| wait.is_evidence()).copied().collect();
        // Siblings tell of their evidence.
        let alone = Conditions { clock_ns: conditions.clock_ns, ..Conditions::alone(0) };
        Self { by_evidence: judges(&evidence, conditions), by_all: Some(judges(waits, alone)) }
    }

    /// Rules on the next wait.
    pub fn rule(&mut self, wait: &Wait) -> Ruling {
        // Asked about each wait: a judge takes its candidates in order.
        let by_all = self.by_all.as_mut().map(|judges| of(judges, wait.by).rule(wait));
        match by_all {
            Some(ruling) if !wait.is_evidence() => ruling,
            _ => of(&mut self.by_evidence, wait.by).rule(wait),
        }
    }

    /// Who judges this wait.
    fn of(&mut self, wait: &Wait) -> &mut Judge<'a> {
        let judges = match &mut self.by_all {
            Some(by_all) if !wait.is_evidence() => by_all,
            _ => &mut self.by_evidence,
        };
        of(judges, wait.by)
    }

    /// The releases of a side, if it has waits.
    pub fn releases(&self, side: Side) -> Option<ReleasesOf<&Releases>> {
        let evidence = self.by_evidence[side as usize].as_ref()?;
        let all = self.by_all.as_ref().and_then(|all| all[side as usize].as_ref());
        let [evidence, all] = [Some(evidence), all].map(|judge| Some(&judge?.direction.releases));
        Some(ReleasesOf { evidence: evidence?, all })
    }
}

/// Who judges the waits of a side that has some.
fn of<'a, 'b>(judges: &'b mut OfSides<'a>, side: Side) -> &'b mut Judge<'a> {
    judges[side as usize].as_mut().unwrap_or_else(|| unreachable!("a side with waits has a judge"))
}

/// A wait with its whole case.
pub struct Explained {
    pub wait: Wait,
    pub cause: Cause,
    pub case: Lines,
    pub releases: Releases,
}

/// The case of the wait at this index, as all `waits` of its connection decide it.
pub fn explain(
    connection: &Connection,
    waits: &mut [Wait],
    index: usize,
    conditions: Conditions<'_>,
) -> Explained {
    reference::share_reactions(waits);
    let mut judges = Judges::new(connection, waits, conditions);
    for wait in &waits[..index] {
        judges.rule(wait);
    }
    let wait = waits[index];
    let judge = judges.of(&wait);
    let lines = judge.case(&wait);
    let cause = judge.ruling(&wait, lines).cause;
    Explained { wait, cause, case: lines, releases: judge.direction.releases }
}
