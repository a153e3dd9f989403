//! Several outcomes: recordings of one case that differ, grouped.

use std::cmp::Reverse;

use super::agree::{Disagreement, agree};
use crate::timeline::{Golden, StepId, Timeline};

/// The different things that these recordings show, the most frequent first, each with how often it
/// was seen. What was seen as often is in the order of the first recording of it.
///
/// # Errors
/// There is none, or none of them holds a decision.
pub fn outcomes(timelines: &[Timeline]) -> Result<Vec<(Timeline, u32)>, Disagreement> {
    let mut groups: Vec<Vec<Timeline>> = Vec::new();
    for timeline in timelines {
        let same = groups.iter_mut().find(|group| {
            let together: Vec<_> = group.iter().chain([timeline]).cloned().collect();
            agree(&together).is_ok()
        });
        match same {
            Some(group) => group.push(timeline.clone()),
            None => groups.push(vec![timeline.clone()]),
        }
    }
    if groups.is_empty() {
        return Err(Disagreement::Nothing);
    }
    groups.sort_by_key(|group| Reverse(group.len()));
    let seen = |group: &Vec<Timeline>| u32::try_from(group.len()).unwrap_or(u32::MAX);
    groups.iter().map(|group| Ok((agree(group)?, seen(group)))).collect()
}

/// The first step at which these outcomes are not all the same, if there is one.
#[must_use]
pub fn parting(blessed: &Golden) -> Option<StepId> {
    let first = blessed.first();
    let differs = |step: &&crate::timeline::Step| blessed.outcomes().any(|other| other.step(step.id) != Some(*step));
    first.steps.iter().find(differs).map(|step| step.id)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::outcome::Outcome;
    use crate::recording::Blame;
    use crate::timeline::fixture::{Film, deployment, of_case, owned_set, ready, revision, scaled, with};
    use crate::verdict::Nearest;
    use crate::verdict::fixture::judge_by;

    const SEVERAL: &str = "expectation: outcomes\n";

    /// A step after which rs1 has these sizes.
    fn film(sizes: &[i32]) -> Film {
        let web = with(&deployment("web", 10, "app:1"), &revision(1));
        let set = with(&owned_set(&web, "1", "app:1", 10), &serde_json::json!({"status": ready(10)}));
        let film = Film::rolled_out(10).user(1, "scale 9").driver(&scaled(&web, 9));
        sizes.iter().fold(film, |film, size| film.other(&scaled(&set, *size)))
    }

    fn timeline(sizes: &[i32]) -> Timeline {
        Timeline::from_recording(&film(sizes).settled().end())
    }

    fn three() -> Golden {
        Golden::new(timeline(&[9]), vec![timeline(&[8]), timeline(&[8, 9, 7])])
    }

    #[rstest]
    #[case::the_first(film(&[9]).settled(), 1, Outcome::Conformant)]
    #[case::the_second(film(&[8]).settled(), 2, Outcome::Conformant)]
    #[case::none_and_near_the_third(film(&[8, 9, 8]).settled(), 3, Outcome::NonConformant)]
    #[case::none_and_near_the_first(film(&[5]).settled(), 1, Outcome::NonConformant)]
    fn the_nearest_of_several(#[case] film: Film, #[case] number: usize, #[case] outcome: Outcome) {
        let judgement = judge_by(&of_case(SEVERAL, film.end()), Some(&three()));
        assert_eq!((judgement.nearest, judgement.outcome()), (Some(Nearest { number, of: 3 }), outcome));
    }

    #[test]
    fn a_case_that_does_not_say_so_has_one_outcome() {
        let judgement = judge_by(&film(&[8]).settled().end(), Some(&three()));
        assert_eq!((judgement.nearest, judgement.outcome()), (None, Outcome::NonConformant));
    }

    #[test]
    fn a_lab_that_broke_is_not_held_against_the_subject() {
        let broke = film(&[]).trouble(Blame::Environment, "etcd").aborted();
        let judgement = judge_by(&of_case(SEVERAL, broke), Some(&three()));
        assert_eq!(judgement.outcome(), Outcome::Inconclusive);
    }

    #[test]
    fn one_stale_outcome_makes_the_case_unblessed() {
        let stale = Timeline { case: Some("0123456789abcdef".to_owned()), ..timeline(&[8]) };
        let recording = of_case(SEVERAL, film(&[8]).settled().end());
        let judgement = judge_by(&recording, Some(&Golden::new(timeline(&[9]), vec![stale])));
        assert_eq!(judgement.outcome(), Outcome::Unblessed);
        let stale = Timeline { case: Some("0123456789abcdef".to_owned()), ..timeline(&[9]) };
        let judgement = judge_by(&recording, Some(&Golden::new(timeline(&[8]), vec![stale])));
        assert_eq!(judgement.outcome(), Outcome::Unblessed, "though the first fits");
    }

    #[test]
    fn recordings_are_grouped_and_counted() {
        let all = [&[9][..], &[8], &[8], &[8, 7], &[8]].map(timeline);
        let found = outcomes(&all).unwrap();
        assert_eq!(found.iter().map(|(_, seen)| *seen).collect::<Vec<_>>(), [3, 1, 1]);
        assert_eq!(found[0].0.steps, timeline(&[8]).steps);
        assert_eq!(outcomes(&[]), Err(Disagreement::Nothing));
        assert_eq!(parting(&three()), Some(StepId { index: 1, part: 0 }));
        assert_eq!(parting(&timeline(&[9]).into()), None);
    }

    #[test]
    fn a_resize_that_was_split_is_no_outcome_of_its_own() {
        let found = outcomes(&[timeline(&[8, 7]), timeline(&[7])]).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].0.steps[1].joined);
    }
}
