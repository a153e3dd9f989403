//! Plays a sequence on one server and replaces the values in responses that differ between servers.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::{BodyExt, BodyStream, Full};
use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
use kube_apiserver_sim::{ApiServer, protobuf};
use serde_json::{Value, json};

use super::step::{Answer, Step};

/// How long a watch may delay an event.
const PATIENCE: Duration = Duration::from_secs(5);

/// The target of the requests.
pub(crate) enum Server {
    Real(kube::Client),
    Sim(ApiServer),
}

type Error = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Frames = Pin<Box<dyn futures::Stream<Item = Result<Bytes, Error>> + Send>>;

impl Server {
    pub(crate) async fn send(&self, step: &Step) -> Result<(u16, Vec<String>, Frames), Error> {
        let path = step.path.replace(' ', "%20");
        let accept = if step.accept.is_empty() { "application/json" } else { &step.accept };
        let mut request = Request::builder().method(step.method.as_str()).uri(path).header("accept", accept);
        if !step.form.is_empty() {
            request = request.header("content-type", &step.form);
        }
        let body = match step.form.as_str() {
            protobuf::MEDIA_TYPE => protobuf::encode(&serde_json::from_str(&step.body)?)?,
            _ => step.body.clone().into_bytes(),
        };
        match self {
            Self::Real(client) => Ok(read(client.send(request.body(kube::client::Body::from(body))?).await?)),
            Self::Sim(sim) => Ok(read(sim.handle(request.body(Full::new(Bytes::from(body)))?).await)),
        }
    }
}

fn read<B>(answer: Response<B>) -> (u16, Vec<String>, Frames)
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Error>,
{
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
    let code = answer.status().as_u16();
    let frames = BodyStream::new(answer.into_body().map_err(Into::into).boxed_unsync());
    let frames = frames.filter_map(|frame| async { frame.map(|frame| frame.into_data().ok()).transpose() });
    (code, warnings, Box::pin(frames))
}

/// Values from one server's responses that steps use and that are replaced in responses.
#[derive(Default)]
struct Placeholders {
    namespace: String,
    /// By `plural/name`: uid, first and latest version.
    objects: BTreeMap<String, (String, String, String)>,
    generated: Vec<String>,
    /// The `generateName`s of requests.
    bases: Vec<String>,
    place: String,
    uids: Vec<String>,
    versions: Vec<String>,
}

/// Plays the steps in a namespace that they create. Returns a response for each; watches are read
/// at the end.
pub(crate) async fn play(server: &Server, namespace: &str, steps: &[Step]) -> Result<Vec<Answer>, Error> {
    let mut placeholders = Placeholders { namespace: namespace.to_owned(), ..Placeholders::default() };
    let mut answers: Vec<Answer> = Vec::new();
    let mut watches: Vec<(usize, Step)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let mut step = placeholders.filled(step);
        if step.path.contains("$here") {
            step.path = step.path.replace("$here", &current_version(server, namespace).await?);
        }
        if step.is_unsupported() {
            // Watches must not see an effect that only the real server has.
            for (index, step) in watches.drain(..) {
                answers[index] = run_watch(server, &step, &mut placeholders).await?;
            }
        }
        if step.is_watch() {
            watches.push((index, step));
            answers.push(Answer { code: 0, warnings: Vec::new(), body: Value::Null });
            continue;
        }
        let sent = serde_yaml::from_str::<Value>(&step.body).unwrap_or_default();
        if let Some(base) = sent["metadata"]["generateName"].as_str() {
            placeholders.bases.push(base.replace(namespace, "$NS"));
        }
        let (code, warnings, body) = send_and_collect(server, &step).await?;
        placeholders.learn(&body);
        // The real server may warn about a deleted object, which it patched in its cache before it
        // found out.
        let is_comparable = step.method != "PATCH" || code != 404;
        let warnings = warnings.iter().filter(|_| is_comparable).map(|text| placeholders.text(text)).collect();
        let body = placeholders.normal(body);
        answers.push(Answer { code, warnings, body });
    }
    for (index, step) in watches {
        answers[index] = run_watch(server, &step, &mut placeholders).await?;
    }
    Ok(answers)
}

/// The definition of the custom resource in sequences.
const DEFINITION: &str = include_str!("widgets.json");

