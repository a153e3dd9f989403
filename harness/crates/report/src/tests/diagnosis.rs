//! Tests of the diagnosis in a failure report.

use super::*;

/// The report of a subject that did nothing, with this diagnosis.
fn idle(builder: RecordingBuilder, diagnosis: Diagnosis) -> String {
    let mut recording = builder.unsettled(Blame::Subject, "did nothing: web has no ReplicaSet").aborted();
    if let Some(end) = &mut recording.end {
        end.diagnosis = Some(diagnosis);
    }
    let judgement = judge(&recording, Some(&blessed()));
    let lines: Value = serde_json::from_str(&as_json(&judgement)).unwrap();
    assert!(lines["diagnosis"]["requests"].is_u64() && lines["metrics"]["refusals"].is_array());
    failure(&judgement, &rerun(), false)
}

#[test]
fn failure_shows_requests_refusals_and_output() {
    let asks = |builder: RecordingBuilder| {
        builder.request("create", "replicasets", 422).with_message("spec.selector: \u{1b}Required value")
    };
    let builder = (0..3).fold(RecordingBuilder::rolled_out(10).user_step(1, "scale 12"), |builder, _| asks(builder));
    let output = Some(vec!["Traceback".to_owned(), "ValueError: \u{7}".to_owned()]);
    let said = idle(
        builder.request("get", "deployments", 200),
        Diagnosis { requests: 9, connections: 1, output, ..Diagnosis::default() },
    );
    let lines = [
        "  its requests about this case: create 422 (3×); get 200; update 200 (4×)",
        "  the API server refused, the latest last:",
        r"    422 create replicasets x (3×): spec.selector: \x1bRequired value",
        "  it printed:",
        "    | Traceback",
        r"    | ValueError: \x07",
    ];
    assert!(said.contains(&lines.join("\n")), "{said}");
}

#[test]
fn failure_explains_missing_requests() {
    let builder = || {
        RecordingBuilder::new()
            .given("deployment/web")
            .driver_write(&deployment("web", 10, "app:1"))
            .user_step(1, "scale 12")
    };
    let said = |diagnosis| idle(builder(), diagnosis);
    let none = said(Diagnosis { output: Some(Vec::new()), ..Diagnosis::default() });
    assert!(none.contains("never made a single request, and opened no connection: does it read $KUBECONFIG"), "{none}");
    assert!(none.contains("it printed nothing since it was started"), "{none}");
    let handshake = Some("received fatal alert: UnknownCA".to_owned());
    let unsecured = said(Diagnosis { connections: 7, unsecured: 7, handshake, ..Diagnosis::default() });
    let why = "7 of its 7 connections broke off in the TLS handshake, last with \"received fatal alert: UnknownCA\"";
    assert!(unsecured.contains(why) && unsecured.contains("does it trust the CA of its kubeconfig"), "{unsecured}");
    let silent = said(Diagnosis { connections: 2, ..Diagnosis::default() });
    assert!(silent.contains("never made a single request on its 2 connections: does it speak HTTP?"), "{silent}");
    let elsewhere = said(Diagnosis { requests: 5, connections: 1, ..Diagnosis::default() });
    assert!(elsewhere.contains("no request about this case's namespace, and 5 about others or all"), "{elsewhere}");
}
