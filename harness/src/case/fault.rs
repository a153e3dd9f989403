//! What goes wrong while the subject reacts to a step: `fault`.
//!
//! `fault: {write: 3, of: replicasets, side: after, action: crash}`; `fault: {watch: replicasets,
//! action: {lag: 1s}}`. Writes and events are counted from the beginning of the step, writes only
//! where they succeed. A list has two things of different streams that are both `overtaken`.

use std::time::Duration;

use serde_json::{Value, json};

use super::during::WATCHED;
use super::field::{DURATION, Field, Type, names};
use super::model::{Fault, FaultAction, FaultPoint};
use super::read::{self, Fields};
use super::schema::{any_of, object, told, words};
use super::step::Reader;
use super::tree::{Kind, Node};

/// What a subject writes, and what is counted.
pub(super) const WRITTEN: [&str; 7] =
    ["replicasets", "replicasets/status", "deployments", "deployments/status", "pods", "statefulsets", "daemonsets"];
/// The statuses that the interceptor refuses with.
pub(super) const REFUSALS: [i64; 5] = [409, 422, 429, 500, 503];
/// The longest that a request or an event may be held up: beyond it a wait for rest would end
/// before the subject could go on.
const LATEST: Duration = Duration::from_secs(10);
/// More writes than a step leads to.
const MOST: i64 = 10_000;

const NUMBER: Type = Type::Whole { least: 1, most: MOST };
const REFUSE: Field = Field::required(
    "refuse",
    Type::Is(|_| json!({"enum": REFUSALS}), "409, 422, 429, 500 or 503"),
    "The request is refused with this status.",
);
const DELAY: Field = Field::required("delay", DURATION, "The request comes so much later, ten seconds at most.");
const LAG: Field = Field::required("lag", DURATION, "Every event comes so much later, ten seconds at most.");
const OLD: Field = Field::required("old", NUMBER, "The watch ends, and the list that follows is so many events old.");
const OVERTAKEN: Field = Field::required(
    "overtaken",
    NUMBER,
    "So many others of what the subject learns come first: events of other watches, answers to writes.",
);
const ACTION: Type = Type::Is(
    |_| json!({}),
    "at a write `crash`, `cut`, `drop` (the answer is lost), `{refuse: 409}`, `{delay: 1s}` or `{overtaken: 2}`; of a watch `repeat`, `expire`, `{old: 2}`, `{overtaken: 2}` or `{lag: 1s}`",
);

/// The fields.
pub(super) static FIELDS: [Field; 6] = [
    Field::new("write", NUMBER, "At the nth successful write of the step."),
    Field::new("of", Type::Words(&WRITTEN), "What is written; always with `write`."),
    Field::new(
        "side",
        Type::Words(&["before", "after"]),
        "Whether the server has acted by then; before it, by default.",
    ),
    Field::new("watch", Type::Words(&WATCHED), "Instead of `write`: in the watch of this kind (plural)."),
    Field::new("event", NUMBER, "At the nth event of the watch, the first by default; not with `lag`."),
    Field::required("action", ACTION, "What goes wrong."),
];

/// As JSON schema.
pub(super) fn schema() -> Value {
    let [write, of, side, watch, event, action] = FIELDS;
    let (write, of, watch) =
        (Field { required: true, ..write }, Field { required: true, ..of }, Field { required: true, ..watch });
    // What stands in a field here depends on the others, so only the mapping as a whole is told.
    let at_write = |sides: &'static [&'static str], does: Value| {
        let mut schema = object(&[write, of, Field { takes: Type::Words(sides), ..side }, action], false);
        schema["properties"]["action"] = does;
        schema
    };
    let in_watch = |fields: &[Field], does: Value| {
        let mut schema = object(fields, false);
        schema["properties"]["action"] = does;
        schema
    };
    let one = |field: Field| object(&[field], false);
    let late = any_of([at_write(&["after"], one(OVERTAKEN)), in_watch(&[watch, action, event], one(OVERTAKEN))]);
    any_of([
        told(
            json!({"type": "array", "items": late, "minItems": 2, "maxItems": 2}),
            "Two of different streams come after others.",
        ),
        told(
            at_write(&["before", "after"], words(&["crash", "cut"])),
            "At the nth successful write, on either side of the server's acting.",
        ),
        told(
            at_write(&["after"], any_of([words(&["drop"]), one(OVERTAKEN)])),
            "The answer to the nth successful write is lost, or comes after others.",
        ),
        told(at_write(&["before"], any_of([one(REFUSE), one(DELAY)])), "The nth write is refused, or late."),
        told(
            in_watch(&[watch, action, event], any_of([words(&["repeat", "expire"]), one(OLD), one(OVERTAKEN)])),
            "An event comes twice or after others, or the watch forgets its place.",
        ),
        told(in_watch(&[watch, action], one(LAG)), "Every event is late."),
    ])
}

