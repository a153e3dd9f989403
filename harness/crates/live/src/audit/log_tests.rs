//! Entries of a log that are not writes, and the formats in which clouds and people pass logs on.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use lockstep_recording::RecordingEntry as Recorded;
use rstest::rstest;
use serde_json::{Value, json};

use super::tests::{Log, deployment, later, log, pod, set};
use super::*;

/// The recording from one file.
fn of_file(bytes: &[u8]) -> Result<Recording, AuditError> {
    of_files(&[bytes])
}

fn of_files(files: &[&[u8]]) -> Result<Recording, AuditError> {
    let mut log = super::Log::default();
    for (number, bytes) in (1..).zip(files) {
        log.add(&format!("audit-{number}.log"), *bytes)?;
    }
    import(log, &ImportQuery::default())
}

fn gaps(recording: &Recording) -> Vec<String> {
    let why = recording.entries.iter().filter_map(|entry| match entry {
        Recorded::Trouble(trouble) => Some(trouble.why.clone()),
        _ => None,
    });
    why.collect()
}

fn lines(log: &Log) -> Vec<String> {
    log.0.iter().map(Value::to_string).collect()
}

/// The ten versions of the log, and the changes after one more request.
fn with_one_more(verb: &str, resource: &str, answer: Value, change: impl FnOnce(&mut Value)) -> Recording {
    let mut log = log().user(verb, resource, answer);
    change(log.0.last_mut().unwrap());
    log.import(&ImportQuery::default()).unwrap()
}

/// The request was answered, and changed nothing.
#[rstest]
#[case::patch("patch", "deployments web", deployment(6, 3, 2), json!({"requestURI": "/d/web?dryRun=All&fieldManager=kubectl"}))]
#[case::update("update", "deployments web", deployment(6, 3, 2), json!({"requestURI": "/d/web?fieldManager=kubectl&dryRun=All"}))]
#[case::create("create", "pods", pod(0, "web-1-z", &Value::Null), json!({"requestURI": "/pods?dryRun=All"}))]
#[case::scale("patch", "deployments web/scale", json!({"kind": "Scale", "metadata": {"resourceVersion": "6"}, "spec": {}}),
    json!({"requestURI": "/d/web/scale?dryRun=All"}))]
#[case::delete_by_body("delete", "deployments web", json!({"kind": "Status", "status": "Success"}),
    json!({"requestObject": {"kind": "DeleteOptions", "dryRun": ["All"]}}))]
#[case::delete_by_address("delete", "deployments web", json!({"kind": "Status", "status": "Success"}),
    json!({"requestURI": "/d/web?dryRun=All"}))]
#[case::deletecollection("deletecollection", "pods", json!({"kind": "PodList", "metadata": {"resourceVersion": "11"},
    "items": [pod(3, "web-1-a", &Value::Null)]}), json!({"requestObject": {"dryRun": ["All"]}}))]
