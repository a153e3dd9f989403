//! What is found, and above all what is not.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube_apiserver_sim::Chance;
use rstest::rstest;
use serde_json::{Value, json};

use super::author::Author;
use super::model::{POD, REPLICA_SET};
use super::*;
use crate::case::{Case, load};
use crate::controllers::{Controller, Controllers};
use crate::recording::{Entry, Recording, Version, Writer};
use crate::runner::{Simulation, simulated};
use crate::search::{About, Areas, generate};
use crate::subject::Spec;
use crate::timeline::Timeline;
use crate::timeline::fixture::{Film, complete, deployment, owned_set, ready, revision, scaled, with};

const TERMS: Terms = Terms { staleness: 10_000, settle: 90_000, keep: 600_000, bytes: 32 << 20, anonymise: false };
/// The same, and no status is ever asked: most of the recordings below have no pods.
const NO_STATUS: Terms = Terms { settle: u64::MAX / 2, ..TERMS };
/// Between two steps, in milliseconds: longer than all that is waited for.
const BETWEEN: u64 = 200_000;

fn place() -> Place {
    Place { cluster: "prod".to_owned(), version: "v1.36.3".to_owned(), began: "2026-11-24T04:00:00Z".parse().unwrap() }
}

/// All watches live at this time; what is to be said.
fn heard(monitor: &mut Monitor, at: u64) -> Vec<Output> {
    KINDS.iter().for_each(|kind| monitor.take(News::Heard { kind }, at));
    monitor.look(at)
}

/// A recording's versions as watches bring them, with a long time between its steps; what came of
/// it.
fn watched(recording: &Recording, terms: Terms) -> Vec<Output> {
    watched_each(BETWEEN, recording, terms)
}

/// The same with so much time between its steps.
fn watched_each(between: u64, recording: &Recording, terms: Terms) -> Vec<Output> {
    let mut monitor = Monitor::new(terms, place());
    for kind in KINDS {
        monitor.take(News::Listed { kind, objects: Vec::new(), gap: None }, 0);
    }
    let (mut out, mut shift, mut now) = (Vec::new(), BETWEEN, 0);
    let entries = recording.entries.iter();
    for entry in entries {
        match entry {
            Entry::Settled(_) => {
                now += between;
                shift += between;
                out.extend(heard(&mut monitor, now));
            }
            Entry::Object(version) if KINDS.contains(&version.kind.as_str()) => {
                let author = if version.by == Writer::Other { Author::Controller } else { Author::Other };
                now = now.max(version.at + shift);
                monitor.take_by("x", author, Version { at: now, ..version.clone() });
            }
            _ => {}
        }
    }
    now += BETWEEN;
    out.extend(heard(&mut monitor, now));
    out.extend(monitor.end());
    out
}

fn breaches(outputs: &[Output]) -> Vec<String> {
    let breach = |output: &Output| match output {
        Output::Breach(breach) => {
            Some(format!("{}/{} {}: {}", breach.namespace, breach.deployment, breach.rule, breach.detail))
        }
        _ => None,
    };
    outputs.iter().filter_map(breach).collect()
}

fn at_rest() -> (Value, Value) {
    let web = with(&with(&deployment("web", 10, "app:1"), &revision(1)), &json!({"status": complete(10)}));
    let set = owned_set(&web, "1", "app:1", 10);
    let set = with(&set, &json!({"metadata": {"generation": 1}, "status": ready(10)}));
    (web, with(&set, &json!({"status": {"observedGeneration": 1}})))
}

fn film() -> Film {
    let (web, set) = at_rest();
    Film::new().given("deployment/web").driver(&web).other(&set).settled()
}

/// The controller writes a ReplicaSet.
fn decided(monitor: &mut Monitor, rv: u64, at: u64, object: Value) {
    let (kind, name) = (REPLICA_SET.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned());
    let (change, by, object) = (Change::Modified, Writer::Other, object.into());
    monitor.take_by("x", Author::Controller, Version { kind, name, change, rv, by, author: None, at, object });
}

/// What an image of its own looks like.
fn second(replicas: i32) -> Value {
    owned_set(&deployment("web", 10, "app:2"), "2", "app:2", replicas)
}

