//! What a subject did when it went wrong: its requests by verb and status code, what the server
//! refused and why, and what it printed. A failing subject usually prints why, and the answers that
//! it got explain the rest.

use lockstep_recording::Diagnosis;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::RunMetrics;
use lockstep_verdict::{FindingKind, Judgement};

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
