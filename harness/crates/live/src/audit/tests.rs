//! Logs as kube-apiserver writes them, of a ReplicaSet with two pods that is scaled down after a
//! user edits the Deployment.

use lockstep_recording::RecordingEntry as Recorded;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const CONTROLLER: &str = "system:serviceaccount:kube-system:deployment-controller";
const KUBELET: &str = "system:node:one";

/// The lines of a log, each a second later than the one before.
#[derive(Default)]
pub(super) struct Log(pub(super) Vec<Value>);

impl Log {
    /// Add an entry: the user and program, the verb, the resource with its subresource, and the
    /// answer.
    pub(super) fn entry(mut self, (user, agent): (&str, &str), verb: &str, resource: &str, answer: Value) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let (resource, name) = resource.split_once(' ').unwrap_or((resource, ""));
        let group = if resource == "pods" { "" } else { "apps" };
        let second = self.0.len();
        let mut entry = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
            "stage": "ResponseComplete", "verb": verb, "user": {"username": user},
            "userAgent": format!("{agent}/v1.36.3 (linux/amd64)"), "responseStatus": {"code": 200},
            "objectRef": {"resource": resource, "namespace": "shop", "name": name, "apiGroup": group,
                "subresource": subresource},
            "stageTimestamp": format!("2026-01-31T12:00:{second:02}.500000Z")});
        entry["responseObject"] = answer;
        self.0.push(entry);
        self
    }

    pub(super) fn controller(self, verb: &str, resource: &str, answer: Value) -> Self {
        self.entry((CONTROLLER, "kube-controller-manager"), verb, resource, answer)
    }

    pub(super) fn user(self, verb: &str, resource: &str, answer: Value) -> Self {
        self.entry(("anna", "kubectl"), verb, resource, answer)
    }

    pub(super) fn import(&self, query: &ImportQuery) -> Result<Recording, AuditError> {
        let lines: Vec<String> = self.0.iter().map(Value::to_string).collect();
        let mut log = super::Log::default();
        log.add("audit.log", lines.join("\n").as_bytes())?;
        import(log, query)
    }
}

pub(super) fn deployment(rv: u64, replicas: u64, ready: u64) -> Value {
    json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "d", "resourceVersion": rv.to_string(),
        "generation": 3 - replicas}, "spec": {"replicas": replicas},
        "status": {"observedGeneration": 1, "replicas": ready, "readyReplicas": ready}})
}

pub(super) fn set(rv: u64, replicas: u64, ready: u64) -> Value {
    json!({"kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "s", "resourceVersion": rv.to_string(),
        "ownerReferences": [{"controller": true, "uid": "d"}]}, "spec": {"replicas": replicas},
        "status": {"replicas": ready, "readyReplicas": ready}})
}

