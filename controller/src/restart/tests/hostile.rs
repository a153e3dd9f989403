//! One namespace with much to do or maximal annotations: what others have to wait for, and what is
//! kept.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::config::Described;
use super::super::work::{Action, Outcome, Work};
use super::super::workload::Workload;
use super::super::{
    Agent, ConfigKind, ConfigName, Profile, RestartSettings, SecretChecksums, WorkloadKind, WorkloadName,
};
use crate::model::names::restart as names;

const HOSTILE: &str = "hostile";
const OTHER: &str = "other";
/// Bytes of all annotations of an object.
const ANNOTATIONS: usize = 256 << 10;

fn agent(profile: Profile) -> Agent {
    let mut agent =
        Agent::new(RestartSettings { profile, secrets: SecretChecksums::Unkeyed, ..RestartSettings::default() });
    ConfigKind::ALL.into_iter().for_each(|kind| agent.listed(kind, Duration::ZERO));
    agent.begin();
    agent
}

fn config(agent: &mut Agent, namespace: &str, name: &str, version: u64, at: u64) {
    let metadata = json!({"name": name, "namespace": namespace, "resourceVersion": version.to_string()});
    let read: Described = serde_json::from_value(json!({"metadata": metadata, "data": {"k": version}})).unwrap();
    let name = ConfigName { kind: ConfigKind::ConfigMap, namespace: namespace.to_owned(), name: name.to_owned() };
    agent.config(&name, Some(read.config), Duration::from_millis(at));
}

