//! A recording in Chrome's trace event format, which Perfetto and chrome://tracing open.
//!
//! Times are in microseconds. A recording counts milliseconds, so events of one millisecond are put
//! one microsecond apart, in order. The tracks are a counter for the size and one for the available
//! pods of each ReplicaSet, and a thread each for steps, decisions and requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_verdict::series::Snapshot;
use serde_json::{Value, json};

use super::{Inspection, RequestSource};

/// All tracks belong to one process: the case.
const PROCESS: u32 = 1;
const STEPS: u32 = 1;
const DECISIONS: u32 = 2;
const REQUESTS: u32 = 3;

/// The whole recording as one JSON text.
#[must_use]
pub fn trace(inspected: &Inspection) -> String {
    let mut events = vec![metadata("process_name", None, &inspected.title)];
    let requests_or_writes = if inspected.request_source == RequestSource::Authors { "writes" } else { "requests" };
    for (thread, name) in [(STEPS, "steps"), (DECISIONS, "decisions"), (REQUESTS, requests_or_writes)] {
        events.push(metadata("thread_name", Some(thread), name));
        events.push(json!({"ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": thread, "args": {"sort_index": thread}}));
    }
    let times = EventTimes::of(&inspected.frames.snapshots);
    events.extend(steps(inspected, &times));
    events.extend(sizes(inspected, &times));
    events.extend(requests(inspected));
    if inspected.request_source == RequestSource::Authors {
        events.extend(writes(inspected, &times));
    }
    let other = json!({"subject": inspected.subject, "verdict": inspected.verdict, "case": inspected.path});
    json!({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}).to_string() + "\n"
}

fn metadata(kind: &str, thread: Option<u32>, name: &str) -> Value {
    json!({"ph": "M", "name": kind, "pid": PROCESS, "tid": thread.unwrap_or(0), "args": {"name": name}})
}

/// The time of each snapshot, strictly increasing.
struct EventTimes(Vec<u64>);

impl EventTimes {
    fn of(snapshots: &[Snapshot]) -> Self {
        let mut last = None;
        let after = |snapshot: &Snapshot| {
            let at = (snapshot.at * 1_000).max(last.map_or(0, |last: u64| last + 1));
            last = Some(at);
            at
        };
        Self(snapshots.iter().map(after).collect())
    }
}

/// A duration for each step. Durations of one thread must not overlap, so a step begins when the
/// previous step ends, or later.
fn steps(inspected: &Inspection, times: &EventTimes) -> Vec<Value> {
    let mut events = Vec::new();
    let mut end = 0;
    for (number, step) in inspected.frames.steps.iter().enumerate() {
        let places: Vec<usize> = inspected.frames.snapshots_in(number).map(|(at, _)| at).collect();
        let time = |place: Option<&usize>, otherwise: u64| place.map_or(otherwise * 1_000, |at| times.0[*at]);
        let from = (step.from * 1_000).min(time(places.first(), step.from)).max(end);
        end = time(places.last(), step.to).max(from);
        let name = format!("{} {}", step.title(), step.label);
        let name = if name.trim().is_empty() { "the whole recording" } else { name.trim() };
        events.push(json!({
            "ph": "X", "name": name, "cat": "step", "pid": PROCESS, "tid": STEPS, "ts": from, "dur": end - from,
            "args": {"line": step.line, "remarks": step.remarks, "wrong": inspected.wrong == Some(step.id)},
        }));
    }
    events
}

