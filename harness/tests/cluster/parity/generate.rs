//! Random sequences of requests, valid and not.

use kube_apiserver_sim::protobuf;
use serde_json::{Value, json};

use super::bodies::object;
use super::kinds::{KINDS, Kind};
use super::mutations::{mutation, put};
use super::patches::patch;
use super::rng::Rng;
use super::spell::{text, validation};
use super::step::{JSON, Step, step};
use super::subresources::parts;
use super::unsupported;

/// The number of requests in a sequence, not counting those that create its namespace.
const LENGTH: usize = 36;

/// The first steps of every sequence: its namespace, and what pods need in it.
pub(crate) fn beginning() -> Vec<Step> {
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$NS", "labels": {"seq": "$NS"}}});
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    vec![
        step("create", "Namespace", "POST", "/api/v1/namespaces".to_owned(), JSON, &space.to_string()),
        step(
            "create",
            "ServiceAccount",
            "POST",
            "/api/v1/namespaces/$NS/serviceaccounts".to_owned(),
            JSON,
            &account.to_string(),
        ),
    ]
}

/// A sequence, mostly about two or three kinds, so that its requests affect the same objects.
pub(crate) fn sequence(seed: u64) -> Vec<Step> {
    let mut rng = Rng::new(seed);
    let mut steps = beginning();
    let mut favourites = [rng.one(&KINDS), rng.one(&KINDS[..7]), rng.one(&KINDS)];
    // Some sequences evict pods, which disruption budgets may forbid.
    if rng.percent(4) {
        let named = |name: &str| *KINDS.iter().find(|kind| kind.kind == name).expect("it is one of them");
        favourites = [named("Pod"), named("PodDisruptionBudget"), named("Pod")];
    }
    // Some sequences write HorizontalPodAutoscalers in both versions.
    if rng.percent(4) {
        let of = |version: &str| *KINDS.iter().find(|kind| kind.version == version).expect("it is one of them");
        favourites = [of("autoscaling/v1"), of("autoscaling/v2"), of("autoscaling/v1")];
    }
    for kind in &favourites {
        for name in ["a", "b"] {
            // Most sequences begin by creating objects.
            let limited = kind.kind == "Pod" && favourites.iter().any(|one| one.kind == "LimitRange");
            if rng.percent(75) && !limited {
                let name = if kind.namespaced { name.to_owned() } else { format!("$NS-{name}") };
                let body = object(kind, &name, &mut rng);
                steps.push(step("create", kind.kind, "POST", kind.collection(), JSON, &body.to_string()));
            }
        }
    }
    // Some sequences delete the namespace in the middle.
    let ends = if rng.percent(10) { LENGTH / 2 } else { LENGTH };
    for number in 0..LENGTH {
        let kind = if rng.percent(85) { rng.one(&favourites) } else { rng.one(&KINDS) };
        if number == ends {
            steps.push(step("delete", "Namespace", "DELETE", "/api/v1/namespaces/$NS".to_owned(), "", ""));
        }
        let mut next =
            if number > ends && rng.percent(50) { create(&kind, &mut rng) } else { request(&kind, &mut rng) };
        maybe_dry_run(&mut next, &mut rng);
        maybe_use_other_formats(&mut next, &mut rng);
        // The order of several LimitRanges, and when the plugin sees one, is random.
        let limited = steps.iter().any(|step| step.kind == "LimitRange" && step.method != "GET");
        let makes = matches!(next.method.as_str(), "POST" | "PUT" | "PATCH") && next.kind == "Pod";
        if limited && makes && next.verb != "bind" {
            continue;
        }
        // The servers may keep histories of different lengths: one such watch is enough.
        if next.verb == "watch-old" && steps.iter().any(|step| step.verb == "watch-old") {
            continue;
        }
        steps.push(next);
    }
    // The object that ends a watch is created last, and is a pod for watches of pods.
    if steps.iter().any(|step| step.kind == "LimitRange" && step.method != "GET") {
        steps.retain(|step| step.kind != "Pod" || !step.is_watch());
    }
    if rng.percent(50) {
        let kind = rng.one(&KINDS);
        steps.push(unsupported::last(&kind, &mut rng));
    }
    steps
}

