//! Reads `fault`: what goes wrong while the subject reacts to a step.
//!
//! `fault: {write: 3, of: replicasets, side: after, action: crash}`; `fault: {watch: replicasets,
//! action: {lag: 1s}}`. Writes and events are counted from the beginning of the step, writes only
//! if they succeed. A list has two `overtaken` faults in different streams.

use std::time::Duration;

use serde_json::{Value, json};

use super::diagnostics::DiagnosticCollector;
use super::during::WATCHED;
use super::field::{DURATION, FieldSpec, FieldType, any_of, names, object, with_description, words};
use super::model::{Fault, FaultAction, FaultPoint};
use super::read::{self, MappingFields};
use super::yaml::{YamlKind, YamlNode};

/// The resources whose writes are counted.
pub(super) const WRITE_RESOURCES: [&str; 7] =
    ["replicasets", "replicasets/status", "deployments", "deployments/status", "pods", "statefulsets", "daemonsets"];
/// The statuses with which the interceptor can refuse a request.
pub(super) const REFUSALS: [i64; 5] = [409, 422, 429, 500, 503];
/// The longest that a request or an event may be delayed: a longer delay would outlast the wait for
/// settling.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// More writes than any step leads to.
const MAX_COUNT: i64 = 10_000;

const NUMBER: FieldType = FieldType::Whole { least: 1, most: MAX_COUNT };
const REFUSE: FieldSpec = FieldSpec::required(
    "refuse",
    FieldType::Is(|_| json!({"enum": REFUSALS}), "409, 422, 429, 500 or 503"),
    "The request is refused with this status.",
);
const DELAY: FieldSpec =
    FieldSpec::required("delay", DURATION, "The request comes so much later, ten seconds at most.");
const LAG: FieldSpec = FieldSpec::required("lag", DURATION, "Every event comes so much later, ten seconds at most.");
const OLD: FieldSpec =
    FieldSpec::required("old", NUMBER, "The watch ends, and the list that follows is so many events old.");
const OVERTAKEN: FieldSpec = FieldSpec::required(
    "overtaken",
    NUMBER,
    "So many others of what the subject learns come first: events of other watches, answers to writes.",
);
const HANDOVER: FieldSpec = FieldSpec::required(
    "handover",
    FieldType::Words(&["back"]),
    "The other subject takes over, and this one again at the next step.",
);
const ACTION: FieldType = FieldType::Is(
    |_| json!({}),
    "at a write `crash`, `cut`, `handover`, `{handover: back}`, `drop` (the answer is lost), `{refuse: 409}`, `{delay: 1s}` or `{overtaken: 2}`; of a watch `repeat`, `expire`, `{old: 2}`, `{overtaken: 2}` or `{lag: 1s}`",
);

pub(super) static FIELDS: [FieldSpec; 6] = [
    FieldSpec::new("write", NUMBER, "At the nth successful write of the step."),
    FieldSpec::new("of", FieldType::Words(&WRITE_RESOURCES), "What is written; always with `write`."),
    FieldSpec::new(
        "side",
        FieldType::Words(&["before", "after"]),
        "Whether the server has acted by then; before it, by default.",
    ),
    FieldSpec::new("watch", FieldType::Words(&WATCHED), "Instead of `write`: in the watch of this kind (plural)."),
    FieldSpec::new("event", NUMBER, "At the nth event of the watch, the first by default; not with `lag`."),
    FieldSpec::required("action", ACTION, "What goes wrong."),
];