#[case::eviction("create", "pods web-1-a/eviction", json!({"kind": "Status", "status": "Success"}),
    json!({"requestObject": {"kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}}}))]
#[case::eviction_by_address("create", "pods web-1-a/eviction", json!({"kind": "Status", "status": "Success"}),
    json!({"requestURI": "/pods/web-1-a/eviction?dryRun=All", "requestObject": {"kind": "Eviction"}}))]
#[case::too_early("patch", "deployments web", deployment(11, 3, 2), json!({"stage": "RequestReceived"}))]
#[case::panic("patch", "deployments web", deployment(11, 3, 2), json!({"stage": "Panic", "responseStatus": {"code": 500}}))]
#[case::refused("patch", "deployments web", deployment(11, 3, 2), json!({"responseStatus": {"code": 409}}))]
#[case::unanswered("patch", "deployments web", deployment(11, 3, 2), json!({"responseStatus": {"code": 0}}))]
#[case::without_status("patch", "deployments web", deployment(11, 3, 2), json!({"responseStatus": null}))]
#[case::watch("watch", "deployments", json!({"kind": "Deployment"}), json!({}))]
#[case::exec("create", "pods web-1-a/exec", Value::Null, json!({}))]
#[case::proxy("delete", "pods web-1-a/proxy", Value::Null, json!({}))]
#[case::nothing_changed("patch", "replicasets web-1", set(8, 1, 2), json!({}))]
fn ignores_requests_that_wrote_nothing(
    #[case] verb: &str,
    #[case] resource: &str,
    #[case] answer: Value,
    #[case] fields: Value,
) {
    let recording = with_one_more(verb, resource, answer, |entry| {
        fields.as_object().unwrap().iter().for_each(|(field, value)| entry[field] = value.clone());
    });
    assert_eq!((later(&recording).len(), gaps(&recording)), (10, Vec::new()));
}

/// If the body has options, the server ignores those in the address.
#[test]
fn deletion_options_in_the_body_override_the_address() {
    let status = json!({"kind": "Status", "status": "Success"});
    let recording = with_one_more("delete", "replicasets web-1", status, |entry| {
        entry["requestURI"] = json!("/rs/web-1?dryRun=All");
        entry["requestObject"] = json!({"kind": "DeleteOptions", "propagationPolicy": "Background"});
    });
    assert_eq!(later(&recording).last().unwrap(), "10! web-1 Deleted");
}

#[rstest]
#[case::running("n1", "10! web-1-a Modified")]
#[case::on_no_node("", "10! web-1-a Deleted")]
fn an_eviction_deletes_a_pod(#[case] node: &str, #[case] expected: &str) {
    let mut log = log();
    log.0[2]["responseObject"]["spec"] = json!({"nodeName": node});
    let log = log.user("create", "pods web-1-a/eviction", json!({"kind": "Status", "status": "Success"}));
    let recording = log.import(&ImportQuery::default()).unwrap();
    assert_eq!((later(&recording).last().unwrap().as_str(), gaps(&recording).len()), (expected, 0));
}

#[test]
fn attributes_a_write_to_the_impersonated_user() {
    let recording = with_one_more("patch", "replicasets web-1", set(11, 3, 2), |entry| {
        entry["user"] = json!({"username": "gateway"});
        entry["impersonatedUser"] = json!({"username": "bea"});
    });
    let Some(Recorded::Object(last)) = recording.entries.iter().rev().find(|e| matches!(e, Recorded::Object(_))) else {
        panic!("there are objects")
    };
    assert_eq!(last.author.as_deref(), Some("kubectl (bea)"));
}

/// In a log without the creation of a ReplicaSet, writes of statuses identify the Deployment
/// controller.
#[test]
fn writer_of_a_status_is_a_controller() {
    let recording = log().import(&ImportQuery::default()).unwrap();
    let other = ("system:serviceaccount:kube-system:deployment-controller-2", "kube-controller-manager");
    let mut log = log();
    for number in [5, 7] {
        log.0[number]["user"]["username"] = json!(other.0);
    }
    let of_two = log.import(&ImportQuery::default()).unwrap();
    assert_eq!(later(&of_two), later(&recording));
}

/// The same log in the formats in which logs are passed on.
#[rstest]
#[case::windows(|lines: &[String]| format!("\u{feff}{}\r\n", lines.join("\r\n")).into_bytes())]
#[case::list(|lines: &[String]| format!("{{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"items\":[{}]}}", lines.join(",")).into_bytes())]
#[case::array(|lines: &[String]| format!("[\n{}\n]\n", lines.join(",\n")).into_bytes())]
#[case::without_line_ends(|lines: &[String]| lines.concat().into_bytes())]
#[case::indented(|lines: &[String]| {
    let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    serde_json::to_vec_pretty(&values).unwrap()
})]
#[case::indented_one_by_one(|lines: &[String]| {
    let pretty = |line: &String| serde_json::to_string_pretty(&serde_json::from_str::<Value>(line).unwrap()).unwrap();
    lines.iter().map(pretty).collect::<Vec<_>>().join("\n").into_bytes()
})]
#[case::reversed(|lines: &[String]| lines.iter().rev().cloned().collect::<Vec<_>>().join("\n").into_bytes())]
#[case::container_output(|lines: &[String]| wrapped(lines, |line| format!("2026-01-31T12:00:00Z stdout F {line}")))]
#[case::docker(|lines: &[String]| wrapped(lines, |line| json!({"log": format!("{line}\n"), "stream": "stdout"}).to_string()))]
#[case::azure(|lines: &[String]| wrapped(lines, |line| json!({"category": "kube-audit", "properties": {"log": line}}).to_string()))]
#[case::azure_records(|lines: &[String]| {
    let records: Vec<Value> = lines.iter().map(|line| json!({"properties": {"log": format!("{line}\n")}})).collect();
    json!({"records": records}).to_string().into_bytes()
})]
#[case::azure_table(|lines: &[String]| wrapped(lines, of_azure_table))]
#[case::cloudwatch(|lines: &[String]| wrapped(lines, |line| json!({"@timestamp": "t", "@message": line}).to_string()))]
#[case::cloudwatch_events(|lines: &[String]| {
    let events: Vec<Value> = lines.iter().map(|line| json!({"timestamp": 1, "message": line})).collect();
    serde_json::to_vec_pretty(&json!({"events": events, "searchedLogStreams": []})).unwrap()
})]
#[case::cloudwatch_subscription(|lines: &[String]| {
    let one = |line: &String| json!({"messageType": "DATA_MESSAGE", "logEvents": [{"id": "1", "message": line}]}).to_string();
    lines.iter().map(one).collect::<String>().into_bytes()
})]
#[case::cloudwatch_insights(|lines: &[String]| {
    let row = |line: &String| format!("2026-01-31 12:00:00.000,\"{}\",kube-apiserver-audit", line.replace('"', "\"\""));
    format!("@timestamp,@message,@logStream\n{}\n", lines.iter().map(row).collect::<Vec<_>>().join("\n")).into_bytes()
})]
#[case::google(|lines: &[String]| wrapped(lines, of_google))]
#[case::utf_16(|lines: &[String]| {
    format!("\u{feff}{}\r\n", lines.join("\r\n")).encode_utf16().flat_map(u16::to_le_bytes).collect()
})]
#[case::gzip(|lines: &[String]| gzip(&lines.join("\n")))]
#[case::gzip_in_parts(|lines: &[String]| [gzip(&(lines[..4].join("\n") + "\n")), gzip(&lines[4..].join("\n"))].concat())]
#[case::twice(|lines: &[String]| [lines, lines].concat().join("\n").into_bytes())]
fn reads_logs_in_every_form(#[case] form: fn(&[String]) -> Vec<u8>) {
    let mut log = log();
    for (number, entry) in log.0.iter_mut().enumerate() {
        entry["auditID"] = json!(format!("id-{number}"));
    }
    let expected = log.import(&ImportQuery::default()).unwrap();
    let recording = of_file(&form(&lines(&log))).unwrap();
    assert_eq!(later(&recording), later(&expected));
    assert!(gaps(&recording).is_empty(), "{:?}", gaps(&recording));
}

