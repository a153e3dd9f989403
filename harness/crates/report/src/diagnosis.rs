//! What a subject did when it went wrong: its requests by verb and status code, what the server
//! refused and why, and what it printed. A failing subject usually prints why, and the answers that
//! it got explain the rest.
//!
//! Where a step differs, a hint says the usual cause in the terms of the API. It sees only the
//! lines of that step, names the API field that differs, and never assigns blame.

use lockstep_recording::Diagnosis;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::{KeyValue, RunMetrics, State, TimelineLine, annotation_key};
use lockstep_verdict::{ComparisonBasis, FindingKind, Judgement};

/// The indented lines; empty if nothing is known.
pub(super) fn diagnosis(judgement: &Judgement) -> Vec<String> {
    let wrong = matches!(judgement.outcome(), RunOutcome::NonConformant | RunOutcome::Inconclusive);
    let (metrics, diagnosis) = (&judgement.metrics, judgement.diagnosis.as_ref());
    if !wrong || (diagnosis.is_none() && metrics.failures.is_empty()) {
        return Vec::new();
    }
    let mut out = vec![String::new(), format!("  {}", requests(metrics, diagnosis))];
    if !metrics.failures.is_empty() {
        out.push("  the API server refused, the latest last:".to_owned());
    }
    for refusal in &metrics.failures {
        let name = if refusal.name.is_empty() { String::new() } else { format!(" {}", refusal.name) };
        let times = if refusal.times > 1 { format!(" ({}×)", refusal.times) } else { String::new() };
        let message = refusal.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        out.push(format!("    {} {}{name}{times}{message}", refusal.status, refusal.request));
    }
    // The finding already has the last lines of a subject that ended.
    let ended = judgement.decisive().is_some_and(
        |finding| matches!(&finding.kind, FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) if trouble.ended),
    );
    match diagnosis.and_then(|diagnosis| diagnosis.output.as_deref()) {
        None => {}
        Some(_) if ended => {}
        Some([]) => out.push("  it printed nothing since it was started".to_owned()),
        Some(lines) => {
            out.push("  it printed:".to_owned());
            out.extend(lines.iter().map(|line| format!("    | {line}")));
        }
    }
    out
}

/// The requests of the subject, or the likely reason why there are none.
fn requests(metrics: &RunMetrics, diagnosis: Option<&Diagnosis>) -> String {
    let answers: Vec<String> =
        metrics.answers.iter().map(|(verb, codes)| format!("{verb} {}", counts(codes))).collect();
    match diagnosis {
        _ if !answers.is_empty() => format!("its requests about this case: {}", answers.join("; ")),
        Some(Diagnosis { requests: 0, connections: 0, .. }) => {
            "it never made a single request, and opened no connection: \
             does it read $KUBECONFIG or $HOME/.kube/config? --in-cluster gives it what it would find in a pod"
                .to_owned()
        }
        Some(Diagnosis { requests: 0, connections, unsecured: 0, .. }) => {
            format!("it never made a single request on its {connections} connections: does it speak HTTP?")
        }
        Some(Diagnosis { requests: 0, connections, unsecured, handshake, .. }) => {
            let why = handshake.as_ref().map_or_else(String::new, |why| format!(", last with \"{why}\""));
            format!(
                "it never made a single request: {unsecured} of its {connections} connections broke off in the TLS \
                 handshake{why}; does it trust the CA of its kubeconfig (certificate-authority-data), and speak TLS?"
            )
        }
        Some(Diagnosis { requests, .. }) => format!(
            "it made no request about this case's namespace, and {requests} about others or all since it was first started"
        ),
        None => "it made no request about this case's namespace".to_owned(),
    }
}

/// `201 (3×), 422`.
fn counts(codes: &std::collections::BTreeMap<u16, u64>) -> String {
    let code = |code: &u16| if *code == 0 { "unanswered".to_owned() } else { code.to_string() };
    let times = |times: &u64| if *times > 1 { format!(" ({times}×)") } else { String::new() };
    codes.iter().map(|(status, count)| code(status) + &times(count)).collect::<Vec<_>>().join(", ")
}

/// Who did what is expected, where it is not another subject of the run.
const UPSTREAM: &str = "upstream";

/// The controller whose timeline is expected.
pub(super) fn expected_by(judgement: &Judgement) -> &str {
    match &judgement.basis {
        ComparisonBasis::Live(other) => &other.name,
        _ => UPSTREAM,
    }
}

/// The annotation that numbers a Deployment's rollouts.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// The hints about objects that differ from what this controller did, each once.
pub(super) fn hints(expected_lines: &[TimelineLine], actual: &[TimelineLine], by: &str) -> Vec<String> {
    let mut hints = Vec::new();
    for happened in actual.iter().filter_map(TimelineLine::state) {
        let Some(expected) =
            expected_lines.iter().filter_map(TimelineLine::state).find(|state| state.object == happened.object)
        else {
            continue;
        };
        if let Some(hint) = unobserved(expected, happened) {
            // The rest of the status differs as a consequence.
            hints.push(hint);
            continue;
        }
        hints.extend(generation_raised(expected, happened, by));
        hints.extend(expected.fields.iter().filter_map(|field| annotation_hint(&happened.object, field, happened, by)));
    }
    hints
}

