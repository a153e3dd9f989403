//! Compares responses with those of a real kube-apiserver v1.36.3, with its controllers of
//! namespaces, service accounts and quotas where they matter.
//!
//! The random parity tests of the `lockstep` crate run without controllers, which quotas and the
//! deletion of namespaces need, and share a cluster, whose default PriorityClass
//! and IngressClass would change the pods and Ingresses of other sequences.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct RecordedScenarios {
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    name: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    method: String,
    path: String,
    #[serde(default, rename = "form")]
    content_type: String,
    #[serde(default)]
    accept: String,
    #[serde(default)]
    body: Value,
    code: u16,
    #[serde(default)]
    warning: String,
    /// The compared part of the response.
    #[serde(default, rename = "answer")]
    response: Value,
}

#[rstest]
#[case::quotas("quotas")]
#[case::requests("requests")]
#[case::namespaces("namespaces")]
#[case::roles("roles")]
#[case::ingress_classes("ingress-classes")]
#[case::network_policies("network-policies")]
#[case::priority_classes("priority-classes")]
#[case::times("times")]
#[case::host_ports("host-ports")]
#[case::json_patches("json-patches")]
#[case::managed_fields("managed-fields")]
#[case::pages("pages")]
#[case::owners("owners")]
#[case::paths("paths")]
#[case::long_names("long-names")]
#[case::pod_status("pod-status")]
#[case::container_warnings("container-warnings")]
#[case::pod_specs("pod-specs")]
#[case::custom_tables("custom-tables")]
#[case::budgets("budgets")]
#[case::secrets("secrets")]
#[case::services("services")]
#[case::applied_versions("applied-versions")]
#[case::applied_types("applied-types")]
#[case::limit_ranges("limit-ranges")]
#[case::limit_range_rules("limit-range-rules")]
#[case::custom_scales("custom-scales")]
#[case::custom_types("custom-types")]
#[case::custom_maps("custom-maps")]
#[case::custom_fields("custom-fields")]
#[case::custom_forms("custom-forms")]
#[case::custom_changes("custom-changes")]
#[case::custom_versions("custom-versions")]
#[case::custom_defaults("custom-defaults")]
#[tokio::test(start_paused = true)]
async fn matches_recorded_responses(#[case] file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/recorded/{file}.json"));
    let recorded: RecordedScenarios = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for scenario in &recorded.scenarios {
        let server = ApiServer::new();
        let name = format!("recorded-{}", scenario.name);
        let space = format!("/api/v1/namespaces/{name}");
        let created = json!({"metadata": {"name": name}}).to_string();
        send(&server, "POST", "/api/v1/namespaces", "", "", created).await;
        assert_eq!(send(&server, "GET", &space, "", "", String::new()).await.0, 200);
        for step in &scenario.steps {
            let fill = |text: &str| text.replace("$NS", &name);
            let body = if step.body.is_null() { String::new() } else { fill(&step.body.to_string()) };
            let (code, warning, response) =
                send(&server, &step.method, &fill(&step.path), &step.content_type, &step.accept, body).await;
            let compared = same_parts(&response, &step.response);
            let compared: Value =
                serde_json::from_str(&compared.to_string().replace(&name, "$NS")).expect("it was JSON");
            let warning = warning.replace(&name, "$NS");
            if (code, &warning, &compared) != (step.code, &step.warning, &step.response) {
                wrong.push(format!(
                    "{}: {} {}\n  {}\n  real {} {} {}\n  here {code} {warning} {compared}",
                    scenario.name, step.method, step.path, step.body, step.code, step.warning, step.response
                ));
            }
            tokio::time::advance(Duration::from_millis(100)).await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn send(
    server: &ApiServer,
    method: &str,
    path: &str,
    content_type: &str,
    accept: &str,
    body: String,
) -> (u16, String, Value) {
    let content_type = if content_type.is_empty() { "application/json" } else { content_type };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let request = if accept.is_empty() { request } else { request.header("accept", accept) };
    let response = server.handle(request.body(Full::<Bytes>::from(body)).expect("a request")).await;
    let warnings: Vec<&str> =
        response.headers().get_all("warning").iter().map(|value| value.to_str().expect("text")).collect();
    let warning = warnings.join(", ");
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
    (code, warning, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
}

/// The parts of a response that a recording has, without values that differ between servers.
fn same_parts(response: &Value, recorded: &Value) -> Value {
    match (response, recorded) {
        (_, Value::Null) => Value::Null,
        // Lists are compared item by item, as in conditions of which only the time is omitted.
        (Value::Array(items), Value::Array(known)) if items.len() == known.len() => {
            items.iter().zip(known).map(|(item, known)| same_parts(item, known)).collect()
        }
        (Value::Object(fields), Value::Object(known)) => {
            let none = Value::Null;
            let parts = known.iter().filter_map(|(name, part)| {
                let here = fields.get(name).unwrap_or(&none);
                (!here.is_null()).then(|| (name.clone(), same_parts(here, part)))
            });
            let mut parts: serde_json::Map<String, Value> = parts.collect();
            // These are compared completely: extra members are an error.
            for whole in ["used", "hard", "causes", "resources", "rules", "subjects"] {
                if let Some(here) = fields.get(whole).filter(|_| known.contains_key(whole)) {
                    parts.insert(whole.to_owned(), plain(here));
                }
            }
            Value::Object(parts)
        }
        (here, _) => plain(here),
    }
}

/// Replaces random characters and versions.
fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let text =
                [("current: ", "N"), ("in record (", "R")].into_iter().fold(text.clone(), |text, (start, word)| {
                    replaced(&text, start, |letter| letter.is_ascii_hexdigit() || letter == '-', word)
                });
            replaced(&text, "web-", |letter| letter.is_ascii_alphanumeric(), "RANDOM").into()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

/// Replaces the characters of a class that follow `start`, if any, by a word.
fn replaced(text: &str, start: &str, class: fn(char) -> bool, word: &str) -> String {
    let Some((before, after)) = text.split_once(start) else { return text.to_owned() };
    let rest = after.trim_start_matches(class);
    let word = if rest.len() == after.len() { "" } else { word };
    format!("{before}{start}{word}{rest}")
}
