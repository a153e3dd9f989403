//! Which recordings raise alarms, and above all which do not.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube_apiserver_sim::SeededRng;
use lockstep_case::{Case, load};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::testing::{
    RecordingBuilder, complete, deployment, owned_set, ready, revision, scaled, with_patch,
};
use lockstep_recording::{ObjectVersion, Recording, RecordingEntry, WriterRole};
use lockstep_runner::{Simulation, simulate};
use lockstep_search::{Areas, Focus, generate};
use lockstep_subject::SubjectSpec;
use lockstep_timeline::Timeline;
use rstest::rstest;
use serde_json::{Value, json};

use super::model::{POD, REPLICA_SET};
use super::observed::Author;
use super::*;

const TERMS: Tolerances =
    Tolerances { staleness: 10_000, settle: 90_000, keep: 600_000, bytes: 32 << 20, anonymise: false };
/// `TERMS` without checks of statuses: most of the recordings below have no pods.
const NO_STATUS: Tolerances = Tolerances { settle: u64::MAX / 2, ..TERMS };
/// The time between two steps in milliseconds: longer than any wait.
const BETWEEN: u64 = 200_000;

fn cluster_info() -> ClusterInfo {
    ClusterInfo {
        cluster: "prod".to_owned(),
        version: "v1.36.3".to_owned(),
        began: "2026-11-24T04:00:00Z".parse().unwrap(),
    }
}

/// All watches report at this time; returns what to report.
fn report_all_alive(monitor: &mut Monitor, at: u64) -> Vec<MonitorOutput> {
    KINDS.iter().for_each(|kind| monitor.take(WatchUpdate::Alive { kind }, at));
    monitor.poll(at)
}

/// Feed a recording's versions to a monitor, with a long time between its steps; returns what it
/// reports.
fn watched(recording: &Recording, terms: Tolerances) -> Vec<MonitorOutput> {
    watched_each(BETWEEN, recording, terms)
}

/// The same, with this much time between its steps.
fn watched_each(between: u64, recording: &Recording, terms: Tolerances) -> Vec<MonitorOutput> {
    let mut monitor = Monitor::new(terms, cluster_info());
    for kind in KINDS {
        monitor.take(WatchUpdate::Listed { kind, objects: Vec::new(), gap: None }, 0);
    }
    let (mut out, mut shift, mut now) = (Vec::new(), BETWEEN, 0);
    let entries = recording.entries.iter();
    for entry in entries {
        match entry {
            RecordingEntry::Settled(_) => {
                now += between;
                shift += between;
                out.extend(report_all_alive(&mut monitor, now));
            }
            RecordingEntry::Object(version) if KINDS.contains(&version.kind.as_str()) => {
                let author = if version.by == WriterRole::Other { Author::Controller } else { Author::Other };
                now = now.max(version.at + shift);
                monitor.take_by("x", author, ObjectVersion { at: now, ..version.clone() });
            }
            _ => {}
        }
    }
    now += BETWEEN;
    out.extend(report_all_alive(&mut monitor, now));
    out.extend(monitor.end());
    out
}

fn breaches(outputs: &[MonitorOutput]) -> Vec<String> {
    let breach = |output: &MonitorOutput| match output {
        MonitorOutput::Breach(breach) => {
            Some(format!("{}/{} {}: {}", breach.namespace, breach.deployment, breach.rule, breach.detail))
        }
        _ => None,
    };
    outputs.iter().filter_map(breach).collect()
}

fn at_rest() -> (Value, Value) {
    let web = with_patch(&with_patch(&deployment("web", 10, "app:1"), &revision(1)), &json!({"status": complete(10)}));
    let set = owned_set(&web, "1", "app:1", 10);
    let set = with_patch(&set, &json!({"metadata": {"generation": 1}, "status": ready(10)}));
    (web, with_patch(&set, &json!({"status": {"observedGeneration": 1}})))
}