pub(super) fn pod(rv: u64, name: &str, more: &Value) -> Value {
    let mut pod = json!({"kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": rv.to_string(),
        "ownerReferences": [{"controller": true, "uid": "s"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    for (key, value) in more.as_object().into_iter().flatten() {
        pod["metadata"][key] = value.clone();
    }
    pod
}

/// From the Deployment's creation to two ready pods, and a scale to one.
pub(super) fn log() -> Log {
    let scale = json!({"kind": "Scale", "metadata": {"name": "web", "resourceVersion": "7"}, "spec": {"replicas": 1}});
    let goes = json!({"deletionTimestamp": "2026-01-31T12:00:09Z", "deletionGracePeriodSeconds": 30});
    let gone = json!({"deletionTimestamp": "2026-01-31T12:00:09Z", "deletionGracePeriodSeconds": 0});
    Log::default()
        .user("create", "deployments", deployment(1, 2, 0))
        .controller("create", "replicasets", set(2, 2, 0))
        .controller("create", "pods", pod(3, "web-1-a", &Value::Null))
        .controller("create", "pods", pod(4, "web-1-b", &Value::Null))
        .controller("update", "replicasets web-1/status", set(5, 2, 2))
        .controller("update", "deployments web/status", deployment(6, 2, 2))
        .user("patch", "deployments web/scale", scale)
        .controller("update", "replicasets web-1", set(8, 1, 2))
        .controller("delete", "pods web-1-b", pod(9, "web-1-b", &goes))
        .entry((KUBELET, "kubelet"), "delete", "pods web-1-b", pod(10, "web-1-b", &gone))
}

/// The versions after the beginning: resourceVersion, name and change; `!` marks those that no
/// controller wrote.
pub(super) fn later(recording: &Recording) -> Vec<String> {
    let settled = recording.entries.iter().position(|entry| matches!(entry, Recorded::Settled(_))).unwrap();
    let versions = recording.entries[settled..].iter().filter_map(|entry| match entry {
        Recorded::Object(version) => {
            let by = if version.by == WriterRole::Driver { "!" } else { "" };
            Some(format!("{}{by} {} {:?}", version.rv, version.name, version.change))
        }
        _ => None,
    });
    versions.collect()
}

#[test]
fn log_with_the_creation_gives_a_complete_recording() {
    let recording = log().import(&ImportQuery::default()).unwrap();
    assert_eq!(recording.header.cluster.version, "v1.36.3");
    let versions = later(&recording);
    assert_eq!(versions.len(), 10);
    assert_eq!(versions[0], "1! web Added");
    assert_eq!(versions[6], "7! web Modified", "the answer is a Scale");
    assert_eq!(&versions[8..], ["9 web-1-b Modified", "10 web-1-b Deleted"]);
}

#[test]
fn versions_before_the_start_become_initial_objects() {
    let from = Some("2026-01-31T12:00:06Z".parse().unwrap());
    let recording = log().import(&ImportQuery { from, ..ImportQuery::default() }).unwrap();
    assert_eq!(later(&recording)[0], "7! web Modified");
}

#[test]
fn late_log_is_usable_once_every_object_was_written() {
    let Log(mut lines) = log();
    lines.remove(0);
    let versions = later(&Log(lines).import(&ImportQuery::default()).unwrap());
    assert_eq!(versions[0], "7! web Modified");
}

#[test]
fn refuses_a_log_that_never_shows_all_pods() {
    let Log(mut lines) = log();
    lines.drain(..3);
    assert!(matches!(Log(lines).import(&ImportQuery::default()), Err(AuditError::Begins(_))));
}

#[test]
fn attributes_a_deletion_by_a_user_to_the_user() {
    let goes = json!({"deletionTimestamp": "2026-01-31T12:00:09Z", "deletionGracePeriodSeconds": 30});
    let versions = later(
        &log().user("delete", "pods web-1-a", pod(11, "web-1-a", &goes)).import(&ImportQuery::default()).unwrap(),
    );
    assert_eq!(versions.last().unwrap(), "11! web-1-a Modified");
}

/// A deletion without a grace period is answered by a Status, which has no version.
#[test]
fn status_as_answer_to_a_deletion_deletes_the_object() {
    let status = json!({"kind": "Status", "status": "Success"});
    let versions = later(&log().user("delete", "replicasets web-1", status).import(&ImportQuery::default()).unwrap());
    assert_eq!(versions.last().unwrap(), "10! web-1 Deleted");
}

#[rstest]
#[case::level(|entry: &mut Value| { entry.as_object_mut().unwrap().remove("responseObject"); entry["level"] = json!("Metadata"); },
    "`patch deployments/scale` of web at level Metadata")]
#[case::other(|entry: &mut Value| { entry["objectRef"]["name"] = json!("api"); }, "name one of shop/api, shop/web")]
#[case::no_audit(|entry: &mut Value| { entry["apiVersion"] = json!("v1"); }, "line 7 is not an entry of an audit log")]
fn refuses_unusable_logs(#[case] change: fn(&mut Value), #[case] message: &str) {
    let Log(mut lines) = log();
    change(&mut lines[6]);
    let error = Log(lines).import(&ImportQuery::default()).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn ignores_failed_requests() {
    let Log(mut lines) = log();
    lines[6]["responseStatus"]["code"] = json!(409);
    let versions = later(&Log(lines).import(&ImportQuery::default()).unwrap());
    assert!(!versions.iter().any(|line| line.starts_with('7')));
}

/// It deletes the objects of a deleted owner.
#[test]
fn attributes_deletions_by_the_garbage_collector_to_a_controller() {
    let collector = ("system:serviceaccount:kube-system:generic-garbage-collector", "kube-controller-manager");
    let status = json!({"kind": "Status", "status": "Success"});
    let versions =
        later(&log().entry(collector, "delete", "replicasets web-1", status).import(&ImportQuery::default()).unwrap());
    assert_eq!(versions.last().unwrap(), "10 web-1 Deleted");
}

/// The garbage collector asks for metadata alone. It read the object before its last status, and
/// the answer has the version that it read.
#[test]
fn taking_the_last_finalizer_off_deletes_the_object() {
    let going = |rv: u64, ready: u64| {
        let mut set = set(rv, 1, ready);
        set["metadata"]["deletionTimestamp"] = json!("2026-01-31T12:00:10Z");
        set["metadata"]["finalizers"] = json!(["orphan"]);
        set
    };
    let mut released = going(12, 1);
    released["kind"] = json!("PartialObjectMetadata");
    released["metadata"]["finalizers"] = json!([]);
    let log = log().user("delete", "replicasets web-1", going(11, 2));
    let log = log.controller("update", "replicasets web-1/status", going(12, 2));
    let log = log.controller("update", "replicasets web-1/status", going(13, 1));
    let versions =
        later(&log.controller("patch", "replicasets web-1", released).import(&ImportQuery::default()).unwrap());
    assert_eq!(versions[versions.len() - 2..], ["13 web-1 Modified", "13 web-1 Deleted"]);
}

/// The answer to the deletion of a collection lists the objects as they were before it.
#[rstest]
#[case::running("n1", "/pods", &["9! web-1-a Modified", "9! web-1-b Modified"])]
#[case::without_grace("n1", "/pods?gracePeriodSeconds=0", &["9! web-1-a Deleted", "9! web-1-b Deleted"])]
#[case::on_no_node("", "/pods", &["9! web-1-a Deleted", "9! web-1-b Deleted"])]
#[case::held("", "/pods?propagationPolicy=Foreground", &["9! web-1-a Modified", "9! web-1-b Modified"])]
fn deletes_each_object_of_a_collection(#[case] node: &str, #[case] uri: &str, #[case] expected: &[&str]) {
    let item = |rv, name| {
        let mut pod = pod(rv, name, &Value::Null);
        pod.as_object_mut().unwrap().remove("kind");
        pod["spec"] = json!({"nodeName": node, "terminationGracePeriodSeconds": 30});
        pod
    };
    let list = json!({"kind": "PodList", "metadata": {"resourceVersion": "9"},
        "items": [item(3, "web-1-a"), item(4, "web-1-b")]});
    let Log(mut lines) = log();
    lines.truncate(8);
    let Log(mut lines) = Log(lines).user("deletecollection", "pods", list);
    lines[8]["requestURI"] = json!(uri);
    let versions = later(&Log(lines).import(&ImportQuery::default()).unwrap());
    assert_eq!(&versions[8..], expected);
}

#[test]
fn a_recording_ends_before_its_namespace_is_deleted() {
    let collector = ("system:serviceaccount:kube-system:namespace-controller", "kube-controller-manager");
    let list = json!({"kind": "PodList", "metadata": {"resourceVersion": "11"}, "items": []});
    let log = log().entry(collector, "deletecollection", "pods", list).controller(
        "delete",
        "replicasets web-1",
        set(12, 0, 0),
    );
    assert_eq!(later(&log.import(&ImportQuery::default()).unwrap()).last().unwrap(), "10 web-1-b Deleted");
}

/// The audit policy in the documentation must log everything that is read.
#[test]
fn documented_policy_logs_every_request_that_is_read() {
    let page = include_str!("../../../../../docs/live-rollouts.md");
    let from = page.find("apiVersion: audit.k8s.io/v1").unwrap();
    let text = &page[from..from + page[from..].find("```").unwrap()];
    let policy: Value = serde_yaml::from_str(text).unwrap();
    assert_eq!(policy["omitStages"], json!(["RequestReceived"]), "what is read is at stage ResponseComplete");
    let rules = policy["rules"].as_array().unwrap();
    let has = |list: &Value, item: &str| list.as_array().unwrap().iter().any(|one| one == item);
    for (resource, group, kind) in entry::RESOURCES {
        for verb in entry::WRITES {
            let logs = |resource: &str| {
                rules.iter().any(|rule| {
                    let of = |one: &Value| one["group"] == group && has(&one["resources"], resource);
                    rule["level"] == "RequestResponse"
                        && has(&rule["verbs"], verb)
                        && rule["resources"].as_array().unwrap().iter().any(of)
                })
            };
            assert!(logs(resource), "{verb} of {resource}");
            // Events have no subresources.
            assert!(kind == "Event" || logs(&format!("{resource}/*")), "{verb} of {resource}/*");
        }
    }
}
