//! Random sequences of requests, valid and not.

use kube_apiserver_sim::protobuf;
use serde_json::{Value, json};

use super::bodies::{KINDS, Kind, mutation, object, put, status};
use super::rng::Rng;
use super::spell::text;
use super::step::Step;
use super::unsupported;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

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

fn step(verb: &str, kind: &str, method: &str, path: String, form: &str, body: &str) -> Step {
    let text = str::to_owned;
    let accept = String::new();
    Step { verb: text(verb), kind: text(kind), method: text(method), path, form: text(form), accept, body: text(body) }
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

fn validation(rng: &mut Rng) -> &'static str {
    let rare = rng.one(&["?fieldManager=parity", "?fieldValidation=Loose"]);
    rng.one(&["", "", "?fieldValidation=Strict", "?fieldValidation=Warn", "?fieldValidation=Ignore", rare])
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

fn patch(kind: &Kind, rng: &mut Rng) -> Step {
    if rng.percent(30) {
        return apply(kind, rng);
    }
    let path = format!("{}/{}{}", kind.collection(), kind.name(rng), validation(rng));
    let (verb, form) = rng.one(&[("json-patch", PATCH), ("merge-patch", MERGE), ("strategic-patch", STRATEGIC)]);
    let body = if form == PATCH { json_patch(kind, rng) } else { merge(kind, rng, form == STRATEGIC) };
    step(verb, kind.kind, "PATCH", path, form, &text(&body, rng))
}

/// Server-side apply of a whole object or a part, by one of three managers.
fn apply(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let manager = rng.one(&["?fieldManager=one", "?fieldManager=two", "?fieldManager=kubectl", ""]);
    let force = if manager.is_empty() { "" } else { rng.one(&["", "", "&force=true", "&force=false"]) };
    let mut body = object(kind, &name, rng);
    match rng.next() % 6 {
        0 => drop(body.as_object_mut().and_then(|body| body.remove("spec"))),
        1 => put(
            &mut body,
            "/metadata/labels",
            rng.one(&[json!({"app": "b"}), json!({}), json!({"app": "a", "two": "2"})]),
        ),
        2 if kind.workload() || kind.custom() => put(&mut body, "/spec/replicas", rng.one(&[json!(1), json!(7)])),
        3 => put(&mut body, rng.one(&["/metadata/zeta", "/spec/alpha"]), json!(1)),
        4 => put(&mut body, "/metadata/finalizers", json!([rng.one(&["x.io/a", "x.io/b"])])),
        _ => {}
    }
    if rng.percent(5) {
        body["apiVersion"] = "apps/v2".into();
    }
    step("apply", kind.kind, "PATCH", format!("{}/{name}{manager}{force}", kind.collection()), APPLY, &body.to_string())
}

fn json_patch(kind: &Kind, rng: &mut Rng) -> Value {
    let mut operations = vec![
        json!({"op": "add", "path": "/metadata/labels/app", "value": "b"}),
        json!({"op": "replace", "path": "/metadata/labels/app", "value": "a"}),
        json!({"op": "remove", "path": "/metadata/labels/tier"}),
        json!({"op": "remove", "path": "/metadata/nothing"}),
        json!({"op": "test", "path": "/metadata/labels/app", "value": "a"}),
        json!({"op": "add", "path": "/metadata/annotations", "value": {"x": "1"}}),
        json!({"op": "add", "path": "/metadata/annotations/x", "value": "2"}),
        json!({"op": "replace", "path": "/metadata/name", "value": "other"}),
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}),
        json!({"op": "remove", "path": "/metadata/finalizers"}),
        json!({"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"}),
        json!({"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"}),
        json!({"op": "odd", "path": "/metadata"}),
        json!({"op": "add"}),
        json!({"op": "add", "path": "metadata", "value": 1}),
    ];
    if kind.workload() {
        operations.extend([
            json!({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:9"}),
            json!({"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "new", "image": "n:1"}}),
            json!({"op": "replace", "path": "/spec/template/spec/containers/5/image", "value": "app:9"}),
            json!({"op": "replace", "path": "/spec/replicas", "value": 7}),
            json!({"op": "replace", "path": "/spec/replicas", "value": "x"}),
            json!({"op": "remove", "path": "/spec/selector"}),
        ]);
    }
    if kind.custom() {
        operations.extend([
            json!({"op": "replace", "path": "/spec/replicas", "value": 7}),
            json!({"op": "replace", "path": "/spec/replicas", "value": "x"}),
            json!({"op": "remove", "path": "/spec/size"}),
            json!({"op": "add", "path": "/spec/parts", "value": [{"id": "n"}]}),
            json!({"op": "add", "path": "/spec/odd", "value": 1}),
            json!({"op": "add", "path": "/spec/free", "value": {"a": {"b": 1}}}),
        ]);
    }
    if kind.kind == "ConfigMap" {
        operations.push(json!({"op": "add", "path": "/data/new", "value": "1"}));
        operations.push(json!({"op": "remove", "path": "/data/k"}));
    }
    let mut patch = vec![rng.one(&operations)];
    if rng.percent(25) {
        patch.push(rng.one(&operations));
    }
    if rng.percent(4) { patch.remove(0) } else { Value::Array(patch) }
}

fn merge(kind: &Kind, rng: &mut Rng, strategic: bool) -> Value {
    if rng.percent(35) {
        let (path, value) = mutation(kind, rng);
        let mut patch = json!({});
        put(&mut patch, &path, value);
        return patch;
    }
    let mut patches = vec![
        json!({"metadata": {"labels": {"app": "b"}}}),
        json!({"metadata": {"labels": {"tier": null}}}),
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"annotations": {"x": "1"}}}),
        json!({"metadata": {"annotations": {"note": null}}}),
        json!({"metadata": {"finalizers": null}}),
        json!({"metadata": {"finalizers": ["example.com/other"]}}),
        json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "${uid:configmaps/b}"}]}}),
        json!({"metadata": {"resourceVersion": format!("${{rv0:{}/a}}", kind.plural)}}),
        json!({}),
    ];
    if kind.workload() {
        patches.extend([
            json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:7"}]}}}}),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:7"}]}}}}),
            json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "1999-01-01T00:00:00Z"}}}}}),
            json!({"spec": {"replicas": 5}}),
            json!({"spec": {"replicas": null}}),
            json!({"spec": {"minReadySeconds": 700}}),
            json!({"spec": {"template": {"spec": {"volumes": [{"name": "w", "emptyDir": {}}]}}}}),
            json!({"spec": {"template": {"spec": {"nodeSelector": {"zone": "b"}}}}}),
        ]);
        if strategic {
            patches.extend([
                json!({"spec": {"template": {"spec": {"containers": [{"name": "two", "$patch": "delete"}]}}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}),
                json!({"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "two"}, {"name": "app"}], "containers": [{"name": "app", "image": "app:8"}]}}}}),
                json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
                json!({"spec": {"template": {"spec": {"$patch": "replace", "containers": [{"name": "only", "image": "o:1"}]}}}}),
                json!({"spec": {"template": {"$patch": "odd"}}}),
            ]);
        }
    }
    match kind.kind {
        "Deployment" => patches.extend([
            json!({"spec": {"paused": true}}),
            json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "30%"}}}}),
            json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}),
            json!({"spec": {"progressDeadlineSeconds": 5, "minReadySeconds": 5}}),
        ]),
        "Pod" => patches.extend([
            json!({"spec": {"containers": [{"name": "app", "image": "app:7"}]}}),
            json!({"spec": {"nodeName": "n2"}}),
            json!({"spec": {"activeDeadlineSeconds": 50}}),
            json!({"spec": {"tolerations": [{"key": "z", "operator": "Exists"}]}}),
            json!({"spec": {"terminationGracePeriodSeconds": 7}}),
        ]),
        "ConfigMap" => patches.extend([
            json!({"data": {"k": "9"}}),
            json!({"data": {"k": null}}),
            json!({"data": null}),
            json!({"immutable": true}),
        ]),
        "Secret" => patches.extend([
            json!({"data": {"k": "OQ=="}}),
            json!({"stringData": {"k": "nine"}}),
            json!({"type": "other"}),
        ]),
        "Node" => patches.extend([
            json!({"spec": {"unschedulable": true}}),
            json!({"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]}}),
            json!({"spec": {"taints": null}}),
            json!({"spec": {"podCIDR": "10.0.0.0/24"}}),
        ]),
        "Lease" => patches.extend([
            json!({"spec": {"holderIdentity": "she"}}),
            json!({"spec": {"renewTime": "1999-01-02T00:00:00.000001Z"}}),
        ]),
        "Event" if kind.new_event() => patches.extend([
            json!({"series": {"count": 7, "lastObservedTime": "1999-01-01T00:00:09.000000Z"}}),
            json!({"series": null}),
            json!({"note": "else"}),
        ]),
        "Ingress" => patches.extend([
            json!({"spec": {"ingressClassName": "other"}}),
            json!({"spec": {"rules": [{"host": "new.example.com"}]}}),
            json!({"spec": {"rules": null, "defaultBackend": null}}),
        ]),
        "Role" | "ClusterRole" => patches.extend([
            json!({"rules": [{"verbs": ["watch"], "apiGroups": [""], "resources": ["secrets"]}]}),
            json!({"rules": null}),
        ]),
        "RoleBinding" | "ClusterRoleBinding" => patches.extend([
            json!({"subjects": [{"kind": "User", "name": "joe"}]}),
            json!({"subjects": null}),
            json!({"roleRef": {"name": "other"}}),
        ]),
        "NetworkPolicy" => patches.extend([
            json!({"spec": {"ingress": [{"ports": [{"port": 443}]}]}}),
            json!({"spec": {"policyTypes": ["Egress"], "egress": null}}),
            json!({"spec": {"podSelector": {"matchLabels": {"app": "z"}}}}),
        ]),
        "PriorityClass" => {
            patches.extend([json!({"value": 8}), json!({"description": "else"}), json!({"preemptionPolicy": null})]);
        }
        "IngressClass" => patches.extend([
            json!({"spec": {"controller": "example.com/else"}}),
            json!({"spec": {"parameters": null}}),
            json!({"spec": {"parameters": {"kind": "Config", "name": "y"}}}),
        ]),
        "Event" => {
            patches.extend([json!({"count": 2, "lastTimestamp": "1999-01-02T00:00:00Z"}), json!({"message": "else"})]);
        }
        "Widget" => patches.extend([
            json!({"spec": {"replicas": 5}}),
            json!({"spec": {"replicas": null}}),
            json!({"spec": {"colour": null}}),
            json!({"spec": {"labels": {"a": "9", "b": null}}}),
            json!({"spec": {"free": {"x": {"y": 2}}}}),
            json!({"spec": {"free": null}}),
            json!({"spec": {"parts": [{"id": "q", "count": 9}]}}),
            json!({"spec": {"tags": ["z"]}}),
            json!({"spec": {"level": 4}}),
            json!({"spec": {"odd": 1}}),
            json!({"spec": {"nested": {"inner": "y"}}}),
            json!({"status": {"phase": "A"}}),
        ]),
        "HorizontalPodAutoscaler" if kind.is_autoscaler_v1() => patches.extend([
            json!({"spec": {"targetCPUUtilizationPercentage": 60}}),
            json!({"spec": {"targetCPUUtilizationPercentage": null}}),
            json!({"spec": {"maxReplicas": 7}}),
            json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": null}}}),
            json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/behavior": null, "x": "1"}}}),
        ]),
        "HorizontalPodAutoscaler" => patches.extend([
            json!({"spec": {"maxReplicas": 8}}),
            json!({"spec": {"metrics": null}}),
            json!({"spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 33}}}]}}),
            json!({"spec": {"behavior": null}}),
            json!({"spec": {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 30}}}}),
        ]),
        "ResourceQuota" => patches.push(json!({"spec": {"hard": {"replicationcontrollers": "7"}}})),
        _ => {}
    }
    rng.one(&patches)
}

