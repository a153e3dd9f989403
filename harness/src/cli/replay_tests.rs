//! The whole collection, recorded with our controller and replayed on it: as played, and as a
//! capture of a live cluster would have it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Parser;
use rstest::rstest;

use super::*;
use crate::capture::Journal;
use crate::controllers::Controllers;
use crate::recording::{Change, Entry, Header, Recording, Version, Writer};
use crate::runner::{Simulation, simulated};

/// The test is in so many parts, which run side by side.
const PARTS: usize = 8;

/// A part of the cases of the collection, one for each profile.
fn collection(part: usize) -> Vec<Arc<Case>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
    let files = case::find(&[folder]).unwrap();
    let cases: Vec<_> = files.iter().flat_map(|path| case::load(path).unwrap()).map(Arc::new).collect();
    assert!(cases.len() > 500, "{}", cases.len());
    cases.into_iter().skip(part).step_by(PARTS).collect()
}

fn play(case: &Case) -> Recording {
    let simulation = Simulation::new(case.controllers.clone(), Duration::from_secs(20));
    simulated(case, &Spec::Ours, &simulation).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// What is recorded is read back, as from a file.
fn read_back(recording: &Recording) -> Recording {
    let mut text = Vec::new();
    recording.write(&mut text).unwrap();
    Recording::read(text.as_slice()).unwrap()
}

#[rstest]
fn every_case_replays_without_a_difference(#[values(0, 1, 2, 3, 4, 5, 6, 7)] part: usize) {
    let differing = collection(part).into_iter().filter_map(|case| {
        let recorded = read_back(&play(&case));
        let again = Arc::new(recorded_case(&recorded.header).unwrap());
        let [_, second] = judged(&again, &play(&again), &named(&recorded)).unwrap();
        (second.outcome() != Outcome::Conformant).then(|| format!("{}: {:?}", case.name, second.findings))
    });
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

/// What `capture` would have seen of a Deployment from the end of `given` on.
fn captured(recording: &Recording, deployment: &str) -> Recording {
    let first = recording.entries.iter().position(|entry| matches!(entry, Entry::Step(mark) if mark.index > 0));
    let (given, steps) = recording.entries.split_at(first.unwrap_or(recording.entries.len()));
    let kind =
        |version: &Version| ["Deployment", "ReplicaSet", "Pod", "Event"].into_iter().find(|kind| *kind == version.kind);
    let versions = |entries: &[Entry]| {
        let all = entries.iter().filter_map(|entry| match entry {
            Entry::Object(version) => Some((kind(version)?, version.clone())),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    let mut there = BTreeMap::new();
    for (kind, version) in versions(given) {
        let key = (kind, version.name.clone());
        if version.change == Change::Deleted { drop(there.remove(&key)) } else { drop(there.insert(key, version)) }
    }
    let mut journal = Journal::new(deployment);
    there.into_iter().for_each(|((kind, _), version)| journal.found(kind, version.object.value().as_ref().clone()));
    for (kind, version) in versions(steps) {
        // Managed fields name who changed a ReplicaSet.
        let by = if kind == "ReplicaSet" { version.by } else { Writer::Other };
        journal.written(kind, version.change, version.object.value().as_ref().clone(), (by, None), version.at);
    }
    let header = Header {
        case: format!("captured/{deployment}"),
        path: String::new(),
        source: String::new(),
        judged: Controllers::default(),
        under_test: Controllers::from_iter([]),
        kind: SubjectKind::Cluster,
        ..recording.header.clone()
    };
    journal.finish(header, recording.end.as_ref().map_or(0, |end| end.at))
}

/// The only Deployment of a recording, if it is there before the first step: `capture` refuses one
/// that is not.
fn deployment(recording: &Recording) -> Option<String> {
    let names = |entries: &[Entry]| {
        let versions = entries.iter().filter_map(|entry| match entry {
            Entry::Object(version) if version.kind == "Deployment" => Some(version.name.clone()),
            _ => None,
        });
        versions.collect::<BTreeSet<String>>()
    };
    let first = recording.entries.iter().position(|entry| matches!(entry, Entry::Step(mark) if mark.index > 0));
    let mut given = names(&recording.entries[..first.unwrap_or(0)]);
    let is_only = names(&recording.entries).len() == 1;
    given.pop_first().filter(|_| is_only)
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    place: Place,
}

/// What a replay of a live cluster comes to: nothing where there is no difference, else what
/// `replay` says.
fn replayed_as_captured(recording: &Recording, deployment: &str) -> Option<String> {
    let live = read_back(&captured(recording, deployment));
    let name = format!("captured/{deployment}");
    let inferred = match infer(&live, &name, &Arrangements::new()) {
        Ok(inferred) => inferred,
        Err(error) => return Some(format!("unknown: {error}")),
    };
    let Line { mut place } = Line::parse_from(["lockstep", "--jobs", "1"]);
    place.site = place.site.or(SiteName::Sim);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let ways = Ways { recording: &live, name: &name, place: &place, spec: &Spec::Ours };
    let Look { judgements: [_, second], .. } = runtime.block_on(ways.nearest(inferred)).unwrap();
    let finding = second.findings.first().map(|finding| format!("{}: {:?}", finding.place, finding.what));
    match second.outcome() {
        Outcome::Conformant => None,
        Outcome::NonConformant => Some(format!("differs: {}", finding.unwrap_or_default())),
        _ => Some(format!("unknown: {}", finding.unwrap_or_default())),
    }
}

/// What a case does to the subject's own requests and watches is not in a recording of a live
/// cluster.
fn meddles(case: &Case) -> bool {
    let text = &case.source;
    ["during:", "fault:", "subject:"].iter().any(|word| text.contains(word))
}

#[rstest]
fn no_case_is_a_difference_as_captured(#[values(0, 1, 2, 3, 4, 5, 6, 7)] part: usize) {
    let cases = collection(part).into_iter().filter(|case| !case.name.starts_with("config-restart/"));
    let differing = cases.filter(|case| !meddles(case)).filter_map(|case| {
        let recording = play(&case);
        let answer = replayed_as_captured(&recording, &deployment(&recording)?)?;
        println!("{}: {answer}", case.name);
        answer.starts_with("differs").then(|| case.name.clone())
    });
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{differing:?}");
}