#[test]
fn more_than_may_be_is_a_breach() {
    let found = breaches(&watched(&film().user(1, "set").other(&second(4)).settled().end(), NO_STATUS));
    assert_eq!(found, ["x/web surge: web wants 14 pods in all, at most 13 allowed"]);
}

/// The controller may have seen the Deployment as it was a moment ago.
#[rstest]
#[case::at_once(false, 0)]
#[case::later(true, 1)]
fn what_was_allowed_a_moment_ago_is_no_breach(#[case] waits: bool, #[case] expected: usize) {
    let (web, _) = at_rest();
    let narrow =
        with(&web, &json!({"metadata": {"generation": 2}, "spec": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}}));
    let mut film = film().user(1, "patch").driver(&narrow);
    if waits {
        film = film.settled().user(2, "x");
    }
    let outputs = watched(&film.other(&second(1)).settled().end(), TERMS);
    let surges = breaches(&outputs).iter().filter(|breach| breach.contains("surge")).count();
    assert_eq!(surges, expected, "{outputs:?}");
}

#[test]
fn what_a_user_broke_is_excused() {
    let (web, _) = at_rest();
    let fewer = with(&scaled(&web, 5), &json!({"metadata": {"generation": 2}}));
    let film = film().user(1, "scale").driver(&fewer).settled().user(2, "x").other(&second(1));
    let found = breaches(&watched(&film.settled().end(), TERMS));
    assert!(found.iter().all(|breach| !breach.contains("surge")), "{found:?}");
}

/// Seen on a paused Deployment: upstream's proportional scaling took the pods of one ReplicaSet
/// after a user had scaled another up.
#[rstest]
#[case::of_a_user(true, 0)]
#[case::of_the_controller(false, 1)]
fn a_size_of_somebody_elses_excuses_what_follows(#[case] user: bool, #[case] expected: usize) {
    let (_, set) = at_rest();
    let empty = second(0);
    let film = film().user(1, "set").other(&empty).settled().user(2, "scale rs");
    let film = if user { film.driver(&scaled(&empty, 3)) } else { film.other(&scaled(&empty, 3)) };
    let found = breaches(&watched(&film.other(&scaled(&set, 0)).settled().end(), TERMS));
    let broken = found.iter().filter(|breach| breach.contains("availability")).count();
    assert_eq!(broken, expected, "{found:?}");
}

#[test]
fn the_size_that_a_user_gave_is_not_judged() {
    let (_, set) = at_rest();
    let found = breaches(&watched(&film().user(1, "scale rs").driver(&scaled(&set, 20)).settled().end(), TERMS));
    assert!(found.iter().all(|breach| !breach.contains("surge")), "{found:?}");
}

#[test]
fn a_status_that_stays_wrong_is_a_breach_and_one_that_lags_is_none() {
    let (web, set) = at_rest();
    let fewer = with(&set, &json!({"status": {"readyReplicas": 9, "availableReplicas": 9}}));
    let wrong = film().node(1, 0, "unready").other(&fewer);
    let right = with(&web, &json!({"status": {"readyReplicas": 9, "availableReplicas": 9}}));
    let outputs = watched(&wrong.settled().end(), TERMS);
    let about = |name: &str, outputs: &[Output]| breaches(outputs).into_iter().find(|breach| breach.contains(name));
    let expected = "x/web status: deployment/web has status.readyReplicas 10, and 9 is right";
    assert_eq!(about("deployment/web", &outputs).as_deref(), Some(expected));
    let lagging = film().node(1, 0, "unready").other(&fewer).other(&right).settled().end();
    assert_eq!(about("deployment/web", &watched(&lagging, TERMS)), None);
}

#[test]
fn nothing_is_judged_while_a_watch_is_silent() {
    let mut monitor = Monitor::new(TERMS, place());
    for kind in KINDS {
        monitor.take(News::Listed { kind, objects: Vec::new(), gap: None }, 0);
    }
    let (web, set) = at_rest();
    for (rv, object) in [(1, &web), (2, &set), (3, &second(9))] {
        let version = Version {
            kind: object["kind"].as_str().unwrap().to_owned(),
            name: object["metadata"]["name"].as_str().unwrap().to_owned(),
            change: Change::Added,
            rv,
            by: Writer::Other,
            author: None,
            at: 20_000 * rv,
            object: object.clone().into(),
        };
        monitor.take_by("x", Author::Controller, version);
    }
    for kind in [DEPLOYMENT, REPLICA_SET] {
        monitor.take(News::Heard { kind }, 80_000);
    }
    assert!(monitor.look(80_000).is_empty());
    monitor.take(News::Heard { kind: POD }, 80_000);
    assert!(breaches(&monitor.look(80_000))[0].contains("surge"));
}

