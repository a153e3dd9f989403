//! Compares two lists of lines row by row, and finds the runs of like sub-steps that two timelines
//! have in common, to collapse them. [`bless_diff`] is the diff that `bless` would apply to a
//! timeline, for review.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::pluralize;
use lockstep_timeline::{StepId, Timeline, TimelineLine, TimelineStep, fold};
use lockstep_verdict::{Difference, TimelineLocation};
use similar::{Algorithm, DiffTag, TextDiff, capture_diff_slices};

use super::paint::Paint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffRow {
    /// The same line on both sides.
    Same(String),
    /// Different lines about the same object.
    Changed(String, String),
    /// A line that was expected and did not happen.
    Expected(String),
    /// A line that happened and was not expected.
    Actual(String),
}

/// The rows of two lists. Changed lines about one object are paired.
pub(crate) fn rows(expected: &[TimelineLine], actual: &[TimelineLine]) -> Vec<DiffRow> {
    let mut rows = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, expected, actual) {
        let (tag, old, new) = op.as_tag_tuple();
        let (old, new) = (&expected[old], &actual[new]);
        match tag {
            DiffTag::Equal => rows.extend(old.iter().map(|line| DiffRow::Same(line.indented()))),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => pair(old, new, &mut rows),
        }
    }
    rows
}

/// Pair the lines of a changed range by their object, keeping the order of both sides.
fn pair(old: &[TimelineLine], mut new: &[TimelineLine], rows: &mut Vec<DiffRow>) {
    for line in old {
        if let Some(at) = new.iter().position(|other| line_object(other) == line_object(line)) {
            rows.extend(new[..at].iter().map(|other| DiffRow::Actual(other.indented())));
            rows.push(DiffRow::Changed(line.indented(), new[at].indented()));
            new = &new[at + 1..];
        } else {
            rows.push(DiffRow::Expected(line.indented()));
        }
    }
    rows.extend(new.iter().map(|other| DiffRow::Actual(other.indented())));
}

/// The object of a line, and whether the line is a state of it.
fn line_object(line: &TimelineLine) -> (bool, &str) {
    match line {
        TimelineLine::State(state) => (true, &state.object),
        TimelineLine::Decision(decision) => (false, &decision.object),
        TimelineLine::Injection(_) => (false, "~"),
        TimelineLine::Breach(_) => (false, "!"),
        TimelineLine::Heading(_) => (false, "events"),
        TimelineLine::Event(event) => (false, event.text.split(' ').next().unwrap_or_default()),
    }
}

/// How words that are on one side only are reported.
#[derive(Debug, Clone, Copy)]
struct WordLabels {
    added: &'static str,
    removed: &'static str,
}

/// For differences of a subject.
const OF_SUBJECT: WordLabels = WordLabels { added: "was not expected", removed: "is missing" };
/// For changes in a newer version.
const OF_VERSION: WordLabels = WordLabels { added: "is new", removed: "is gone" };

/// The most Events that are named.
const MOST_EVENTS: usize = 3;

/// A difference in one line. Of two long states of one object only the words that differ.
pub(super) fn in_short(difference: &Difference) -> String {
    if let (TimelineLocation::Events, Some(expected), Some(actual)) =
        (difference.place, &difference.expected, &difference.actual)
        && (expected.len() == 1 || actual.len() == 1)
    {
        let names = event_names(expected.iter().chain(actual));
        return format!("{} events; {} expected{names}", event_count(actual), event_count(expected));
    }
    differing_details(difference, OF_SUBJECT).unwrap_or_else(|| difference.to_string())
}

/// How many Events the lines have, or that there are too many.
fn event_count(lines: &[TimelineLine]) -> String {
    // The first line is a heading, which says why Events are not compared.
    let heading = lines.first().map(TimelineLine::to_string).unwrap_or_default();
    let number = || lines.len().saturating_sub(1).to_string();
    heading.split_once("not compared: ").map_or_else(number, |(_, many)| many.to_owned())
}

