//! A recording in Chrome's trace event format, as Perfetto and chrome://tracing open it.
//!
//! Times are microseconds. A recording counts milliseconds, and several things may be seen in one
//! of them: they stand a microsecond apart, in their order. Tracks: a counter for each ReplicaSet's
//! size and one for its available pods, a thread for the steps, one for the decisions and one for
//! the requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Asked, Inspected};
use crate::course::Moment;

/// All tracks belong to one process: the case.
const PROCESS: u32 = 1;
const STEPS: u32 = 1;
const DECISIONS: u32 = 2;
const REQUESTS: u32 = 3;

/// The whole recording as one JSON text.
#[must_use]
pub fn trace(inspected: &Inspected) -> String {
    let mut events = vec![named("process_name", None, &inspected.title)];
    let requests_or_writes = if inspected.asked == Asked::Authors { "writes" } else { "requests" };
    for (thread, name) in [(STEPS, "steps"), (DECISIONS, "decisions"), (REQUESTS, requests_or_writes)] {
        events.push(named("thread_name", Some(thread), name));
        events.push(json!({"ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": thread, "args": {"sort_index": thread}}));
    }
    let times = Times::of(&inspected.frames.moments);
    events.extend(steps(inspected, &times));
    events.extend(sizes(inspected, &times));
    events.extend(requests(inspected));
    if inspected.asked == Asked::Authors {
        events.extend(writes(inspected, &times));
    }
    let other = json!({"subject": inspected.who, "verdict": inspected.verdict, "case": inspected.path});
    json!({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}).to_string() + "\n"
}

fn named(what: &str, thread: Option<u32>, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": PROCESS, "tid": thread.unwrap_or(0), "args": {"name": name}})
}

/// The time of each moment, none before or equal to the one before it.
struct Times(Vec<u64>);

impl Times {
    fn of(moments: &[Moment]) -> Self {
        let mut last = None;
        let after = |moment: &Moment| {
            let at = (moment.at * 1_000).max(last.map_or(0, |last: u64| last + 1));
            last = Some(at);
            at
        };
        Self(moments.iter().map(after).collect())
    }
}

/// A duration for each step. Those of one thread must not overlap, so each begins where the one
/// before ends, at the earliest.
fn steps(inspected: &Inspected, times: &Times) -> Vec<Value> {
    let mut events = Vec::new();
    let mut end = 0;
    for (number, passage) in inspected.frames.passages.iter().enumerate() {
        let places: Vec<usize> = inspected.frames.within(number).map(|(at, _)| at).collect();
        let time = |place: Option<&usize>, otherwise: u64| place.map_or(otherwise * 1_000, |at| times.0[*at]);
        let from = (passage.from * 1_000).min(time(places.first(), passage.from)).max(end);
        end = time(places.last(), passage.to).max(from);
        let name = format!("{} {}", passage.title(), passage.label);
        let name = if name.trim().is_empty() { "the whole recording" } else { name.trim() };
        events.push(json!({
            "ph": "X", "name": name, "cat": "step", "pid": PROCESS, "tid": STEPS, "ts": from, "dur": end - from,
            "args": {"line": passage.line, "remarks": passage.remarks, "wrong": inspected.wrong == Some(passage.id)},
        }));
    }
    events
}

/// A counter where a size changes, and an instant for each decision.
fn sizes(inspected: &Inspected, times: &Times) -> Vec<Value> {
    let mut events = Vec::new();
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut before: Option<&Moment> = None;
    for (moment, at) in inspected.frames.moments.iter().zip(&times.0) {
        if let Some(decision) = &moment.decision {
            events.push(json!({
                "ph": "i", "s": "t", "name": decision, "cat": "decision", "pid": PROCESS, "tid": DECISIONS, "ts": at,
                "args": {"step": inspected.frames.passage(moment).id.to_string(), "version": moment.version},
            }));
        }
        if before.is_some_and(|before| Arc::ptr_eq(&before.stop, &moment.stop)) {
            continue;
        }
        before = Some(moment);
        let mut now: BTreeMap<String, i64> = last.keys().map(|name| (name.clone(), 0)).collect();
        for (name, size) in &moment.stop.sets {
            now.insert(name.clone(), size.wanted);
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

fn requests(inspected: &Inspected) -> Vec<Value> {
    let asked = inspected.frames.passages.iter().flat_map(|passage| passage.asked.iter().map(move |it| (passage, it)));
    let mut events = Vec::new();
    let mut last = None;
    for (passage, request) in asked {
        let at = (request.at * 1_000).max(last.map_or(0, |last: u64| last + 1));
        last = Some(at);
        events.push(json!({
            "ph": "i", "s": "t", "name": request.what, "cat": "request", "pid": PROCESS, "tid": REQUESTS, "ts": at,
            "args": {"status": request.status, "step": passage.id.to_string()},
        }));
    }
    events
}

/// Who wrote each version, where requests are not known.
fn writes(inspected: &Inspected, times: &Times) -> Vec<Value> {
    let of = |(moment, at): (&Moment, &u64)| {
        let author = moment.author.as_ref().filter(|_| moment.version.is_some())?;
        Some(json!({
            "ph": "i", "s": "t", "name": author, "cat": "write", "pid": PROCESS, "tid": REQUESTS, "ts": at,
            "args": {"what": moment.what, "step": inspected.frames.passage(moment).id.to_string()},
        }))
    };
    inspected.frames.moments.iter().zip(&times.0).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::view::fixture::{captured, rolling};
    use super::*;

    #[test]
    fn each_replica_set_is_a_counter_and_each_step_lasts() {
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
    fn a_capture_has_writes_in_place_of_requests() {
        let inspected = Inspected::inferred(&captured(Some("kubectl")));
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
    fn what_is_seen_at_once_stands_in_its_order() {
        let inspected = rolling();
        let times = Times::of(&inspected.frames.moments);
        assert!(times.0.is_sorted_by(|a, b| a < b), "{:?}", times.0);
    }
}
