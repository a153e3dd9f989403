//! Compares two controllers on a program, and finds the first decision by which they differ.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_support::outcome::Verdict;
use lockstep_timeline::{Invariant, State, TimelineLine, replica_set_number};
use lockstep_verdict::{FindingKind, Judgement, VerdictFinding, judge, judge_live};

use super::initial::LONG;

/// The result of comparing two recordings of a program.
#[derive(Debug)]
pub enum SideComparison {
    /// The same decisions, as far as both recordings go.
    Equal,
    /// The same decisions until a fault that waits for a write which the subject never makes: a
    /// controller may use a different number of writes.
    CutShort,
    /// Different decisions.
    Differs(Box<Divergence>),
    /// Not comparable, for this reason.
    Unknown(String),
}

/// How a subject differs from the reference.
#[derive(Debug)]
pub struct Divergence {
    /// The first lines that differ, without numbers and names.
    pub cause: String,
    /// If both chose among pods: the named pods that only the subject has deleted, and those that
    /// only the reference has.
    pub deleted: [BTreeSet<String>; 2],
    /// The judgement of the subject by the reference's recording.
    pub judgement: Judgement,
}

/// Compare the subject's recording of a program with the reference's; without one, judge it by the
/// invariants alone.
#[must_use]
pub fn compare(case: &Arc<Case>, reference: Option<&Recording>, subject: &Recording) -> SideComparison {
    let judgement =
        reference.map_or_else(|| judge(case, subject, None), |reference| judge_live(case, subject, reference));
    match (judgement.verdict, judgement.decisive()) {
        (Verdict::Conformant, _) => SideComparison::Equal,
        (Verdict::NonConformant, Some(finding)) => {
            // Neither reacts to a program that changes nothing, and for a program that stops only
            // one of them can be wrong.
            if is_other_count(finding) {
                return SideComparison::CutShort;
            }
            let is_nothing = matches!(finding.kind, FindingKind::BothIdle);
            if is_nothing || (reference.is_none() && is_impossible(finding)) {
                return SideComparison::Equal;
            }
            if let Some(why) = reference.and_then(|reference| open_question(&judge(case, reference, None), finding)) {
                return SideComparison::Unknown(why);
            }
            let (cause, deleted) = (cause(finding), deleted(finding));
            SideComparison::Differs(Box::new(Divergence { cause, deleted, judgement }))
        }
        (_, Some(finding)) if is_impossible(finding) || stopped_alike(finding) => SideComparison::Equal,
        (_, Some(finding)) => SideComparison::Unknown(match &finding.kind {
            FindingKind::Trouble(trouble) | FindingKind::Unsettled(trouble) => words(&trouble.why),
            FindingKind::OtherRun(why) => words(why),
            reference => words(&format!("{reference:?}")),
        }),
        (_, None) => SideComparison::Unknown("no reason is known".to_owned()),
    }
}

/// The results of several runs of a program on both sides, each with its own seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// The number of the subject's runs, without those that were cut short.
    pub plays: usize,
    /// In how many of them the subject did what the reference never did.
    pub differs: usize,
    /// How many different things the reference did.
    pub outcomes: usize,
}

impl Repeats {
    /// Whether chance explains the difference: the subject did, at least once, what the reference
    /// did at least once.
    #[must_use]
    pub fn is_chance(self) -> bool {
        self.differs < self.plays
    }
}

/// Compare each run of the subject with every run of the reference. A run that was cut short
/// proves nothing: the difference may come after its end.
#[must_use]
pub fn repeats(case: &Arc<Case>, references: &[Recording], subjects: &[Recording]) -> Repeats {
    let is_equal = |one: &Recording, two: &Recording| matches!(compare(case, Some(one), two), SideComparison::Equal);
    let mut outcomes: Vec<&Recording> = Vec::new();
    for reference in references {
        if !outcomes.iter().any(|known| is_equal(known, reference)) {
            outcomes.push(reference);
        }
    }
    let mut repeats = Repeats { plays: 0, differs: 0, outcomes: outcomes.len() };
    for subject in subjects {
        let mut is_cut = false;
        let is_same = outcomes.iter().any(|reference| match compare(case, Some(reference), subject) {
            SideComparison::Equal => true,
            SideComparison::CutShort => {
                is_cut = true;
                false
            }
            SideComparison::Differs(_) | SideComparison::Unknown(_) => false,
        });
        if is_same || !is_cut {
            repeats.plays += 1;
            repeats.differs += usize::from(!is_same);
        }
    }
    repeats
}

/// A fault at a write that the subject does not make.
fn is_other_count(finding: &VerdictFinding) -> bool {
    matches!(&finding.kind, FindingKind::Trouble(trouble) if trouble.why.contains("the subject never made write"))
}

/// A step that cannot be performed: no unready pod, no ReplicaSet of that number, or a deleted pod.
fn is_impossible(finding: &VerdictFinding) -> bool {
    matches!(&finding.kind, FindingKind::Trouble(trouble) if cannot_be(&trouble.why))
}

