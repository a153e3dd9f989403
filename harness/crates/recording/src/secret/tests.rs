//! Redaction of the values of Secrets.

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::testing::{RecordingBuilder, deployment, of_case, with_patch};

#[rstest]
#[case::data("- apply: {kind: Secret, data: {k: aHVudGVyMg==}}", "- apply: {kind: Secret, data: {k: redacted0001}}")]
#[case::string_data(
    "- apply:\n    kind: Secret\n    stringData:\n      k: \"hunter2\"\n      l: 'x y'\n",
    "- apply:\n    kind: Secret\n    stringData:\n      k: redacted0001\n      l: redacted0002\n"
)]
#[case::the_same_twice(
    "- {kind: Secret, data: {a: MQ==}}\n- patch: {target: secret/c, patch: {data: {a: MQ==, b: Mg==}}}",
    "- {kind: Secret, data: {a: redacted0001}}\n- patch: {target: secret/c, patch: {data: {a: redacted0001, b: redacted0002}}}"
)]
#[case::json_patch(
    "- patch: {target: secret/c, type: json, patch: [{op: add, path: /data/k, value: MQ==}]}",
    "- patch: {target: secret/c, type: json, patch: [{op: add, path: /data/k, value: redacted0001}]}"
)]
#[case::last_applied(
    "- {kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"x\": 1}'}}}",
    "- {kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: redacted0001}}}"
)]
#[case::a_number("- {kind: Secret, stringData: {pin: 123456}}", "- {kind: Secret, stringData: {pin: redacted0001}}")]
#[case::others("- {kind: ConfigMap, data: {k: v}} # no secret", "- {kind: ConfigMap, data: {k: v}} # no secret")]
#[case::applied_by_others(
    "- {metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}} # no secret",
    "- {metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}} # no secret"
)]
fn redacts_values_of_a_case(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redact_text(text), expected);
    assert_eq!(redact_text(expected), expected, "what is redacted stays as it is");
}

#[rstest]
#[case::a_block("- kind: Secret\n  stringData:\n    k: |\n      hunter2\n      and more\n    l: plain\n")]
#[case::an_anchor("- kind: Secret\n  stringData: {k: &it hunter2, l: *it}\n")]
#[case::an_alias("- {kind: ConfigMap, data: &it {k: hunter2}}\n- {kind: Secret, data: *it}\n")]
#[case::folded("- kind: Secret\n  stringData: {k: \"hun\\\n    ter2\"}\n")]
fn redacts_values_in_every_notation(#[case] text: &str) {
    let out = redact_text(text);
    assert!(!out.contains("hunter2") && !out.contains("ter2") && !out.contains("and more"), "{out}");
}

#[test]
fn redacts_recording() {
    let fields = "given:\n  - apply: {apiVersion: v1, kind: Secret, metadata: {name: c}, stringData: {k: hunter2}}\n";
    let copied = json!({"metadata": {"annotations": {"copied": "it is hunter2", "encoded": "aHVudGVyMg=="}}});
    let builder = RecordingBuilder::rolled_out(1)
        .user_step(1, "set env K=hunter2")
        .subject_write(&with_patch(&deployment("web", 1, "app:1"), &copied));
    let builder = builder.injection("hunter2").trouble(crate::Blame::Subject, "hunter2 is no port");
    let mut recording = of_case(fields, builder.aborted());
    recording.header.source = format!("description: x\n{fields}steps: []\n");
    let (source, redaction) = redact(&recording.header.source);
    recording.header.source = source;
    redaction.recording(&mut recording);
    let mut written = Vec::new();
    recording.write(&mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    assert!(!written.contains("hunter2") && !written.contains("aHVudGVyMg"), "{written}");
    assert!(written.contains("it is redacted0001"), "{written}");
}

#[test]
fn label_names_fields_of_a_secret_without_values() {
    let merge = json!({"data": {"k": "Mg==", "gone": null}, "metadata": {"labels": {"a": "b"}}});
    assert_eq!(mask_patch(&merge), json!({"data": {"k": "…", "gone": null}, "metadata": {"labels": {"a": "b"}}}));
    let list = json!([{"op": "add", "path": "/data/k", "value": "Mg=="}]);
    assert_eq!(mask_patch(&list), json!([{"op": "add", "path": "/data/k", "value": "…"}]));
}

/// The redaction for a Secret with these fields.
fn redaction(values: &Value) -> Redaction {
    let case = json!([{"kind": "Secret", "stringData": values}]).to_string();
    let (text, redaction) = redact(&case);
    assert!(!text.contains("hunter2"), "{text}");
    redaction
}

#[rstest]
#[case::plain("it is hunter2, or not", "it is redacted0001, or not")]
#[case::encoded("aHVudGVyMg== aHVudGVyMg", "redacted0001 redacted0001")]
#[case::json(r#"{"k": "say \"hunter\"\n2"}"#, r#"{"k": "redacted0002"}"#)]
#[case::of_many_lines(
    "log: MIIEvQIBADANBgkqhkiG9w0\nlog: 0m4vN9pQ1xYz\nlog: ab",
    "log: redacted0003\nlog: redacted0003\nlog: ab"
)]
#[case::address("https://u:a%2Fb@h/?PD94bWw-Pz8", "https://u:a%2Fb@h/?redacted0004")]
#[case::cut_at_the_end("read hunte\nread hunter", "read hunte\nread redacted0001")]
#[case::cut_at_the_beginning("unter2 is it\nter2", "redacted0001 is it\nter2")]
fn redacts_output_of_a_program(#[case] text: &str, #[case] expected: &str) {
    let pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n0m4vN9pQ1xYz\nab\n";
    let values = json!({"a": "hunter2", "b": "say \"hunter\"\n2", "c": pem, "d": "<?xml>??"});
    assert_eq!(redaction(&values).output(text), expected);
}