fn builder() -> RecordingBuilder {
    let (web, set) = at_rest();
    RecordingBuilder::new().given("deployment/web").driver_write(&web).subject_write(&set).settled()
}

/// The controller writes a ReplicaSet.
fn decided(monitor: &mut Monitor, rv: u64, at: u64, object: Value) {
    let (kind, name) = (REPLICA_SET.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned());
    let (change, by, object) = (ChangeType::Modified, WriterRole::Other, object.into());
    monitor.take_by("x", Author::Controller, ObjectVersion { kind, name, change, rv, by, author: None, at, object });
}

/// The ReplicaSet of another image.
fn second(replicas: i32) -> Value {
    owned_set(&deployment("web", 10, "app:2"), "2", "app:2", replicas)
}

#[test]
fn reports_more_pods_than_the_surge_allows() {
    let found = breaches(&watched(&builder().user_step(1, "set").subject_write(&second(4)).settled().end(), NO_STATUS));
    assert_eq!(found, ["x/web surge: web wants 14 pods in all, at most 13 allowed"]);
}

/// The controller may have seen an earlier version of the Deployment.
#[rstest]
#[case::at_once(false, 0)]
#[case::later(true, 1)]
fn accepts_a_decision_on_a_recent_state(#[case] waits: bool, #[case] expected: usize) {
    let (web, _) = at_rest();
    let narrow = with_patch(
        &web,
        &json!({"metadata": {"generation": 2}, "spec": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}}),
    );
    let mut builder = builder().user_step(1, "patch").driver_write(&narrow);
    if waits {
        builder = builder.settled().user_step(2, "x");
    }
    let outputs = watched(&builder.subject_write(&second(1)).settled().end(), TERMS);
    let surges = breaches(&outputs).iter().filter(|breach| breach.contains("surge")).count();
    assert_eq!(surges, expected, "{outputs:?}");
}

#[test]
fn excuses_bounds_that_a_user_broke() {
    let (web, _) = at_rest();
    let fewer = with_patch(&scaled(&web, 5), &json!({"metadata": {"generation": 2}}));
    let builder =
        builder().user_step(1, "scale").driver_write(&fewer).settled().user_step(2, "x").subject_write(&second(1));
    let found = breaches(&watched(&builder.settled().end(), TERMS));
    assert!(found.iter().all(|breach| !breach.contains("surge")), "{found:?}");
}

/// Observed on a paused Deployment: upstream's proportional scaling removed the pods of one
/// ReplicaSet after a user had scaled another up.
#[rstest]
#[case::of_a_user(true, 0)]
#[case::of_the_controller(false, 1)]
fn excuses_sizes_after_another_client_changed_one(#[case] user: bool, #[case] expected: usize) {
    let (_, set) = at_rest();
    let empty = second(0);
    let builder = builder().user_step(1, "set").subject_write(&empty).settled().user_step(2, "scale rs");
    let builder =
        if user { builder.driver_write(&scaled(&empty, 3)) } else { builder.subject_write(&scaled(&empty, 3)) };
    let found = breaches(&watched(&builder.subject_write(&scaled(&set, 0)).settled().end(), TERMS));
    let broken = found.iter().filter(|breach| breach.contains("availability")).count();
    assert_eq!(broken, expected, "{found:?}");
}

#[test]
fn does_not_judge_a_size_that_a_user_wrote() {
    let (_, set) = at_rest();
    let found =
        breaches(&watched(&builder().user_step(1, "scale rs").driver_write(&scaled(&set, 20)).settled().end(), TERMS));
    assert!(found.iter().all(|breach| !breach.contains("surge")), "{found:?}");
}

