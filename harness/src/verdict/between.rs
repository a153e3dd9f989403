//! What changed between two versions of upstream: plays of one case on both, compared.
//!
//! A version that breaks a tie by chance (between two pods, by the order of a Go map) does one
//! thing in one play and another in the next. Such a version differs from itself, and from any
//! other version as well: that is no change. So a case has *changed* only where the versions part
//! before either parts from itself: at a step, say, at which all plays of the one delete pod a and
//! all plays of the other pod b. Where chance comes first, or at the same step, the case *varies*.
//!
//! Two plays are compared as two live ones are ([`compare_live`]): a resize that was split in two
//! is the same. The invariants that a play broke count too, and the step at which it could go no
//! further.
//!
//! Pure. Older versions report some things in other words in every case ([`crate::versions`]): the
//! caller rewrites the newer timelines first.

use super::compare::{Difference, Place, compare_live};
use super::judgement::{Judgement, What};
use crate::recording::Blame;
use crate::timeline::{Breach, Events, Timeline};

/// What one play of a case on one version came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Play {
    /// It shows what the version does.
    Seen(Conduct),
    /// The test environment failed, which shows nothing; why.
    Inconclusive(String),
}

/// What a version did in one play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conduct {
    /// Its timeline.
    pub timeline: Timeline,
    /// Where it left the case, if it did not go through to the end.
    pub stop: Option<Stop>,
}

/// Where a version left a case and why: a namespace that does not settle, a step that is impossible
/// by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// At which step.
    pub place: Place,
    /// Why.
    pub why: String,
}

/// How two versions are on one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// All plays of both show the same.
    Same,
    /// They part where neither leaves anything to chance.
    Changed(Box<Parting>),
    /// One of them parts from itself, where they part or before.
    Varies {
        /// What the older one's plays show.
        older: Spread,
        /// What the newer one's plays show.
        newer: Spread,
        /// Where plays first part.
        parting: Box<Parting>,
    },
    /// There is nothing to compare; why.
    Unknown(String),
}

/// What the plays of one version show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// How many there are.
    pub plays: usize,
    /// How many different things they show.
    pub outcomes: usize,
    /// How many show what a play of the other version shows.
    pub shared: usize,
}

/// The first place in which two plays differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parting {
    /// Where.
    pub place: Place,
    /// What the step does; empty for events.
    pub label: String,
    /// How.
    pub what: Otherwise,
    /// In how many steps they differ, the events counted as one.
    pub differences: usize,
}

/// How two plays differ in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Otherwise {
    /// In what they did: the older one's lines are the expected ones.
    Lines(Difference),
    /// One of them went no further, or each for a reason of its own.
    Stopped {
        /// Why the older one did not, if it did not.
        older: Option<String>,
        /// Why the newer one did not, if it did not.
        newer: Option<String>,
        /// The lines of the step, where these differ as well.
        lines: Option<Difference>,
    },
    /// In the invariants that they broke.
    Breaches {
        /// The older one's.
        older: Vec<Breach>,
        /// The newer one's.
        newer: Vec<Breach>,
    },
}

impl Play {
    /// What a judged play shows of its subject, whatever was expected.
    #[must_use]
    pub fn of(judgement: Judgement) -> Self {
        let mut stop = None;
        for finding in &judgement.findings {
            let (What::Unsettled(trouble) | What::Trouble(trouble)) = &finding.what else { continue };
            match trouble.blame {
                Blame::Environment => return Self::Inconclusive(format!("{}: {}", finding.place, trouble.why)),
                Blame::Subject if stop.is_none() => {
                    let unsettled = matches!(finding.what, What::Unsettled(_)) && !trouble.ended;
                    let begins = if unsettled { "the namespace does not settle: " } else { "" };
                    stop = Some(Stop { place: finding.place, why: format!("{begins}{}", trouble.why) });
                }
                Blame::Subject => {}
            }
        }
        Self::Seen(Conduct { timeline: judgement.timeline, stop })
    }
}