/// Why the reference's own recording leaves open whether the subject is wrong, if it does.
fn open_question(reference: &Judgement, finding: &VerdictFinding) -> Option<String> {
    let reference_has = |is: &dyn Fn(&FindingKind) -> bool| reference.findings.iter().any(|finding| is(&finding.kind));
    // For example, it opened a watch late: which of the two is first is chance.
    if reference_has(&|what| matches!(what, FindingKind::Breach(breach) if breach.invariant == Invariant::Silence)) {
        return Some("the other controller wrote after the step had settled".to_owned());
    }
    // Neither settled, for the same reason: the harness waits for something that upstream does not
    // do.
    let FindingKind::Unsettled(trouble) = &finding.kind else { return None };
    let why = words(&trouble.why);
    let is_alike = reference_has(&|what| matches!(what, FindingKind::Unsettled(trouble) if words(&trouble.why) == why));
    is_alike.then(|| format!("both controllers: {why}"))
}

/// A recording that is inconclusive because the reference's ended is equal as far as it goes.
fn stopped_alike(finding: &VerdictFinding) -> bool {
    matches!(&finding.kind, FindingKind::OtherRun(why) if cannot_be(why))
}

/// The harness's message about a step that cannot be performed: there is no suitable object, or the
/// server refuses it.
fn cannot_be(why: &str) -> bool {
    why.contains("the step is impossible") || why.contains("the operation was refused")
}

/// The first line that differs, without numbers and names, so that a cause has the same text for
/// all programs.
fn cause(finding: &VerdictFinding) -> String {
    match &finding.kind {
        FindingKind::Divergence(difference) => match (difference.actual_line(), difference.expected_line()) {
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
        FindingKind::Breach(breach) => format!("invariant {}", breach.invariant),
        FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) => words(&trouble.why),
        reference => words(&format!("{reference:?}")),
    }
}

/// The named pods that only the subject, and that only the reference, has deleted.
fn deleted(finding: &VerdictFinding) -> [BTreeSet<String>; 2] {
    let FindingKind::Divergence(difference) = &finding.kind else { return Default::default() };
    let (subject, reference) = (of_line(difference.actual_line()), of_line(difference.expected_line()));
    [&subject - &reference, &reference - &subject]
}

/// The named pods that a line reports as deleted: `a,b` of `a,b,+1`.
fn of_line(line: Option<&TimelineLine>) -> BTreeSet<String> {
    let Some(TimelineLine::Decision(decision)) = line else { return BTreeSet::new() };
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
    // The names of the deleted pods do not matter.
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

/// The kind instead of a name: a ReplicaSet with any number, a Deployment with any name.
fn object(name: &str) -> &str {
    match name.rsplit('/').next().unwrap_or(name) {
        _ if replica_set_number(name).is_some() => "ReplicaSet",
        "web" | "api" => "Deployment",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, scaled_to};
    use lockstep_timeline::Timeline;
    use lockstep_verdict::testing::case_of;

    use super::*;

    #[test]
    fn run_that_never_makes_the_write_of_a_fault_is_no_repeat() {
        let short = RecordingBuilder::rolled_out(10)
            .user_step(1, "scale 12")
            .never_came("the namespace settled, and the subject never made write 9 of replicasets")
            .aborted();
        let case = case_of(&short);
        let (references, differing) = ([scaled_to(11), scaled_to(11)], scaled_to(13));
        let found = repeats(&case, &references, &[differing.clone(), short, differing]);
        assert_eq!(found, Repeats { plays: 2, differs: 2, outcomes: 1 });
        assert!(repeats(&case, &references, &[scaled_to(13), scaled_to(11)]).is_chance());
    }

    #[test]
    fn numbers_do_not_distinguish_causes() {
        assert_eq!(words("rs1 10 -> 8"), words("api/rs2 3 -> 4"));
        assert_eq!(words("rs1 10 -> 8"), "ReplicaSet N -> N");
        assert_ne!(words("rs1 10 -> 8"), words("rs1 created 8"));
        assert_eq!(words("rs1 pods  deleted=a,b,+1"), words("rs2 pods  deleted=c"));
        assert_eq!(words("web pods  deleted=a"), "ReplicaSet pods  deleted");
        assert_eq!(words("= rs1 3/3 ready=3"), words("= rs2 1/1 ready=0 available=0"));
    }
    #[test]
    fn compares_only_deleted_pods_with_names() {
        let timeline = Timeline::parse("step 1  scale 2\n        rs1 pods  deleted=a,c,+1\nevents  none\n").unwrap();
        let line = TimelineLine::Decision(timeline.steps[0].decisions[0].clone());
        assert_eq!(of_line(Some(&line)), BTreeSet::from(["a".to_owned(), "c".to_owned()]));
        assert_eq!(of_line(None), BTreeSet::new());
    }
}