#[test]
fn reports_a_status_only_if_it_stays_wrong() {
    let (web, set) = at_rest();
    let fewer = with_patch(&set, &json!({"status": {"readyReplicas": 9, "availableReplicas": 9}}));
    let wrong = builder().node_step(1, 0, "unready").subject_write(&fewer);
    let right = with_patch(&web, &json!({"status": {"readyReplicas": 9, "availableReplicas": 9}}));
    let outputs = watched(&wrong.settled().end(), TERMS);
    let about =
        |name: &str, outputs: &[MonitorOutput]| breaches(outputs).into_iter().find(|breach| breach.contains(name));
    let expected = "x/web status: deployment/web has status.readyReplicas 10, and 9 is right";
    assert_eq!(about("deployment/web", &outputs).as_deref(), Some(expected));
    let lagging = builder().node_step(1, 0, "unready").subject_write(&fewer).subject_write(&right).settled().end();
    assert_eq!(about("deployment/web", &watched(&lagging, TERMS)), None);
}

/// Upstream's `getNewReplicaSet` writes a condition and returns before it observes the generation.
#[rstest]
#[case::refused("ReplicaSetCreateError", 0)]
#[case::not_observed("NewReplicaSetAvailable", 1)]
fn excuses_the_status_of_a_deployment_whose_set_is_refused(#[case] reason: &str, #[case] expected: usize) {
    let (web, _) = at_rest();
    let changed = with_patch(&web, &json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}}));
    let conditions = json!({"status": {"conditions": [{"type": "Progressing", "status": "False", "reason": reason}]}});
    let written = with_patch(&changed, &conditions);
    let builder = builder().user_step(1, "set").driver_write(&changed).subject_write(&written);
    let found = breaches(&watched(&builder.settled().end(), TERMS));
    let about = found.iter().filter(|breach| breach.contains("status.observedGeneration 1, and 2")).count();
    assert_eq!(about, expected, "{found:?}");
}

/// The namespace may be misspelt.
#[test]
fn says_that_there_is_no_deployment() {
    let outputs = report_all_alive(&mut start_monitor(TERMS, &[]), 1_000);
    assert!(outputs.is_empty(), "{outputs:?}");
    let mut monitor = Monitor::new(TERMS, cluster_info());
    KINDS.iter().for_each(|kind| monitor.take(list_update(kind, &[], None), 0));
    let outputs = report_all_alive(&mut monitor, 1_000);
    assert!(
        matches!(&outputs[..], [MonitorOutput::Note(note)] if note.contains("there is no Deployment yet")),
        "{outputs:?}"
    );
    assert!(report_all_alive(&mut monitor, 2_000).is_empty());
}

#[test]
fn does_not_judge_while_a_watch_is_silent() {
    let mut monitor = Monitor::new(TERMS, cluster_info());
    for kind in KINDS {
        monitor.take(WatchUpdate::Listed { kind, objects: Vec::new(), gap: None }, 0);
    }
    report_all_alive(&mut monitor, 1_000);
    let (web, set) = at_rest();
    for (rv, object) in [(1, &web), (2, &set), (3, &second(9))] {
        if rv == 3 {
            assert!(report_all_alive(&mut monitor, 58_000).is_empty());
        }
        let version = ObjectVersion {
            kind: object["kind"].as_str().unwrap().to_owned(),
            name: object["metadata"]["name"].as_str().unwrap().to_owned(),
            change: ChangeType::Added,
            rv,
            by: WriterRole::Other,
            author: None,
            at: 20_000 * rv,
            object: object.clone().into(),
        };
        monitor.take_by("x", Author::Controller, version);
    }
    for kind in [DEPLOYMENT, REPLICA_SET] {
        monitor.take(WatchUpdate::Alive { kind }, 80_000);
    }
    assert!(monitor.poll(80_000).is_empty());
    monitor.take(WatchUpdate::Alive { kind: POD }, 80_000);
    assert!(breaches(&monitor.poll(80_000))[0].contains("surge"));
}