/// Compare the plays of two versions, the newer one's timelines as the older one reports them.
#[must_use]
pub fn between(older: &[Play], newer: &[Play]) -> Change {
    for (which, plays) in [("older", older), ("newer", newer)] {
        if !plays.iter().any(|play| matches!(play, Play::Seen(_))) {
            let why = plays.iter().find_map(|play| match play {
                Play::Inconclusive(why) => Some(why.as_str()),
                Play::Seen(_) => None,
            });
            return Change::Unknown(format!("the {which} version: {}", why.unwrap_or("not played")));
        }
    }
    let groups = groups(older, newer);
    if groups.iter().all(|group| group.first.timeline.is_idle() && group.first.stop.is_none()) {
        return Change::Unknown("neither version acted; nothing to compare".to_owned());
    }
    let between = parting(most_frequent(&groups, 0), most_frequent(&groups, 1));
    let within = [0, 1].map(|side| within(&groups, side));
    let chance = within.into_iter().flatten().min_by_key(|parting| parting.place);
    match (between, chance) {
        (None, None) => Change::Same,
        (Some(between), chance) if chance.as_ref().is_none_or(|chance| between.place < chance.place) => {
            Change::Changed(Box::new(between))
        }
        (between, chance) => match chance.or(between) {
            Some(parting) => {
                Change::Varies { older: spread(&groups, 0), newer: spread(&groups, 1), parting: Box::new(parting) }
            }
            None => Change::Same,
        },
    }
}

/// Plays of both sides that show the same.
struct Group<'a> {
    first: &'a Conduct,
    /// How many plays of the older and of the newer version.
    plays: [usize; 2],
}

fn groups<'a>(older: &'a [Play], newer: &'a [Play]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (side, plays) in [older, newer].into_iter().enumerate() {
        for play in plays {
            let Play::Seen(conduct) = play else { continue };
            let at = groups.iter().position(|group| parting(group.first, conduct).is_none());
            let at = at.unwrap_or_else(|| {
                groups.push(Group { first: conduct, plays: [0; 2] });
                groups.len() - 1
            });
            groups[at].plays[side] += 1;
        }
    }
    groups
}

/// What a side does most often; of two that are as frequent, the first.
fn most_frequent<'a>(groups: &[Group<'a>], side: usize) -> &'a Conduct {
    let most = groups.iter().map(|group| group.plays[side]).max().unwrap_or_default();
    let group = groups.iter().find(|group| group.plays[side] == most);
    group.expect("each side has a play, and each play a group").first
}