/// Creates the definition and waits until the resource is served.
pub(crate) async fn define(server: &Server) -> Result<(), Error> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned();
    let form = "application/json".to_owned();
    let make = Step { method: "POST".to_owned(), path, form, body: DEFINITION.to_owned(), ..get() };
    let (code, _, body) = send_and_collect(server, &make).await?;
    if !matches!(code, 201 | 409) {
        return Err(format!("the definition of widgets: {body}").into());
    }
    for _ in 0..100 {
        let list = Step { path: "/apis/parity.example.com/v1/widgets".to_owned(), ..get() };
        if send_and_collect(server, &list).await?.0 == 200 {
            return Ok(());
        }
        lockstep_support::clock::pause(Duration::from_millis(100)).await;
    }
    Err("widgets are not served".into())
}

/// An object or event without server-specific values.
pub(crate) fn without_server_values(namespace: &str, body: Value) -> Value {
    Placeholders { namespace: namespace.to_owned(), ..Placeholders::default() }.normal(body)
}

fn get() -> Step {
    let text = String::new;
    Step {
        verb: text(),
        kind: text(),
        method: "GET".to_owned(),
        path: text(),
        form: text(),
        accept: text(),
        body: text(),
    }
}

pub(crate) async fn send_and_collect(server: &Server, step: &Step) -> Result<(u16, Vec<String>, Value), Error> {
    let (code, warnings, mut frames) = server.send(step).await?;
    let mut bytes = Vec::new();
    while let Some(frame) = frames.next().await {
        bytes.extend_from_slice(&frame?);
    }
    let body = protobuf::decode(&bytes).ok().or_else(|| serde_json::from_slice(&bytes).ok());
    let yaml = || serde_yaml::from_slice::<Value>(&bytes).ok().filter(Value::is_object);
    let mut body = body.or_else(yaml);
    if let Some(table) = body.as_mut().filter(|body| body["kind"] == "Table") {
        without_prose(table);
    }
    let body = body.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned().into());
    Ok((code, warnings, body))
}

/// Removes descriptions and ages from a table.
fn without_prose(table: &mut Value) {
    for column in table["columnDefinitions"].as_array_mut().into_iter().flatten() {
        column["description"] = Value::Null;
    }
    for row in table["rows"].as_array_mut().into_iter().flatten() {
        for condition in row["conditions"].as_array_mut().into_iter().flatten() {
            condition["message"] = Value::Null;
        }
        for cell in row["cells"].as_array_mut().into_iter().flatten() {
            if cell.as_str().and_then(|text| text.strip_suffix('s')).is_some_and(|age| age.parse::<u64>().is_ok()) {
                *cell = "$AGE".into();
            }
            if let Some(without_random_values) = cell.as_str().and_then(without_random_values) {
                *cell = without_random_values.into();
            }
        }
    }
}

/// Replaces a Service's address or node ports in a table cell, which each server assigns randomly.
fn without_random_values(cell: &str) -> Option<String> {
    if cell.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.octets()[..2] >= [10, 96][..]) {
        return Some("<address>".to_owned());
    }
    let port = |port: &str| {
        let (number, rest) = port.split_once(':')?;
        let (node, protocol) = rest.split_once('/')?;
        (number.parse::<u16>().is_ok() && node.parse::<u16>().is_ok())
            .then(|| format!("{number}:<node port>/{protocol}"))
    };
    let ports: Vec<Option<String>> = cell.split(',').map(port).collect();
    let some = ports.iter().any(Option::is_some);
    let parts =
        ports.into_iter().zip(cell.split(',')).map(|(port, as_it_is)| port.unwrap_or_else(|| as_it_is.to_owned()));
    some.then(|| parts.collect::<Vec<_>>().join(","))
}

/// Whether this is an Event of the real server's IP repair loop, which may run while a Service is
/// being created.
fn is_repair(object: &Value) -> bool {
    object["kind"] != "Status" && object["action"] == "ClusterIPAllocation"
}