#[test]
fn redacts_keys_but_not_fields() {
    let redaction = redaction(&json!({"a": "hunter2", "b": "replicas"}));
    let object = json!({"metadata": {"name": "x", "labels": {"replicas": "a", "a.hunter2/b": "c"}},
        "spec": {"replicas": 3, "x-hunter2": [{"of-hunter2": "b"}]}});
    let redacted = json!({"metadata": {"name": "x", "labels": {"redacted0002": "a", "a.redacted0001/b": "c"}},
        "spec": {"replicas": 3, "x-redacted0001": [{"of-redacted0001": "b"}]}});
    assert_eq!(redaction.value("", object), redacted);
}

/// Names, requests and diagnoses: everything that a subject chooses.
#[test]
fn redacts_every_part_of_a_recording() {
    let redaction = redaction(&json!({"a": "hunter2"}));
    let builder = RecordingBuilder::rolled_out(1)
        .request("get", "hunter2", 403)
        .request("patch", "deployments", 200)
        .with_patch("{\"x\":\"hunter2\",\"y\":\"hunter\n[... 9 bytes]")
        .subject_write(&deployment("hunter2", 1, "app:1"));
    let mut recording = builder.end();
    let named = [("hunter2-x".to_owned(), "a".to_owned())].into();
    recording.entries.push(RecordingEntry::PodNames(named));
    let trouble = crate::Trouble::ended("it printed:\n  hunter2");
    recording.entries.push(RecordingEntry::Trouble(trouble));
    let output = Some(vec!["hunter2".to_owned(), format!("{}hunter", "x".repeat(294))]);
    let diagnosis = Diagnosis { handshake: Some("hunter2".to_owned()), output, ..Diagnosis::default() };
    recording.end.as_mut().unwrap().diagnosis = Some(diagnosis);
    redaction.recording(&mut recording);
    let mut written = Vec::new();
    recording.write(&mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    assert!(!written.contains("hunter"), "{written}");
}

#[test]
fn redaction_keeps_line_numbers() {
    let text = "- kind: Secret\n  stringData:\n    k: |\n      hunter2\n      and more\n    l: plain\n- last: 1\n";
    let out = redact_text(text);
    assert_eq!((out.lines().count(), out.lines().last()), (text.lines().count(), Some("- last: 1")), "{out}");
    assert_eq!(redact_text(&out), out);
}

#[rstest]
#[case(
    "- {kind: Secret, stringData: {k: hunter2}} # hunter2\n",
    "- {kind: Secret, stringData: {k: *******}} # *******\n"
)]
#[case("kind: Secret\nk: 'hunter2\nhunter2: x\n- hunter2\n", "kind: ******\nk: '*******\nhunter2: *\n- *******\n")]
fn masks_values_with_stars(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(mask_text(text), expected);
}