/// Requests to status, scale and binding.
fn parts(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let at = format!("{}/{name}", kind.collection());
    if kind.kind == "Pod" && rng.percent(40) {
        let target = rng.one(&[
            json!({"kind": "Node", "name": "n1"}),
            json!({"name": "n2"}),
            json!({"kind": "Pod", "name": "n1"}),
            json!({}),
            json!({"kind": "Node", "name": ""}),
        ]);
        let named = if rng.percent(90) { name } else { "c".to_owned() };
        let mut body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": named}, "target": target});
        if rng.percent(15) {
            body["metadata"]["annotations"] = json!({"bound": "1"});
        }
        if rng.percent(10) {
            body["metadata"]["uid"] = rng.one(&["${uid:pods/a}", "00000000-0000-4000-8000-000000000000"]).into();
        }
        return step("bind", kind.kind, "POST", format!("{at}/binding"), JSON, &text(&body, rng));
    }
    if kind.kind == "Pod" && rng.percent(30) {
        return evict(kind, &at, &name, rng);
    }
    if kind.scale && rng.percent(50) {
        if rng.percent(20) {
            return apply_scale(kind, &at, &name, rng);
        }
        let path = format!("{at}/scale{}", validation(rng));
        return match rng.next() % 3 {
            0 => step("get-scale", kind.kind, "GET", path, "", ""),
            1 => {
                let spec = rng.one(&[
                    json!({"replicas": 4}),
                    json!({"replicas": 0}),
                    json!({}),
                    json!({"replicas": -2}),
                    json!({"replicas": "x"}),
                ]);
                let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, "namespace": "$NS"}, "spec": spec});
                if rng.percent(25) {
                    let version = rng.one(&["${rv:", "${rv0:"]);
                    body["metadata"]["resourceVersion"] = format!("{version}{}/{name}}}", kind.plural).into();
                }
                if rng.percent(10) {
                    body["metadata"]["name"] = rng.one(&["other", ""]).into();
                }
                step("replace-scale", kind.kind, "PUT", path, JSON, &text(&body, rng))
            }
            _ => {
                if rng.percent(33) {
                    let operations = [
                        json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]),
                        json!([{"op": "replace", "path": "/spec/replicas", "value": -1}]),
                        json!([{"op": "test", "path": "/spec/replicas", "value": 1}, {"op": "add", "path": "/spec/replicas", "value": 2}]),
                        json!([{"op": "remove", "path": "/spec/replicas"}]),
                        json!([{"op": "add", "path": "/spec/odd", "value": 1}, {"op": "replace", "path": "/spec/replicas", "value": 8}]),
                    ];
                    let body = text(&rng.one(&operations), rng);
                    // Only managedFields show patches that change nothing.
                    let body = if matches!(body.as_str(), "[]" | "null") { "[{}]".to_owned() } else { body };
                    return step("json-patch-scale", kind.kind, "PATCH", path, PATCH, &body);
                }
                let body = rng.one(&[
                    json!({"spec": {"replicas": 6}}),
                    json!({"spec": {"replicas": -1}}),
                    json!({"spec": {"replicas": null}}),
                    json!({"spec": {"replicas": "x"}}),
                    json!({"spec": {"replicas": 5, "odd": 1}}),
                    json!({"metadata": {"resourceVersion": "1"}}),
                ]);
                let (verb, form) = rng.one(&[("merge-patch-scale", MERGE), ("strategic-patch-scale", STRATEGIC)]);
                let body = text(&body, rng);
                let body = if body == "null" { "[]".to_owned() } else { body };
                step(verb, kind.kind, "PATCH", path, form, &body)
            }
        };
    }
    if !kind.status {
        return step("get", kind.kind, "GET", at, "", "");
    }
    let path = format!("{at}/status{}", validation(rng));
    let status = status(kind, rng);
    match rng.next() % 5 {
        0 => step("get-status", kind.kind, "GET", format!("{at}/status"), "", ""),
        1 | 2 => {
            let mut body = object(kind, &name, rng);
            body["status"] = status;
            if rng.percent(30) {
                let version = rng.one(&["${rv:", "${rv0:"]);
                body["metadata"]["resourceVersion"] = format!("{version}{}/{name}}}", kind.plural).into();
            }
            step("replace-status", kind.kind, "PUT", path, JSON, &text(&body, rng))
        }
        _ => {
            let mut body = json!({"status": status});
            if rng.percent(15) {
                body["metadata"] = rng.one(&[
                    json!({"annotations": {"s": "1"}}),
                    json!({"labels": {"s": "1"}}),
                    json!({"finalizers": ["example.com/s"]}),
                ]);
            }
            if rng.percent(10) && kind.workload() {
                body["spec"] = json!({"replicas": 8});
            }
            if rng.percent(33) {
                let operation = rng.one(&["add", "replace", "add", "test"]);
                let mut operations = json!([{"op": operation, "path": "/status", "value": status}]);
                if rng.percent(20) {
                    operations[0]["path"] = "/status/odd".into();
                }
                return step("json-patch-status", kind.kind, "PATCH", path, PATCH, &text(&operations, rng));
            }
            let (verb, form) = rng.one(&[("merge-patch-status", MERGE), ("strategic-patch-status", STRATEGIC)]);
            step(verb, kind.kind, "PATCH", path, form, &text(&body, rng))
        }
    }
}

