//! Blesses a case with several outcomes: makes more recordings, and counts each outcome.
//!
//! Earlier recordings of the same case, controller and server are added to the new ones, so that a
//! rare outcome is kept even if it does not occur again.

use std::path::Path;

use lockstep_case::Case;
use lockstep_report as report;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::{GoldenOutcomes, Provenance, Timeline};
use lockstep_verdict as verdict;
use lockstep_verdict::golden;

use super::super::CliError;
use super::super::out::{colour, say};

/// How many times more recordings a case with several outcomes needs.
pub(super) const RECORDINGS_FACTOR: usize = 4;

/// Bless the outcomes of these timelines together with those that were blessed before, and write
/// them to `path` and the files beside it. With `check`, only print what would change.
pub(super) fn bless(
    case: &Case,
    timelines: &[Timeline],
    from: &Provenance,
    before: Option<&GoldenOutcomes>,
    (path, check): (&Path, bool),
) -> Result<RunOutcome, CliError> {
    let name = &case.name;
    let found = match verdict::outcomes(timelines) {
        Ok(found) => found,
        Err(why) => {
            say!("not blessed  {name}: {why}");
            return Ok(RunOutcome::Inconclusive);
        }
    };
    let new = found.iter().filter(|(outcome, _)| find_same(before, outcome).is_none()).count();
    let blessed = merge(found, from, before);
    let parting = verdict::first_differing_step(&blessed);
    let parting = parting.map_or_else(String::new, |step| format!(", which part at {step}"));
    let counts: Vec<_> = blessed.outcomes().map(|outcome| times_seen(outcome).to_string()).collect();
    let counts = format!("{} outcomes{parting}, seen {}", blessed.count(), counts.join(", "));
    if blessed.count() == 1 {
        say!("note         {name}: one outcome is all that was seen; does it need `expectation: outcomes`?");
    }
    // The counts differ each time, so a different count alone does not count as a change.
    if check {
        let (word, outcome) =
            if new == 0 { ("as blessed  ", RunOutcome::Conformant) } else { ("would change", RunOutcome::Unblessed) };
        say!("{word} {name}: {counts}; {new} of them new");
        return Ok(outcome);
    }
    golden::outcomes::write(path, &blessed)?;
    say!("blessed      {name}: {counts}; {new} of them new");
    for outcome in blessed.outcomes() {
        say!("{}", report::bless_diff(None, outcome, colour()));
    }
    Ok(RunOutcome::Conformant)
}

/// Merge new outcomes with the blessed ones, the most frequent first.
fn merge(outcomes: Vec<(Timeline, u32)>, from: &Provenance, before: Option<&GoldenOutcomes>) -> GoldenOutcomes {
    let before = before.filter(|before| outcomes.iter().all(|(outcome, _)| is_continuation(before, outcome, from)));
    let old = before.and_then(|before| before.first().provenance.as_ref());
    let recordings = from.recordings + old.map_or(0, |old| old.recordings);
    let boots = from.boots + old.map_or(0, |old| old.boots);
    let mut all: Vec<(Timeline, u32)> =
        before.into_iter().flat_map(GoldenOutcomes::outcomes).map(|it| (it.clone(), times_seen(it))).collect();
    for (outcome, times) in outcomes {
        match all.iter_mut().find_map(|(known, seen)| {
            Some((verdict::agree(&[without_provenance(known), without_provenance(&outcome)]).ok()?, known, seen))
        }) {
            Some((agreed, known, seen)) => {
                *known = agreed;
                *seen += times;
            }
            None => all.push((outcome, times)),
        }
    }
    all.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    let mut all = all.into_iter().map(|(outcome, seen)| {
        outcome.with_provenance(Provenance { recordings, boots, times_seen: Some(seen), ..from.clone() })
    });
    let first = all.next().expect("recordings that show anything show one outcome");
    GoldenOutcomes::new(first, all.collect())
}

/// Whether the blessed outcomes are of the same case, controller and server.
fn is_continuation(before: &GoldenOutcomes, outcome: &Timeline, from: &Provenance) -> bool {
    let same = |old: &Provenance| old.controller == from.controller && old.server == from.server;
    before.outcomes().all(|old| old.case == outcome.case && old.provenance.as_ref().is_some_and(same))
}

/// Find the blessed outcome that equals this one.
fn find_same<'a>(before: Option<&'a GoldenOutcomes>, outcome: &Timeline) -> Option<&'a Timeline> {
    before?.outcomes().find(|known| {
        known.case == outcome.case && verdict::agree(&[without_provenance(known), without_provenance(outcome)]).is_ok()
    })
}

fn without_provenance(timeline: &Timeline) -> Timeline {
    Timeline { provenance: None, ..timeline.clone() }
}

/// The number of recordings that had this outcome.
fn times_seen(outcome: &Timeline) -> u32 {
    outcome.provenance.as_ref().map_or(0, |from| from.times_seen.unwrap_or(from.recordings))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = include_str!("../../../../cases/recreate/three.timeline");

    fn timeline(image: &str) -> Timeline {
        without_provenance(&Timeline::parse(&ONE.replace("image=app:1", image)).unwrap())
    }

    fn from(controller: &str) -> Provenance {
        let text = |text: &str| text.to_owned();
        let (name, server) = (text("upstream"), text("kube-apiserver v1.36.3"));
        Provenance { name, controller: text(controller), server, recordings: 20, times_seen: None, boots: 2 }
    }

    fn counts(blessed: &GoldenOutcomes) -> Vec<(u32, u32)> {
        blessed.outcomes().map(|it| (times_seen(it), it.provenance.as_ref().unwrap().recordings)).collect()
    }

    #[test]
    fn blessed_counts_are_added_to_new_counts() {
        let (a, b, c) = (timeline("image=a"), timeline("image=b"), timeline("image=c"));
        let first = merge(vec![(a.clone(), 15), (b.clone(), 5)], &from("v1"), None);
        assert_eq!(counts(&first), [(15, 20), (5, 20)]);
        let again = merge(vec![(b.clone(), 18), (c, 2)], &from("v1"), Some(&first));
        assert_eq!(counts(&again), [(23, 40), (15, 40), (2, 40)]);
        assert_eq!(again.first().steps, b.steps);
        assert!(find_same(Some(&first), &timeline("image=c")).is_none() && find_same(Some(&again), &a).is_some());
    }

    #[test]
    fn counts_restart_for_other_controller_or_case() {
        let (a, b) = (timeline("image=a"), timeline("image=b"));
        let first = merge(vec![(a, 20)], &from("v1"), None);
        assert_eq!(counts(&merge(vec![(b.clone(), 20)], &from("v2"), Some(&first))), [(20, 20)]);
        let edited = Timeline { case: Some("0123456789abcdef".to_owned()), ..b };
        assert_eq!(counts(&merge(vec![(edited, 20)], &from("v1"), Some(&first))), [(20, 20)]);
    }
}