#[test]
fn reports_a_gap_and_does_not_judge_right_after_it() {
    let (_, set) = at_rest();
    let mut monitor = start_monitor(TERMS, &[]);
    monitor.take(list_update(REPLICA_SET, &[&set], Some("too old")), 60_000);
    decided(&mut monitor, 10, 61_000, second(9));
    let outputs = report_all_alive(&mut monitor, 65_000);
    assert!(
        matches!(&outputs[..], [MonitorOutput::Note(note)] if note.contains("were not seen for a time")),
        "{outputs:?}"
    );
    decided(&mut monitor, 11, 90_000, scaled(&second(9), 10));
    let outputs = report_all_alive(&mut monitor, 100_000);
    assert!(breaches(&outputs)[0].contains("surge"), "{outputs:?}");
}

/// An object as a server answers it, with this UID and version.
fn stored(object: &Value, rv: u64) -> Value {
    with_patch(object, &json!({"metadata": {"namespace": "x", "resourceVersion": rv.to_string()}}))
}

/// A list of a kind, at first or after a gap.
fn list_update(kind: &'static str, objects: &[&Value], gap: Option<&str>) -> WatchUpdate {
    let objects = objects.iter().map(|object| stored(object, 5)).collect();
    WatchUpdate::Listed { kind, objects, gap: gap.map(str::to_owned) }
}

/// A monitor that has listed the settled Deployment with its ReplicaSet and these pods.
fn start_monitor(terms: Tolerances, pods: &[Value]) -> Monitor {
    let (web, set) = at_rest();
    let mut monitor = Monitor::new(terms, cluster_info());
    monitor.take(list_update(DEPLOYMENT, &[&web], None), 0);
    monitor.take(list_update(REPLICA_SET, &[&set], None), 0);
    monitor.take(list_update(POD, &pods.iter().collect::<Vec<_>>(), None), 0);
    monitor
}

/// A version from a watch.
fn version_update(change: ChangeType, object: &Value, rv: u64) -> WatchUpdate {
    let kind = KINDS.into_iter().find(|kind| object["kind"] == *kind).unwrap();
    WatchUpdate::Version { kind, change, object: stored(object, rv) }
}

/// What is reported while nothing happens, until each status has been checked.
fn checked(monitor: &mut Monitor, from: u64) -> Vec<String> {
    breaches(&(1..30).flat_map(|tick| report_all_alive(monitor, from + 10_000 * tick)).collect::<Vec<_>>())
}

/// As many ready pods of a ReplicaSet.
fn pods_of(set: &Value, count: u32) -> Vec<Value> {
    let name = set["metadata"]["name"].as_str().unwrap();
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "controller": true,
        "uid": set["metadata"]["uid"]}]);
    let pod = |number: u32| {
        json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("{name}-{number}"), "uid": format!("{name}-{number}"), "ownerReferences": owner,
            "labels": set["spec"]["selector"]["matchLabels"]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    (0..count).map(pod).collect()
}

/// Each kind has its own watch, so a ReplicaSet may come before its Deployment: while the
/// Deployments are listed again, and between the first lists.
#[rstest]
#[case::in_a_gap(true)]
#[case::at_the_start(false)]
fn counts_sets_that_came_before_their_deployment(#[case] in_gap: bool) {
    let (web, set) = at_rest();
    let pods = pods_of(&set, 10);
    let mut monitor = Monitor::new(TERMS, cluster_info());
    monitor.take(list_update(DEPLOYMENT, &[], None), 0);
    if in_gap {
        monitor.take(list_update(REPLICA_SET, &[], None), 0);
        monitor.take(list_update(POD, &[], None), 0);
        monitor.take(version_update(ChangeType::Added, &set, 7), 20_000);
        pods.iter().for_each(|pod| monitor.take(version_update(ChangeType::Added, pod, 8), 20_000));
        monitor.take(list_update(DEPLOYMENT, &[&web], Some("too old")), 30_000);
    } else {
        monitor.take(list_update(REPLICA_SET, &[&set], None), 0);
        monitor.take(list_update(POD, &pods.iter().collect::<Vec<_>>(), None), 0);
        monitor.take(version_update(ChangeType::Added, &web, 4), 20_000);
    }
    assert_eq!(checked(&mut monitor, 30_000), [""; 0]);
    // Its own status is checked as well.
    monitor.take(version_update(ChangeType::Deleted, &pods[0], 901), 400_000);
    let found = checked(&mut monitor, 400_000);
    assert!(found.iter().any(|breach| breach.contains("has status.replicas 10, and 9 is right")), "{found:?}");
}

