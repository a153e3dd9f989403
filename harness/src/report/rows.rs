//! Two lists of lines, row by row: what is the same, what changed, what stands on one side only.

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::timeline::Line;
use crate::verdict::{Difference, Place};

/// One row of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    /// On both sides.
    Same(String),
    /// About the same object, but not the same.
    Changed(String, String),
    /// Expected only.
    Expected(String),
    /// There only.
    Actual(String),
}

/// The rows of two lists. Changed lines about one object are paired.
pub(crate) fn rows(expected: &[Line], actual: &[Line]) -> Vec<Row> {
    let mut rows = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, expected, actual) {
        let (tag, old, new) = op.as_tag_tuple();
        let (old, new) = (&expected[old], &actual[new]);
        match tag {
            DiffTag::Equal => rows.extend(old.iter().map(|line| Row::Same(line.indented()))),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => pair(old, new, &mut rows),
        }
    }
    rows
}

/// Pair the lines of a changed stretch by what they are about, keeping the order of both sides.
fn pair(old: &[Line], mut new: &[Line], rows: &mut Vec<Row>) {
    for line in old {
        if let Some(at) = new.iter().position(|other| about(other) == about(line)) {
            rows.extend(new[..at].iter().map(|other| Row::Actual(other.indented())));
            rows.push(Row::Changed(line.indented(), new[at].indented()));
            new = &new[at + 1..];
        } else {
            rows.push(Row::Expected(line.indented()));
        }
    }
    rows.extend(new.iter().map(|other| Row::Actual(other.indented())));
}

/// What a line is about, and whether it is a state of it: `= rs1`, `rs1`.
fn about(line: &Line) -> (bool, &str) {
    match line {
        Line::State(state) => (true, &state.object),
        Line::Decision(decision) => (false, &decision.object),
        Line::Meeting(_) => (false, "~"),
        Line::Breach(_) => (false, "!"),
        Line::Heading(_) => (false, "events"),
        Line::Event(event) => (false, event.text.split(' ').next().unwrap_or_default()),
    }
}

/// How a word is reported that stands on one side alone.
#[derive(Debug, Clone, Copy)]
struct Words {
    added: &'static str,
    gone: &'static str,
}

/// Of a subject.
const OF_SUBJECT: Words = Words { added: "was not expected", gone: "is missing" };
/// Of a newer version.
const OF_VERSION: Words = Words { added: "is new", gone: "is gone" };

/// A difference in one line: of two long states of one object only the words that differ.
pub(super) fn in_short(difference: &Difference) -> String {
    if let (Place::Events, Some(expected), Some(actual)) = (difference.place, &difference.expected, &difference.actual)
        && (expected.len() == 1 || actual.len() == 1)
    {
        // The first line is the heading.
        let number = |lines: &[Line]| lines.len().saturating_sub(1);
        return format!("{} events; upstream published {}", number(actual), number(expected));
    }
    states(difference, OF_SUBJECT).unwrap_or_else(|| difference.to_string())
}

/// The same where the expected lines are an older version's and the actual ones a newer one's.
pub(super) fn changed_in_short(difference: &Difference) -> String {
    states(difference, OF_VERSION).unwrap_or_else(|| match (difference.expected_line(), difference.actual_line()) {
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
    })
}

/// Of two long states of one object the words that differ, and of two equal decisions their
/// details.
fn states(difference: &Difference, words: Words) -> Option<String> {
    let (expected, actual) = (difference.expected_line()?, difference.actual_line()?);
    let (was, is) = (expected.to_string(), actual.to_string());
    if let (Some((was, details)), Some((is, others))) = (was.split_once("  "), is.split_once("  "))
        && was == is
        && !was.starts_with('=')
    {
        return differing_words(details, others, words).map(|words| format!("{was}: {words}"));
    }
    let (is_state, name) = about(actual);
    let differs = differing(&expected.to_string(), &actual.to_string(), words);
    let differs = differs.filter(|_| is_state && about(expected) == about(actual))?;
    Some(format!("= {name}: {differs}"))
}

/// The words in which two lines about one object differ: `ready=7 instead of 8`. Nothing if a
/// glance at the lines is quicker.
pub(super) fn what_differs(expected: &str, actual: &str) -> Option<String> {
    differing(expected, actual, OF_SUBJECT)
}

fn differing(expected: &str, actual: &str, say: Words) -> Option<String> {
    if expected.chars().count() < LONG && actual.chars().count() < LONG {
        return None;
    }
    differing_words(expected, actual, say)
}

fn differing_words(expected: &str, actual: &str, say: Words) -> Option<String> {
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
            None => differences.push(format!("{word} {}", say.added)),
        }
    }
    let gone =
        old.iter().filter(|word| key(word).is_some_and(|name| !new.iter().any(|it| key(it) == Some(name.clone()))));
    differences.extend(gone.map(|word| format!("{word} {}", say.gone)));
    (!differences.is_empty()).then(|| differences.join(", "))
}

/// Lines shorter than this are compared by eye.
const LONG: usize = 40;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::timeline::{StepId, Timeline};
    use crate::verdict::Place;

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
    fn of_long_states_only_what_differs(#[case] expected: &str, #[case] actual: &str, #[case] told: &str) {
        let lines = |line: &str| {
            let timeline = Timeline::parse(&format!("given   x\n      {line}\nevents  none\n")).unwrap();
            Some(timeline.steps[0].lines())
        };
        let (expected, actual) = (lines(expected), lines(actual));
        assert_eq!(
            in_short(&Difference { place: Place::Step(StepId::GIVEN), label: String::new(), expected, actual, at: 0 }),
            told
        );
    }
}
