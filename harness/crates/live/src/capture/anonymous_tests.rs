//! A marker is inserted into every text and key of a recording, and must not appear in the
//! anonymised one.

use lockstep_recording::Blame;
use lockstep_recording::testing::RecordingBuilder;
use serde_json::{Value, json};

use super::*;

const MARKER: &str = "acme";

/// Objects with all kinds of strings, lists and maps of upstream's types that matter here, and
/// more.
fn objects() -> Vec<Value> {
    let condition = |kind: &str, reason: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": "words", "observedGeneration": 1,
            "lastTransitionTime": "2026-11-24T04:00:00Z", "lastUpdateTime": "2026-11-24T04:00:00Z", "lastProbeTime": null})
    };
    let metadata = |name: &str, owner: &str| {
        json!({"name": name, "generateName": "web-", "namespace": "shop", "uid": format!("u-{name}"), "selfLink": "/apis",
            "resourceVersion": "7", "generation": 1, "creationTimestamp": "2026-11-24T04:00:00Z",
            "deletionTimestamp": "2026-11-24T04:00:00Z", "deletionGracePeriodSeconds": 30, "finalizers": ["orphan"],
            "labels": {"app": "web", "pod-template-hash": "5d4"},
            "annotations": {"deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/revision-history": "1,2",
                "deployment.kubernetes.io/desired-replicas": "3", "deployment.kubernetes.io/max-replicas": "4",
                "deployment.kubernetes.io/other": "x", "controller.kubernetes.io/pod-deletion-cost": "-5",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "kubectl.kubernetes.io/restartedAt": "2026-11-24T04:00:00+01:00"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": owner, "name": "web", "uid": "u-web", "controller": true,
                "blockOwnerDeletion": true}],
            "managedFields": [{"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1",
                "time": "2026-11-24T04:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}},
                "subresource": "status"}]})
    };
    let container = json!({"name": "main", "image": "app:1", "command": ["run"], "env": [{"name": "A", "value": "b"}],
        "resources": {"limits": {"cpu": "1"}}, "volumeMounts": [{"name": "v", "mountPath": "/v"}]});
    let template = json!({"metadata": {"labels": {"app": "web", "pod-template-hash": "5d4"},
            "annotations": {"kubectl.kubernetes.io/restartedAt": "2026-11-24T04:00:00Z", "a": "b"}},
        "spec": {"containers": [container], "initContainers": [container], "nodeSelector": {"zone": "a"},
            "serviceAccountName": "s", "readinessGates": [{"conditionType": "example.com/gate"}],
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}});
    let selector = json!({"matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]});
    let quota =
        "pods \"web-5d4-x\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=4, limited: pods=4";
    let mut failed = condition("ReplicaFailure", "FailedCreate");
    failed["message"] = quota.into();
    let status = json!({"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "collisionCount": 1,
        "conditions": [condition("Available", "MinimumReplicasAvailable"), failed]});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("web", "Application"),
        "spec": {"replicas": 3, "paused": true, "minReadySeconds": 1, "selector": selector, "template": template,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}},
        "status": status});
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata("web-5d4", "Deployment"),
        "spec": {"replicas": 3, "selector": selector, "template": template}, "status": status});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("web-5d4-x", "ReplicaSet"),
        "spec": template["spec"],
        "status": {"phase": "Running", "reason": "Evicted", "message": "m", "podIP": "10.0.0.1", "nominatedNodeName": "n",
            "conditions": [condition("Ready", "PodCompleted"), condition("example.com/gate", "Green")],
            "containerStatuses": [{"name": "main", "imageID": "i"}]}});
    let mut event = json!({"apiVersion": "v1", "kind": "Event", "metadata": metadata("web.1", "Deployment"),
        "involvedObject": {"kind": "ReplicaSet", "name": "web-5d4", "namespace": "shop", "uid": "u-web-5d4", "fieldPath": "x"},
        "reason": "SuccessfulDelete", "message": "Deleted pod: web-5d4-x", "type": "Normal", "action": "a",
        "source": {"component": "replicaset-controller", "host": "h"}, "reportingComponent": "c", "count": 1});
    event["metadata"]["finalizers"] = Value::Null;
    vec![deployment, set, pod, event]
}

/// The lines of a recording with all kinds of entries.
fn lines() -> Vec<Value> {
    let unsettled = Blame::Environment;
    let builder = RecordingBuilder::rolled_out(1)
        .request("update", "replicasets", 200)
        .user_step(1, "scale 3")
        .injection("rs1 5 -> 4");
    let mut recording = builder.unsettled(unsettled, "why").trouble(unsettled, "why").aborted();
    for (number, object) in (100..).zip(objects()) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        let (change, by) = (lockstep_recording::ChangeType::Added, lockstep_recording::WriterRole::Other);
        let author = Some("kubectl, kube-controller-manager".to_owned());
        let object = object.clone().into();
        recording.entries.push(RecordingEntry::Object(ObjectVersion {
            kind,
            name,
            change,
            rv: number,
            by,
            author,
            at: 0,
            object,
        }));
    }
    recording.header.source = "description: x\n".to_owned();
    recording.header.unevaluated = vec!["x".to_owned()];
    let mut text = Vec::new();
    recording.write(&mut text).unwrap();
    String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The anonymised recording of these lines, if they are a recording.
