//! What each form that an object takes between the wire and a rule saves, in allocated bytes and in
//! allocations, against plain `serde_json` values:
//!
//! ```text
//! cargo bench --package controller-client --bench wire_forms
//! ```
//!
//! The numbers are the same in each run. The first paragraphs of the forms quote them.

use allocation_counter::{AllocationInfo, measure};
use controller_client::api::{Cache, CacheUpdate, ListPage, WithoutManagedFields};
use controller_client::runtime::{RawObject, WireObject};
use rollout_model::any_json::AnyJson;
use rollout_model::{
    Deployment, DeploymentStatus, ReplicaSet, Template, TemplateValue, canonical_template, names, to_json_bytes,
};
use serde_json::{Value, json};

/// The objects on a page of a list.
const PAGE: usize = 50;

fn main() {
    let raw = deployment(0);
    let text = raw.to_string();
    let bare = without_managed_fields(raw.clone());
    println!("a Deployment of {} bytes, {} without managed fields\n", text.len(), bare.to_string().len());
    println!("{:<46} {:>11} {:>11}", "", "value", "form");
    stored_object(&text);
    status_write(&bare);
    shared_templates(&text);
    comparison(&bare["spec"]["template"]);
    transcoded_template(&bare["spec"]["template"].to_string());
    list_page();
    answer(&text);
}

/// `manifest`: how much stays in memory for one object.
fn stored_object(text: &str) {
    let value = measure_kept(|| without_managed_fields(serde_json::from_str(text).expect("it is JSON")));
    let form = measure_kept(|| serde_json::from_str::<RawObject<Deployment>>(text).expect("it is a Deployment"));
    row("manifest: bytes kept", value.bytes_current, form.bytes_current);
}

/// `manifest`, `json_text`: the body of a status write.
fn status_write(bare: &Value) {
    let status = DeploymentStatus { replicas: 3, ready_replicas: 2, ..DeploymentStatus::default() };
    let deployment = Deployment::read(bare.clone()).expect("it is a Deployment");
    let value = measure_kept(|| {
        let mut body = bare.clone();
        status.write_over(&mut body["status"]);
        to_json_bytes(&body)
    });
    let form = measure_kept(|| deployment.with_status(&status));
    row("manifest: allocations of a status write", value.count_total, form.count_total);
    row("manifest: most bytes in a status write", value.bytes_max, form.bytes_max);
}

/// `templates`: how much a ReplicaSet adds whose Deployment is there.
fn shared_templates(of_deployment: &str) {
    let of_set = replica_set(0).to_string();
    let take = |cache: &mut Cache| {
        let update = serde_json::from_str::<RawObject<ReplicaSet>>(&of_set).expect("it is a ReplicaSet").into_update();
        cache.apply(update.expect("it can be read"));
    };
    let (mut alone, mut beside) = (Cache::default(), Cache::default());
    let deployment = serde_json::from_str::<RawObject<Deployment>>(of_deployment).expect("it is a Deployment");
    let update: CacheUpdate = deployment.into_update().expect("it can be read");
    beside.apply(update);
    let (value, form) = (measure(|| take(&mut alone)), measure(|| take(&mut beside)));
    row("templates: bytes kept for a ReplicaSet", value.bytes_current, form.bytes_current);
}

/// `template`: the second comparison of two templates with different texts.
fn comparison(template: &Value) {
    let mut second = template.clone();
    second["spec"]["nodeSelector"] = json!({});
    let (one, two) = (Template::new(template.clone()), Template::new(second.clone()));
    assert!(one.is_same(&two), "the first computes the checksums");
    let value = measure(|| {
        let [one, two] = [&one, &two].map(Template::value);
        assert!(canonical_template(&one) == canonical_template(&two));
    });
    let form = measure(|| assert!(one.is_same(&two)));
    row("manifest: allocations of a comparison", value.count_total, form.count_total);
}