/// `: Normal ScalingReplicaSet, Normal SuccessfulCreate rs1`: each Event once, without its message.
/// Empty if there is none.
fn event_names<'a>(lines: impl Iterator<Item = &'a TimelineLine>) -> String {
    let events = lines.filter_map(|line| match line {
        TimelineLine::Event(event) => event.text.split(" \"").next(),
        _ => None,
    });
    let names: Vec<&str> = events.collect::<BTreeSet<_>>().into_iter().collect();
    match names.as_slice() {
        [] => String::new(),
        all if all.len() > MOST_EVENTS => format!(": {} and others", all[..MOST_EVENTS].join(", ")),
        all => format!(": {}", all.join(", ")),
    }
}

/// A difference in one line, between the expected lines of an older version and the actual lines of
/// a newer version.
pub(super) fn changed_in_short(difference: &Difference) -> String {
    differing_details(difference, OF_VERSION).unwrap_or_else(|| {
        match (difference.expected_line(), difference.actual_line()) {
            _ if difference.actual.is_none() => "the step is not made any more".to_owned(),
            _ if difference.expected.is_none() => "the step is new".to_owned(),
            (Some(older), Some(newer)) => match (difference.is_inserted(), difference.is_left_out()) {
                (true, _) => format!("{newer} is new"),
                (_, true) => format!("{older} is gone"),
                _ => format!("{newer} instead of {older}"),
            },
            (Some(older), None) => format!("{older} is gone"),
            (None, Some(newer)) => format!("{newer} is new"),
            (None, None) => "nothing differs".to_owned(),
        }
    })
}

/// The words that differ in two long states of one object, or in the details of two equal
/// decisions.
fn differing_details(difference: &Difference, labels: WordLabels) -> Option<String> {
    let (expected, actual) = (difference.expected_line()?, difference.actual_line()?);
    let (was, is) = (expected.to_string(), actual.to_string());
    if let (Some((was, details)), Some((is, others))) = (was.split_once("  "), is.split_once("  "))
        && was == is
        && !was.starts_with('=')
    {
        return differing_words(details, others, labels).map(|words| format!("{was}: {words}"));
    }
    let (is_state, name) = line_object(actual);
    let differs = differing(&expected.to_string(), &actual.to_string(), labels);
    let differs = differs.filter(|_| is_state && line_object(expected) == line_object(actual))?;
    Some(format!("= {name}: {differs}"))
}

/// The words that differ in two lines about one object: `ready=7 instead of 8`. `None` for short
/// lines, which are easy to compare.
pub(super) fn differing_long_words(expected: &str, actual: &str) -> Option<String> {
    differing(expected, actual, OF_SUBJECT)
}

fn differing(expected: &str, actual: &str, labels: WordLabels) -> Option<String> {
    if expected.chars().count() < LONG_LINE && actual.chars().count() < LONG_LINE {
        return None;
    }
    differing_words(expected, actual, labels)
}

fn differing_words(expected: &str, actual: &str, labels: WordLabels) -> Option<String> {
    let words = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (words(expected), words(actual));
    let key = |word: &str| word.split_once('=').map(|(key, _)| key.to_owned()).filter(|key| !key.is_empty());
    let mut differences = Vec::new();
    for (at, word) in new.iter().enumerate() {
        let counterpart = match key(word) {
            Some(wanted) => old.iter().find(|other| key(other).as_deref() == Some(&wanted)),
            None => old.get(at).filter(|other| key(other).is_none()),
        };
        match counterpart {
            Some(same) if same == word => {}
            Some(other) => {
                let bare = other.split_once('=').map_or(other.as_str(), |(_, value)| value);
                differences.push(format!("{word} instead of {bare}"));
            }
            None => differences.push(format!("{word} {}", labels.added)),
        }
    }
    let removed =
        old.iter().filter(|word| key(word).is_some_and(|name| !new.iter().any(|it| key(it) == Some(name.clone()))));
    differences.extend(removed.map(|word| format!("{word} {}", labels.removed)));
    (!differences.is_empty()).then(|| differences.join(", "))
}