#[test]
fn a_gap_is_said_and_what_follows_at_once_is_not_judged() {
    let (web, set) = at_rest();
    let mut monitor = Monitor::new(TERMS, place());
    let listed = |kind, objects: &[&Value], gap: Option<&str>| News::Listed {
        kind,
        objects: objects
            .iter()
            .map(|one| with(one, &json!({"metadata": {"namespace": "x", "resourceVersion": "5"}})))
            .collect(),
        gap: gap.map(str::to_owned),
    };
    monitor.take(listed(DEPLOYMENT, &[&web], None), 0);
    monitor.take(listed(REPLICA_SET, &[&set], None), 0);
    monitor.take(listed(POD, &[], None), 0);
    monitor.take(listed(REPLICA_SET, &[&set], Some("too old")), 60_000);
    decided(&mut monitor, 10, 61_000, second(9));
    let said = heard(&mut monitor, 65_000);
    assert!(matches!(&said[..], [Output::Note(note)] if note.contains("were not seen for a time")), "{said:?}");
    decided(&mut monitor, 11, 90_000, scaled(&second(9), 10));
    let said = heard(&mut monitor, 100_000);
    assert!(breaches(&said)[0].contains("surge"), "{said:?}");
}

#[test]
fn evidence_begins_with_what_was_there_and_is_bounded() {
    let film = film().user(1, "set").other(&second(4)).other(&scaled(&second(4), 5)).settled();
    let recording = film.end();
    let evidence = |terms| {
        let outputs = watched(&recording, terms);
        let mut all = outputs.into_iter().filter_map(|output| match output {
            Output::Evidence(file, recording) => Some((file.to_string(), *recording)),
            _ => None,
        });
        all.next().unwrap()
    };
    let (file, whole) = evidence(Terms { keep: 100_000, ..NO_STATUS });
    assert!(file.starts_with("20261124T04") && file.ends_with("-x-web.ndjson"), "{file}");
    let count = |recording: &Recording| {
        let settled = recording.entries.iter().position(|entry| matches!(entry, Entry::Settled(_))).unwrap();
        [settled, recording.entries.len() - settled - 1]
    };
    assert_eq!(count(&whole), [2, 2]);
    let mut text = Vec::new();
    whole.write(&mut text).unwrap();
    assert_eq!(Recording::read(text.as_slice()).unwrap(), whole);
    let (_, bounded) = evidence(Terms { bytes: 0, ..NO_STATUS });
    assert_eq!(count(&bounded)[1], 0);
}

/// A process that is ended between a decision and its status would otherwise leave evidence that
/// ends within a step.
#[test]
fn evidence_has_what_came_too_late_to_be_judged() {
    let mut monitor = Monitor::new(NO_STATUS, place());
    let (web, set) = at_rest();
    for (kind, objects) in [(DEPLOYMENT, vec![web]), (REPLICA_SET, vec![set]), (POD, Vec::new())] {
        monitor.take(News::Listed { kind, objects, gap: None }, 0);
    }
    decided(&mut monitor, 10, 61_000, second(15));
    decided(&mut monitor, 11, 64_000, second(16));
    assert!(breaches(&heard(&mut monitor, 65_000))[0].contains("surge"));
    let [Output::Evidence(_, recording)] = &monitor.end()[..] else { panic!("no evidence") };
    let last = recording.entries.iter().rev().find_map(|entry| match entry {
        Entry::Object(version) => Some(version.rv),
        _ => None,
    });
    assert_eq!(last, Some(11));
}

/// The cases of this project's controller that have a Deployment.
fn cases() -> Vec<Arc<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
    let mut all = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        if path.extension().is_some_and(|extension| extension == "yaml") && path.parent() != Some(Path::new("../cases"))
        {
            all.extend(load(&path).into_iter().flatten().map(Arc::new));
        }
    }
    all
}

