//! Records every embedded case with our controller and replays it, as recorded and as a capture of
//! a live cluster. The trials play every case as well, so these play a part of them in each run of
//! the tests, and all of them each night.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use clap::Parser;
use lockstep_live::capture::Journal;
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{ChangeType, Header, ObjectVersion, Recording, RecordingEntry, WriterRole};
use lockstep_runner::{Simulation, simulate};
use rstest::rstest;

use super::*;

/// The number of parts of the collection.
const PARTS: usize = 8;

/// One part of all cases; no part reads the files of another.
fn collection(part: usize) -> Vec<Arc<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
    let files = case::find(&[folder]).unwrap();
    assert!(files.len() > 500, "{}", files.len());
    let files = files.iter().skip(part).step_by(PARTS);
    files.flat_map(|path| case::load(path).unwrap()).map(Arc::new).collect()
}

fn play(case: &Case) -> Recording {
    let simulation = Simulation::new(case.controllers.clone(), Duration::from_secs(20));
    simulate(case, &SubjectSpec::Ours, &simulation).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// Writes a recording and reads it.
fn read_back(recording: &Recording) -> Recording {
    let mut text = Vec::new();
    recording.write(&mut text).unwrap();
    Recording::read(text.as_slice()).unwrap()
}

/// The parts that a test plays.
type Parts = Range<usize>;

#[rstest]
#[case::part(0..1)]
#[ignore = "takes minutes: for each night"]
#[case::others(1..PARTS)]
fn every_case_replays_without_a_difference(#[case] parts: Parts) {
    let differing = parts.flat_map(collection).filter_map(|case| {
        let recorded = read_back(&play(&case));
        let replayed = Arc::new(recorded_case(&recorded.header).unwrap());
        let [_, second] = judge_pair(&replayed, &play(&replayed), &with_recorded_name(&recorded)).unwrap();
        (second.outcome() != RunOutcome::Conformant).then(|| format!("{}: {:?}", case.name, second.findings))
    });
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

/// The recording that `capture` would make of a Deployment, from the end of `given` on.
fn captured(recording: &Recording, deployment: &str) -> Recording {
    let first =
        recording.entries.iter().position(|entry| matches!(entry, RecordingEntry::Step(mark) if mark.index > 0));
    let (given, steps) = recording.entries.split_at(first.unwrap_or(recording.entries.len()));
    let kind = |version: &ObjectVersion| {
        ["Deployment", "ReplicaSet", "Pod", "Event"].into_iter().find(|kind| *kind == version.kind)
    };
    let versions = |entries: &[RecordingEntry]| {
        let all = entries.iter().filter_map(|entry| match entry {
            RecordingEntry::Object(version) => Some((kind(version)?, version.clone())),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    let mut existing = BTreeMap::new();
    for (kind, version) in versions(given) {
        let key = (kind, version.name.clone());
        if version.change == ChangeType::Deleted {
            drop(existing.remove(&key));
        } else {
            drop(existing.insert(key, version));
        }
    }
    let mut journal = Journal::new(deployment);
    existing
        .into_iter()
        .for_each(|((kind, _), version)| journal.add_initial(kind, version.object.value().as_ref().clone()));
    for (kind, version) in versions(steps) {
        // Managed fields name who changed a ReplicaSet.
        let by = if kind == "ReplicaSet" { version.by } else { WriterRole::Other };
        journal.add_version(kind, version.change, version.object.value().as_ref().clone(), (by, None), version.at);
    }
    let header = Header {
        case: format!("captured/{deployment}"),
        path: String::new(),
        source: String::new(),
        controllers: ControllerSet::default(),
        under_test: ControllerSet::from_iter([]),
        kind: SubjectKind::Cluster,
        ..recording.header.clone()
    };
    journal.finish(header, recording.end.as_ref().map_or(0, |end| end.at))
}

/// The only Deployment of a recording, if it exists before the first step. `capture` refuses
/// others.
fn deployment(recording: &Recording) -> Option<String> {
    let names = |entries: &[RecordingEntry]| {
        let versions = entries.iter().filter_map(|entry| match entry {
            RecordingEntry::Object(version) if version.kind == "Deployment" => Some(version.name.clone()),
            _ => None,
        });
        versions.collect::<BTreeSet<String>>()
    };
    let first =
        recording.entries.iter().position(|entry| matches!(entry, RecordingEntry::Step(mark) if mark.index > 0));
    let mut given = names(&recording.entries[..first.unwrap_or(0)]);
    let is_only = names(&recording.entries).len() == 1;
    given.pop_first().filter(|_| is_only)
}

#[derive(Parser)]
struct TestCommand {
    #[command(flatten)]
    play_args: PlayArgs,
}

/// Replays a recording as if it were captured. `None` if there is no difference, else the finding.
fn replayed_as_captured(recording: &Recording, deployment: &str) -> Option<String> {
    let live = read_back(&captured(recording, deployment));
    let name = format!("captured/{deployment}");
    let inferred = match infer(&live, &name, &Arrangements::new()) {
        Ok(inferred) => inferred,
        Err(error) => return Some(format!("unknown: {error}")),
    };
    let TestCommand { mut play_args } = TestCommand::parse_from(["lockstep", "--jobs", "1"]);
    play_args.cluster_args = play_args.cluster_args.with_default(SiteName::Sim);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let interleavings =
        Interleavings { recording: &live, name: &name, play_args: &play_args, spec: &SubjectSpec::Ours };
    let ReplayComparison { judgements: [_, second], .. } = runtime.block_on(interleavings.nearest(inferred)).unwrap();
    let finding = second.findings.first().map(|finding| format!("{}: {:?}", finding.place, finding.kind));
    match second.outcome() {
        RunOutcome::Conformant => None,
        RunOutcome::NonConformant => Some(format!("differs: {}", finding.unwrap_or_default())),
        _ => Some(format!("unknown: {}", finding.unwrap_or_default())),
    }
}

/// Cases whose replay differs, because a capture does not show everything: since when pods are
/// available, sizes and annotations that a user gave ReplicaSets before, who selected a ReplicaSet
/// before its labels changed, and which fields of a template another revision had.
const NOT_SHOWN_BY_A_CAPTURE: [&str; 8] = [
    "adoption/labels-come-to-match",
    "pause/none-active",
    "rollback/paused-keeps-the-history",
    "rollback/template-metadata",
    "rollback/with-a-new-template",
    "rolling/old-pods-not-yet-available",
    "scale/half-a-pod",
    "scale/to-the-size-of-the-new-one",
];

/// Whether a case interferes with the subject's requests, watches or process, which a capture does
/// not show.
fn interferes(case: &Case) -> bool {
    let text = &case.source;
    ["during:", "fault:", "subject:"].iter().any(|word| text.contains(word))
}

#[rstest]
#[case::part(0..1)]
#[ignore = "takes minutes: for each night"]
#[case::others(1..PARTS)]
fn every_case_replays_as_captured_without_a_difference(#[case] parts: Parts) {
    let cases = parts.flat_map(collection).filter(|case| !case.name.starts_with("config-restart/"));
    let differing = cases.filter(|case| !interferes(case)).filter_map(|case| {
        let recording = play(&case);
        let answer = replayed_as_captured(&recording, &deployment(&recording)?)?;
        println!("{}: {answer}", case.name);
        let is_known = NOT_SHOWN_BY_A_CAPTURE.contains(&case.name.as_str());
        (answer.starts_with("differs") != is_known).then(|| case.name.clone())
    });
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{differing:?}");
}