impl Reader<'_> {
    /// The fault of a step, or the two things that are late in it.
    pub(super) fn fault(&mut self, key: &Node, node: &Node) -> Option<Fault> {
        let Kind::List(items) = &node.kind else { return self.one_fault(key, node) };
        let [one, two] = items.as_slice() else {
            self.report.add(node, "a list of faults has two", "write one as a mapping");
            return None;
        };
        let (one, two) = (self.one_fault(key, one)?, self.one_fault(key, two)?);
        if !one.is_late() || !two.is_late() || one.is_in_stream_of(&two) {
            let what = "only `overtaken` things of two streams can be together";
            self.report.add(node, "two faults in one step", what);
            return None;
        }
        Some(Fault { and: Some(Box::new(two)), ..one })
    }

    fn one_fault(&mut self, key: &Node, node: &Node) -> Option<Fault> {
        let fields = Fields::of(node, "`fault`", &names(&FIELDS), self.report)?;
        let action = fields.get("action").or_else(|| {
            if fields.lacks("action") {
                self.report.add(key, "`fault` without `action`", "add `action: …`");
            }
            None
        });
        match (fields.entry("write"), fields.entry("watch")) {
            (Some((_, write)), None) => {
                self.strays(&fields, &["event"], "a `write`");
                let of = fields.get("of");
                if of.is_none() {
                    self.report.add(key, "a write of what?", format!("add `of:` and one of {}", read::list(&WRITTEN)));
                }
                let nth = read::integer(write, "the number of a write", 1..=MOST, self.report);
                let words = WRITTEN.map(|resource| (resource, resource));
                let of = of.and_then(|of| read::word(of, "what is written", &words, self.report));
                let side = fields.get("side");
                let sides = [("before", false), ("after", true)];
                let after = match side {
                    Some(side) => Some(read::word(side, "the side", &sides, self.report)?),
                    None => None,
                };
                let action = self.write_action(action?)?;
                let after = self.side(side, after, action)?;
                let (resource, subresource) = of.map(|of| of.split_once('/').unwrap_or((of, "")))?;
                let (resource, subresource) = (resource.to_owned(), subresource.to_owned());
                let nth = u32::try_from(nth?).ok()?;
                Some(Fault { point: FaultPoint::Write { nth, resource, subresource, after }, action, and: None })
            }
            (None, Some((_, watch))) => {
                self.strays(&fields, &["of", "side"], "a `watch`");
                let words = WATCHED.map(|resource| (resource, resource));
                let resource = read::word(watch, "what is watched", &words, self.report);
                let action = self.watch_action(action?)?;
                let event = match fields.entry("event") {
                    None => 1,
                    Some((at, _)) if matches!(action, FaultAction::Lag(_)) => {
                        self.report.add(at, "`lag` is not about one event", "leave this out");
                        return None;
                    }
                    Some((_, event)) => read::integer(event, "the number of an event", 1..=MOST, self.report)?,
                };
                let event = u32::try_from(event).ok()?;
                if let FaultAction::Old(old) = action
                    && old > event
                {
                    let why = format!("`event: {event}` is the last that comes before it");
                    self.report.add(key, format!("a list that is {old} events old"), why);
                    return None;
                }
                Some(Fault { point: FaultPoint::Watch { resource: resource?.to_owned(), event }, action, and: None })
            }
            (Some(_), Some((at, _))) => {
                self.report.add(at, "`fault` with `write` and `watch`", "choose one");
                None
            }
            (None, None) => {
                if fields.lacks("write") && fields.lacks("watch") {
                    self.report.add(key, "`fault` without `write` or `watch`", "where does it fall?");
                }
                None
            }
        }
    }

    /// Fields that say nothing here.
    fn strays(&mut self, fields: &Fields<'_>, names: &[&str], what: &str) {
        for (key, _) in names.iter().filter_map(|name| fields.entry(name)) {
            self.report.add(key, format!("`{}` does not apply to {what}", key.as_key()), "leave this out");
        }
    }

    /// The side that is meant; most actions have only one.
    fn side(&mut self, node: Option<&Node>, after: Option<bool>, action: FaultAction) -> Option<bool> {
        let only = match action {
            FaultAction::Refuse(_) => Some((false, "a refused write has no effect, so the side is `before`")),
            FaultAction::Delay(_) => Some((false, "a request is late before the server sees it: it is `before`")),
            FaultAction::Drop => Some((true, "an answer is lost after the server has acted: it is `after`")),
            FaultAction::Overtaken(_) => Some((true, "an answer comes after the server has acted: it is `after`")),
            _ => None,
        };
        match (only, after, node) {
            (Some((only, why)), Some(said), Some(node)) if only != said => {
                self.report.add(node, "the wrong side", why);
                None
            }
            (Some((only, _)), ..) => Some(only),
            (None, said, _) => Some(said.unwrap_or(false)),
        }
    }

    fn write_action(&mut self, node: &Node) -> Option<FaultAction> {
        let Kind::Map(_) = node.kind else {
            let words = [("crash", FaultAction::Crash), ("drop", FaultAction::Drop), ("cut", FaultAction::Cut)];
            return read::word(node, "the action", &words, self.report);
        };
        let fields = Fields::of(node, "the action", &names(&[REFUSE, DELAY, OVERTAKEN]), self.report)?;
        if let Some(others) = fields.get("overtaken") {
            return self.overtaken(others);
        }
        if let Some(code) = fields.get("refuse") {
            let number = read::integer(code, "a refusal", 400..=599, self.report)?;
            if !REFUSALS.contains(&number) {
                self.report.add(code, format!("`refuse` cannot be {number}"), "409, 422, 429, 500 or 503");
                return None;
            }
            return u16::try_from(number).ok().map(FaultAction::Refuse);
        }
        self.late(fields.get("delay")?).map(FaultAction::Delay)
    }

    fn watch_action(&mut self, node: &Node) -> Option<FaultAction> {
        let Kind::Map(_) = node.kind else {
            let words = [("repeat", FaultAction::Repeat), ("expire", FaultAction::Expire)];
            return read::word(node, "the action", &words, self.report);
        };
        let fields = Fields::of(node, "the action", &names(&[LAG, OLD, OVERTAKEN]), self.report)?;
        if let Some(others) = fields.get("overtaken") {
            return self.overtaken(others);
        }
        if let Some(old) = fields.get("old") {
            let events = read::integer(old, "a number of events", 1..=MOST, self.report)?;
            return u32::try_from(events).ok().map(FaultAction::Old);
        }
        self.late(fields.get("lag")?).map(FaultAction::Lag)
    }

    /// By how many it is overtaken.
    fn overtaken(&mut self, node: &Node) -> Option<FaultAction> {
        let others = read::integer(node, "a number of others", 1..=MOST, self.report)?;
        u32::try_from(others).ok().map(FaultAction::Overtaken)
    }

    /// How late something is.
    fn late(&mut self, node: &Node) -> Option<Duration> {
        let time = self.duration(node)?;
        if time > LATEST {
            let most = format!("at most {}: the time for a step is limited", humantime::format_duration(LATEST));
            self.report.add(node, "the duration is too long", most);
            return None;
        }
        Some(time)
    }
}
