//! A slider through the frames of a case, with the picture of the current frame.
//!
//! The frames are text in the page, one per line, and `frames.js` draws the current one. The page's
//! policy allows only that script, by its digest, and the script writes only text and sizes, so no
//! text of a recording is ever executed. Without scripts the rest of the page still works. Versions
//! that do not change the picture are left out; `lockstep inspect` shows them.

use std::fmt::Write;
use std::sync::Arc;

use lockstep_timeline::StepId;
use lockstep_verdict::series::{RecordingTrace, ReplicaSetSize, Snapshot, StepTotals, belongs_to};

use super::chart::escape;

/// The script that draws the frames.
pub(super) const SCRIPT: &str = include_str!("frames.js");
/// The SHA-256 of the script in the form of a policy. A test compares it.
pub(super) const DIGEST: &str = "sha256-vi7UBM1Ybt9QB7J8wM0d3wnkOb99QhjY1pS2baVSvoY=";

/// Write the slider of a case. `wrong` is the first wrong step of the subject.
pub(super) fn slider(out: &mut String, frames: &RecordingTrace, wrong: Option<StepId>) {
    out.push_str(
        "<figure class=\"frames\" tabindex=\"0\" hidden><figcaption><b>frame by frame</b> <span class=\"where\"></span></figcaption>\n\
         <div class=\"track\" aria-hidden=\"true\"></div>\n\
         <div class=\"go\"><button type=\"button\" title=\"to the end of the step before\">|◀</button>\
         <button type=\"button\" title=\"one frame back\">◀</button>\
         <input type=\"range\" min=\"0\" value=\"0\" aria-label=\"frame\">\
         <button type=\"button\" title=\"one frame on\">▶</button>\
         <button type=\"button\" title=\"to the end of the step\">▶|</button></div>\n\
         <p class=\"keys\">keys: <kbd>←</kbd> <kbd>→</kbd> one frame, with <kbd>Shift</kbd> one step, <kbd>Home</kbd> <kbd>End</kbd> the first \
         and the last</p>\n\
         <p class=\"what\"></p><div class=\"lanes\"></div>\
         <p class=\"legend\"><span class=\"key full\"></span> available <span class=\"key half\"></span> ready, not for long enough \
         <span class=\"key empty\"></span> wanted, not ready <span class=\"key most\"></span> the most that may be wanted \
         <span class=\"key least\"></span> the least that must be available</p>\
         <p class=\"said\"></p>\n<pre hidden>",
    );
    out.push_str(&escape(&lines(frames, wrong)));
    out.push_str("</pre></figure>\n");
}

/// The input of the script, as words separated by tabs. `set` and `deployment` declare a lane,
/// `step` begins a step, `frame` is a frame. Unchanged values are empty.
fn lines(frames: &RecordingTrace, wrong: Option<StepId>) -> String {
    let lanes = frames.lanes();
    let (sets, deployments) = (lanes.replica_sets(), lanes.deployments());
    let mut out = String::new();
    for name in &sets {
        let owner = deployments.iter().position(|deployment| belongs_to(name, deployment));
        let _ = writeln!(out, "set\t{name}\t{}", owner.map_or_else(String::new, |at| at.to_string()));
    }
    for name in &deployments {
        let _ = writeln!(out, "deployment\t{name}");
    }
    let mut last: Option<&Snapshot> = None;
    for snapshot in &frames.snapshots {
        let is_new = |last: &Snapshot| {
            !Arc::ptr_eq(&last.totals, &snapshot.totals) || !Arc::ptr_eq(&last.summaries, &snapshot.summaries)
        };
        if snapshot.version.is_some() && snapshot.decision.is_none() && !last.is_none_or(is_new) {
            continue;
        }
        let step = frames.step_of(snapshot);
        if last.is_none_or(|last| last.step != snapshot.step) {
            let is_wrong = if wrong == Some(step.id) { "wrong" } else { "" };
            let label = if step.id == StepId::GIVEN { "" } else { &step.label };
            let _ = writeln!(out, "step\t{}\t{label}\t{is_wrong}", step.title());
        }
        let sizes = match last {
            Some(last) if Arc::ptr_eq(&last.totals, &snapshot.totals) => String::new(),
            _ => sizes(&snapshot.totals, &sets, &deployments),
        };
        let status = match last {
            Some(last) if Arc::ptr_eq(&last.summaries, &snapshot.summaries) => String::new(),
            _ => status_text(snapshot),
        };
        let version = snapshot.version.map_or_else(String::new, |version| version.to_string());
        let decided = if snapshot.decision.is_some() { "decided" } else { "" };
        let _ = writeln!(out, "frame\t{version}\t{}\t{decided}\t{}\t{sizes}\t{status}", snapshot.at, snapshot.cause);
        last = Some(snapshot);
    }
    out
}