/// As JSON schema.
pub(super) fn schema() -> Value {
    let [write, of, side, watch, event, action] = FIELDS;
    let (write, of, watch) = (
        FieldSpec { required: true, ..write },
        FieldSpec { required: true, ..of },
        FieldSpec { required: true, ..watch },
    );
    // The type of `action` depends on the other fields, so each variant of the mapping has its own
    // schema.
    let at_write = |sides: &'static [&'static str], does: Value| {
        let mut schema = object(&[write, of, FieldSpec { field_type: FieldType::Words(sides), ..side }, action], false);
        schema["properties"]["action"] = does;
        schema
    };
    let in_watch = |fields: &[FieldSpec], does: Value| {
        let mut schema = object(fields, false);
        schema["properties"]["action"] = does;
        schema
    };
    let one = |field: FieldSpec| object(&[field], false);
    let late = any_of([at_write(&["after"], one(OVERTAKEN)), in_watch(&[watch, action, event], one(OVERTAKEN))]);
    any_of([
        with_description(
            json!({"type": "array", "items": late, "minItems": 2, "maxItems": 2}),
            "Two of different streams come after others.",
        ),
        with_description(
            at_write(&["before", "after"], any_of([words(&["crash", "cut", "handover"]), one(HANDOVER)])),
            "At the nth successful write, on either side of the server's acting.",
        ),
        with_description(
            at_write(&["after"], any_of([words(&["drop"]), one(OVERTAKEN)])),
            "The answer to the nth successful write is lost, or comes after others.",
        ),
        with_description(
            at_write(&["before"], any_of([one(REFUSE), one(DELAY)])),
            "The nth write is refused, or late.",
        ),
        with_description(
            in_watch(&[watch, action, event], any_of([words(&["repeat", "expire"]), one(OLD), one(OVERTAKEN)])),
            "An event comes twice or after others, or the watch forgets its place.",
        ),
        with_description(in_watch(&[watch, action], one(LAG)), "Every event is late."),
    ])
}