fn wrapped(lines: &[String], wrap: impl Fn(&str) -> String) -> Vec<u8> {
    lines.iter().map(|line| wrap(line) + "\n").collect::<String>().into_bytes()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn of_azure_table(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap();
    json!({"TimeGenerated": entry["stageTimestamp"], "Level": entry["level"], "AuditId": entry["auditID"],
        "Stage": entry["stage"], "Verb": entry["verb"], "User": entry["user"], "UserAgent": entry["userAgent"],
        "ObjectRef": entry["objectRef"].to_string(), "ResponseStatus": entry["responseStatus"],
        "ResponseObject": entry["responseObject"].to_string(), "RequestObject": "",
        "StageReceivedTime": entry["stageTimestamp"]})
    .to_string()
}

fn of_google(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap();
    let of = |field: &str| entry["objectRef"][field].as_str().unwrap().to_owned();
    let (resource, name, part) = (of("resource"), of("name"), of("subresource"));
    let group = if of("apiGroup").is_empty() { "core".to_owned() } else { of("apiGroup") };
    let tail: String = [name, part.clone()].iter().filter(|one| !one.is_empty()).map(|one| format!("/{one}")).collect();
    let method = if part.is_empty() { resource.clone() } else { format!("{resource}.{part}") };
    let mut response = entry["responseObject"].clone();
    let kind = response.as_object_mut().unwrap().remove("kind").unwrap();
    response["@type"] = json!(format!("apps.k8s.io/v1.{}", kind.as_str().unwrap()));
    json!({"insertId": entry["auditID"], "timestamp": entry["stageTimestamp"], "protoPayload": {
        "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
        "authenticationInfo": {"principalEmail": entry["user"]["username"]},
        "requestMetadata": {"callerSuppliedUserAgent": entry["userAgent"]},
        "methodName": format!("io.k8s.{group}.v1.{method}.{}", entry["verb"].as_str().unwrap()),
        "resourceName": format!("{group}/v1/namespaces/shop/{resource}{tail}"),
        "status": {}, "response": response}})
    .to_string()
}

/// The complete part of a cut log is used, and the rest is a gap.
#[test]
fn a_cut_line_is_a_gap() {
    let lines = lines(&log());
    let (last, rest) = lines.split_last().unwrap();
    let text = rest.join("\n") + "\n" + &last[..last.len() / 2];
    let recording = of_file(text.as_bytes()).unwrap();
    assert_eq!(later(&recording).len(), 9);
    assert_eq!(gaps(&recording), ["audit-1.log: line 10 is cut off"]);
    // Two files that were one.
    let (one, two) = text.split_at(text.len() / 2);
    let recording = of_files(&[one.as_bytes(), two.as_bytes()]).unwrap();
    let found = gaps(&recording);
    assert!(found.contains(&"audit-2.log: line 6 is cut off".to_owned()), "{found:?}");
    // Two writers to one file.
    let mixed = [rest, &[last[..200].to_owned(), lines[0].clone()]].concat().join("\n");
    assert_eq!(gaps(&of_file(mixed.as_bytes()).unwrap()), ["audit-1.log: line 10 is cut off"]);
}

#[test]
fn ignores_cut_lines_before_the_recording() {
    let lines = lines(&log());
    let first = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": "get",
        "objectRef": {"resource": "deployments"}, "stageTimestamp": "2026-01-31T11:00:00Z"});
    let text = format!("{}\n{}", &first.to_string()[20..], lines.join("\n"));
    assert_eq!(gaps(&of_file(text.as_bytes()).unwrap()), Vec::<String>::new());
}