/// The length from which on only the words of a line that differ are reported.
const LONG_LINE: usize = 40;

/// The common runs by their first step.
pub(super) struct CommonRuns<'a>(BTreeMap<StepId, &'a [TimelineStep]>);

impl<'a> CommonRuns<'a> {
    /// The runs of `actual` whose steps are all equal in `expected`.
    pub(super) fn of(actual: &'a Timeline, expected: &Timeline) -> Self {
        // Breaches of invariants need no comparison: a step with a breach is in no run.
        let is_common = |run: &&[TimelineStep]| run.iter().all(|step| expected.step(step.id) == Some(step));
        let runs = fold::runs(&actual.steps).filter(|run| run.len() > 1).filter(is_common);
        Self(runs.map(|run| (run[0].id, run)).collect())
    }

    /// The run that begins with this step.
    pub(super) fn at(&self, first: StepId) -> Option<&'a [TimelineStep]> {
        self.0.get(&first).copied()
    }
}

/// The lines of context around a change, which include the heading of its step.
const CONTEXT_LINES: usize = 3;

/// The difference line by line, `-` for the old and `+` for the new timeline, below a line that
/// counts the changes, decisions first.
#[must_use]
pub fn bless_diff(before: Option<&Timeline>, after: &Timeline, colour: bool) -> String {
    let paint = Paint::new(colour);
    let Some(before) = before else {
        let decisions: usize = after.steps.iter().map(|step| step.decisions.len()).sum();
        return format!("  new: {}, {}", pluralize(after.steps.len(), "step"), pluralize(decisions, "decision"));
    };
    let changed = |differ: fn(&TimelineStep, &TimelineStep) -> bool| {
        after.steps.iter().filter(|step| before.step(step.id).is_none_or(|old| differ(old, step))).count()
    };
    let decisions = changed(|old, new| old.decisions != new.decisions);
    let rest = changed(|old, new| old.checkpoint != new.checkpoint);
    let removed = before.steps.iter().filter(|step| after.step(step.id).is_none()).count();
    let events = if before.events == after.events { "" } else { "; the events" };
    let mut out = vec![format!(
        "  decisions at {}, rest at {rest}, {} gone{events}",
        pluralize(decisions, "step"),
        pluralize(removed, "step")
    )];
    let (old, new) = (before.to_string(), after.to_string());
    let diff = TextDiff::from_lines(&old, &new);
    for line in diff.unified_diff().context_radius(CONTEXT_LINES).to_string().lines() {
        out.push(match line.chars().next() {
            Some('-') => paint.minus(&format!("  {line}")),
            Some('+') => paint.plus(&format!("  {line}")),
            Some('@') => paint.faint(&format!("  {line}")),
            _ => format!("  {line}"),
        });
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use lockstep_timeline::TimelineEvents;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::decisions("rs1 5 -> 4", "rs1 5 -> 3", "rs1 5 -> 3 instead of rs1 5 -> 4")]
    #[case::long_decisions(
        "rs2 created 3  revision=2 desired=10 max=13",
        "rs2 created 5  revision=2 desired=10 max=13",
        "rs2 created 5  revision=2 desired=10 max=13 instead of rs2 created 3  revision=2 desired=10 max=13"
    )]
    #[case::details(
        "rs1 created 3  revision=1 desired=3 max=4",
        "rs1 created 3  revision=1",
        "rs1 created 3: desired=3 is missing, max=4 is missing"
    )]
    #[case::states(
        "= web 3 updated=3 ready=2 available=2 generation=1/1 Available=False(MinimumReplicasUnavailable)",
        "= web 4 updated=3 ready=2 available=2 generation=1/1 Available=True(MinimumReplicasAvailable)",
        "= web: 4 instead of 3, Available=True(MinimumReplicasAvailable) instead of False(MinimumReplicasUnavailable)"
    )]
    #[case::of_two(
        "= rs1 3/3 ready=3 available=3 revision=1 desired=3 max=4 pods=3",
        "= rs2 3/3 ready=3 available=3 revision=2 desired=3 max=4 pods=3",
        "= rs2 3/3 ready=3 available=3 revision=2 desired=3 max=4 pods=3 instead of = rs1 3/3 ready=3 available=3 revision=1 desired=3 max=4 pods=3"
    )]
    fn long_states_are_reported_by_words_that_differ(#[case] expected: &str, #[case] actual: &str, #[case] text: &str) {
        let lines = |line: &str| {
            let timeline = Timeline::parse(&format!("given   x\n      {line}\nevents  none\n")).unwrap();
            Some(timeline.steps[0].lines())
        };
        let (expected, actual) = (lines(expected), lines(actual));
        assert_eq!(
            in_short(&Difference {
                place: TimelineLocation::Step(StepId::GIVEN),
                label: String::new(),
                expected,
                actual,
                at: 0
            }),
            text
        );
    }

    const SCALED: [&str; 2] = [
        "Normal ScalingReplicaSet \"Scaled up replica set rs1 from 0 to 3\"",
        "Normal ScalingReplicaSet \"Scaled up replica set rs1 from 3 to 4\"",
    ];
    const PODS: [&str; 4] = ["Normal Made a", "Normal Made b", "Normal Removed a", "Normal Removed b"];

    #[rstest]
    #[case::unexpected(&[], &SCALED, "2 events; 0 expected: Normal ScalingReplicaSet")]
    #[case::missing(&SCALED, &[], "0 events; 2 expected: Normal ScalingReplicaSet")]
    #[case::several(&[], &PODS, "4 events; 0 expected: Normal Made a, Normal Made b, Normal Removed a and others")]
    fn events_are_counted_and_named(#[case] expected: &[&str], #[case] actual: &[&str], #[case] text: &str) {
        let all = |texts: &[&str]| {
            let lines: String = texts.iter().map(|text| format!("        {text}  ×1\n")).collect();
            let heading = if texts.is_empty() { "events  none" } else { "events" };
            Timeline::parse(&format!("given   x\n{heading}\n{lines}")).unwrap().events.lines()
        };
        assert_eq!(in_short(&events_difference(all(expected), all(actual))), text);
    }

    #[test]
    fn too_many_events_are_not_called_none() {
        let many = TimelineEvents::NotCompared("ten or more".to_owned()).lines();
        let none = TimelineEvents::All(Vec::new()).lines();
        assert_eq!(in_short(&events_difference(none, many)), "ten or more events; 0 expected");
    }

    fn events_difference(expected: Vec<TimelineLine>, actual: Vec<TimelineLine>) -> Difference {
        let (expected, actual) = (Some(expected), Some(actual));
        Difference { place: TimelineLocation::Events, label: String::new(), expected, actual, at: 0 }
    }

    const THREE: &str = include_str!("../../../cases/recreate/three.timeline");

    #[test]
    fn changed_decision_is_counted_and_shown_at_its_step() {
        let before = Timeline::parse(THREE).unwrap();
        let after = Timeline::parse(&THREE.replace("rs1 3 -> 0", "rs1 3 -> 1")).unwrap();
        let diff = bless_diff(Some(&before), &after, false);
        assert!(diff.starts_with("  decisions at 1 step, rest at 0, 0 steps gone\n"), "{diff}");
        assert!(
            diff.contains("\n  -        rs1 3 -> 0\n  +        rs1 3 -> 1\n")
                && diff.contains("step 1  set image=app:2"),
            "{diff}"
        );
        assert!(bless_diff(None, &after, false).starts_with("  new: 8 steps, "), "{}", bless_diff(None, &after, false));
    }
}