/// Sorts list items with generated names last, in order of creation.
fn sort_generated_last(list: &mut Value) {
    let without_random_values = |item: &Value| {
        let object = if item["object"].is_object() { &item["object"] } else { item };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let version = || object["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
        if name.len() == 36 && is_uid(name) { (true, version().unwrap_or(0)) } else { (false, 0) }
    };
    for name in ["items", "rows"] {
        if let Some(items) = list.get_mut(name).and_then(Value::as_array_mut) {
            items.retain(|item| !is_repair(if item["object"].is_object() { &item["object"] } else { item }));
            items.sort_by_key(without_random_values);
        }
    }
}

/// The current resourceVersion, from an empty list.
async fn current_version(server: &Server, namespace: &str) -> Result<String, Error> {
    let list = Step { path: format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector=no=no"), ..get() };
    let (_, _, body) = send_and_collect(server, &list).await?;
    Ok(body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned())
}

/// Opens a watch, creates an object that ends it, and reads until that object.
async fn run_watch(server: &Server, step: &Step, placeholders: &mut Placeholders) -> Result<Answer, Error> {
    let marker = Step { method: "POST".to_owned(), form: "application/json".to_owned(), ..step.clone() };
    let marker = Step { path: marker.path.split('?').next().unwrap_or_default().to_owned(), ..marker };
    let name = serde_json::from_str::<Value>(&step.body)?["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let (made, _, _) = send_and_collect(server, &marker).await?;
    if made >= 300 {
        // No event would end it.
        return Ok(Answer { code: 0, warnings: Vec::new(), body: json!({"made": made}) });
    }
    let mut open = Step { body: String::new(), form: String::new(), ..step.clone() };
    let not_older = open.path.contains("$made");
    if not_older {
        open.path = open.path.replace("$made", &current_version(server, &placeholders.namespace).await?);
    }
    let (code, warnings, mut frames) = server.send(&open).await?;
    let mut events = Vec::new();
    let mut rest = Vec::new();
    'reading: loop {
        let frame = tokio::time::timeout(PATIENCE, frames.next()).await;
        let Ok(Some(frame)) = frame else { break };
        rest.extend_from_slice(&frame?);
        if code != 200 {
            continue;
        }
        while let Some(mut event) = event(&mut rest, step.accept.contains("protobuf"))? {
            if event["object"]["kind"] == "Table" {
                without_prose(&mut event["object"]);
            }
            let synthetic = event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
            if event["type"] == "BOOKMARK" && (synthetic || not_older) {
                limit_bookmark(&mut event, &events);
            }
            let object = if event["object"]["kind"] == "Table" {
                &event["object"]["rows"][0]["object"]
            } else {
                &event["object"]
            };
            let ends = object["metadata"]["name"] == *name && event["type"] == "ADDED";
            let bookmarks = event["type"] == "BOOKMARK" && !synthetic;
            if !bookmarks && !is_repair(&event["object"]) {
                events.push(event);
            }
            // With initial events the bookmark after them ends the watch; several kinds of one name
            // are sorted by name.
            if (ends && !step.path.contains("sendInitialEvents")) || synthetic {
                break 'reading;
            }
        }
    }
    if code != 200 && events.is_empty() {
        events = vec![serde_json::from_slice(&rest).unwrap_or(Value::Null)];
    }
    let body = Value::Array(events.into_iter().map(|event| placeholders.normal(event)).collect());
    Ok(Answer { code, warnings, body: json!({"made": made, "events": body}) })
}

/// Removes the first event from a watch's buffer.
fn event(rest: &mut Vec<u8>, protobuf: bool) -> Result<Option<Value>, Error> {
    if protobuf && rest.first() != Some(&b'{') {
        let event = protobuf::WireEvent::take(rest)?;
        return event
            .map(|event| Ok(json!({"type": event.kind, "object": protobuf::decode(&event.object)?})))
            .transpose();
    }
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let line: Vec<u8> = rest.drain(..=end).collect();
    Ok(Some(serde_json::from_slice(&line)?))
}

/// The version of the bookmark after initial events is random: the real server renews a lease every
/// ten seconds, which advances it. It only must not precede the events before it, including the
/// object that ends the watch.
fn limit_bookmark(bookmark: &mut Value, earlier_events: &[Value]) {
    let version =
        |event: &Value| event["object"]["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
    let at: u64 = version(bookmark).unwrap_or(0);
    let whole = earlier_events.iter().filter_map(version).all(|version| version <= at);
    bookmark["object"]["metadata"]["resourceVersion"] = if whole { "<far enough>" } else { "<too early>" }.into();
}

impl Placeholders {
    /// The step with its placeholders replaced.
    fn filled(&self, step: &Step) -> Step {
        Step { path: self.fill(&step.path), body: self.fill(&step.body), ..step.clone() }
    }

    fn fill(&self, text: &str) -> String {
        let text = text.replace("$NS", &self.namespace);
        let mut parts = text.split("${");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let Some((word, rest)) = part.split_once('}') else {
                filled += "${";
                filled += part;
                continue;
            };
            let (what, which) = word.split_once(':').unwrap_or((word, ""));
            let object = self.objects.get(which);
            let value = match what {
                "uid" => object.map(|object| object.0.clone()),
                "rv0" => object.map(|object| object.1.clone()),
                "rv" => object.map(|object| object.2.clone()),
                "gen" => which.parse::<usize>().ok().and_then(|at| self.generated.get(at.wrapping_sub(1)).cloned()),
                _ => Some(self.place.clone()),
            };
            // A missing object gives the same text on both servers.
            filled += &value.unwrap_or_else(|| "999999999".to_owned());
            filled += rest;
        }
        filled
    }

    /// Stores the values that later steps use.
    fn learn(&mut self, body: &Value) {
        let meta = &body["metadata"];
        let text = |name: &str| meta[name].as_str().unwrap_or_default().to_owned();
        if let Some(place) = meta["continue"].as_str() {
            self.place = place.to_owned();
        }
        let (name, uid, version) = (text("name"), text("uid"), text("resourceVersion"));
        if name.is_empty() || uid.is_empty() || body["kind"] == "Scale" {
            return;
        }
        if !text("generateName").is_empty() && !self.generated.contains(&name.replace(&self.namespace, "$NS")) {
            self.generated.push(name.replace(&self.namespace, "$NS"));
        }
        let plural = format!("{}s", body["kind"].as_str().unwrap_or_default().to_lowercase());
        let object = self
            .objects
            .entry(format!("{plural}/{name}"))
            .or_insert_with(|| (uid.clone(), version.clone(), version.clone()));
        object.0 = uid;
        object.2 = version;
    }

    /// A response without server-specific values.
    fn normal(&mut self, mut body: Value) -> Value {
        let is_list = body.get("items").is_some() || body["kind"] == "Table";
        if is_list {
            sort_generated_last(&mut body);
        }
        if let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut).filter(|_| is_list) {
            meta.insert("resourceVersion".to_owned(), "<list>".into());
            if meta.contains_key("continue") {
                meta.insert("continue".to_owned(), "<place>".into());
            }
        }
        self.value(body)
    }

    fn value(&mut self, value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                // managedFields have uids in keys, sorted as text: these are numbered by their
                // occurrence elsewhere.
                let (managers, others): (Vec<_>, Vec<_>) =
                    fields.into_iter().partition(|(name, _)| name == "managedFields");
                let fields = others.into_iter().chain(managers).map(|(name, value)| match (name.as_str(), value) {
                    // Upstream orders managers by map order.
                    ("causes", Value::Array(mut causes))
                        if causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict") =>
                    {
                        causes.sort_by_key(|cause| format!("{}{}", cause["message"], cause["field"]));
                        (name, self.value(causes.into()))
                    }
                    // The order depends on the servers' times.
                    ("managedFields", Value::Array(mut entries)) => {
                        entries.sort_by_key(|entry| {
                            let said = |name: &str| entry[name].to_string();
                            ["manager", "operation", "subresource", "apiVersion"].map(said)
                        });
                        (name, self.value(entries.into()))
                    }
                    // Addresses and ports that each server assigns randomly.
                    ("clusterIP", Value::String(text)) if text.parse::<std::net::Ipv4Addr>().is_ok() => {
                        (name, "<address>".into())
                    }
                    ("clusterIPs", Value::Array(all)) if all != [json!("None")] => (name, "<addresses>".into()),
                    ("nodePort", Value::Number(_)) => (name, "<node port>".into()),
                    ("resourceVersion", Value::String(text)) if text.parse::<u64>().is_ok() => {
                        let number = number(&mut self.versions, &text);
                        (name, format!("<version {number}>").into())
                    }
                    (_, value) => (self.text(&name), self.value(value)),
                });
                let mut fields = Value::Object(fields.collect());
                without_random_order(&mut fields);
                fields
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::String(text) => self.text(&text).into(),
            other => other,
        }
    }

    /// A text with uids, times, versions and generated names replaced.
    fn text(&mut self, text: &str) -> String {
        let mut text = text.replace(&self.namespace, "$NS");
        for (index, name) in self.generated.iter().enumerate() {
            text = text.replace(name, &format!("<generated {}>", index + 1));
        }
        let mut replaced = String::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            if rest.len() >= 36 && rest.is_char_boundary(36) && is_uid(&rest[..36]) {
                let number = number(&mut self.uids, &rest[..36]);
                replaced += &format!("<uid {number}>");
                rest = &rest[36..];
            } else if let Some(length) = time(rest) {
                replaced += "<time>";
                rest = &rest[length..];
            } else if let Some(after) = rest.strip_prefix("kube-api-access-") {
                replaced += "kube-api-access-<random>";
                rest = after.get(5..).unwrap_or_default();
            } else {
                replaced.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        // The real server prints Go values where a pod's spec is immutable.
        if let Some(at) = replaced.find("\n@@ ") {
            replaced.truncate(at);
            if replaced.contains(" is invalid: [") {
                replaced.push(']');
            }
        }
        // The real server prints the whole object with managedFields where a patch makes it
        // invalid.
        if let (Some(at), Some(end)) = (replaced.find("patch: Invalid value: \""), replaced.rfind("\": ")) {
            let from = at + "patch: Invalid value: \"".len();
            if from < end {
                replaced.replace_range(from..end, "<object>");
            }
        }
        if let (true, Some(end)) = (replaced.starts_with("Invalid value: \"{"), replaced.rfind("}\": ")) {
            replaced.replace_range("Invalid value: \"".len()..=end, "<object>");
        }
        if let (true, Some(end)) = (replaced.starts_with("Invalid value: \"map["), replaced.rfind("]\": ")) {
            replaced.replace_range("Invalid value: \"".len()..=end, "<object>");
        }
        // The real server prints a Job's immutable template as a Go value.
        let fixed = "}: field is immutable";
        let from = replaced.find("spec.template: Invalid value: {").map(|at| at + "spec.template: ".len());
        let from = from.or_else(|| replaced.starts_with("Invalid value: {").then_some(0));
        if let Some(from) = from
            && let Some(end) = replaced[from..].find(fixed)
            && replaced[from..from + end].contains("ontainers\":")
        {
            replaced.replace_range(from + "Invalid value: ".len()..=from + end, "<template>");
        }
        // An address that each server assigns randomly.
        if let Some(at) = replaced.find("IPAddress.networking.k8s.io \"") {
            let from = at + "IPAddress.networking.k8s.io \"".len();
            let length = replaced[from..].find('"').unwrap_or(0);
            replaced.replace_range(from..from + length, "<address>");
        }
        // The cut body may end within a uid.
        if let (Some(at), true) = (replaced.rfind("\"uid\":\""), replaced.ends_with(" ...)")) {
            let (from, end) = (at + "\"uid\":\"".len(), replaced.len() - " ...)".len());
            if from < end && replaced[from..end].bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()) {
                replaced.replace_range(from..end, "<part>");
            }
        }
        // Generated names of objects that were then rejected.
        for base in &self.bases {
            let mut from = 0;
            while let Some(at) = replaced[from..].find(base).map(|at| from + at) {
                from = at + base.len();
                let letter = |byte: u8| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte);
                let made = replaced.get(from..from + 5).is_some_and(|end| end.bytes().all(letter));
                let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
                if made && replaced.get(from + 5..).is_some_and(ends) {
                    replaced.replace_range(from..from + 5, "<random>");
                }
            }
        }
        let lower = replaced.to_lowercase();
        if lower.contains("resourceversion") || lower.contains("resource version") {
            without_versions(&replaced)
        } else {
            replaced
        }
    }
}

