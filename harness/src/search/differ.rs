//! Whether two controllers differ on a program, and by which decision first.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::given::LONG;
use crate::case::Case;
use crate::outcome::Verdict;
use crate::recording::Recording;
use crate::timeline::{Invariant, Line, State};
use crate::verdict::{Finding, Judgement, What, judge, judge_live};

/// What two recordings of a program come to.
#[derive(Debug)]
pub enum Answer {
    /// The same decisions, as far as both went.
    Equal,
    /// Not the same.
    Differs(Box<Differing>),
    /// It cannot be said, for this reason.
    Unknown(String),
}

/// A difference.
#[derive(Debug)]
pub struct Differing {
    /// The first lines that differ, without numbers and names.
    pub cause: String,
    /// Where both chose among pods: the named ones that only the subject has deleted, and those
    /// that only the other has.
    pub deleted: [BTreeSet<String>; 2],
    /// The subject, judged by the other recording.
    pub judgement: Judgement,
}

/// Compare the subject's recording of a program with the other's; without one, judge it by the
/// invariants alone.
#[must_use]
pub fn differ(case: &Arc<Case>, other: Option<&Recording>, subject: &Recording) -> Answer {
    let judgement = other.map_or_else(|| judge(case, subject, None), |other| judge_live(case, subject, other));
    match (judgement.verdict, judgement.decisive()) {
        (Verdict::Conformant, _) => Answer::Equal,
        (Verdict::NonConformant, Some(finding)) => {
            // Neither reacts to a program that asks for nothing, and only one of a program that
            // stops can be wrong.
            let is_nothing = matches!(finding.what, What::BothIdle) || is_other_count(finding);
            if is_nothing || (other.is_none() && is_impossible(finding)) {
                return Answer::Equal;
            }
            if let Some(why) = other.and_then(|other| open_question(&judge(case, other, None), finding)) {
                return Answer::Unknown(why);
            }
            let (cause, deleted) = (cause(finding), deleted(finding));
            Answer::Differs(Box::new(Differing { cause, deleted, judgement }))
        }
        (_, Some(finding)) if is_impossible(finding) || stopped_alike(finding) => Answer::Equal,
        (_, Some(finding)) => Answer::Unknown(match &finding.what {
            What::Trouble(trouble) | What::Unsettled(trouble) => words(&trouble.why),
            What::OtherRun(why) => words(why),
            other => words(&format!("{other:?}")),
        }),
        (_, None) => Answer::Unknown("no reason is known".to_owned()),
    }
}

/// What several plays of a program on both sides come to, each with its own seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// How many plays there were of each.
    pub plays: usize,
    /// In how many the subject did what the other did in none.
    pub differs: usize,
    /// How many different things the other did.
    pub outcomes: usize,
}

impl Repeats {
    /// Whether chance explains it: the subject did, at least once, what the other did at least
    /// once.
    #[must_use]
    pub fn is_chance(self) -> bool {
        self.differs < self.plays
    }
}

/// Compare each play of the subject with every play of the other.
#[must_use]
pub fn repeats(case: &Arc<Case>, others: &[Recording], subjects: &[Recording]) -> Repeats {
    let is_equal = |one: &Recording, two: &Recording| matches!(differ(case, Some(one), two), Answer::Equal);
    let mut outcomes: Vec<&Recording> = Vec::new();
    for other in others {
        if !outcomes.iter().any(|known| is_equal(known, other)) {
            outcomes.push(other);
        }
    }
    let unlike = |subject: &&Recording| !outcomes.iter().any(|other| is_equal(other, subject));
    Repeats { plays: subjects.len(), differs: subjects.iter().filter(unlike).count(), outcomes: outcomes.len() }
}

/// A fault at a write that the subject does not make: with how many writes a controller does
/// something is up to it.
fn is_other_count(finding: &Finding) -> bool {
    matches!(&finding.what, What::Trouble(trouble) if trouble.why.contains("the subject never made write"))
}

/// A step that cannot be made: no unready pod, no ReplicaSet of that number, a pod that is gone.
fn is_impossible(finding: &Finding) -> bool {
    matches!(&finding.what, What::Trouble(trouble) if cannot_be(&trouble.why))
}

/// Why the other's own recording leaves it open whether the subject is wrong, if it does.
fn open_question(other: &Judgement, finding: &Finding) -> Option<String> {
    let others = |is: &dyn Fn(&What) -> bool| other.findings.iter().any(|finding| is(&finding.what));
    // It began a watch again late, say: which of two is first is chance.
    if others(&|what| matches!(what, What::Breach(breach) if breach.invariant == Invariant::Silence)) {
        return Some("the other controller wrote after the step had settled".to_owned());
    }
    // Neither settled, for the same reason: the harness waits for something that upstream does not
    // do.
    let What::Unsettled(trouble) = &finding.what else { return None };
    let why = words(&trouble.why);
    let is_alike = others(&|what| matches!(what, What::Unsettled(trouble) if words(&trouble.why) == why));
    is_alike.then(|| format!("both controllers: {why}"))
}

/// A run that the other one's end makes inconclusive is equal as far as it went.
fn stopped_alike(finding: &Finding) -> bool {
    matches!(&finding.what, What::OtherRun(why) if cannot_be(why))
}