/// A counter event for each change of a size, and an instant for each decision.
fn sizes(inspected: &Inspection, times: &EventTimes) -> Vec<Value> {
    let mut events = Vec::new();
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut before: Option<&Snapshot> = None;
    for (snapshot, at) in inspected.frames.snapshots.iter().zip(&times.0) {
        if let Some(decision) = &snapshot.decision {
            events.push(json!({
                "ph": "i", "s": "t", "name": decision, "cat": "decision", "pid": PROCESS, "tid": DECISIONS, "ts": at,
                "args": {"step": inspected.frames.step_of(snapshot).id.to_string(), "version": snapshot.version},
            }));
        }
        if before.is_some_and(|before| Arc::ptr_eq(&before.totals, &snapshot.totals)) {
            continue;
        }
        before = Some(snapshot);
        let mut now: BTreeMap<String, i64> = last.keys().map(|name| (name.clone(), 0)).collect();
        for (name, size) in &snapshot.totals.replica_sets {
            now.insert(name.clone(), size.desired);
            now.insert(format!("{name} available"), size.available);
        }
        for (name, pods) in &now {
            if last.get(name) != Some(pods) {
                events
                    .push(json!({"ph": "C", "name": name, "pid": PROCESS, "tid": 0, "ts": at, "args": {"pods": pods}}));
            }
        }
        last = now;
    }
    events
}

fn requests(inspected: &Inspection) -> Vec<Value> {
    let asked = inspected.frames.steps.iter().flat_map(|step| step.requests.iter().map(move |it| (step, it)));
    let mut events = Vec::new();
    let mut last = None;
    for (step, request) in asked {
        let at = (request.at * 1_000).max(last.map_or(0, |last: u64| last + 1));
        last = Some(at);
        let mut args = json!({"status": request.status, "step": step.id.to_string()});
        if let Some(patch) = &request.patch {
            args["patch"] = patch.clone().into();
        }
        events.push(json!({
            "ph": "i", "s": "t", "name": request.request, "cat": "request", "pid": PROCESS, "tid": REQUESTS, "ts": at,
            "args": args,
        }));
    }
    events
}

/// The author of each version, if requests are not known.
fn writes(inspected: &Inspection, times: &EventTimes) -> Vec<Value> {
    let of = |(snapshot, at): (&Snapshot, &u64)| {
        let author = snapshot.author.as_ref().filter(|_| snapshot.version.is_some())?;
        Some(json!({
            "ph": "i", "s": "t", "name": author, "cat": "write", "pid": PROCESS, "tid": REQUESTS, "ts": at,
            "args": {"what": snapshot.cause, "step": inspected.frames.step_of(snapshot).id.to_string()},
        }))
    };
    inspected.frames.snapshots.iter().zip(&times.0).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{captured, rolling};
    use super::*;

    #[test]
    fn trace_has_counter_for_replica_set_and_duration_for_step() {
        let text = trace(&rolling());
        let value: Value = serde_json::from_str(&text).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let steps: Vec<_> =
            of("X").iter().map(|it| (it["name"].clone(), it["ts"].clone(), it["dur"].clone())).collect();
        assert_eq!(
            steps,
            [
                (json!("given deployment/web"), json!(0), json!(20_000)),
                (json!("step 1 scale 12"), json!(20_000), json!(3)),
                (json!("step 2 ready 2"), json!(20_003), json!(3)),
            ]
        );
        let sizes: Vec<_> =
            of("C").iter().filter(|it| it["name"] == "rs1").map(|it| it["args"]["pods"].clone()).collect();
        assert_eq!(sizes, [10, 13]);
        let instants: Vec<_> = of("i").iter().map(|it| it["name"].clone()).collect();
        assert!(
            instants.contains(&json!("rs1 10 -> 13")) && instants.contains(&json!("update replicasets x")),
            "{text}"
        );
    }

    #[test]
    fn trace_of_capture_has_writes_instead_of_requests() {
        let inspected = Inspection::of_inferred(&captured(Some("kubectl")));
        let value: Value = serde_json::from_str(&trace(&inspected)).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let named = |name: &str| events.iter().filter(|event| event["args"]["name"] == name).count();
        let writes = events.iter().filter(|event| event["cat"] == "write");
        assert_eq!(
            (named("writes"), named("requests"), writes.map(|it| &it["name"]).all(|name| name == "kubectl")),
            (1, 0, true)
        );
        assert!(events.iter().any(|event| event["cat"] == "write"));
    }

    #[test]
    fn times_of_moments_strictly_increase() {
        let inspected = rolling();
        let times = EventTimes::of(&inspected.frames.snapshots);
        assert!(times.0.is_sorted_by(|a, b| a < b), "{:?}", times.0);
    }
}