/// What was deleted and created again in a gap has its old name and another UID.
#[rstest]
#[case::deployment(DEPLOYMENT)]
#[case::set(REPLICA_SET)]
fn object_created_again_in_a_gap_replaces_the_old_one(#[case] kind: &'static str) {
    let (web, set) = at_rest();
    let pods = pods_of(&set, 10);
    let mut monitor = start_monitor(TERMS, &pods);
    let renewed = |object: &Value| with_patch(object, &json!({"metadata": {"uid": "again"}}));
    let owned = |object: &Value, owner: &str| {
        let mut object = object.clone();
        object["metadata"]["ownerReferences"][0]["uid"] = owner.into();
        object
    };
    if kind == DEPLOYMENT {
        monitor.take(version_update(ChangeType::Modified, &owned(&set, "again"), 7), 20_000);
        monitor.take(list_update(DEPLOYMENT, &[&renewed(&web)], Some("too old")), 30_000);
    } else {
        pods.iter().for_each(|pod| monitor.take(version_update(ChangeType::Modified, &owned(pod, "again"), 7), 20_000));
        monitor.take(list_update(REPLICA_SET, &[&renewed(&set)], Some("too old")), 30_000);
    }
    assert_eq!(checked(&mut monitor, 30_000), [""; 0]);
    assert_eq!((monitor.cluster_state.groups.len(), monitor.counts.deployments), (1, 1));
    let last = if kind == DEPLOYMENT { renewed(&web) } else { web };
    monitor.take(version_update(ChangeType::Modified, &last, 900), 400_000);
    report_all_alive(&mut monitor, 500_000);
    assert_eq!(monitor.cluster_state.sets.len(), 1);
}

/// The Deployment's watch was away while it was scaled. What comes before its new version, when the
/// watch is open again, does not show that everything has arrived.
#[test]
fn opened_watch_may_still_be_behind() {
    let (web, set) = at_rest();
    let mut monitor = start_monitor(NO_STATUS, &[]);
    report_all_alive(&mut monitor, 20_000);
    decided(&mut monitor, 111, 40_000, scaled(&set, 20));
    let opened = WatchUpdate::Opened { kind: DEPLOYMENT, length: 30 };
    let refused = WatchUpdate::Lost { kind: DEPLOYMENT, why: "etcdserver: no leader".to_owned() };
    [REPLICA_SET, POD].into_iter().for_each(|kind| monitor.take(WatchUpdate::Alive { kind }, 60_000));
    for update in [refused, opened] {
        monitor.take(update, 60_000);
        assert_eq!(breaches(&monitor.poll(60_000)), [""; 0]);
    }
    assert_eq!(monitor.trouble(), None);
    // Another Deployment, then this one.
    monitor.take(version_update(ChangeType::Added, &deployment("api", 1, "app:1"), 109), 60_000);
    assert_eq!(breaches(&monitor.poll(60_250)), [""; 0]);
    let larger = with_patch(&scaled(&web, 20), &json!({"metadata": {"generation": 2}}));
    monitor.take(version_update(ChangeType::Modified, &larger, 110), 60_300);
    assert_eq!(breaches(&report_all_alive(&mut monitor, 70_000)), [""; 0]);
}

