//! TimerStarts that expire because the test environment is slow.

use lockstep_recording::testing::{RecordingBuilder, deployment, of_case, owned_set, ready, revision, with_patch};
use lockstep_recording::{Recording, RecordingEntry};
use lockstep_timeline::Timeline;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::Verdict;
use crate::testing::{judge, judge_live};

/// A case whose second step lets 4 s pass.
const STEPS: &str = "given:\n  - deployment: {name: web, replicas: 2, image: \"app:1\"}\nsteps:\n  - set: {image: \"app:2\"}\n  - advance: 4s\n";

fn web(reason: &str) -> Value {
    let web = with_patch(&deployment("web", 2, "app:2"), &revision(2));
    let condition = json!({"type": "Progressing", "status": if reason == "ReplicaSetUpdated" { "True" } else { "False" },
        "reason": reason, "lastUpdateTime": "2026-11-21T01:44:51Z"});
    with_patch(&web, &json!({"spec": {"progressDeadlineSeconds": 6}, "status": {"conditions": [condition]}}))
}

/// The subject reports progress at once and this reason later; its clock and the case's are apart
/// by so many milliseconds.
fn reports(reason: &str, late: u64) -> Recording {
    let builder =
        RecordingBuilder::rolled_out(2).user_step(1, "set image=app:2").driver_write(&deployment("web", 2, "app:2"));
    let builder = builder
        .subject_write(&web("ReplicaSetUpdated"))
        .settled()
        .user_step(2, "advance 4s")
        .subject_write(&web(reason));
    timed(of_case(STEPS, builder.settled().end()), late)
}

/// The third entry of the last step, its only version, comes 4 s and so much later.
fn timed(mut recording: Recording, late: u64) -> Recording {
    let last = recording.entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Object(_))).unwrap();
    for entry in &mut recording.entries[last..] {
        match entry {
            RecordingEntry::Object(version) => version.at += 4000 + late,
            RecordingEntry::Settled(settling) => settling.at += 4000 + late,
            _ => {}
        }
    }
    recording
}

#[rstest]
#[case::expires_by_the_clock_but_not_by_the_case(2000, Verdict::Inconclusive)]
#[case::expires_before_its_time(0, Verdict::NonConformant)]
fn a_deadline_is_judged_by_the_time_that_passed(#[case] late: u64, #[case] verdict: Verdict) {
    let golden = Timeline::from_recording(&reports("ReplicaSetUpdated", 0));
    let slow = reports("ProgressDeadlineExceeded", late);
    let judgement = judge(&slow, Some(&golden));
    assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    assert_eq!(judge_live(&slow, &reports("ReplicaSetUpdated", 0)).verdict, verdict);
    assert_eq!(judge(&reports("ReplicaSetUpdated", late), Some(&golden)).verdict, Verdict::Conformant);
}

#[test]
fn virtual_time_has_no_overrun() {
    let golden = Timeline::from_recording(&reports("ReplicaSetUpdated", 0));
    let mut recording = reports("ProgressDeadlineExceeded", 2000);
    recording.header.seed = Some(1);
    assert_eq!(judge(&recording, Some(&golden)).verdict, Verdict::NonConformant);
}

/// One replica is available after a pod has been ready for so long, of 6 s.
fn available_after(milliseconds: u64) -> Recording {
    let set = |available: u64| {
        let status = json!({"status": {"availableReplicas": available}});
        with_patch(
            &with_patch(
                &owned_set(&deployment("web", 2, "app:1"), "1", "app:1", 2),
                &json!({"spec": {"minReadySeconds": 6}}),
            ),
            &with_patch(&json!({"status": ready(2)}), &status),
        )
    };
    let owner = json!({"controller": true, "kind": "ReplicaSet", "name": set(0)["metadata"]["name"], "uid": set(0)["metadata"]["uid"]});
    let pod = json!({"kind": "Pod", "metadata": {"name": "p", "uid": "p", "ownerReferences": [owner]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let builder =
        RecordingBuilder::rolled_out(2).user_step(1, "set image=app:2").driver_write(&deployment("web", 2, "app:2"));
    let builder =
        builder.driver_write(&pod).subject_write(&set(0)).settled().user_step(2, "advance 4s").subject_write(&set(1));
    timed(of_case(STEPS, builder.settled().end()), milliseconds - 4000)
}

#[rstest]
#[case::long_enough_by_the_clock(6000, Verdict::Inconclusive)]
#[case::too_short(4000, Verdict::NonConformant)]
fn availability_is_judged_by_the_time_that_passed(#[case] milliseconds: u64, #[case] verdict: Verdict) {
    let mut expected = available_after(4000);
    let last = expected.entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Object(_))).unwrap();
    expected.entries.remove(last);
    let golden = Timeline::from_recording(&expected);
    let judgement = judge(&available_after(milliseconds), Some(&golden));
    assert_eq!(judgement.verdict, verdict, "{judgement:?}");
}
