//! A namespace with very many workloads or the largest annotations: it must not delay other
//! namespaces or use up memory.

use std::time::Duration;

use jiff::Timestamp;
use rollout_model::names::restart as names;
use serde_json::{Value, json};

use crate::engines::work::{WorkAction, WorkItem, WriteOutcome};
use crate::model::config::ConfigObject;
use crate::model::workload::WorkloadFacts;
use crate::{
    ConfigKind, ConfigName, Profile, RestartReconciler, RestartSettings, SecretChecksums, WorkloadKind, WorkloadName,
};

const BUSY: &str = "hostile";
const QUIET: &str = "other";
/// The size of all annotations of an object.
const ANNOTATIONS: usize = 256 << 10;

fn reconciler(profile: Profile) -> RestartReconciler {
    let mut reconciler = RestartReconciler::new(RestartSettings {
        profile,
        secrets: SecretChecksums::Unkeyed,
        ..RestartSettings::default()
    });
    ConfigKind::ALL.into_iter().for_each(|kind| reconciler.on_listed(kind, Duration::ZERO));
    reconciler.activate();
    reconciler
}

fn config(reconciler: &mut RestartReconciler, namespace: &str, name: &str, version: u64, at: u64) {
    let metadata = json!({"name": name, "namespace": namespace, "resourceVersion": version.to_string()});
    let read: ConfigObject = serde_json::from_value(json!({"metadata": metadata, "data": {"k": version}})).unwrap();
    let name = ConfigName { kind: ConfigKind::ConfigMap, namespace: namespace.to_owned(), name: name.to_owned() };
    reconciler.on_config(&name, Some(read.config), Duration::from_millis(at));
}