#[test]
fn ignores_cut_entries_of_other_kinds() {
    let lines = lines(&log()).join("\n");
    let other = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","objectRef":{"resource":"leases"},"resp"#;
    assert_eq!(gaps(&of_file(format!("{lines}\n{other}").as_bytes()).unwrap()), Vec::<String>::new());
}

/// Collectors split or cut entries that are too long for a record.
#[rstest]
#[case::docker(|text: &str| json!({"log": text}).to_string())]
#[case::containerd(|text: &str| format!("2026-01-31T12:00:00Z stdout P {text}"))]
#[case::azure(|text: &str| json!({"properties": {"log": text}}).to_string())]
fn a_part_of_an_entry_is_a_gap(#[case] record: fn(&str) -> String) {
    let lines = lines(&log());
    let (last, rest) = lines.split_last().unwrap();
    let text = rest.join("\n") + "\n" + &record(&last[..last.len() / 2]) + "\nand other {text\n" + &rest[0];
    let recording = of_file(text.as_bytes()).unwrap();
    assert_eq!((later(&recording).len(), gaps(&recording).len()), (9, 1), "{:?}", gaps(&recording));
}

#[test]
fn compressed_data_that_end_too_early_are_a_gap() {
    let whole = gzip(&lines(&log()).join("\n"));
    let recording = of_file(&whole[..whole.len() - 12]).unwrap();
    assert_eq!(gaps(&recording).len(), 1);
    assert!(gaps(&recording)[0].contains("cut off"), "{:?}", gaps(&recording));
}

/// A write whose answer is not in the log is a gap, and the message names it.
#[rstest]
#[case::skipped(|entry: &mut Value| entry["responseObject"] = json!("skipped-too-big-size-object"),
    "the log lacks the answer to `update replicasets` of web-1: \"skipped-too-big-size-object\" stands for it")]
