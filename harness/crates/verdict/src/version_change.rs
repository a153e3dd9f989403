//! Compares two versions of upstream by running one case on both.
//!
//! A version that breaks a tie by chance (between two pods, by the order of a Go map) does one
//! thing in one run and another in the next. Such a version differs from itself, and from any other
//! version as well, which is not a change. So a case has *changed* only if the versions differ
//! before either differs from itself: for example at a step at which all runs of one delete pod a,
//! and all runs of the other pod b. If chance comes first, or at the same step, the case *varies*.
//!
//! Two runs are compared as two live ones ([`compare_live`]): a resize that was split in two is the
//! same. The invariants that a run broke count too, and the step at which it had to stop.
//!
//! Pure. Older versions report some things in other words in every case
//! ([`lockstep_timeline::versions`]): the caller rewrites the newer timelines first.

use lockstep_recording::Blame;
use lockstep_timeline::{InvariantBreach, Timeline, TimelineEvents};

use super::compare::{Difference, TimelineLocation, compare_live};
use super::judgement::{FindingKind, Judgement};

/// The result of one run of a case on one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayResult {
    /// The run shows what the version does.
    Completed(Behavior),
    /// The test environment failed, which shows nothing; why.
    Inconclusive(String),
}

/// What a version did in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behavior {
    /// What it decided.
    pub timeline: Timeline,
    /// Where the run stopped, if it did not reach the end.
    pub stop: Option<StopPoint>,
}

/// Where a run stopped, and why: a namespace that does not settle, or a step that is impossible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopPoint {
    /// The step.
    pub place: TimelineLocation,
    /// The trouble, in words and normalised names.
    pub why: String,
}

/// How two versions differ in one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionChange {
    /// All runs of both are the same.
    Same,
    /// They differ before either leaves anything to chance.
    Changed(Box<FirstDifference>),
    /// One of them differs from itself, before or where they differ from each other.
    Varies {
        /// What the older version's runs show.
        older: OutcomeSpread,
        /// What the newer version's runs show.
        newer: OutcomeSpread,
        /// Where runs first differ.
        parting: Box<FirstDifference>,
    },
    /// The runs cannot be compared; why.
    Unknown(String),
}

/// How the runs of one version vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeSpread {
    /// The number of runs.
    pub plays: usize,
    /// The number of different results.
    pub outcomes: usize,
    /// The number of runs whose result the other version has, too.
    pub shared: usize,
}

/// The first difference between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstDifference {
    /// Where they differ.
    pub place: TimelineLocation,
    /// What the step does; empty for events.
    pub label: String,
    /// How they differ.
    pub kind: DifferenceKind,
    /// The number of steps that differ; the Events count as one.
    pub differences: usize,
}

/// How two runs differ in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferenceKind {
    /// In what they did: the older version's lines are the expected ones.
    Lines(Difference),
    /// One of them stopped, or they stopped for different reasons.
    Stopped {
        /// Why the older version's run stopped, if it did.
        older: Option<String>,
        /// Why the newer version's run stopped, if it did.
        newer: Option<String>,
        /// The lines of the step, if they differ as well.
        lines: Option<Difference>,
    },
    /// In the invariants that they broke.
    Breaches {
        /// Those of the older version.
        older: Vec<InvariantBreach>,
        /// Those of the newer version.
        newer: Vec<InvariantBreach>,
    },
}

impl PlayResult {
    /// What a judged run shows of its subject, whatever was expected.
    #[must_use]
    pub fn of(judgement: Judgement) -> Self {
        let mut stop = None;
        for finding in &judgement.findings {
            let (FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble)) = &finding.kind else { continue };
            match trouble.blame {
                Blame::Environment => return Self::Inconclusive(format!("{}: {}", finding.place, trouble.why)),
                Blame::Subject if stop.is_none() => {
                    let unsettled = matches!(finding.kind, FindingKind::Unsettled(_)) && !trouble.ended;
                    let begins = if unsettled { "the namespace does not settle: " } else { "" };
                    stop = Some(StopPoint { place: finding.place, why: format!("{begins}{}", trouble.why) });
                }
                Blame::Subject => {}
            }
        }
        Self::Completed(Behavior { timeline: judgement.timeline, stop })
    }
}