/// The hint for a generation that only a write of the object itself can have raised.
fn generation_raised(expected: &State, happened: &State, by: &str) -> Option<String> {
    let ((_, expected), (_, generation)) = (generations(expected)?, generations(happened)?);
    (generation > expected && !happened.is_replica_set()).then(|| {
        format!(
            "{}: metadata.generation is {generation} instead of {expected}: the object itself was written; {} \
             writes its status subresource alone",
            happened.object,
            if by == UPSTREAM { "upstream's controller" } else { by }
        )
    })
}

/// The observed generation of the status, and the generation of the object.
fn generations(state: &State) -> Option<(u64, u64)> {
    let (observed, generation) = value(state, "generation")?.split_once('/')?;
    Some((observed.parse().ok()?, generation.parse().ok()?))
}

/// The hint for a status that was not written for the object's current generation.
fn unobserved(expected: &State, happened: &State) -> Option<String> {
    let ((expected, _), (observed, generation)) = (generations(expected)?, generations(happened)?);
    (observed < generation && observed < expected).then(|| {
        format!(
            "{}: the status was not written for generation {generation}; status.observedGeneration is {observed}",
            happened.object
        )
    })
}

/// The hint for an annotation of the controller that is missing or has another value.
fn annotation_hint(object: &str, expected: &KeyValue, happened: &State, by: &str) -> Option<String> {
    let key = annotation_key(&expected.key)?;
    match value(happened, &expected.key) {
        None if key == REVISION && !object.starts_with("rs") => Some(format!(
            "{object}: the annotation {key} is missing; {by} keeps it at {} and writes it through the status subresource, which \
             leaves metadata.generation as it is",
            expected.value
        )),
        None => Some(format!("{object}: the annotation {key} is missing; {by} keeps it at {}", expected.value)),
        Some(actual) if actual != expected.value => {
            Some(format!("{object}: the annotation {key} is {actual}; {by} keeps it at {}", expected.value))
        }
        Some(_) => None,
    }
}

fn value<'a>(state: &'a State, key: &str) -> Option<&'a str> {
    state.fields.iter().find(|field| field.key == key).map(|field| field.value.as_str())
}

#[cfg(test)]
mod tests {
    use lockstep_timeline::Timeline;
    use rstest::rstest;

    use super::*;

    fn lines(state: &str) -> Vec<TimelineLine> {
        let text = format!("given   deployment/web\n      = {state}\n");
        Timeline::parse(&text).unwrap().steps[0].lines()
    }

    #[rstest]
    #[case::status_not_written(
        "web 3 updated=3 generation=2/2 revision=2",
        "web 3 generation=1/2 revision=1",
        &["web: the status was not written for generation 2; status.observedGeneration is 1"])]
    #[case::annotations_missing(
        "rs2 1/1 ready=0 revision=2 desired=3 max=4",
        "rs2 1/1 ready=0 revision=2",
        &["rs2: the annotation deployment.kubernetes.io/desired-replicas is missing; upstream keeps it at 3",
          "rs2: the annotation deployment.kubernetes.io/max-replicas is missing; upstream keeps it at 4"])]
    #[case::annotation_old(
        "rs2 1/1 desired=5 max=6",
        "rs2 1/1 desired=5 max=4",
        &["rs2: the annotation deployment.kubernetes.io/max-replicas is 4; upstream keeps it at 6"])]
    #[case::revision_missing(
        "web 3 generation=1/1 revision=1",
        "web 3 generation=1/1",
        &["web: the annotation deployment.kubernetes.io/revision is missing; upstream keeps it at 1 and writes it through the status subresource, which leaves metadata.generation as it is"])]
    #[case::the_object_was_written(
        "web 3 generation=1/1 revision=1",
        "web 3 generation=2/2 revision=1",
        &["web: metadata.generation is 2 instead of 1: the object itself was written; upstream's controller writes its status subresource alone"])]
    #[case::nothing_known("rs1 3/3 ready=3", "rs1 3/3 ready=2", &[])]
    #[case::upstream_has_not_written_it_either("web 3 generation=1/2", "web 4 generation=1/2", &[])]
    fn hint_names_usual_cause(#[case] expected: &str, #[case] actual: &str, #[case] hint: &[&str]) {
        assert_eq!(hints(&lines(expected), &lines(actual), UPSTREAM), hint);
    }

    #[test]
    fn hint_names_the_subject_that_is_compared_with() {
        let (one, other) = (lines("web 3 generation=1/1 revision=2"), lines("web 3 generation=2/2 revision=1"));
        let known = hints(&one, &other, "ours:fixed");
        assert_eq!(
            known,
            [
                "web: metadata.generation is 2 instead of 1: the object itself was written; ours:fixed writes its status subresource alone",
                "web: the annotation deployment.kubernetes.io/revision is 1; ours:fixed keeps it at 2",
            ]
        );
    }
}