#[case::truncated(|entry: &mut Value| {
    entry.as_object_mut().unwrap().remove("responseObject");
    entry["annotations"] = json!({"audit.k8s.io/truncated": "true"});
}, "as the entry was too long (audit.k8s.io/truncated)")]
#[case::missing(|entry: &mut Value| entry["responseObject"] = Value::Null, "the entry of level RequestResponse has none")]
#[case::another_kind(|entry: &mut Value| entry["responseObject"] = json!({"kind": "Unknown"}), "it has another kind instead")]
fn a_write_without_its_answer_is_a_gap(#[case] change: fn(&mut Value), #[case] message: &str) {
    let mut log = log();
    change(&mut log.0[7]);
    let gaps = gaps(&log.import(&ImportQuery::default()).unwrap());
    assert!(gaps.len() == 1 && gaps[0].contains(message), "{gaps:?}");
}

/// Later versions show that the log lacks a write.
#[rstest]
#[case::of_a_spec(6, "a write of deployment web is not in the log: its generation is 3, and the log last had 1")]
#[case::of_a_pod(3, "replicaset web-1 counts 2 pods, and the log has shown 1")]
fn a_missing_write_is_a_gap(#[case] missing: usize, #[case] message: &str) {
    let mut log = log();
    let mut last = deployment(11, 1, 1);
    last["metadata"]["generation"] = json!(3);
    log = log.controller("update", "deployments web/status", last);
    if missing != 6 {
        log.0.pop();
    }
    log.0.remove(missing);
    let gaps = gaps(&log.import(&ImportQuery::default()).unwrap());
    assert!(gaps.len() == 1 && gaps[0] == message, "{gaps:?}");
}

/// The server stores an update only if it replaces the last version.
#[rstest]
#[case::the_last(5, None)]
#[case::an_unknown_one(
    6,
    Some("a write of replicaset web-1 is not in the log: version 6 was replaced, and the log last had 5")
)]
fn an_update_of_an_unknown_version_is_a_gap(#[case] replaced: u64, #[case] message: Option<&str>) {
    let mut log = log();
    log.0[7]["requestObject"] = set(replaced, 1, 2);
    let gaps = gaps(&log.import(&ImportQuery::default()).unwrap());
    assert_eq!(gaps.first().map(String::as_str), message);
}

#[test]
fn ready_count_without_ready_pods_is_a_gap() {
    let mut log = log();
    log.0[3]["responseObject"]["status"] = json!({});
    let gaps = gaps(&log.import(&ImportQuery::default()).unwrap());
    assert_eq!(gaps, ["replicaset web-1 counts 2 ready pods, and the log has shown 1"]);
}

#[test]
fn a_policy_without_statuses_is_a_gap() {
    let mut log = log();
    log.0.retain(|entry| entry["objectRef"]["subresource"] != "status");
    let gaps = gaps(&log.import(&ImportQuery::default()).unwrap());
    assert_eq!(gaps, ["the log has no write of deployments/status and replicasets/status"]);
}

#[rstest]
#[case(b"I0131 no audit log at all\n", "there is no entry of an audit log")]
#[case(b"", "there is no entry of an audit log")]
#[case(b"\x28\xb5\x2f\xfd more", "is compressed as zstd; decompress it first")]
#[case(
    b"{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"verb\":\"get\",\"objectRef\":{\"resource\":\"leases\"}}",
    "the log has no write of a deployment"
)]
fn what_has_nothing_is_refused(#[case] bytes: &[u8], #[case] message: &str) {
    let error = of_file(bytes).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

/// A megabyte of a compressed file can expand to a gigabyte.
#[test]
fn rejects_an_endless_value() {
    let endless = b"{}\n{\n\"a\":\n".chain(std::io::repeat(b' '));
    let refused = super::Log::default().add("audit.log", endless).unwrap_err().to_string();
    let why = "audit.log: the value that begins on line 2 is longer than 256 MiB; write one entry a line";
    assert!(refused.starts_with(why), "{refused}");
}