/// Upstream lists the errors of a custom resource in map order.
fn with_sorted_causes(status: &mut Value) {
    if status["details"]["kind"] != "Widget" {
        return;
    }
    let Some(causes) = status["details"]["causes"].as_array_mut() else { return };
    causes.sort_by_key(|cause| format!("{}{}", cause["field"], cause["message"]));
    let replaced: Vec<String> = causes.iter().map(ToString::to_string).collect();
    status["message"] = format!("{} causes: {}", replaced.len(), replaced.join(", ")).into();
}

/// Sorts finalizers, whose order is random when a namespace's deletion changes them.
fn without_random_order(object: &mut Value) {
    with_sorted_causes(object);
    if object["status"]["phase"] == "Terminating"
        && let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut()
    {
        finalizers.sort_by_key(ToString::to_string);
    }
}

/// Replaces numbers with two or more digits, which are versions.
fn without_versions(text: &str) -> String {
    let mut replaced = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        replaced += if digits.is_empty() { "" } else { "<n>" };
        digits.clear();
        if c != '\0' {
            replaced.push(c);
        }
    }
    replaced
}

fn number(known_values: &mut Vec<String>, text: &str) -> usize {
    if let Some(at) = known_values.iter().position(|one| one == text) {
        return at + 1;
    }
    known_values.push(text.to_owned());
    known_values.len()
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    })
}

/// The length of a timestamp at the start of a text. Timestamps from requests stay: they are of the
/// past century.
fn time(text: &str) -> Option<usize> {
    let form = "0000-00-00T00:00:00";
    let head = text.get(..form.len())?;
    let fits = head
        .bytes()
        .zip(form.bytes())
        .all(|(byte, wanted)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted });
    if !fits || head.starts_with("19") {
        return None;
    }
    let rest = &text[form.len()..];
    let fraction = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    rest[fraction..].starts_with('Z').then_some(form.len() + fraction + 1)
}