/// The ReplicaSet's watch was away, so a decision comes long after it was made. The controller may
/// have made it before it saw the Deployment that had come in time.
#[rstest]
#[case::late(&[], 0)]
#[case::behind_another_late_version(&[57_000], 0)]
#[case::in_time(&[50_000], 1)]
fn late_decision_may_be_from_before_the_last_contact(#[case] contacts: &[u64], #[case] expected: usize) {
    let (web, _) = at_rest();
    let mut monitor = start_monitor(NO_STATUS, &[]);
    report_all_alive(&mut monitor, 20_000);
    let narrow = json!({"metadata": {"generation": 2}, "spec": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}});
    monitor.take(version_update(ChangeType::Modified, &with_patch(&web, &narrow), 110), 25_000);
    for at in contacts {
        match at {
            57_000 => monitor.take(version_update(ChangeType::Added, &owned_set(&web, "0", "app:0", 0), 105), *at),
            _ => drop(report_all_alive(&mut monitor, *at)),
        }
    }
    decided(&mut monitor, 111, 60_000, second(1));
    let found = breaches(&report_all_alive(&mut monitor, 70_000));
    assert_eq!(found.len(), expected, "{found:?}");
}

/// The Deployment's watch was refused for longer than a status may be wrong. The status that was
/// written meanwhile arrives, and is applied a moment later.
#[test]
fn late_status_was_perhaps_right_in_time() {
    let (web, set) = at_rest();
    let pods = pods_of(&set, 10);
    let mut monitor = start_monitor(TERMS, &pods);
    let nine = json!({"status": {"replicas": 9, "readyReplicas": 9, "availableReplicas": 9}});
    monitor.take(version_update(ChangeType::Deleted, &pods[0], 107), 20_000);
    monitor.take(version_update(ChangeType::Modified, &with_patch(&set, &nine), 108), 20_000);
    assert_eq!(breaches(&report_all_alive(&mut monitor, 25_000)), [""; 0]);
    for kind in [REPLICA_SET, POD] {
        monitor.take(WatchUpdate::Alive { kind }, 130_000);
    }
    let status = with_patch(&web, &nine);
    monitor.take(version_update(ChangeType::Modified, &status, 110), 130_000);
    assert_eq!(breaches(&monitor.poll(130_000)), [""; 0]);
    assert_eq!(checked(&mut monitor, 130_000), [""; 0]);
}

/// After this process was stopped, all watches end at once, long after the server has ended them.
#[test]
fn watch_is_not_up_to_date_after_its_end() {
    let mut monitor = Monitor::new(TERMS, cluster_info());
    for kind in KINDS {
        monitor.take(WatchUpdate::Listed { kind, objects: Vec::new(), gap: None }, 0);
        monitor.take(WatchUpdate::Opened { kind, length: 30 }, 1_000);
    }
    report_all_alive(&mut monitor, 100_000);
    assert_eq!(monitor.counts.behind, 71_000);
}

#[test]
fn evidence_begins_with_existing_objects_and_is_bounded() {
    let builder =
        builder().user_step(1, "set").subject_write(&second(4)).subject_write(&scaled(&second(4), 5)).settled();
    let recording = builder.end();
    let evidence = |terms| {
        let outputs = watched(&recording, terms);
        let mut all = outputs.into_iter().filter_map(|output| match output {
            MonitorOutput::Evidence(file, recording) => Some((file.to_string(), *recording)),
            _ => None,
        });
        all.next().unwrap()
    };
    let (file, whole) = evidence(Tolerances { keep: 100_000, ..NO_STATUS });
    assert!(file.starts_with("20261124T04") && file.ends_with("-x-web.ndjson"), "{file}");
    let count = |recording: &Recording| {
        let settled = recording.entries.iter().position(|entry| matches!(entry, RecordingEntry::Settled(_))).unwrap();
        [settled, recording.entries.len() - settled - 1]
    };
    assert_eq!(count(&whole), [2, 2]);
    let mut text = Vec::new();
    whole.write(&mut text).unwrap();
    assert_eq!(Recording::read(text.as_slice()).unwrap(), whole);
    let (_, bounded) = evidence(Tolerances { bytes: 0, ..NO_STATUS });
    assert_eq!(count(&bounded)[1], 0);
}