/// The first place at which plays of one side part.
fn within(groups: &[Group<'_>], side: usize) -> Option<Parting> {
    let mut own = groups.iter().filter(|group| group.plays[side] > 0).map(|group| group.first);
    let first = own.next()?;
    own.filter_map(|other| parting(first, other)).min_by_key(|parting| parting.place)
}

fn spread(groups: &[Group<'_>], side: usize) -> Spread {
    let own = || groups.iter().filter(|group| group.plays[side] > 0);
    Spread {
        plays: own().map(|group| group.plays[side]).sum(),
        outcomes: own().count(),
        shared: own().filter(|group| group.plays[1 - side] > 0).map(|group| group.plays[side]).sum(),
    }
}

/// Where two plays first part; `None` if they do not.
fn parting(older: &Conduct, newer: &Conduct) -> Option<Parting> {
    // Two that did nothing differ in nothing but where they stopped.
    let mut comparison = compare_live(&older.timeline, &newer.timeline).unwrap_or_default();
    // Events that one of them has too many of are not compared, whichever it is.
    let all_events = [older, newer].iter().all(|conduct| matches!(conduct.timeline.events, Events::All(_)));
    comparison.differences.retain(|difference| difference.place != Place::Events || all_events);
    let at_lines = comparison.first().map(|difference| difference.place);
    let stops = [&older.stop, &newer.stop].map(|stop| stop.as_ref().map(|stop| stop.place));
    let at_stop = if stops[0] == stops[1] { None } else { stops.into_iter().flatten().min() };
    let at_breaches = breaches(older, newer).map(|(place, ..)| place);
    let place = [at_lines, at_stop, at_breaches].into_iter().flatten().min()?;
    let lines = comparison.first().filter(|difference| difference.place == place).cloned();
    let differences = comparison.differences.len().max(1);
    let label = label(older, newer, place);
    let what = if at_stop == Some(place) {
        let why = |conduct: &Conduct| conduct.stop.as_ref().filter(|stop| stop.place == place).map(|it| it.why.clone());
        Otherwise::Stopped { older: why(older), newer: why(newer), lines }
    } else if let Some(lines) = lines {
        Otherwise::Lines(lines)
    } else {
        let (_, older, newer) = breaches(older, newer)?;
        Otherwise::Breaches { older, newer }
    };
    Some(Parting { place, label, what, differences })
}

/// The first step at which they break different invariants.
fn breaches(older: &Conduct, newer: &Conduct) -> Option<(Place, Vec<Breach>, Vec<Breach>)> {
    let of = |conduct: &Conduct, id| conduct.timeline.step(id).map(|step| step.breaches.clone()).unwrap_or_default();
    let steps = older.timeline.steps.iter().chain(&newer.timeline.steps).map(|step| step.id);
    let both = steps.map(|id| (Place::Step(id), of(older, id), of(newer, id)));
    both.filter(|(_, older, newer)| older != newer).min_by_key(|(place, ..)| *place)
}

fn label(older: &Conduct, newer: &Conduct, place: Place) -> String {
    let Place::Step(id) = place else { return String::new() };
    let step = older.timeline.step(id).or_else(|| newer.timeline.step(id));
    step.map(|step| step.label.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::timeline::StepId;

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");
    const STEP: Place = Place::Step(StepId { index: 1, part: 0 });

    /// A play in which rs1 goes from 3 to this size.
    fn to(size: u32) -> Play {
        let text = ONE.replace("rs1 3 -> 0", &format!("rs1 3 -> {size}"));
        Play::Seen(Conduct { timeline: Timeline::parse(&text).unwrap(), stop: None })
    }

    fn stopped(timeline: &str, why: &str) -> Play {
        let stop = Some(Stop { place: STEP, why: why.to_owned() });
        Play::Seen(Conduct { timeline: Timeline::parse(timeline).unwrap(), stop })
    }

    fn plays(sizes: &[u32]) -> Vec<Play> {
        sizes.iter().map(|size| to(*size)).collect()
    }

    #[rstest]
    #[case::one_and_the_same(&[0], &[0], "same")]
    #[case::another(&[0], &[1], "changed")]
    #[case::the_older_varies(&[0, 1, 0, 1], &[1, 1, 1, 1], "varies 2 of 4, 1 of 4")]
    #[case::the_newer_varies(&[0, 0, 0, 0], &[0, 0, 0, 1], "varies 1 of 4, 2 of 4")]
    #[case::both_vary_alike(&[0, 1, 0, 1], &[1, 0, 0, 1], "varies 2 of 4, 2 of 4")]
    #[case::both_vary_as_often(&[0, 1], &[0, 1], "varies 2 of 2, 2 of 2")]
    #[case::it_varies_and_never_as_the_other(&[0, 1, 0, 1], &[2, 2, 2, 2], "varies 2 of 4, 1 of 4")]
    #[case::each_play_is_another(&[0, 1, 2, 3], &[4, 4, 4, 4], "varies 4 of 4, 1 of 4")]
    fn a_version_that_differs_from_itself_has_not_changed(
        #[case] older: &[u32],
        #[case] newer: &[u32],
        #[case] found: &str,
    ) {
        let said = match between(&plays(older), &plays(newer)) {
            Change::Same => "same".to_owned(),
            Change::Changed(parting) => {
                assert_eq!((parting.place, parting.label.as_str()), (STEP, "set image=app:2"));
                "changed".to_owned()
            }
            Change::Varies { older, newer, .. } => {
                format!("varies {} of {}, {} of {}", older.outcomes, older.plays, newer.outcomes, newer.plays)
            }
            Change::Unknown(why) => why,
        };
        assert_eq!(said, found);
    }

    #[test]
    fn a_change_before_chance_is_a_change_and_after_it_is_not() {
        let played = |at_step_1: u32, at_the_end: u32| {
            let text = ONE.replace("rs1 3 -> 0", &format!("rs1 3 -> {at_step_1}"));
            let text = text.replace("rs2 created 3", &format!("rs2 created {at_the_end}"));
            Play::Seen(Conduct { timeline: Timeline::parse(&text).unwrap(), stop: None })
        };
        let (varies_late, varies_early) = ([played(0, 3), played(0, 4)], [played(0, 3), played(1, 3)]);
        let Change::Changed(parting) = between(&varies_late, &[played(1, 3)]) else { panic!("it changed at step 1") };
        assert_eq!(parting.place, STEP);
        let Change::Varies { parting, .. } = between(&varies_early, &[played(0, 4)]) else {
            panic!("chance comes first")
        };
        assert_eq!(parting.place, STEP);
        assert!(matches!(between(&varies_late, &[played(0, 5)]), Change::Varies { .. }));
    }

    #[test]
    fn how_often_one_does_what_the_other_does_is_counted() {
        let Change::Varies { older, newer, .. } = between(&plays(&[0, 1, 0, 0]), &plays(&[1, 1])) else {
            panic!("one varies")
        };
        assert_eq!(older, Spread { plays: 4, outcomes: 2, shared: 1 });
        assert_eq!(newer, Spread { plays: 2, outcomes: 1, shared: 2 });
    }

    #[test]
    fn what_is_not_known_is_never_the_same() {
        let broken = || Play::Inconclusive("step 2: etcd died".to_owned());
        let unknown = |older: &[Play], newer: &[Play]| match between(older, newer) {
            Change::Unknown(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(unknown(&[broken()], &plays(&[0])), "the older version: step 2: etcd died");
        assert_eq!(unknown(&plays(&[0]), &[]), "the newer version: not played");
        let idle = || {
            let timeline = Timeline::parse("given   x\nevents  none\n").unwrap();
            Play::Seen(Conduct { timeline, stop: None })
        };
        assert!(unknown(&[idle()], &[idle()]).contains("neither version acted"));
        // One play that broke leaves what the others show.
        assert_eq!(between(&[to(0), broken()], &plays(&[0])), Change::Same);
    }

    #[test]
    fn one_that_goes_no_further_differs_from_one_that_does() {
        let cut = ONE.split("step 1").next().unwrap();
        let (one, other) = (stopped(cut, "the namespace does not settle: x"), stopped(cut, "the same, later"));
        assert_eq!(between(std::slice::from_ref(&one), &[other]), Change::Same);
        let Change::Changed(parting) = between(&[one], &plays(&[0])) else { panic!("one stopped") };
        let Otherwise::Stopped { older: Some(why), newer: None, .. } = &parting.what else { panic!("{parting:?}") };
        assert_eq!(why, "the namespace does not settle: x");
    }

    #[test]
    fn a_broken_invariant_is_a_change() {
        let text =
            ONE.replacen("        rs1 3 -> 0\n", "        rs1 3 -> 0\n      ! surge: web wants 5 of at most 4\n", 1);
        let broken = Play::Seen(Conduct { timeline: Timeline::parse(&text).unwrap(), stop: None });
        let Change::Changed(parting) = between(&plays(&[0]), &[broken]) else { panic!("it broke an invariant") };
        let Otherwise::Breaches { older, newer } = &parting.what else { panic!("{parting:?}") };
        assert_eq!((older.len(), newer.len()), (0, 1));
    }
}