/// `transcode`: from the JSON of a template to its stored text.
fn transcoded_template(json: &str) {
    let value = measure_kept(|| serde_json::from_str::<Value>(json).expect("it is JSON").to_string());
    let form = measure_kept(|| serde_json::from_str::<AnyJson<TemplateValue>>(json).expect("it is JSON").0);
    row("transcode: allocations for a template", value.count_total, form.count_total);
    row("transcode: most bytes for a template", value.bytes_max, form.bytes_max);
}

/// `split_manifest`: a page of a list.
fn list_page() {
    let items: Vec<Value> = (0..PAGE).map(deployment).collect();
    let text = json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string();
    let value = measure_kept(|| serde_json::from_str::<ListPage<Value>>(&text).expect("it is a list"));
    let form = measure_kept(|| serde_json::from_str::<ListPage<RawObject<Deployment>>>(&text).expect("it is a list"));
    row("split_manifest: most bytes for a page of 50", value.bytes_max, form.bytes_max);
    row("split_manifest: allocations for a page of 50", value.count_total, form.count_total);
}

/// `managed_fields`: an answer to a write.
fn answer(text: &str) {
    let value = measure_kept(|| without_managed_fields(serde_json::from_str(text).expect("it is JSON")));
    let form = measure_kept(|| serde_json::from_str::<AnyJson<WithoutManagedFields>>(text).expect("it is JSON").0);
    row("managed_fields: most bytes for an answer", value.bytes_max, form.bytes_max);
    row("managed_fields: allocations for an answer", value.count_total, form.count_total);
}

/// What a function allocates until its result is made; the result counts as kept.
fn measure_kept<T>(act: impl FnOnce() -> T) -> AllocationInfo {
    let mut result = None;
    measure(|| result = Some(act()))
}

fn row(what: &str, value: impl TryInto<i64>, form: impl TryInto<i64>) {
    let [value, form] = [value.try_into().unwrap_or_default(), form.try_into().unwrap_or_default()];
    println!("{what:<46} {value:>11} {form:>11}");
}

fn without_managed_fields(mut raw: Value) -> Value {
    raw["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields"));
    raw
}

fn template(index: usize) -> Value {
    let env: Vec<_> = (0..60)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("https://service-{index}.example.com/{n}")}))
        .collect();
    let probe = json!({"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 3});
    let labels = json!({"app": format!("service-{index}"), "team": "platform"});
    json!({"metadata": {"labels": labels}, "spec": {"containers": [
        {"name": "app", "image": "app:1", "env": env, "livenessProbe": probe, "readinessProbe": probe}]}})
}

/// As the server sends it, with managed fields and kubectl's last-applied annotation.
fn deployment(index: usize) -> Value {
    let template = template(index);
    let managers = json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:template": template}}}]);
    json!({
        "metadata": {
            "namespace": "ns", "name": format!("service-{index}"), "uid": format!("d{index}"), "resourceVersion": "1",
            "labels": {"app": format!("service-{index}")}, "managedFields": managers,
            "annotations": {names::LAST_APPLIED: json!({"spec": {"template": template}}).to_string()},
        },
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": format!("service-{index}")}}, "template": template},
        "status": {"observedGeneration": 1},
    })
}

fn replica_set(index: usize) -> Value {
    let mut template = template(index);
    template["metadata"]["labels"][names::POD_TEMPLATE_HASH] = "abc".into();
    json!({
        "metadata": {
            "namespace": "ns", "name": format!("service-{index}-abc"), "uid": format!("r{index}"), "resourceVersion": "1",
            "labels": template["metadata"]["labels"], "annotations": {names::REVISION: "1"},
            "ownerReferences": [{"kind": "Deployment", "name": format!("service-{index}"), "uid": format!("d{index}"),
                "controller": true}],
        },
        "spec": {"replicas": 3, "selector": {"matchLabels": template["metadata"]["labels"]}, "template": template},
        "status": {"replicas": 3},
    })
}