/// If the process ends between a decision and its status, the evidence would otherwise end within a
/// step.
#[test]
fn evidence_includes_versions_that_were_too_late_to_judge() {
    let mut monitor = Monitor::new(NO_STATUS, cluster_info());
    let (web, set) = at_rest();
    for (kind, objects) in [(DEPLOYMENT, vec![web]), (REPLICA_SET, vec![set]), (POD, Vec::new())] {
        monitor.take(WatchUpdate::Listed { kind, objects, gap: None }, 0);
    }
    decided(&mut monitor, 10, 61_000, second(15));
    decided(&mut monitor, 11, 64_000, second(16));
    assert!(breaches(&report_all_alive(&mut monitor, 65_000))[0].contains("surge"));
    let [MonitorOutput::Evidence(_, recording)] = &monitor.end()[..] else { panic!("no evidence") };
    let last = recording.entries.iter().rev().find_map(|entry| match entry {
        RecordingEntry::Object(version) => Some(version.rv),
        _ => None,
    });
    assert_eq!(last, Some(11));
}

/// How many of the cases and programs a test plays. Each night all are played.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Some cases of each area: those that are tagged for it.
    CrossSection,
    Whole,
}

/// The cases of this project's controller that have a Deployment, in a folder below `cases`.
fn cases(folder: &str, extent: Extent) -> Vec<Arc<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../cases").join(folder);
    let mut all = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let is_tagged = || std::fs::read_to_string(&path).unwrap().contains("cross-section");
        if extent == Extent::Whole || is_tagged() {
            all.extend(load(&path).into_iter().flatten().map(Arc::new));
        }
    }
    all.retain(|case| case.controllers.has(Controller::Deployment));
    all
}

/// The breaches in a case's timeline that the monitor also checks.
fn in_timeline(recording: &Recording) -> Vec<&'static str> {
    let steps = Timeline::from_recording(recording).steps;
    steps.iter().flat_map(|step| &step.breaches).map(|breach| breach.invariant.name()).collect()
}

fn run_case(case: &Case) -> Option<Recording> {
    let judged: ControllerSet = case.controllers.clone();
    let simulation = Simulation::new(judged, Duration::from_secs(20));
    simulate(case, &SubjectSpec::Ours, &simulation).ok()
}

/// Run each of these cases and return what is wrong with any of them.
fn on_each(cases: &[Arc<Case>], wrong: impl Fn(&Case, &Recording) -> Option<String> + Sync) -> Vec<String> {
    let lanes = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        let wrong = &wrong;
        let lane = |number: usize| {
            let mine = cases.iter().skip(number).step_by(lanes);
            mine.filter_map(|case| wrong(case, &run_case(case)?)).collect::<Vec<String>>()
        };
        let all: Vec<_> = (0..lanes).map(|number| scope.spawn(move || lane(number))).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    })
}