/// Compares the runs of two versions; the newer version's timelines are in the older version's
/// wording.
#[must_use]
pub fn compare_versions(older: &[PlayResult], newer: &[PlayResult]) -> VersionChange {
    for (which, plays) in [("older", older), ("newer", newer)] {
        if !plays.iter().any(|play| matches!(play, PlayResult::Completed(_))) {
            let why = plays.iter().find_map(|play| match play {
                PlayResult::Inconclusive(why) => Some(why.as_str()),
                PlayResult::Completed(_) => None,
            });
            return VersionChange::Unknown(format!("the {which} version: {}", why.unwrap_or("not played")));
        }
    }
    let groups = groups(older, newer);
    if groups.iter().all(|group| group.first.timeline.is_idle() && group.first.stop.is_none()) {
        return VersionChange::Unknown("neither version acted; nothing to compare".to_owned());
    }
    let between = first_difference(most_frequent(&groups, 0), most_frequent(&groups, 1));
    let within = [0, 1].map(|side| first_difference_within(&groups, side));
    let chance = within.into_iter().flatten().min_by_key(|parting| parting.place);
    match (between, chance) {
        (None, None) => VersionChange::Same,
        (Some(between), chance) if chance.as_ref().is_none_or(|chance| between.place < chance.place) => {
            VersionChange::Changed(Box::new(between))
        }
        (between, chance) => match chance.or(between) {
            Some(parting) => VersionChange::Varies {
                older: spread(&groups, 0),
                newer: spread(&groups, 1),
                parting: Box::new(parting),
            },
            None => VersionChange::Same,
        },
    }
}

/// Runs of both versions with the same result.
struct BehaviorGroup<'a> {
    first: &'a Behavior,
    /// The number of runs of the older and of the newer version.
    plays: [usize; 2],
}

fn groups<'a>(older: &'a [PlayResult], newer: &'a [PlayResult]) -> Vec<BehaviorGroup<'a>> {
    let mut groups: Vec<BehaviorGroup<'a>> = Vec::new();
    for (side, plays) in [older, newer].into_iter().enumerate() {
        for play in plays {
            let PlayResult::Completed(behavior) = play else { continue };
            let at = groups.iter().position(|group| first_difference(group.first, behavior).is_none());
            let at = at.unwrap_or_else(|| {
                groups.push(BehaviorGroup { first: behavior, plays: [0; 2] });
                groups.len() - 1
            });
            groups[at].plays[side] += 1;
        }
    }
    groups
}

/// What a version does most often; of equally frequent results, the first.
fn most_frequent<'a>(groups: &[BehaviorGroup<'a>], side: usize) -> &'a Behavior {
    let most = groups.iter().map(|group| group.plays[side]).max().unwrap_or_default();
    let group = groups.iter().find(|group| group.plays[side] == most);
    group.expect("each side has a play, and each play a group").first
}

