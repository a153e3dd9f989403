//! A recording for tests.

use lockstep_recording::testing::{
    RecordingBuilder, deployment, event, owned_set, ready, revision, scaled, with_patch,
};
use lockstep_recording::{Recording, RecordingEntry, SubjectKind, WriterRole};
use lockstep_timeline::Timeline;
use lockstep_verdict::testing::judge;
use serde_json::json;

use super::Inspection;

/// A scale-up to 12 in which rs1 gets this size, and one more step.
fn recording(size: i32) -> Recording {
    let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
    let set = with_patch(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
    let set = scaled(&set, size);
    RecordingBuilder::rolled_out(10)
        .user_step(1, "scale 12")
        .driver_write(&scaled(&web, 12))
        .subject_write(&set)
        .settled()
        .node_step(2, 0, "ready 2")
        .foreign_write(&with_patch(&set, &json!({"status": ready(12)})))
        .foreign_write(&event("web.1", "web", "Scaled up replica set web-1 from 10 to 12", 1))
        .settled()
        .end()
}

/// A recording whose first step is wrong.
pub(in crate::inspect) fn rolling() -> Inspection {
    let expected = Timeline::from_recording(&recording(12));
    let recording = recording(13);
    Inspection::of_judgement(&recording, &judge(&recording, Some(&expected)), Some(&expected))
}

/// The recording of `rolling` as if captured on a live cluster, with this author of the
/// controller's versions.
pub(in crate::inspect) fn captured(author: Option<&str>) -> Recording {
    let mut recording = recording(12);
    recording.header.kind = SubjectKind::Cluster;
    recording.header.case = "captured/web".to_owned();
    recording.entries.retain(|entry| !matches!(entry, RecordingEntry::Request(_)));
    for entry in &mut recording.entries {
        if let RecordingEntry::Object(version) = entry
            && version.by == WriterRole::Other
        {
            version.author = author.map(str::to_owned);
        }
    }
    recording
}