/// Sometimes sends or requests protobuf, YAML or tables.
fn maybe_use_other_formats(step: &mut Step, rng: &mut Rng) {
    // A generated name is read from the response's object, and a watch ends at an object.
    let whole = step.verb == "generate" || (step.is_watch() && step.path.contains("sendInitialEvents"));
    if step.verb != "odd" && !whole && rng.percent(10) {
        let forms = [
            "application/yaml",
            "application/yaml;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io,application/yaml;q=0.5",
        ];
        rng.one(&forms).clone_into(&mut step.accept);
        if step.accept.contains("Table") && !step.is_watch() && rng.percent(40) {
            let and = if step.path.contains('?') { '&' } else { '?' };
            let include = rng.one(&["None", "Object", "Metadata", "", "All"]);
            step.path += &format!("{and}includeObject={include}");
        }
    }
    let sends = matches!(step.method.as_str(), "POST" | "PUT") && step.form == JSON && rng.percent(5);
    if sends && let Ok(body) = serde_json::from_str::<Value>(&step.body) {
        // A watch's step has the ending object as its body. Values that are filled in later may
        // need quotes in YAML.
        if let Ok(text) = serde_yaml::to_string(&body)
            && !step.is_watch()
            && !step.body.contains('$')
        {
            (step.form, step.body) = ("application/yaml".to_owned(), text);
        }
    }
    if rng.percent(15) {
        let json = rng.one(&["", ",application/json", ";q=0.9,application/json;q=0.8"]);
        step.accept = format!("{}{json}", protobuf::MEDIA_TYPE);
    }
    let sends = matches!(step.method.as_str(), "POST" | "PUT") && step.form == JSON && rng.percent(20);
    // Without its version an Event's protobuf is read as core's, and never as the other version's;
    // the same holds for HorizontalPodAutoscalers.
    let has_forms = matches!(step.kind.as_str(), "Event" | "HorizontalPodAutoscaler");
    let is_encodable = |body: &Value| !has_forms || body["apiVersion"].as_str().is_some_and(|text| !text.is_empty());
    if sends
        && serde_json::from_str(&step.body)
            .is_ok_and(|body: Value| is_encodable(&body) && protobuf::encode(&body).is_ok())
    {
        step.form = protobuf::MEDIA_TYPE.to_owned();
    }
}

/// Sometimes makes a write a dry run.
fn maybe_dry_run(step: &mut Step, rng: &mut Rng) {
    let verb = match step.verb.as_str() {
        "create" | "create-strict" | "generate" => "dry-create",
        "replace" => "dry-replace",
        "json-patch" | "merge-patch" | "strategic-patch" => "dry-patch",
        "delete" => "dry-delete",
        "deletecollection" => "dry-deletecollection",
        "bind" | "evict" => "dry-part",
        verb if (verb.ends_with("-status") || verb.ends_with("-scale")) && !verb.starts_with("get") => "dry-part",
        _ => return,
    };
    if !rng.percent(10) {
        return;
    }
    let how = if rng.percent(90) { "All" } else { rng.one(&["", "all", "Some"]) };
    if how == "All" {
        step.verb = verb.to_owned();
    }
    // A deletion has all options in its body.
    match (step.method.as_str(), serde_json::from_str::<Value>(&step.body)) {
        ("DELETE", Ok(Value::Object(mut options))) => {
            options.insert("dryRun".to_owned(), json!([how]));
            step.body = Value::Object(options).to_string();
        }
        ("DELETE", _) if !step.body.is_empty() => {}
        _ => {
            let and = if step.path.contains('?') { '&' } else { '?' };
            step.path += &format!("{and}dryRun={how}");
        }
    }
}