/// No case raises an alarm, whatever its users and nodes do, except those in which no controller
/// runs for minutes.
#[rstest]
#[case::cross_section(Extent::CrossSection, 30)]
#[ignore = "takes minutes: for each night"]
#[case::whole(Extent::Whole, 220)]
fn correct_controller_raises_no_alarm(#[case] extent: Extent, #[case] least: usize) {
    let mut cases = cases("", extent);
    if extent == Extent::CrossSection {
        cases.extend(self::cases("during", Extent::Whole).into_iter().filter(|case| case.name.contains("/away")));
    }
    assert!(cases.len() >= least, "{}", cases.len());
    let found = on_each(&cases, |case, recording| {
        let found = breaches(&watched(recording, TERMS));
        let is_away = case.name.starts_with("during/away");
        let expected = |breach: &String| is_away && breach.contains("has status.observedGeneration 1, and");
        (is_away == found.is_empty() || !found.iter().all(expected)).then(|| format!("{}: {found:?}", case.name))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Nor do random programs of the search, whose operations follow each other slowly or at once.
#[rstest]
#[case::some(12)]
#[ignore = "takes minutes: for each night"]
#[case::many(240)]
fn random_programs_raise_no_alarm(#[case] count: usize) {
    let (areas, mut chance) = (Areas::only(&[]), SeededRng::new(27));
    let programs = std::iter::repeat_with(|| generate(Focus::Deployment, &areas, &mut chance));
    let cases: Vec<Arc<Case>> = programs.filter_map(|program| program.case()).take(count).collect();
    let found = on_each(&cases, |case, recording| {
        let slow = breaches(&watched(recording, TERMS));
        let fast = breaches(&watched_each(1_000, recording, TERMS));
        let is_stopped = |breach: &String| case.source.contains("- subject: stop") && breach.contains(" status: ");
        let is_whole = recording.end.as_ref().is_some_and(|end| end.completed);
        let all: Vec<String> = slow.into_iter().chain(fast).filter(|breach| !is_stopped(breach)).collect();
        (is_whole && !all.is_empty()).then(|| format!("{all:?}\n{}", case.source))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A pod became available again, and the controller, which had not seen it, removed as many pods as
/// it considered unavailable.
#[rstest]
#[case::seen_late(9, 0)]
#[case::never(10, 1)]
fn excuses_the_removal_of_pods_that_became_available_again(#[case] available: i32, #[case] expected: usize) {
    let (_, set) = at_rest();
    let with_available = |available: i32| with_patch(&set, &json!({"status": {"availableReplicas": available}}));
    let narrow = json!({"metadata": {"generation": 2}, "spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}});
    let builder = builder()
        .user_step(1, "patch")
        .driver_write(&with_patch(&at_rest().0, &narrow))
        .settled()
        .node_step(2, 0, "unready");
    let builder = builder
        .subject_write(&with_available(available))
        .subject_write(&with_available(10))
        .subject_write(&scaled(&with_available(10), 9));
    let found = breaches(&watched(&builder.settled().end(), TERMS));
    let broken = found.iter().filter(|breach| breach.contains("availability")).count();
    assert_eq!(broken, expected, "{found:?}");
}

/// The recording with the first ReplicaSet that the controller scales up made larger still.
fn spoilt(recording: &Recording) -> Recording {
    let mut recording = recording.clone();
    let mut sizes = BTreeMap::new();
    for entry in &mut recording.entries {
        let RecordingEntry::Object(version) = entry else { continue };
        if version.kind != REPLICA_SET {
            continue;
        }
        let size = version.object["spec"]["replicas"].as_i64().unwrap_or(1);
        let before = sizes.insert(version.name.clone(), size);
        if version.by == WriterRole::Other && before.is_some_and(|before| before < size) {
            version.object = scaled(&version.object, i32::try_from(size).unwrap() + 100).into();
            break;
        }
    }
    recording
}

/// A breach in the timeline is also reported here if no doubt is left.
#[rstest]
#[case::cross_section(Extent::CrossSection)]
#[ignore = "takes minutes: for each night"]
#[case::whole(Extent::Whole)]
fn reports_breaches_that_the_timeline_shows(#[case] extent: Extent) {
    let mut cases = cases("rolling", extent);
    // If a user has changed the size of a ReplicaSet, sizes are excused.
    cases.retain(|case| !case.name.ends_with("scaled-by-hand"));
    let checked = std::sync::atomic::AtomicUsize::new(0);
    let missed = on_each(&cases, |case, recording| {
        let spoilt = spoilt(recording);
        if !in_timeline(&spoilt).contains(&"surge") {
            return None;
        }
        checked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let found = breaches(&watched(&spoilt, TERMS));
        (!found.iter().any(|breach| breach.contains("surge"))).then(|| format!("{}: {found:?}", case.name))
    });
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    let least = if extent == Extent::Whole { 6 } else { 3 };
    assert!(checked.into_inner() >= least);
}
