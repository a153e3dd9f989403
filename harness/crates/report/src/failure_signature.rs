//! The signature of the finding that heads a case's report, by which failures of different cases
//! are grouped.
//!
//! Numbers and names of ReplicaSets are ignored: the signature of `rs1 created 3: desired=3 is
//! missing` is `rsN created N: desired=N is missing`.

use std::collections::BTreeSet;

use lockstep_recording::{Blame, Trouble, TroubleTopic};
use lockstep_verdict::{FindingKind, Judgement};

use super::failure::sentence;

/// The parts of the finding that heads a case's report, without numbers.
pub(super) fn failure_signature(judgement: &Judgement) -> BTreeSet<String> {
    let Some(finding) = judgement.headline() else { return BTreeSet::new() };
    if let FindingKind::Breach(breach) = &finding.kind {
        return BTreeSet::from([format!("invariant `{}` broken", breach.invariant)]);
    }
    let text = sentence(&finding.kind);
    let parts = match &finding.kind {
        FindingKind::Divergence(_) => difference_words(first_line(&text)),
        FindingKind::Unsettled(Trouble { blame: Blame::Subject, why, ended: false, about, .. }) => {
            vec![unsettled(first_line(why), *about)]
        }
        _ => vec![mask_numbers(first_line(&text))],
    };
    parts.into_iter().collect()
}

/// Why a step did not settle, without object, counter and waiting time: a controller that does not
/// update a status may leave one of the case's or one of the probe's outdated.
fn unsettled(why: &str, about: TroubleTopic) -> String {
    let what =
        [Trouble::DID_NOTHING, Trouble::WRONG_STATE].iter().find_map(|how| why.strip_prefix(how)?.strip_prefix(": "));
    let what = what.unwrap_or(why);
    let what = what.rsplit_once(" (after ").map_or(what, |(what, _)| what);
    let stale = |kind: &str| format!("the status of a {kind} is not brought up to date");
    let what = match about {
        TroubleTopic::DeploymentStatus => stale("Deployment"),
        TroubleTopic::ReplicaSetStatus => stale("ReplicaSet"),
        TroubleTopic::Events | TroubleTopic::Other => mask_numbers(what),
    };
    format!("the namespace did not settle: {what}")
}

/// The words of a difference; none if only numbers differ, because those differ in every case.
fn difference_words(text: &str) -> Vec<String> {
    let parts: Vec<String> = match text.split_once(": ") {
        Some((about, words)) if !words.contains(" -> ") => {
            words.split(", ").map(|word| mask_numbers(&format!("{about}: {word}"))).collect()
        }
        _ => vec![mask_numbers(text)],
    };
    let differs = |part: &String| part.split_once(" instead of ").is_none_or(|(actual, expected)| actual != expected);
    parts.into_iter().filter(differs).collect()
}

/// Replaces each number by `N`.
fn mask_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for letter in text.chars() {
        if letter.is_ascii_digit() {
            if !in_number {
                out.push('N');
            }
            in_number = true;
        } else {
            in_number = false;
            out.push(letter);
        }
    }
    out
}

pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_masked() {
        assert_eq!(mask_numbers("rs12 created 10: max=13 is missing"), "rsN created N: max=N is missing");
    }

    #[test]
    fn outdated_status_is_one_cause_for_all_objects() {
        let seen = [
            "did nothing: deployment/web has status.observedGeneration 0, and 1 is right (after 20s)",
            "stayed in the wrong state: deployment/api has status.observedGeneration 1, and 3 is right (after 5s)",
            "stayed in the wrong state: lockstep's own deployment/probe, in another namespace, has status.readyReplicas 0, and 1 is right (after 20s)",
        ];
        let stale = |why| unsettled(why, TroubleTopic::DeploymentStatus);
        let causes: BTreeSet<_> = seen.into_iter().map(stale).collect();
        assert_eq!(
            causes,
            BTreeSet::from([
                "the namespace did not settle: the status of a Deployment is not brought up to date".to_owned()
            ])
        );
        let others = [
            "stayed in the wrong state: lockstep's own deployment/probe, in another namespace, has no ReplicaSet (after 20s)",
            "never became quiet: 12 more writes after 20s",
            "the subject made no request in the 60 s since it was started again",
        ];
        let causes: BTreeSet<_> = others.into_iter().map(|why| unsettled(why, TroubleTopic::Other)).collect();
        assert_eq!(causes.len(), 3, "{causes:?}");
        assert_ne!(unsettled(seen[0], TroubleTopic::ReplicaSetStatus), stale(seen[0]));
    }

    #[test]
    fn difference_is_split_into_words() {
        let said = "rs1 created 3: desired=3 is missing, max=4 is missing";
        assert_eq!(difference_words(said), ["rsN created N: desired=N is missing", "rsN created N: max=N is missing"]);
        assert_eq!(difference_words("rs1 3 -> 2 instead of rs1 3 -> 1"), <[&str; 0]>::default());
        let events = "4 events; 0 expected: Normal ScalingReplicaSet";
        assert_eq!(difference_words(events), ["N events; N expected: Normal ScalingReplicaSet"]);
    }
}