fn request(kind: &Kind, rng: &mut Rng) -> Step {
    let roll = rng.next() % 100;
    match roll {
        0..21 => create(kind, rng),
        21..26 => {
            let path = format!("{}/{}", kind.collection(), kind.name(rng));
            step("get", kind.kind, "GET", path, "", "")
        }
        26..33 => list(kind, rng),
        33..38 => watch(kind, rng),
        38..49 => replace(kind, rng),
        49..62 => patch(kind, rng),
        62..80 => parts(kind, rng),
        80..90 => delete(kind, rng),
        90..97 => collection(kind, rng),
        _ => unusual_request(kind, rng),
    }
}

fn create(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let mut body = object(kind, &name, rng);
    let generate = rng.percent(10);
    if generate {
        body["metadata"]["name"] = Value::Null;
        // Each has its own base name, or their order would be random.
        let number = rng.next() % 10_000;
        let base = if kind.namespaced { rng.one(&["g", "made", "Bad"]) } else { "$NS-g" };
        body["metadata"]["generateName"] = format!("{base}-{number}-").into();
    }
    if rng.percent(45) {
        let (path, value) = mutation(kind, rng);
        put(&mut body, &path, value);
        // Cluster-scoped objects use the sequence's names.
        keep_apart(kind, &mut body);
    }
    let mut path = kind.collection();
    if kind.namespaced && rng.percent(2) {
        path = path.replace("$NS", rng.one(&["$NS-a", "$NS-none"]));
    }
    let validation = validation(rng);
    if validation.contains("Strict") && rng.percent(30) {
        put(&mut body, rng.one(&["/zeta", "/metadata/zeta", "/spec/alpha", "/Kind", "/metadata/Name"]), json!(1));
    }
    let strict = validation.contains("Strict");
    let verb = if generate {
        "generate"
    } else if strict {
        "create-strict"
    } else {
        "create"
    };
    step(verb, kind.kind, "POST", path + validation, JSON, &text(&body, rng))
}

fn keep_apart(kind: &Kind, body: &mut Value) {
    if kind.namespaced || !body["metadata"].is_object() {
        return;
    }
    match body["metadata"]["name"].as_str() {
        Some(name) if !name.is_empty() && !name.contains("$NS") => {
            body["metadata"]["name"] = format!("$NS-{name}").into();
        }
        _ => {}
    }
}

fn list(kind: &Kind, rng: &mut Rng) -> Step {
    let mut query = Vec::new();
    let own = if kind.namespaced { "" } else { "seq=$NS" };
    let labels = if rng.percent(50) {
        rng.one(&[
            "app=a",
            "app==b",
            "app!=a",
            "app in (a,b)",
            "app notin (a)",
            "tier",
            "!tier",
            "app=a,tier=x",
            "app in (a",
            "a b",
            "app=not valid!",
            "=x",
            "app=",
            "app>1",
        ])
    } else {
        ""
    };
    let labels: Vec<&str> = [own, labels].into_iter().filter(|text| !text.is_empty()).collect();
    if !labels.is_empty() {
        query.push(format!("labelSelector={}", escape(&labels.join(","))));
    }
    if rng.percent(20) {
        let fields = [
            "metadata.name=a",
            "metadata.name!=a",
            "metadata.namespace=$NS",
            "spec.nodeName=n1",
            "status.phase=Pending",
            "type=Normal",
            "reason=Made",
            "spec.replicas=1",
            "bogus",
            "status.replicas=0",
            "type=Opaque",
            "spec.unschedulable=true",
            "status.phase=Active",
            "involvedObject.name=a",
            "regarding.name=a",
            "reportingController=example.com/parity",
        ];
        query.push(format!("fieldSelector={}", escape(rng.one(&fields))));
    }
    let mut verb = "list";
    let mut limited = false;
    if rng.percent(20) && kind.namespaced {
        query.push(format!("limit={}", rng.one(&["1", "2", "100"])));
        limited = true;
        verb = "list-page";
        if rng.percent(40) {
            query.push(rng.one(&["continue=${continue}", "continue=bogus"]).to_owned());
        }
    }
    if rng.percent(20) {
        if !limited {
            verb = "list-at";
        }
        query.push(
            rng.one(&[
                "resourceVersion=0&resourceVersionMatch=Exact",
                "resourceVersion=$here",
                "resourceVersion=$here&resourceVersionMatch=NotOlderThan",
                "resourceVersion=$here&resourceVersionMatch=Exact",
                "resourceVersion=$here&resourceVersionMatch=Exact",
                "sendInitialEvents=true",
                "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                "timeoutSeconds=x",
                "resourceVersion=abc",
                "resourceVersionMatch=Exact",
                "resourceVersion=1&resourceVersionMatch=Odd",
                "limit=x",
            ])
            .to_owned(),
        );
    }
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    step(verb, kind.kind, "GET", kind.collection() + &query, "", "")
}