/// A workload that uses ConfigMap `c`.
fn workload(agent: &mut Agent, namespace: &str, name: &str, annotations: &Value) -> Vec<Work> {
    let mut annotations = annotations.clone();
    annotations[names::ENABLED] = "enabled".into();
    annotations["reloader.stakater.com/auto"] = "true".into();
    let spec = json!({"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "c"}}]}]});
    let object = json!({
        "metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "5", "annotations": annotations},
        "spec": {"template": {"spec": spec}},
    });
    let read = Workload::read(WorkloadKind::Deployment, &object).unwrap();
    let name = WorkloadName { kind: WorkloadKind::Deployment, namespace: namespace.to_owned(), name: name.to_owned() };
    agent.workload(&name, Some(read), Duration::ZERO)
}

/// An agent that has seen a thousand workloads of one namespace, one of another, and then a change
/// of the config of each.
fn changed(profile: Profile) -> Agent {
    let mut agent = agent(profile);
    for namespace in [HOSTILE, OTHER] {
        config(&mut agent, namespace, "c", 1, 0);
        for n in 0..if namespace == HOSTILE { 1000 } else { 1 } {
            workload(&mut agent, namespace, &format!("w{n:04}"), &json!({}));
        }
    }
    if profile != Profile::Reloader {
        // What they have is recorded first.
        pass(&mut agent, 60_000);
    }
    config(&mut agent, HOSTILE, "c", 10, 60_000);
    config(&mut agent, OTHER, "c", 11, 60_000);
    agent
}

fn now(at: u64) -> Timestamp {
    Timestamp::from_millisecond(1_767_571_200_000 + i64::try_from(at).unwrap()).unwrap()
}

fn finish(agent: &mut Agent, works: &[Work], at: u64) {
    for work in works {
        if let Action::Write(write) = &work.action {
            agent.finished(&work.observed, Outcome::Pretended(write.clone()), Duration::from_millis(at));
        } else {
            agent.finished(&work.observed, Outcome::Made, Duration::from_millis(at));
        }
    }
}

fn pass(agent: &mut Agent, to: u64) {
    let end = Duration::from_millis(to);
    while let Some(next) = agent.next().filter(|next| *next <= end) {
        let at = u64::try_from(next.as_millis()).unwrap();
        let works = agent.take(next, now(at));
        finish(agent, &works, at);
        [HOSTILE, OTHER].iter().for_each(|namespace| agent.carried_out(namespace));
    }
}

fn of(works: &[Work], namespace: &str) -> usize {
    works.iter().filter(|work| work.observed.workload.name.namespace == namespace).count()
}

#[test]
fn a_safe_namespace_has_sixteen_writes_under_way_and_another_does_not_wait() {
    let mut agent = changed(Profile::Safe);
    pass(&mut agent, 64_999);
    let at = agent.next().unwrap();
    let works = agent.take(at, now(65_000));
    assert_eq!((of(&works, HOSTILE), of(&works, OTHER)), (16, 1));
    assert!(agent.next().is_none_or(|next| next > at), "none of it is answered");
    let (first, _) = works.split_at(1);
    finish(&mut agent, first, 65_000);
    let works = agent.take(at, now(65_000));
    assert_eq!(of(&works, HOSTILE), 1, "each answer makes room for one more");
}

#[test]
fn a_reloader_namespace_is_decided_in_slices_and_another_does_not_wait() {
    let mut agent = changed(Profile::Reloader);
    let at = agent.next().unwrap();
    let works = agent.take(at, now(60_000));
    assert_eq!((of(&works, HOSTILE), of(&works, OTHER)), (500, 1));
    config(&mut agent, OTHER, "c", 12, 60_001);
    assert_eq!(agent.next(), None, "both have writes under way");
    let others: Vec<Work> = works.into_iter().filter(|work| work.observed.workload.name.namespace == OTHER).collect();
    finish(&mut agent, &others, 60_001);
    let at = agent.next().unwrap();
    assert_eq!(of(&agent.take(at, now(60_001)), OTHER), 1, "its next change does not wait for the other namespace");
}

#[test]
fn an_xing_namespace_with_writes_under_way_holds_up_itself_alone() {
    let mut agent = changed(Profile::Xing);
    let at = agent.next().unwrap() + Duration::from_secs(1);
    let works = agent.take(at, now(70_000));
    assert_eq!((of(&works, HOSTILE), of(&works, OTHER)), (1000, 1));
    finish(&mut agent, &works, 70_000);
    agent.carried_out(OTHER);
    config(&mut agent, HOSTILE, "c", 20, 70_000);
    config(&mut agent, OTHER, "c", 21, 70_000);
    let works = agent.take(Duration::from_secs(3600), now(80_000));
    assert_eq!((of(&works, HOSTILE), of(&works, OTHER)), (0, 1));
    agent.carried_out(HOSTILE);
    assert_eq!(of(&agent.take(Duration::from_secs(3600), now(80_000)), HOSTILE), 1000);
}

#[test]
fn what_reloader_annotations_have_too_much_of_is_reported_once_and_the_rest_works() {
    let mut agent = agent(Profile::Reloader);
    let list = format!("named,{}", vec![r"(\w{20}){20}"; 200].join(","));
    let annotations = json!({"configmap.reloader.stakater.com/reload": list});
    let works = workload(&mut agent, OTHER, "web", &annotations);
    let [Work { action: Action::BadAnnotations(problems), .. }] = &works[..] else { panic!("{works:?}") };
    let problem = &problems["configmap.reloader.stakater.com/reload"];
    assert!(problem.contains("of its names are left out"), "{problem}");
    config(&mut agent, OTHER, "named", 1, 0);
    config(&mut agent, OTHER, "named", 2, 1000);
    let at = agent.next().unwrap();
    assert_eq!(agent.take(at, now(1000)).len(), 1);
}

/// Each of these has 256 KiB of annotations, made to take memory.
#[test]
fn maximal_annotations_take_no_more_memory_than_their_text() {
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
    let cases = [
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", list(&expressions)),
        (Profile::Reloader, "configmap.reloader.stakater.com/reload", list(&|n| format!("{n:x},"))),
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
        let (mut agent, annotations) = (agent(profile), json!({annotation: text}));
        let kept = allocation_counter::measure(|| drop(workload(&mut agent, HOSTILE, "web", &annotations)));
        assert!(kept.bytes_current < i64::try_from(ANNOTATIONS).unwrap(), "{profile:?} {annotation}: {kept:?}");
        assert!(kept.bytes_max < 64 << 20, "{profile:?} {annotation}: {kept:?}");
    }
}