/// Adds a workload that uses ConfigMap `c`.
fn workload(reconciler: &mut RestartReconciler, namespace: &str, name: &str, annotations: &Value) -> Vec<WorkItem> {
    let mut annotations = annotations.clone();
    annotations[names::ENABLED] = "enabled".into();
    annotations["reloader.stakater.com/auto"] = "true".into();
    let spec = json!({"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "c"}}]}]});
    let object = json!({
        "metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "5", "annotations": annotations},
        "spec": {"template": {"spec": spec}},
    });
    let read = WorkloadFacts::read(WorkloadKind::Deployment, &object).unwrap();
    let name = WorkloadName { kind: WorkloadKind::Deployment, namespace: namespace.to_owned(), name: name.to_owned() };
    reconciler.on_workload(&name, Some(read), Duration::ZERO)
}

/// A reconciler that has seen a thousand workloads of one namespace, one workload of another, and
/// then a change of the config of each.
fn changed(profile: Profile) -> RestartReconciler {
    let mut reconciler = reconciler(profile);
    for namespace in [BUSY, QUIET] {
        config(&mut reconciler, namespace, "c", 1, 0);
        for n in 0..if namespace == BUSY { 1000 } else { 1 } {
            workload(&mut reconciler, namespace, &format!("w{n:04}"), &json!({}));
        }
    }
    if profile != Profile::Reloader {
        // The checksums that they have are recorded first.
        advance_to(&mut reconciler, 60_000);
    }
    config(&mut reconciler, BUSY, "c", 10, 60_000);
    config(&mut reconciler, QUIET, "c", 11, 60_000);
    reconciler
}

fn now(at: u64) -> Timestamp {
    Timestamp::from_millisecond(1_767_571_200_000 + i64::try_from(at).unwrap()).unwrap()
}

fn finish(reconciler: &mut RestartReconciler, work_items: &[WorkItem], at: u64) {
    for work in work_items {
        if let WorkAction::Write(write) = &work.action {
            reconciler.on_write_finished(
                &work.observed,
                WriteOutcome::DryRun(write.clone()),
                Duration::from_millis(at),
            );
        } else {
            reconciler.on_write_finished(&work.observed, WriteOutcome::Done, Duration::from_millis(at));
        }
    }
}

fn advance_to(reconciler: &mut RestartReconciler, to: u64) {
    let end = Duration::from_millis(to);
    while let Some(next) = reconciler.next_due().filter(|next| *next <= end) {
        let at = u64::try_from(next.as_millis()).unwrap();
        let work_items = reconciler.take_due(next, now(at));
        finish(reconciler, &work_items, at);
        [BUSY, QUIET].iter().for_each(|namespace| reconciler.finish_namespace(namespace));
    }
}

fn count_in(work_items: &[WorkItem], namespace: &str) -> usize {
    work_items.iter().filter(|work| work.observed.workload.name.namespace == namespace).count()
}

#[test]
fn safe_namespace_has_sixteen_writes_in_flight_and_others_do_not_wait() {
    let mut reconciler = changed(Profile::Safe);
    advance_to(&mut reconciler, 64_999);
    let at = reconciler.next_due().unwrap();
    let work_items = reconciler.take_due(at, now(65_000));
    assert_eq!((count_in(&work_items, BUSY), count_in(&work_items, QUIET)), (16, 1));
    assert!(reconciler.next_due().is_none_or(|next| next > at), "none of it is answered");
    let (first, _) = work_items.split_at(1);
    finish(&mut reconciler, first, 65_000);
    let work_items = reconciler.take_due(at, now(65_000));
    assert_eq!(count_in(&work_items, BUSY), 1, "each answer makes room for one more");
}

#[test]
fn reloader_namespace_is_decided_in_slices_and_others_do_not_wait() {
    let mut reconciler = changed(Profile::Reloader);
    let at = reconciler.next_due().unwrap();
    let work_items = reconciler.take_due(at, now(60_000));
    assert_eq!((count_in(&work_items, BUSY), count_in(&work_items, QUIET)), (500, 1));
    config(&mut reconciler, QUIET, "c", 12, 60_001);
    assert_eq!(reconciler.next_due(), None, "both have writes under way");
    let others: Vec<WorkItem> =
        work_items.into_iter().filter(|work| work.observed.workload.name.namespace == QUIET).collect();
    finish(&mut reconciler, &others, 60_001);
    let at = reconciler.next_due().unwrap();
    assert_eq!(
        count_in(&reconciler.take_due(at, now(60_001)), QUIET),
        1,
        "its next change does not wait for the other namespace"
    );
}

#[test]
fn xing_namespace_with_writes_in_flight_delays_only_itself() {
    let mut reconciler = changed(Profile::Xing);
    let at = reconciler.next_due().unwrap() + Duration::from_secs(1);
    let work_items = reconciler.take_due(at, now(70_000));
    assert_eq!((count_in(&work_items, BUSY), count_in(&work_items, QUIET)), (1000, 1));
    finish(&mut reconciler, &work_items, 70_000);
    reconciler.finish_namespace(QUIET);
    config(&mut reconciler, BUSY, "c", 20, 70_000);
    config(&mut reconciler, QUIET, "c", 21, 70_000);
    let work_items = reconciler.take_due(Duration::from_secs(3600), now(80_000));
    assert_eq!((count_in(&work_items, BUSY), count_in(&work_items, QUIET)), (0, 1));
    reconciler.finish_namespace(BUSY);
    assert_eq!(count_in(&reconciler.take_due(Duration::from_secs(3600), now(80_000)), BUSY), 1000);
}

#[test]
fn reloader_names_beyond_the_limits_are_reported_once_and_the_others_work() {
    let mut reconciler = reconciler(Profile::Reloader);
    let list = format!("named,{}", vec![r"(\w{20}){20}"; 200].join(","));
    let annotations = json!({"configmap.reloader.stakater.com/reload": list});
    let work_items = workload(&mut reconciler, QUIET, "web", &annotations);
    let [WorkItem { action: WorkAction::ReportBadAnnotations(problems), .. }] = &work_items[..] else {
        panic!("{work_items:?}")
    };
    let problem = &problems["configmap.reloader.stakater.com/reload"];
    assert!(problem.contains("of its names are left out"), "{problem}");
    config(&mut reconciler, QUIET, "named", 1, 0);
    config(&mut reconciler, QUIET, "named", 2, 1000);
    let at = reconciler.next_due().unwrap();
    assert_eq!(reconciler.take_due(at, now(1000)).len(), 1);
}

/// Each annotation is designed to use up memory or time; most have 256 KiB. All bytes that reading
/// one allocates stand for its time, which no test can rely on.
#[test]
fn largest_annotations_take_no_more_memory_than_their_text_and_little_work() {
    let list = |part: &dyn Fn(usize) -> String| -> String {
        let mut text = String::new();
        for n in 0.. {
            let part = part(n);
            if text.len() + part.len() > ANNOTATIONS {
                break;
            }
            text += &part;
        }
        text
    };
    let expressions = |n: usize| format!(r"[a-c]{n:x}\d{{9}},");
    // Shorter than the part of an annotation that is read.
    let short = |text: &str| text.repeat((16 << 10) / text.len());
    let cases = [
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", list(&expressions)),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", list(&|n| format!("{n:x},"))),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", short(r"(\w{20}){20},")),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", short(r"\w{1000},")),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", short("(),")),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", short(r"(?i)\pL,")),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", format!("(?i)({}){{0}}", r"\pL".repeat(5000))),
        (Profile::Reloader, "configmaps.exclude.reloader.stakater.com/reload", list(&|n| format!("{n:x},"))),
        (Profile::Reloader, "unknown", list(&|n| format!("{n:x},"))),
        (Profile::Safe, names::IGNORE, list(&|n| format!("{n:x},"))),
        (Profile::Safe, names::KEYS, list(&|n| format!("configmap/c/{n:x},"))),
        (Profile::Safe, names::WINDOW, list(&|_| "Mon 00:00-24:00 Europe/Berlin;".to_owned())),
        (Profile::Safe, names::DELAY, "x".repeat(ANNOTATIONS)),
        (Profile::Safe, names::MAX_UNAVAILABLE, "x".repeat(ANNOTATIONS)),
        (Profile::Safe, names::ORDER, "x".repeat(ANNOTATIONS)),
        (Profile::Safe, names::GROUP, "x".repeat(ANNOTATIONS)),
        (Profile::Safe, names::PENDING, "x".repeat(ANNOTATIONS)),
        (Profile::Safe, names::RESTARTS, list(&|_| "2026-01-01T00:00:05Z,".to_owned())),
        (Profile::Safe, names::CHECKSUMS, format!("{{{}\"x\":\"\"}}", list(&|n| format!("\"{n:x}\":\"\",")))),
        (Profile::Xing, names::CHECKSUMS, format!("{{{}\"x\":\"\"}}", list(&|n| format!("\"{n:x}\":\"\",")))),
    ];
    for (profile, annotation, text) in cases {
        let (mut reconciler, annotations) = (reconciler(profile), json!({annotation: text}));
        let memory = allocation_counter::measure(|| drop(workload(&mut reconciler, BUSY, "web", &annotations)));
        assert!(memory.bytes_current < i64::try_from(ANNOTATIONS).unwrap(), "{profile:?} {annotation}: {memory:?}");
        assert!(memory.bytes_max < 64 << 20, "{profile:?} {annotation}: {memory:?}");
        assert!(memory.bytes_total < 5 << 20, "{profile:?} {annotation}: {memory:?}");
    }
}