fn escape(text: &str) -> String {
    text.replace('=', "%3D")
        .replace('!', "%21")
        .replace(',', "%2C")
        .replace(' ', "%20")
        .replace('(', "%28")
        .replace(')', "%29")
        .replace('>', "%3E")
}

fn watch(kind: &Kind, rng: &mut Rng) -> Step {
    let mut marker = object(kind, if kind.namespaced { "zz" } else { "$NS-zz" }, &mut Rng::new(1));
    let mut labels = json!({"app": "a"});
    if !kind.namespaced {
        labels["seq"] = "$NS".into();
    }
    marker["metadata"]["labels"] = labels;
    if kind.workload() {
        marker["spec"]["selector"] = json!({"matchLabels": {"app": "a"}});
        marker["spec"]["template"]["metadata"]["labels"] = json!({"app": "a"});
    }
    marker["metadata"]["name"] =
        format!("{}-{}", marker["metadata"]["name"].as_str().unwrap_or_default(), rng.next() % 1000).into();
    let own = if kind.namespaced { "" } else { "seq=$NS," };
    let selector = rng.one(&["", "", "app=a", "app in (a,b)", "app!=b"]);
    let selector = format!("{own}{selector}");
    let selector = escape(selector.trim_end_matches(','));
    let (verb, from) = rng.one(&[
        ("watch", "resourceVersion=$here"),
        ("watch", "resourceVersion=$here"),
        ("watch", "resourceVersion=$here&allowWatchBookmarks=true"),
        ("watch", "resourceVersion=$here&fieldSelector=metadata.name%21%3Da"),
        ("watch", "resourceVersion="),
        ("watch", "allowWatchBookmarks=true"),
        ("watch-initial", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        (
            "watch-initial",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=$made",
        ),
        ("watch-old", "resourceVersion=1"),
        ("watch-odd", "sendInitialEvents=true"),
        ("watch-odd", "resourceVersion=$here&resourceVersionMatch=NotOlderThan"),
        ("watch-odd", "sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true"),
        ("watch-odd", "resourceVersion=abc"),
        ("watch-odd", "timeoutSeconds=x"),
        ("watch-odd", "resourceVersion=$here&fieldSelector=bogus%3D1"),
    ]);
    let path = format!("{}?watch=true&{from}&labelSelector={selector}", kind.collection());
    step(verb, kind.kind, "GET", path, JSON, &marker.to_string())
}

fn replace(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let mut body = object(kind, &name, rng);
    if rng.percent(25) {
        let key = format!("{}/{name}", kind.plural);
        let version = rng.one(&["${rv:", "${rv:", "${rv0:"]);
        body["metadata"]["resourceVersion"] = format!("{version}{key}}}").into();
    }
    if rng.percent(15) {
        body["metadata"]["uid"] = format!("${{uid:{}/{name}}}", kind.plural).into();
    }
    if rng.percent(40) {
        let (path, value) = mutation(kind, rng);
        put(&mut body, &path, value);
        keep_apart(kind, &mut body);
    }
    let path = format!("{}/{name}{}", kind.collection(), validation(rng));
    step("replace", kind.kind, "PUT", path, JSON, &text(&body, rng))
}

fn options(kind: &Kind, name: &str, rng: &mut Rng) -> (String, String) {
    let key = format!("{}/{name}", kind.plural);
    let mut body = json!({});
    if rng.percent(30) {
        body["gracePeriodSeconds"] = rng.one(&[0, 0, 5, 1, -1]).into();
    }
    if rng.percent(35) {
        body["propagationPolicy"] = rng.one(&["Background", "Foreground", "Orphan", "Sometime"]).into();
    }
    if rng.percent(15) {
        body["preconditions"] = rng.one(&[
            json!({"uid": format!("${{uid:{key}}}")}),
            json!({"uid": "00000000-0000-4000-8000-000000000000"}),
            json!({"resourceVersion": format!("${{rv:{key}}}")}),
            json!({"resourceVersion": format!("${{rv0:{key}}}")}),
            json!({"resourceVersion": "1"}),
        ]);
    }
    if rng.percent(5) {
        let (name, value) = rng.one(&[
            ("unknown", json!(1)),
            ("gracePeriodSeconds", json!("x")),
            ("apiVersion", json!(1)),
            ("apiVersion", json!("v1")),
        ]);
        body[name] = value;
    }
    if rng.percent(8) {
        let query = rng.one(&[
            "?gracePeriodSeconds=0",
            "?propagationPolicy=Orphan",
            "?propagationPolicy=Odd",
            "?gracePeriodSeconds=x",
            "?propagationPolicy=Foreground&gracePeriodSeconds=3",
        ]);
        return (query.to_owned(), String::new());
    }
    let empty = body.as_object().is_some_and(serde_json::Map::is_empty);
    (String::new(), if empty && rng.percent(80) { String::new() } else { text(&body, rng) })
}

fn delete(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let (query, body) = options(kind, &name, rng);
    let form = if body.is_empty() { "" } else { JSON };
    step("delete", kind.kind, "DELETE", format!("{}/{name}{query}", kind.collection()), form, &body)
}

fn collection(kind: &Kind, rng: &mut Rng) -> Step {
    let (query, mut body) = options(kind, "a", rng);
    if rng.percent(15) {
        body = json!({"propagationPolicy": "Sometime"}).to_string();
    }
    let own = if kind.namespaced { "" } else { "seq=$NS," };
    let selector = rng.one(&["app=a", "app=b", "app", "app in (a", ""]);
    // The objects of the sequence's beginning are not deleted.
    let selector =
        if matches!(kind.kind, "ServiceAccount" | "Namespace") && selector.is_empty() { "app=a" } else { selector };
    let selector = escape(format!("{own}{selector}").trim_end_matches(','));
    let query = if query.is_empty() { "?".to_owned() } else { format!("{query}&") };
    let form = if body.is_empty() { "" } else { JSON };
    let fields =
        if rng.percent(15) { rng.one(&["&fieldSelector=metadata.name%3Da", "&fieldSelector=bogus%3Da"]) } else { "" };
    let path = format!("{}{query}labelSelector={selector}{fields}", kind.collection());
    // Namespaces cannot be deleted as a collection.
    let verb = if kind.kind == "Namespace" { "odd" } else { "deletecollection" };
    step(verb, kind.kind, "DELETE", path, form, &body)
}

fn unusual_request(kind: &Kind, rng: &mut Rng) -> Step {
    let at = format!("{}/{}", kind.collection(), kind.name(rng));
    let any = object(kind, "a", rng).to_string();
    match rng.next() % 9 {
        0 => step("odd", kind.kind, "POST", at, JSON, &any),
        1 => step("odd", kind.kind, "PUT", kind.collection(), JSON, &any),
        2 => step("odd", kind.kind, "PATCH", at, JSON, "{}"),
        3 => step("odd", kind.kind, "PATCH", at, "text/plain", "{}"),
        4 => step("odd", kind.kind, "POST", kind.collection(), "text/plain", &any),
        5 => step("odd", kind.kind, "GET", format!("{at}/nothing"), "", ""),
        6 => step("odd", kind.kind, "PUT", format!("{at}/status"), JSON, "{}"),
        7 => step("odd", kind.kind, "GET", format!("{at}/scale"), "", ""),
        _ => step(
            "odd",
            "-",
            "GET",
            rng.one(&["/apis/apps", "/nothing", "/apis/none.example.com/v1", "/healthz", "/apis/apps/v2"]).to_owned(),
            "",
            "",
        ),
    }
}