fn anonymised(lines: &[Value]) -> Option<String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let recording = Recording::read(text.as_bytes()).ok()?;
    let mut out = Vec::new();
    anonymous(&recording).write(&mut out).unwrap();
    Some(String::from_utf8(out).unwrap())
}

/// The pointers to all texts and to all mappings in a value.
fn places(value: &Value, here: &str, texts: &mut Vec<String>, maps: &mut Vec<String>) {
    match value {
        Value::String(_) => texts.push(here.to_owned()),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| places(value, &format!("{here}/{at}"), texts, maps));
        }
        Value::Object(map) => {
            maps.push(here.to_owned());
            for (key, value) in map {
                places(value, &format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), texts, maps);
            }
        }
        _ => {}
    }
}

#[test]
fn removes_every_text_of_the_cluster() {
    let lines = lines();
    let mut marked = 0;
    for number in 0..lines.len() {
        let (mut texts, mut maps) = (Vec::new(), Vec::new());
        places(&lines[number], "", &mut texts, &mut maps);
        let mut check = |at: &str, change: &dyn Fn(&mut Value)| {
            let mut lines = lines.clone();
            change(lines[number].pointer_mut(at).unwrap());
            if let Some(out) = anonymised(&lines) {
                marked += 1;
                assert!(!out.contains(MARKER), "{at} of {}:\n{out}", lines[number]);
            }
        };
        for at in &texts {
            check(at, &|text| *text = MARKER.into());
            check(at, &|text| *text = format!("{}{MARKER}", text.as_str().unwrap()).into());
            check(at, &|text| *text = format!("{MARKER}.example.com/{}", text.as_str().unwrap()).into());
            check(at, &|text| *text = format!("{}[{MARKER}]", text.as_str().unwrap()).into());
        }
        for at in &maps {
            check(at, &|map| map[MARKER] = MARKER.into());
            check(at, &|map| map[MARKER] = json!({MARKER: [MARKER, {MARKER: MARKER}]}));
        }
    }
    assert!(marked > 1000, "only {marked} places were marked");
}

#[test]
fn replaces_all_texts_of_the_cluster_together() {
    let mut lines = lines();
    let kinds = ["Deployment", "ReplicaSet", "Pod", "Event"];
    for line in lines.iter_mut().filter(|line| line["object"]["object"]["metadata"]["managedFields"].is_array()) {
        let (mut texts, mut maps) = (Vec::new(), Vec::new());
        let object = &mut line["object"]["object"];
        places(object, "", &mut texts, &mut maps);
        for (number, at) in texts.iter().enumerate() {
            let text = object.pointer_mut(at).unwrap();
            if !kinds.contains(&text.as_str().unwrap()) || at != "/kind" {
                *text = format!("{MARKER}{number}").into();
            }
        }
    }
    let out = anonymised(&lines).unwrap();
    assert!(!out.contains(MARKER), "{out}");
}

/// The anonymised object of this kind.
fn object_of(kind: &str) -> Value {
    let out = anonymised(&lines()).unwrap();
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut objects = lines.filter(|line| line["object"]["kind"] == kind).map(|line| line["object"]["object"].clone());
    objects.next_back().unwrap()
}

#[test]
fn keeps_the_fields_that_replay_needs() {
    let [deployment, set, pod, event] = ["Deployment", "ReplicaSet", "Pod", "Event"].map(object_of);
    let annotations = &set["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1,2");
    assert_eq!(pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"], "-5");
    assert_eq!(
        deployment["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}})
    );
    assert_eq!(deployment["status"]["conditions"][0]["reason"], "MinimumReplicasAvailable");
    let message = set["status"]["conditions"][1]["message"].as_str().unwrap();
    assert!(message.contains("exceeded quota: quota-1, requested: pods=1, used: pods=4, limited: pods=4"), "{message}");
    assert_eq!(pod["status"]["phase"], "Running");
    let gate = &pod["spec"]["readinessGates"][0]["conditionType"];
    assert_eq!(gate, &pod["status"]["conditions"][1]["type"]);
    assert_eq!(set["metadata"]["ownerReferences"][0]["uid"], deployment["metadata"]["uid"]);
    assert_eq!(pod["metadata"]["ownerReferences"][0]["name"], "set-1", "it names no ReplicaSet that is there");
    assert_eq!(event["involvedObject"]["uid"], set["metadata"]["uid"]);
    assert_eq!(event["message"], format!("Deleted pod: {}", pod["metadata"]["name"].as_str().unwrap()));
    let selector = &set["spec"]["selector"]["matchLabels"];
    assert!(selector.as_object().unwrap().iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value));
}

/// If nothing else distinguishes two pods, a ReplicaSet chooses by UID.
#[test]
fn uids_keep_their_order() {
    let uid = |kind: &str| object_of(kind)["metadata"]["uid"].as_str().unwrap().to_owned();
    // They are `u-web`, `u-web-5d4` and `u-web-5d4-x`.
    let all = [uid("Deployment"), uid("ReplicaSet"), uid("Pod")];
    assert!(all.is_sorted(), "{all:?}");
    assert!(all.iter().all(|uid| uid.len() == 36));
}
