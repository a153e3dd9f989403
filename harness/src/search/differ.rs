//! Whether two controllers differ on a program, and by which decision first.

use std::sync::Arc;

use crate::case::Case;
use crate::outcome::Verdict;
use crate::recording::Recording;
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
    /// Equal for differences of one kind: the operation and the first lines that differ, without numbers.
    pub cause: String,
    /// The subject, judged by the other recording.
    pub judgement: Judgement,
}

impl Differing {
    /// A name for its file: `set-rsn-n-n-instead-of-nothing`.
    #[must_use]
    pub fn file_name(&self) -> String {
        name(&self.cause)
    }
}

fn name(cause: &str) -> String {
    let mut name = String::new();
    for letter in cause.chars() {
        if letter.is_ascii_alphanumeric() {
            name.push(letter.to_ascii_lowercase());
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_matches('-').chars().take(80).collect()
}

/// Compare the subject's recording of a program with the other's; without one, judge it by the invariants alone.
#[must_use]
pub fn differ(case: &Arc<Case>, other: Option<&Recording>, subject: &Recording) -> Answer {
    let judgement = other.map_or_else(|| judge(case, subject, None), |other| judge_live(case, subject, other));
    match (judgement.verdict, judgement.decisive()) {
        (Verdict::Conformant, _) => Answer::Equal,
        (Verdict::NonConformant, Some(finding)) => {
            // Neither reacts to a program that asks for nothing, and only one of a program that stops can be wrong.
            if matches!(finding.what, What::BothIdle) || (other.is_none() && is_impossible(finding)) {
                return Answer::Equal;
            }
            Answer::Differs(Box::new(Differing { cause: cause(finding), judgement }))
        }
        (_, Some(finding)) if is_impossible(finding) || stopped_alike(finding) => Answer::Equal,
        (_, finding) => Answer::Unknown(finding.map_or_else(String::new, |finding| format!("{:?}", finding.what))),
    }
}

/// A step for which there was nothing: no unready pod, no ReplicaSet of that number.
fn is_impossible(finding: &Finding) -> bool {
    matches!(&finding.what, What::Trouble(trouble) if trouble.why.contains("the step is impossible"))
}

/// A run that the other one's end makes inconclusive is equal as far as it went.
fn stopped_alike(finding: &Finding) -> bool {
    matches!(&finding.what, What::OtherRun(why) if why.contains("the step is impossible"))
}

/// The first decision that differs, in words that numbers do not change.
fn cause(finding: &Finding) -> String {
    let operation = finding.label.split([' ', ';']).next().unwrap_or_default();
    let said = match &finding.what {
        What::Divergence(difference) => {
            let line = |line: Option<String>| line.map_or_else(|| "nothing".to_owned(), |line| words(&line));
            let expected = difference.expected_line().map(ToString::to_string);
            let actual = difference.actual_line().map(ToString::to_string);
            format!("{} instead of {}", line(actual), line(expected))
        }
        What::Breach(breach) => format!("invariant {}", breach.invariant),
        What::Unsettled(trouble) | What::Trouble(trouble) => words(&trouble.why),
        other => words(&format!("{other:?}")),
    };
    format!("{operation}: {said}")
}

/// A line without its numbers, and of a state only the object: its status follows from the decisions.
fn words(line: &str) -> String {
    if let Some(state) = line.strip_prefix("= ") {
        let object = state.split(' ').next().unwrap_or_default();
        return format!("= {}", words(object));
    }
    let mut out = String::new();
    for letter in line.chars() {
        match letter {
            '0'..='9' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_tell_causes_apart() {
        assert_eq!(words("rs1 10 -> 8"), words("rs2 3 -> 4"));
        assert_ne!(words("rs1 10 -> 8"), words("rs1 created 8"));
        assert_eq!(words("= rs1 3/3 ready=3"), words("= rs2 1/1 ready=0 available=0"));
    }

    #[test]
    fn a_file_is_named_by_its_cause() {
        assert_eq!(name("set: rsN N -> N instead of nothing"), "set-rsn-n-n-instead-of-nothing");
    }
}
