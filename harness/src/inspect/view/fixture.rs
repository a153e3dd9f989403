//! A recording to step through.

use serde_json::json;

use super::super::Inspected;
use crate::recording::{Entry, Recording, SubjectKind, Writer};
use crate::timeline::Timeline;
use crate::timeline::fixture::{Film, deployment, event, owned_set, ready, revision, scaled, with};
use crate::verdict::fixture::judge;

/// A scale-up to 12 in which rs1 is given this size, and one step more.
fn recording(size: i32) -> Recording {
    let web = with(&deployment("web", 10, "app:1"), &revision(1));
    let set = with(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
    let set = scaled(&set, size);
    Film::rolled_out(10)
        .user(1, "scale 12")
        .driver(&scaled(&web, 12))
        .other(&set)
        .settled()
        .node(2, 0, "ready 2")
        .foreign(&with(&set, &json!({"status": ready(12)})))
        .foreign(&event("web.1", "web", "Scaled up replica set web-1 from 10 to 12", 1))
        .settled()
        .end()
}

/// One that went wrong at its first step.
pub(in crate::inspect) fn rolling() -> Inspected {
    let expected = Timeline::from_recording(&recording(12));
    let recording = recording(13);
    Inspected::judged(&recording, &judge(&recording, Some(&expected)), Some(&expected))
}

/// The same as `rolling`, recorded on a live cluster; the controller's versions name this program.
pub(in crate::inspect) fn captured(author: Option<&str>) -> Recording {
    let mut recording = recording(12);
    recording.header.kind = SubjectKind::Cluster;
    recording.header.case = "captured/web".to_owned();
    recording.entries.retain(|entry| !matches!(entry, Entry::Request(_)));
    for entry in &mut recording.entries {
        if let Entry::Object(version) = entry
            && version.by == Writer::Other
        {
            version.author = author.map(str::to_owned);
        }
    }
    recording
}