/// The first difference between runs of one version.
fn first_difference_within(groups: &[BehaviorGroup<'_>], side: usize) -> Option<FirstDifference> {
    let mut own = groups.iter().filter(|group| group.plays[side] > 0).map(|group| group.first);
    let first = own.next()?;
    own.filter_map(|other| first_difference(first, other)).min_by_key(|parting| parting.place)
}

fn spread(groups: &[BehaviorGroup<'_>], side: usize) -> OutcomeSpread {
    let own = || groups.iter().filter(|group| group.plays[side] > 0);
    OutcomeSpread {
        plays: own().map(|group| group.plays[side]).sum(),
        outcomes: own().count(),
        shared: own().filter(|group| group.plays[1 - side] > 0).map(|group| group.plays[side]).sum(),
    }
}

/// The first difference between two runs; `None` if they are the same.
fn first_difference(older: &Behavior, newer: &Behavior) -> Option<FirstDifference> {
    // Two runs without decisions differ only in where they stopped.
    let mut comparison = compare_live(&older.timeline, &newer.timeline).unwrap_or_default();
    // If either has too many Events, Events are not compared.
    let all_events = [older, newer].iter().all(|behavior| matches!(behavior.timeline.events, TimelineEvents::All(_)));
    comparison.differences.retain(|difference| difference.place != TimelineLocation::Events || all_events);
    let at_lines = comparison.first().map(|difference| difference.place);
    let stops = [&older.stop, &newer.stop].map(|stop| stop.as_ref().map(|stop| stop.place));
    let at_stop = if stops[0] == stops[1] { None } else { stops.into_iter().flatten().min() };
    let at_breaches = breaches(older, newer).map(|(place, ..)| place);
    let place = [at_lines, at_stop, at_breaches].into_iter().flatten().min()?;
    let lines = comparison.first().filter(|difference| difference.place == place).cloned();
    let differences = comparison.differences.len().max(1);
    let label = label(older, newer, place);
    let what = if at_stop == Some(place) {
        let why =
            |behavior: &Behavior| behavior.stop.as_ref().filter(|stop| stop.place == place).map(|it| it.why.clone());
        DifferenceKind::Stopped { older: why(older), newer: why(newer), lines }
    } else if let Some(lines) = lines {
        DifferenceKind::Lines(lines)
    } else {
        let (_, older, newer) = breaches(older, newer)?;
        DifferenceKind::Breaches { older, newer }
    };
    Some(FirstDifference { place, label, kind: what, differences })
}

/// The first step at which they break different invariants.
fn breaches(
    older: &Behavior,
    newer: &Behavior,
) -> Option<(TimelineLocation, Vec<InvariantBreach>, Vec<InvariantBreach>)> {
    let of = |behavior: &Behavior, id| behavior.timeline.step(id).map(|step| step.breaches.clone()).unwrap_or_default();
    let steps = older.timeline.steps.iter().chain(&newer.timeline.steps).map(|step| step.id);
    let both = steps.map(|id| (TimelineLocation::Step(id), of(older, id), of(newer, id)));
    both.filter(|(_, older, newer)| older != newer).min_by_key(|(place, ..)| *place)
}

fn label(older: &Behavior, newer: &Behavior, place: TimelineLocation) -> String {
    let TimelineLocation::Step(id) = place else { return String::new() };
    let step = older.timeline.step(id).or_else(|| newer.timeline.step(id));
    step.map(|step| step.label.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use lockstep_timeline::StepId;
    use rstest::rstest;

    use super::*;

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");
    const STEP: TimelineLocation = TimelineLocation::Step(StepId { index: 1, part: 0 });

    /// A run in which rs1 goes from 3 to this size.
    fn to(size: u32) -> PlayResult {
        let text = ONE.replace("rs1 3 -> 0", &format!("rs1 3 -> {size}"));
        PlayResult::Completed(Behavior { timeline: Timeline::parse(&text).unwrap(), stop: None })
    }

    fn stopped(timeline: &str, why: &str) -> PlayResult {
        let stop = Some(StopPoint { place: STEP, why: why.to_owned() });
        PlayResult::Completed(Behavior { timeline: Timeline::parse(timeline).unwrap(), stop })
    }

    fn plays(sizes: &[u32]) -> Vec<PlayResult> {
        sizes.iter().map(|size| to(*size)).collect()
    }

    #[rstest]
    #[case::one_and_the_same(&[0], &[0], "same")]
    #[case::another(&[0], &[1], "changed")]
    #[case::the_older_varies(&[0, 1, 0, 1], &[1, 1, 1, 1], "varies 2 of 4, 1 of 4")]
    #[case::the_newer_varies(&[0, 0, 0, 0], &[0, 0, 0, 1], "varies 1 of 4, 2 of 4")]
    #[case::both_vary_alike(&[0, 1, 0, 1], &[1, 0, 0, 1], "varies 2 of 4, 2 of 4")]
    #[case::both_vary_equally_often(&[0, 1], &[0, 1], "varies 2 of 2, 2 of 2")]
    #[case::it_varies_without_shared_results(&[0, 1, 0, 1], &[2, 2, 2, 2], "varies 2 of 4, 1 of 4")]
    #[case::each_run_differs(&[0, 1, 2, 3], &[4, 4, 4, 4], "varies 4 of 4, 1 of 4")]
    fn version_that_differs_from_itself_has_not_changed(
        #[case] older: &[u32],
        #[case] newer: &[u32],
        #[case] result: &str,
    ) {
        let said = match compare_versions(&plays(older), &plays(newer)) {
            VersionChange::Same => "same".to_owned(),
            VersionChange::Changed(parting) => {
                assert_eq!((parting.place, parting.label.as_str()), (STEP, "set image=app:2"));
                "changed".to_owned()
            }
            VersionChange::Varies { older, newer, .. } => {
                format!("varies {} of {}, {} of {}", older.outcomes, older.plays, newer.outcomes, newer.plays)
            }
            VersionChange::Unknown(why) => why,
        };
        assert_eq!(said, result);
    }

    #[test]
    fn reports_change_before_first_nondeterministic_step() {
        let played = |at_step_1: u32, at_the_end: u32| {
            let text = ONE.replace("rs1 3 -> 0", &format!("rs1 3 -> {at_step_1}"));
            let text = text.replace("rs2 created 3", &format!("rs2 created {at_the_end}"));
            PlayResult::Completed(Behavior { timeline: Timeline::parse(&text).unwrap(), stop: None })
        };
        let (varies_late, varies_early) = ([played(0, 3), played(0, 4)], [played(0, 3), played(1, 3)]);
        let VersionChange::Changed(parting) = compare_versions(&varies_late, &[played(1, 3)]) else {
            panic!("it changed at step 1")
        };
        assert_eq!(parting.place, STEP);
        let VersionChange::Varies { parting, .. } = compare_versions(&varies_early, &[played(0, 4)]) else {
            panic!("chance comes first")
        };
        assert_eq!(parting.place, STEP);
        assert!(matches!(compare_versions(&varies_late, &[played(0, 5)]), VersionChange::Varies { .. }));
    }

    #[test]
    fn counts_runs_with_shared_results() {
        let VersionChange::Varies { older, newer, .. } = compare_versions(&plays(&[0, 1, 0, 0]), &plays(&[1, 1]))
        else {
            panic!("one varies")
        };
        assert_eq!(older, OutcomeSpread { plays: 4, outcomes: 2, shared: 1 });
        assert_eq!(newer, OutcomeSpread { plays: 2, outcomes: 1, shared: 2 });
    }

    #[test]
    fn inconclusive_runs_are_not_the_same() {
        let broken = || PlayResult::Inconclusive("step 2: etcd died".to_owned());
        let unknown = |older: &[PlayResult], newer: &[PlayResult]| match compare_versions(older, newer) {
            VersionChange::Unknown(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(unknown(&[broken()], &plays(&[0])), "the older version: step 2: etcd died");
        assert_eq!(unknown(&plays(&[0]), &[]), "the newer version: not played");
        let idle = || {
            let timeline = Timeline::parse("given   x\nevents  none\n").unwrap();
            PlayResult::Completed(Behavior { timeline, stop: None })
        };
        assert!(unknown(&[idle()], &[idle()]).contains("neither version acted"));
        // An inconclusive run leaves the results of the others.
        assert_eq!(compare_versions(&[to(0), broken()], &plays(&[0])), VersionChange::Same);
    }

    #[test]
    fn stopped_run_differs_from_complete_one() {
        let cut = ONE.split("step 1").next().unwrap();
        let (one, other) = (stopped(cut, "the namespace does not settle: x"), stopped(cut, "the same, later"));
        assert_eq!(compare_versions(std::slice::from_ref(&one), &[other]), VersionChange::Same);
        let VersionChange::Changed(parting) = compare_versions(&[one], &plays(&[0])) else { panic!("one stopped") };
        let DifferenceKind::Stopped { older: Some(why), newer: None, .. } = &parting.kind else {
            panic!("{parting:?}")
        };
        assert_eq!(why, "the namespace does not settle: x");
    }

    #[test]
    fn broken_invariant_is_a_change() {
        let text =
            ONE.replacen("        rs1 3 -> 0\n", "        rs1 3 -> 0\n      ! surge: web wants 5 of at most 4\n", 1);
        let broken = PlayResult::Completed(Behavior { timeline: Timeline::parse(&text).unwrap(), stop: None });
        let VersionChange::Changed(parting) = compare_versions(&plays(&[0]), &[broken]) else {
            panic!("it broke an invariant")
        };
        let DifferenceKind::Breaches { older, newer } = &parting.kind else { panic!("{parting:?}") };
        assert_eq!((older.len(), newer.len()), (0, 1));
    }
}