/// An eviction. Never with another pod's UID, as the real server retries that for ten seconds.
fn evict(kind: &Kind, at: &str, name: &str, rng: &mut Rng) -> Step {
    let named = if rng.percent(95) { name } else { "other" };
    let mut body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": named}});
    if rng.percent(20) {
        body["metadata"]["namespace"] = rng.one(&["$NS", "other"]).into();
    }
    if rng.percent(50) {
        body["deleteOptions"] = rng.one(&[
            json!({"gracePeriodSeconds": 0}),
            json!({"gracePeriodSeconds": 5}),
            json!({"propagationPolicy": "Foreground"}),
            json!({"propagationPolicy": "Sometime"}),
            json!({"preconditions": {"resourceVersion": format!("${{rv:pods/{name}}}")}}),
            json!({"preconditions": {"resourceVersion": "1"}}),
            json!({"dryRun": ["All"]}),
            json!({"dryRun": ["Some"]}),
            json!({}),
        ]);
    }
    let path = format!("{at}/eviction{}", validation(rng));
    step("evict", kind.kind, "POST", path, JSON, &text(&body, rng))
}

/// Server-side apply of a scale by one of three managers.
fn apply_scale(kind: &Kind, at: &str, name: &str, rng: &mut Rng) -> Step {
    let manager = rng.one(&["?fieldManager=one", "?fieldManager=two", "?fieldManager=kubectl", ""]);
    let force = if manager.is_empty() { "" } else { rng.one(&["", "", "&force=true", "&force=false"]) };
    let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}});
    let spec = rng.one(&[
        json!({"replicas": 1}),
        json!({"replicas": 3}),
        json!({"replicas": 3}),
        json!({"replicas": 0}),
        json!({"replicas": -1}),
        json!({}),
        json!({"odd": 1}),
        json!(null),
    ]);
    if !spec.is_null() {
        body["spec"] = spec;
    }
    if rng.percent(10) {
        body["metadata"]["name"] = "other".into();
    }
    if rng.percent(5) {
        body["apiVersion"] = "apps/v1".into();
    }
    step("apply-scale", kind.kind, "PATCH", format!("{at}/scale{manager}{force}"), APPLY, &body.to_string())
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