/// What the harness says of a step that cannot be made: there is nothing for it, or the server
/// refuses it.
fn cannot_be(why: &str) -> bool {
    why.contains("the step is impossible") || why.contains("the operation was refused")
}

/// The first line that differs, in words that numbers and names do not change: one cause, one text,
/// whatever program shows it.
fn cause(finding: &Finding) -> String {
    match &finding.what {
        What::Divergence(difference) => match (difference.actual_line(), difference.expected_line()) {
            (Some(actual), Some(expected)) => {
                if let (Some(actual), Some(expected)) = (actual.state(), expected.state())
                    && actual.object == expected.object
                {
                    return format!("{}: {}", object(&actual.object), of_status(actual, expected).join(", "));
                }
                let (actual, expected) = (words(&actual.to_string()), words(&expected.to_string()));
                if actual == expected { format!("another {actual}") } else { format!("{actual} instead of {expected}") }
            }
            (Some(actual), None) => format!("{} instead of nothing", words(&actual.to_string())),
            (None, Some(expected)) => format!("nothing instead of {}", words(&expected.to_string())),
            (None, None) => "a step more or less".to_owned(),
        },
        What::Breach(breach) => format!("invariant {}", breach.invariant),
        What::Unsettled(trouble) | What::Trouble(trouble) => words(&trouble.why),
        other => words(&format!("{other:?}")),
    }
}

/// The named pods that only the subject, and that only the other, has deleted.
fn deleted(finding: &Finding) -> [BTreeSet<String>; 2] {
    let What::Divergence(difference) = &finding.what else { return Default::default() };
    let (subject, other) = (of_line(difference.actual_line()), of_line(difference.expected_line()));
    [&subject - &other, &other - &subject]
}

/// The named pods that a line says were deleted: `a,b` of `a,b,+1`.
fn of_line(line: Option<&Line>) -> BTreeSet<String> {
    let Some(Line::Decision(decision)) = line else { return BTreeSet::new() };
    let deleted = decision.details.iter().filter(|field| field.key == "deleted");
    let pods = deleted.flat_map(|field| field.value.split(','));
    pods.filter(|pod| pod.starts_with(|letter: char| letter.is_ascii_alphabetic())).map(ToOwned::to_owned).collect()
}

/// The fields of a status that differ.
fn of_status(actual: &State, expected: &State) -> Vec<String> {
    let value = |state: &State, key: &str| state.fields.iter().find(|it| it.key == key).map(|it| it.value.clone());
    let mut keys: Vec<&str> = actual.fields.iter().chain(&expected.fields).map(|field| field.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    let differs = keys.into_iter().filter(|key| value(actual, key) != value(expected, key)).map(ToOwned::to_owned);
    let size = (actual.size != expected.size).then(|| "replicas".to_owned());
    size.into_iter().chain(differs).collect()
}

/// A line without its numbers, and of a state only the object: its status follows from the
/// decisions.
fn words(line: &str) -> String {
    let line = &line.replace(LONG, "");
    if let Some(state) = line.strip_prefix("= ") {
        return format!("the status of {}", object(state.split(' ').next().unwrap_or_default()));
    }
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    // Which pods: their names say nothing.
    let which = |word: &str| word.strip_prefix("deleted=").map_or_else(|| word.to_owned(), |_| "deleted".to_owned());
    let words: Vec<String> = rest.split(' ').map(which).collect();
    let mut out = String::new();
    for letter in words.join(" ").trim_start().chars() {
        match letter {
            '0'..='9' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            letter => out.push(letter),
        }
    }
    // Only a ReplicaSet has pods, whatever its name.
    let object = if rest.starts_with("pods ") { "ReplicaSet" } else { object(name) };
    format!("{object} {out}").trim_end().to_owned()
}

/// A ReplicaSet whatever its number, a Deployment whatever its name.
fn object(name: &str) -> &str {
    let own = name.rsplit('/').next().unwrap_or(name);
    match own.strip_prefix("rs") {
        Some(number) if number.bytes().all(|digit| digit.is_ascii_digit()) => "ReplicaSet",
        _ if matches!(own, "web" | "api") => "Deployment",
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Timeline;

    #[test]
    fn numbers_do_not_tell_causes_apart() {
        assert_eq!(words("rs1 10 -> 8"), words("api/rs2 3 -> 4"));
        assert_eq!(words("rs1 10 -> 8"), "ReplicaSet N -> N");
        assert_ne!(words("rs1 10 -> 8"), words("rs1 created 8"));
        assert_eq!(words("rs1 pods  deleted=a,b,+1"), words("rs2 pods  deleted=c"));
        assert_eq!(words("web pods  deleted=a"), "ReplicaSet pods  deleted");
        assert_eq!(words("= rs1 3/3 ready=3"), words("= rs2 1/1 ready=0 available=0"));
    }
    #[test]
    fn pods_are_those_that_have_a_name() {
        let timeline = Timeline::parse("step 1  scale 2\n        rs1 pods  deleted=a,c,+1\nevents  none\n").unwrap();
        let line = Line::Decision(timeline.steps[0].decisions[0].clone());
        assert_eq!(of_line(Some(&line)), BTreeSet::from(["a".to_owned(), "c".to_owned()]));
        assert_eq!(of_line(None), BTreeSet::new());
    }
}