/// Reads the fault of a step, or its two `overtaken` faults.
pub(super) fn read_faults(key: &YamlNode, node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Fault> {
    let YamlKind::List(items) = &node.kind else { return read_fault(key, node, report) };
    let [one, two] = items.as_slice() else {
        report.add(node, "a list of faults has two", "write one as a mapping");
        return None;
    };
    let (one, two) = (read_fault(key, one, report)?, read_fault(key, two, report)?);
    if !one.is_overtaken() || !two.is_overtaken() || one.is_in_stream_of(&two) {
        let what = "only `overtaken` things of two streams can be together";
        report.add(node, "two faults in one step", what);
        return None;
    }
    Some(Fault { second: Some(Box::new(two)), ..one })
}

fn read_fault(key: &YamlNode, node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Fault> {
    let fields = MappingFields::of(node, "`fault`", &names(&FIELDS), report)?;
    let action = fields.get("action").or_else(|| {
        if fields.lacks("action") {
            report.add(key, "`fault` without `action`", "add `action: …`");
        }
        None
    });
    match (fields.entry("write"), fields.entry("watch")) {
        (Some((_, write)), None) => {
            reject_fields(&fields, &["event"], "a `write`", report);
            let of = fields.get("of");
            if of.is_none() {
                report.add(
                    key,
                    "a write of what?",
                    format!("add `of:` and one of {}", read::join_quoted(&WRITE_RESOURCES)),
                );
            }
            let nth = read::integer(write, "the number of a write", 1..=MAX_COUNT, report);
            let words = WRITE_RESOURCES.map(|resource| (resource, resource));
            let of = of.and_then(|of| read::word(of, "what is written", &words, report));
            let side = fields.get("side");
            let sides = [("before", false), ("after", true)];
            let after = match side {
                Some(side) => Some(read::word(side, "the side", &sides, report)?),
                None => None,
            };
            let action = read_write_action(action?, report)?;
            let after = read_side(side, after, action, report)?;
            let (resource, subresource) = of.map(|of| of.split_once('/').unwrap_or((of, "")))?;
            let (resource, subresource) = (resource.to_owned(), subresource.to_owned());
            let nth = u32::try_from(nth?).ok()?;
            Some(Fault { point: FaultPoint::Write { nth, resource, subresource, after }, action, second: None })
        }
        (None, Some((_, watch))) => {
            reject_fields(&fields, &["of", "side"], "a `watch`", report);
            let words = WATCHED.map(|resource| (resource, resource));
            let resource = read::word(watch, "what is watched", &words, report);
            let action = read_watch_action(action?, report)?;
            let event = match fields.entry("event") {
                None => 1,
                Some((at, _)) if matches!(action, FaultAction::Lag(_)) => {
                    report.add(at, "`lag` is not about one event", "leave this out");
                    return None;
                }
                Some((_, event)) => read::integer(event, "the number of an event", 1..=MAX_COUNT, report)?,
            };
            let event = u32::try_from(event).ok()?;
            if let FaultAction::Old(old) = action
                && old > event
            {
                let why = format!("`event: {event}` is the last that comes before it");
                report.add(key, format!("a list that is {old} events old"), why);
                return None;
            }
            Some(Fault { point: FaultPoint::Watch { resource: resource?.to_owned(), event }, action, second: None })
        }
        (Some(_), Some((at, _))) => {
            report.add(at, "`fault` with `write` and `watch`", "choose one");
            None
        }
        (None, None) => {
            if fields.lacks("write") && fields.lacks("watch") {
                report.add(key, "`fault` without `write` or `watch`", "where does it fall?");
            }
            None
        }
    }
}

/// Reports fields that do not apply here.
fn reject_fields(fields: &MappingFields<'_>, names: &[&str], noun: &str, report: &mut DiagnosticCollector) {
    for (key, _) in names.iter().filter_map(|name| fields.entry(name)) {
        report.add(key, format!("`{}` does not apply to {noun}", key.as_key()), "leave this out");
    }
}

/// Returns the side of the fault; most actions allow only one.
fn read_side(
    node: Option<&YamlNode>,
    after: Option<bool>,
    action: FaultAction,
    report: &mut DiagnosticCollector,
) -> Option<bool> {
    let only = match action {
        FaultAction::Refuse(_) => Some((false, "a refused write has no effect, so the side is `before`")),
        FaultAction::Delay(_) => Some((false, "a request is late before the server sees it: it is `before`")),
        FaultAction::Drop => Some((true, "an answer is lost after the server has acted: it is `after`")),
        FaultAction::Overtaken(_) => Some((true, "an answer comes after the server has acted: it is `after`")),
        _ => None,
    };
    match (only, after, node) {
        (Some((only, why)), Some(said), Some(node)) if only != said => {
            report.add(node, "the wrong side", why);
            None
        }
        (Some((only, _)), ..) => Some(only),
        (None, said, _) => Some(said.unwrap_or(false)),
    }
}

fn read_write_action(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<FaultAction> {
    let YamlKind::Map(_) = node.kind else {
        let words = [
            ("crash", FaultAction::Crash),
            ("drop", FaultAction::Drop),
            ("cut", FaultAction::Cut),
            ("handover", FaultAction::Handover { back: false }),
        ];
        return read::word(node, "the action", &words, report);
    };
    let fields = MappingFields::of(node, "the action", &names(&[REFUSE, DELAY, OVERTAKEN, HANDOVER]), report)?;
    if let Some(back) = fields.get("handover") {
        return read::word(back, "a handover", &[("back", FaultAction::Handover { back: true })], report);
    }
    if let Some(others) = fields.get("overtaken") {
        return read_overtaken(others, report);
    }
    if let Some(code) = fields.get("refuse") {
        let number = read::integer(code, "a refusal", 400..=599, report)?;
        if !REFUSALS.contains(&number) {
            report.add(code, format!("`refuse` cannot be {number}"), "409, 422, 429, 500 or 503");
            return None;
        }
        return u16::try_from(number).ok().map(FaultAction::Refuse);
    }
    read_delay(fields.get("delay")?, report).map(FaultAction::Delay)
}

fn read_watch_action(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<FaultAction> {
    let YamlKind::Map(_) = node.kind else {
        let words = [("repeat", FaultAction::Repeat), ("expire", FaultAction::Expire)];
        return read::word(node, "the action", &words, report);
    };
    let fields = MappingFields::of(node, "the action", &names(&[LAG, OLD, OVERTAKEN]), report)?;
    if let Some(others) = fields.get("overtaken") {
        return read_overtaken(others, report);
    }
    if let Some(old) = fields.get("old") {
        let events = read::integer(old, "a number of events", 1..=MAX_COUNT, report)?;
        return u32::try_from(events).ok().map(FaultAction::Old);
    }
    read_delay(fields.get("lag")?, report).map(FaultAction::Lag)
}

/// By how many events or answers it is overtaken.
fn read_overtaken(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<FaultAction> {
    let others = read::integer(node, "a number of others", 1..=MAX_COUNT, report)?;
    u32::try_from(others).ok().map(FaultAction::Overtaken)
}

fn read_delay(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Duration> {
    read::duration(node, MAX_DELAY, report)
}