/// The sizes by lane, and the bounds: `s0=10/8/8 d0=13/8`.
fn sizes(stop: &StepTotals, sets: &[&str], deployments: &[&str]) -> String {
    let mut words = vec!["=".to_owned()];
    for (lane, name) in sets.iter().enumerate() {
        if let Some(ReplicaSetSize { desired: wanted, ready, available }) = stop.replica_sets.get(*name) {
            words.push(format!("s{lane}={wanted}/{ready}/{available}"));
        }
    }
    for (lane, name) in deployments.iter().enumerate() {
        if let Some(allowed) = stop.bounds.get(*name) {
            let least = allowed.bounds.least.map_or_else(String::new, |least| least.to_string());
            words.push(format!("d{lane}={}/{least}", allowed.bounds.most));
        }
    }
    words.join(" ")
}

/// The status of the Deployments.
fn status_text(snapshot: &Snapshot) -> String {
    let all = snapshot.summaries.iter().map(|status| {
        let conditions: String = status.conditions.iter().map(|(condition, _)| format!(" · {condition}")).collect();
        format!("{}: {}{conditions}", status.deployment, status.counts)
    });
    all.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, event};
    use rstest::rstest;

    use super::super::index;
    use super::*;

    /// Encodes bytes whose number is not a multiple of three as Base64.
    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |chunk: &[u8]| {
            let bits = (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(chunk.get(at).copied().unwrap_or(0)));
            let letters = (0..4).map(move |at| char::from(LETTERS[bits >> (18 - 6 * at) & 63]));
            let known = chunk.len() + 1;
            letters.enumerate().map(move |(at, letter)| if at < known { letter } else { '=' }).collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    }

    #[rstest]
    #[case::slider(SCRIPT, DIGEST)]
    #[case::filter(index::SCRIPT, index::DIGEST)]
    fn policy_has_digest_of_script(#[case] script: &str, #[case] expected: &str) {
        let digest = ring::digest::digest(&ring::digest::SHA256, script.as_bytes());
        assert_eq!(expected, format!("sha256-{}", base64(digest.as_ref())));
    }

    #[test]
    fn frame_has_only_changed_values() {
        let builder = RecordingBuilder::rolled_out(2)
            .user_step(1, "scale 3")
            .foreign_write(&event("web.1", "web", "Scaled", 1))
            .settled();
        let said = lines(&RecordingTrace::of(&builder.end()), Some(StepId { index: 1, part: 0 }));
        assert_eq!(
            said,
            "set\trs1\t0\ndeployment\tweb\nstep\tgiven\t\t\n\
             frame\t1\t0\t\tDeployment web was written by the case\t= d0=3/2\tweb: 0 replicas, 0 updated, 0 ready, 0 available, generation 0 of 1\n\
             frame\t2\t0\tdecided\tReplicaSet rs1 was written (rs1 created 2  revision=1)\t= s0=2/0/0 d0=3/2\t\n\
             frame\t3\t0\tdecided\tDeployment web was written (web revision=1)\t\t\n\
             frame\t4\t0\t\tReplicaSet rs1 was written\t= s0=2/2/2 d0=3/2\t\n\
             frame\t5\t0\t\tDeployment web was written\t\tweb: 2 replicas, 2 updated, 2 ready, 2 available, generation 1 of 1 · Progressing=True(NewReplicaSetAvailable) · Available=True(MinimumReplicasAvailable)\n\
             frame\t\t20\t\tsettled\t\t\n\
             step\tstep 1\tscale 3\twrong\n\
             frame\t\t20\t\tsettled\t\t\n"
        );
    }
}
