//! Validates definitions and their objects like upstream's own code, with the same messages.
//!
//! `definitions/recorded.jsonl` has upstream's results for a sample. The test that compares many
//! more runs `definitions/oracle`, which is built from upstream's modules.

mod generate;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RECORDED: &str = include_str!("definitions/recorded.jsonl");

/// The code, the body and the warnings of a response.
async fn send(server: &ApiServer, method: Method, path: &str, body: &Value) -> (StatusCode, Value, Vec<String>) {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response = server.handle(request.body(Full::<bytes::Bytes>::from(body.to_string())).expect("a request")).await;
    let (code, headers) = (response.status(), response.headers().clone());
    let warnings =
        headers.get_all("warning").iter().map(|warning| warning.to_str().expect("text").to_owned()).collect();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default(), warnings)
}

/// The errors in a response, in the form of upstream's list; `None` for 501.
fn errors(code: StatusCode, body: &Value) -> Option<BTreeSet<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match code {
        StatusCode::CREATED | StatusCode::OK => Some(BTreeSet::new()),
        StatusCode::NOT_IMPLEMENTED => None,
        StatusCode::UNPROCESSABLE_ENTITY => {
            let causes = body["details"]["causes"].as_array().into_iter().flatten();
            Some(causes.map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"]))).collect())
        }
        _ => Some(BTreeSet::from([format!("decode: {}", text(&body["message"]))])),
    }
}

fn texts(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The differences between the results of this server and of upstream for a question. `refused`
/// counts the 501 responses.
async fn differences(question: &Value, response: &Value, refused: &mut usize) -> Vec<String> {
    let server = ApiServer::new();
    let definition = &question["definition"];
    let given = if question["old"].is_object() {
        let created = send(&server, Method::POST, DEFINITIONS, &question["old"]).await;
        // Upstream's code accepts a change of any definition, this server only of a stored one.
        if created.0 != StatusCode::CREATED {
            return Vec::new();
        }
        let path = format!("{DEFINITIONS}/{}", question["old"]["metadata"]["name"].as_str().unwrap_or_default());
        let stored = send(&server, Method::GET, &path, &Value::Null).await.1;
        let mut new = definition.clone();
        new["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        send(&server, Method::PUT, &path, &new).await
    } else {
        send(&server, Method::POST, DEFINITIONS, definition).await
    };
    let (code, body, warnings) = given;
    let mut all = Vec::new();
    let mut compare = |what: &str, ours: Option<BTreeSet<String>>, theirs: BTreeSet<String>| match ours {
        None => *refused += 1,
        Some(ours) if ours == theirs => {}
        // Neither can decode it; the messages differ.
        Some(ours) if [&ours, &theirs].iter().all(|all| all.iter().any(|one| one.starts_with("decode: "))) => {}
        // Upstream's server aborts the request.
        Some(ours) if !ours.is_empty() && theirs.iter().any(|one| one.starts_with("panic: ")) => {}
        Some(ours) => {
            let ours_only: Vec<&String> = ours.difference(&theirs).collect();
            let theirs_only: Vec<&String> = theirs.difference(&ours).collect();
            all.push(format!("{what}\n  only here: {ours_only:?}\n  only upstream: {theirs_only:?}"));
        }
    };
    compare(&format!("definition {question}"), errors(code, &body), texts(&response["errors"]));
    if code == StatusCode::CREATED {
        for warning in texts(&response["warnings"]) {
            let escaped = warning.replace('"', "\\\"");
            assert!(warnings.iter().any(|one| one.contains(&escaped)), "no warning {warning} in {warnings:?}");
        }
    }
    let spec = &definition["spec"];
    let scope = if spec["scope"] == "Namespaced" { "namespaces/default/" } else { "" };
    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, version) = (part(&spec["group"]), part(&spec["versions"][0]["name"]));
    let path = format!("/apis/{group}/{version}/{scope}{}", part(&spec["names"]["plural"]));
    let objects = question["objects"].as_array().into_iter().flatten();
    for (object, theirs) in objects.zip(response["objects"].as_array().into_iter().flatten()) {
        if code != StatusCode::CREATED || spec["versions"][0]["served"] != true {
            break;
        }
        let (code, body, _) = send(&server, Method::POST, &format!("{path}?dryRun=All"), object).await;
        compare(&format!("object {object} of {definition}"), errors(code, &body), texts(theirs));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn recorded_definitions_match_upstream() {
    let mut refused = 0;
    for line in RECORDED.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let found = differences(&recorded["asked"], &recorded["answer"], &mut refused).await;
        assert_eq!(found, Vec::<String>::new());
    }
    assert!(RECORDED.lines().count() >= 100 && refused < 10, "{refused} were refused");
}

/// The results of upstream. The program is built from modules of the Go module proxy.
fn answers(questions: &[Value]) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/definitions/oracle");
    let mut program = match std::env::var("DEFINITIONS_ORACLE") {
        Ok(program) => Command::new(program),
        Err(_) => {
            let mut go = Command::new("go");
            go.args(["run", "."]).current_dir(folder);
            go
        }
    };
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Go is installed");
    let mut input = child.stdin.take().expect("it is piped");
    let text: String = questions.iter().map(|question| format!("{question}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the oracle ends");
    writer.join().expect("it does not panic").expect("the oracle reads");
    String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn questions(seed: u64, count: usize) -> Vec<Value> {
    if let Ok(path) = std::env::var("DEFINITIONS_FROM") {
        let read = |line: &str| json!({"definition": serde_json::from_str::<Value>(line).expect("JSON")});
        return std::fs::read_to_string(path).expect("a file of definitions").lines().map(read).collect();
    }
    let mut rng = generate::Rng(seed);
    let question = |_| {
        let (definition, old) = generate::changed(&mut rng);
        let objects: Vec<Value> = (0..3).map(|_| generate::object_of(&mut rng, &definition)).collect();
        json!({"definition": definition, "old": old, "objects": objects})
    };
    (0..count).map(question).collect()
}

#[tokio::test(start_paused = true)]
#[ignore = "needs Go and upstream's modules; DEFINITIONS and SEED, or DEFINITIONS_FROM, choose which"]
async fn generated_definitions_match_upstream() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let count = usize::try_from(number("DEFINITIONS", 5000)).expect("a number");
    let questions = questions(number("SEED", 1), count);
    let answers = answers(&questions);
    assert_eq!(answers.len(), questions.len());
    let (mut refused, mut by_rules, mut valid, mut objects, mut found) = (0, 0, 0, 0, Vec::new());
    for (question, response) in questions.iter().zip(&answers) {
        found.extend(differences(question, response, &mut refused).await);
        by_rules += usize::from(!texts(&response["rules"]).is_empty());
        valid += usize::from(texts(&response["errors"]).is_empty());
        objects += response["objects"].as_array().map_or(0, Vec::len);
    }
    println!(
        "{} definitions, {valid} valid; {objects} objects; {refused} refused with 501; {by_rules} of which upstream \
         refuses rules in CEL",
        questions.len()
    );
    if let Ok(path) = std::env::var("RECORD") {
        let lines =
            questions.iter().zip(&answers).map(|(question, response)| json!({"asked": question, "answer": response}));
        std::fs::write(path, lines.map(|line| format!("{line}\n")).collect::<String>())
            .expect("the file can be written");
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