/// Those of a case that its timeline shows.
fn in_timeline(recording: &Recording) -> Vec<&'static str> {
    let steps = Timeline::from_recording(recording).steps;
    steps.iter().flat_map(|step| &step.breaches).map(|breach| breach.invariant.name()).collect()
}

fn played(case: &Case) -> Option<Recording> {
    let judged: Controllers = case.controllers.clone();
    let simulation = Simulation::new(judged, Duration::from_secs(20));
    simulated(case, &Spec::Ours, &simulation).ok()
}

/// What each of these cases comes to, side by side.
fn on_each(cases: &[Arc<Case>], wrong: impl Fn(&Case, &Recording) -> Option<String> + Sync) -> Vec<String> {
    let lanes = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        let wrong = &wrong;
        let lane = |number: usize| {
            let mine = cases.iter().skip(number).step_by(lanes);
            mine.filter_map(|case| wrong(case, &played(case)?)).collect::<Vec<String>>()
        };
        let all: Vec<_> = (0..lanes).map(|number| scope.spawn(move || lane(number))).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    })
}

/// No case raises an alarm, whatever its users and nodes do; but for those in which no controller
/// runs for minutes.
#[test]
fn the_right_controller_raises_no_alarm() {
    let mut cases = cases();
    cases.retain(|case| case.controllers.has(Controller::Deployment));
    // Every second one, for time; all of them were played when this was written.
    let cases: Vec<Arc<Case>> = cases.into_iter().step_by(2).collect();
    assert!(cases.len() > 80, "{}", cases.len());
    let found = on_each(&cases, |case, recording| {
        let found = breaches(&watched(recording, TERMS));
        let is_away = case.name.starts_with("during/away");
        let expected = |breach: &String| is_away && breach.contains("has status.observedGeneration 1, and");
        (is_away == found.is_empty() || !found.iter().all(expected)).then(|| format!("{}: {found:?}", case.name))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Nor do programs of the search, whose operations follow each other slowly or in no time.
#[test]
fn random_programs_raise_no_alarm() {
    let (areas, mut chance) = (Areas::only(&[]), Chance::new(27));
    let programs = std::iter::repeat_with(|| generate(About::Deployment, &areas, &mut chance));
    let cases: Vec<Arc<Case>> = programs.filter_map(|program| program.case()).take(60).collect();
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

/// A pod became available again, and the controller, who had not seen it, gave up as many as it
/// thought were not.
#[rstest]
#[case::seen_late(9, 0)]
#[case::never(10, 1)]
fn pods_that_came_back_were_given_up_in_good_faith(#[case] available: i32, #[case] expected: usize) {
    let (_, set) = at_rest();
    let with_available = |available: i32| with(&set, &json!({"status": {"availableReplicas": available}}));
    let narrow = json!({"metadata": {"generation": 2}, "spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}});
    let film = film().user(1, "patch").driver(&with(&at_rest().0, &narrow)).settled().node(2, 0, "unready");
    let film = film.other(&with_available(available)).other(&with_available(10)).other(&scaled(&with_available(10), 9));
    let found = breaches(&watched(&film.settled().end(), TERMS));
    let broken = found.iter().filter(|breach| breach.contains("availability")).count();
    assert_eq!(broken, expected, "{found:?}");
}

/// The first ReplicaSet that the controller makes larger is made larger still.
fn spoilt(recording: &Recording) -> Recording {
    let mut recording = recording.clone();
    let mut sizes = BTreeMap::new();
    for entry in &mut recording.entries {
        let Entry::Object(version) = entry else { continue };
        if version.kind != REPLICA_SET {
            continue;
        }
        let size = version.object["spec"]["replicas"].as_i64().unwrap_or(1);
        let before = sizes.insert(version.name.clone(), size);
        if version.by == Writer::Other && before.is_some_and(|before| before < size) {
            version.object = scaled(&version.object, i32::try_from(size).unwrap() + 100).into();
            break;
        }
    }
    recording
}

/// What a timeline calls a breach is one here as well, where no doubt is left.
#[test]
fn what_the_timeline_calls_a_breach_is_reported() {
    let mut cases = cases();
    // Where a user has sized a ReplicaSet, sizes are excused.
    cases.retain(|case| case.name.starts_with("rolling/") && !case.name.ends_with("scaled-by-hand"));
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
    assert!(checked.into_inner() > 5);
}
