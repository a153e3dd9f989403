//! Pages of a run and of a recording, with long names and pictures wider than a phone.

use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, ready, revision, scaled, with_patch};
use lockstep_recording::{Blame, Recording};
use lockstep_report::RerunCommands;
use lockstep_report::page::{CaseSection, page, recording_page};
use lockstep_timeline::Timeline;
use lockstep_verdict::series::RecordingTrace;
use lockstep_verdict::testing::judge;

/// The number of cases on the page of a run.
pub(crate) const CASES: usize = 10;
/// The sizes of its groups.
pub(crate) const GROUPS: &str = "3,2,1,4";
/// The first case of each group of cases that are not conformant.
pub(crate) const EXPANDED: [&str; 3] = ["rolling/surge-0", "rolling/differs-0", "rolling/broken"];

/// A scale-up to 12 in which rs1 is given this size, with a sub-step for each of many pods, and a
/// step with a long label.
fn recording(case: &str, size: i32) -> Recording {
    let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
    let set = with_patch(&owned_set(&web, "1", "app:1", 10), &serde_json::json!({"status": ready(10)}));
    let mut builder = RecordingBuilder::rolled_out(10)
        .user_step(1, "scale 12")
        .driver_write(&scaled(&web, 12))
        .subject_write(&scaled(&set, size));
    if case == "rolling/broken" {
        let mut broken = builder.trouble(Blame::Environment, "the API server went away").aborted();
        name(&mut broken, case);
        return broken;
    }
    builder = builder.settled();
    for part in 1..15 {
        let status = serde_json::json!({"status": ready(10 + part as i32 % 3)});
        let ready = with_patch(&scaled(&set, size), &status);
        builder = builder.node_step(2, part, "terminate 1").subject_write(&ready).settled();
    }
    let label = "set image=registry.example.com/platform/deployments/application:2026-11-27";
    let mut recording = builder.user_step(3, label).settled().end();
    name(&mut recording, case);
    recording
}

fn name(recording: &mut Recording, case: &str) {
    let header = &mut recording.header;
    case.clone_into(&mut header.case);
    header.path = format!("cases/{case}.yaml");
    header.subject.name = format!("command:/opt/{}controller --leader-elect=false", "build-output/".repeat(6));
}

/// The page of a run with two causes of failure, an inconclusive case and conformant ones.
pub(crate) fn report() -> String {
    let expected = Timeline::from_recording(&recording("rolling/x", 12));
    let names = |stem: &str, number: usize, size: i32| {
        let all = (0..number).map(|at| (format!("rolling/{stem}-{at}"), size));
        all.collect::<Vec<_>>()
    };
    let mut cases = names("good", 4, 12);
    cases.extend(names("differs", 2, 13));
    cases.extend([("rolling/broken".to_owned(), 12)]);
    cases.extend(names("surge", 3, 20));
    assert_eq!(cases.len(), CASES);
    let plays: Vec<_> = cases
        .iter()
        .map(|(case, size)| {
            let recording = recording(case, *size);
            (judge(&recording, Some(&expected)), RecordingTrace::of(&recording))
        })
        .collect();
    let repeat = format!("lockstep run cases/rolling --subject \"command:/opt/{}controller\"", "build/".repeat(20));
    let rerun = RerunCommands { program: "lockstep".to_owned(), repeat };
    let sections: Vec<CaseSection<'_>> = plays
        .iter()
        .map(|(judgement, frames)| CaseSection {
            judgement,
            expected: Some(&expected),
            rerun: &rerun,
            took: None,
            frames: Some(frames),
        })
        .collect();
    page("lockstep run, command:/opt/build-output/controllers/deployment-controller --leader-elect=false", &sections)
}

/// The page of a recording without a case.
pub(crate) fn recording_of_cluster() -> String {
    let recording = recording("rolling/x", 13);
    let facts = [("cluster", "production-europe-west-4/shop/a-deployment-with-a-very-long-name".to_owned())];
    let timeline = Timeline::from_recording(&recording);
    recording_page("deployment/web, captured", &facts, &timeline, &RecordingTrace::of(&recording))
}
