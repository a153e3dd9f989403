//! Blessing a case that has several outcomes: more recordings, the different things that they show,
//! and how often each was seen.
//!
//! What was blessed before of the same case, controller and server still counts: its recordings are
//! added to the new ones, so a rare outcome is not lost because it did not come again.

use std::path::Path;

use super::CliError;
use super::out::say;
use super::reporter::colour;
use crate::case::Case;
use crate::golden;
use crate::outcome::Outcome;
use crate::report;
use crate::timeline::{Golden, Provenance, Timeline};
use crate::verdict;

/// How many times as many recordings are made of such a case.
pub(super) const TIMES: usize = 4;

/// Bless the outcomes that these timelines show, beside those that were blessed before, in the
/// first one's file and those beside it; or only say what would change.
pub(super) fn bless(
    case: &Case,
    timelines: &[Timeline],
    from: &Provenance,
    before: Option<&Golden>,
    (path, check): (&Path, bool),
) -> Result<Outcome, CliError> {
    let name = &case.name;
    let found = match verdict::outcomes(timelines) {
        Ok(found) => found,
        Err(why) => {
            say!("not blessed  {name}: {why}");
            return Ok(Outcome::Inconclusive);
        }
    };
    let new = found.iter().filter(|(outcome, _)| known(before, outcome).is_none()).count();
    let blessed = merged(found, from, before);
    let parting = verdict::parting(&blessed);
    let parting = parting.map_or_else(String::new, |step| format!(", which part at {step}"));
    let counts: Vec<_> = blessed.outcomes().map(|outcome| seen(outcome).to_string()).collect();
    let counts = format!("{} outcomes{parting}, seen {}", blessed.count(), counts.join(", "));
    if blessed.count() == 1 {
        say!("note         {name}: one outcome is all that was seen; does it need `expectation: outcomes`?");
    }
    // How often each was seen is another number each time; that alone is no change.
    if check {
        let (word, outcome) =
            if new == 0 { ("as blessed  ", Outcome::Conformant) } else { ("would change", Outcome::Unblessed) };
        say!("{word} {name}: {counts}; {new} of them new");
        return Ok(outcome);
    }
    golden::outcomes::write(path, &blessed)?;
    say!("blessed      {name}: {counts}; {new} of them new");
    for outcome in blessed.outcomes() {
        say!("{}", report::change(None, outcome, colour()));
    }
    Ok(Outcome::Conformant)
}

/// The outcomes found and those known before, the most frequent first.
fn merged(found: Vec<(Timeline, u32)>, from: &Provenance, before: Option<&Golden>) -> Golden {
    let before = before.filter(|before| found.iter().all(|(outcome, _)| continues(before, outcome, from)));
    let old = before.and_then(|before| before.first().provenance.as_ref());
    let recordings = from.recordings + old.map_or(0, |old| old.recordings);
    let boots = from.boots + old.map_or(0, |old| old.boots);
    let mut all: Vec<(Timeline, u32)> =
        before.into_iter().flat_map(Golden::outcomes).map(|it| (it.clone(), seen(it))).collect();
    for (outcome, times) in found {
        match all
            .iter_mut()
            .find_map(|(known, seen)| Some((verdict::agree(&[bare(known), bare(&outcome)]).ok()?, known, seen)))
        {
            Some((agreed, known, seen)) => {
                *known = agreed;
                *seen += times;
            }
            None => all.push((outcome, times)),
        }
    }
    all.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    let mut all = all.into_iter().map(|(outcome, seen)| {
        outcome.with_provenance(Provenance { recordings, boots, seen: Some(seen), ..from.clone() })
    });
    let first = all.next().expect("recordings that show anything show one outcome");
    Golden::new(first, all.collect())
}

/// Whether what was blessed is of the same case, controller and server.
fn continues(before: &Golden, outcome: &Timeline, from: &Provenance) -> bool {
    let same = |old: &Provenance| old.controller == from.controller && old.server == from.server;
    before.outcomes().all(|old| old.case == outcome.case && old.provenance.as_ref().is_some_and(same))
}

/// The blessed outcome that is the same as this one.
fn known<'a>(before: Option<&'a Golden>, outcome: &Timeline) -> Option<&'a Timeline> {
    before?.outcomes().find(|known| known.case == outcome.case && verdict::agree(&[bare(known), bare(outcome)]).is_ok())
}

/// Without a word about where it comes from.
fn bare(timeline: &Timeline) -> Timeline {
    Timeline { provenance: None, ..timeline.clone() }
}

/// In how many recordings an outcome was seen.
fn seen(outcome: &Timeline) -> u32 {
    outcome.provenance.as_ref().map_or(0, |from| from.seen.unwrap_or(from.recordings))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");

    fn timeline(image: &str) -> Timeline {
        bare(&Timeline::parse(&ONE.replace("image=app:1", image)).unwrap())
    }

    fn from(controller: &str) -> Provenance {
        let text = |text: &str| text.to_owned();
        let (name, server) = (text("upstream"), text("kube-apiserver v1.36.3"));
        Provenance { name, controller: text(controller), server, recordings: 20, seen: None, boots: 2 }
    }

    fn counts(blessed: &Golden) -> Vec<(u32, u32)> {
        blessed.outcomes().map(|it| (seen(it), it.provenance.as_ref().unwrap().recordings)).collect()
    }

    #[test]
    fn what_was_seen_before_still_counts() {
        let (a, b, c) = (timeline("image=a"), timeline("image=b"), timeline("image=c"));
        let first = merged(vec![(a.clone(), 15), (b.clone(), 5)], &from("v1"), None);
        assert_eq!(counts(&first), [(15, 20), (5, 20)]);
        let again = merged(vec![(b.clone(), 18), (c, 2)], &from("v1"), Some(&first));
        assert_eq!(counts(&again), [(23, 40), (15, 40), (2, 40)]);
        assert_eq!(again.first().steps, b.steps);
        assert!(known(Some(&first), &timeline("image=c")).is_none() && known(Some(&again), &a).is_some());
    }

    #[test]
    fn another_controller_and_another_case_begin_anew() {
        let (a, b) = (timeline("image=a"), timeline("image=b"));
        let first = merged(vec![(a, 20)], &from("v1"), None);
        assert_eq!(counts(&merged(vec![(b.clone(), 20)], &from("v2"), Some(&first))), [(20, 20)]);
        let edited = Timeline { case: Some("0123456789abcdef".to_owned()), ..b };
        assert_eq!(counts(&merged(vec![(edited, 20)], &from("v1"), Some(&first))), [(20, 20)]);
    }
}
