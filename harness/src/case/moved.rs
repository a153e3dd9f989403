//! Which pods a step moves: `{pods: all}`, `{pods: 4, of: {revision: 1}}`, `{pods: [a, b]}`,
//! `{pods: 2, atomic: true}`, `{every: 10%}`.

use serde_json::{Value, json};

use super::field::{BOOLEAN, Field, NAME, Type, names};
use super::model::{Count, Pods, Share};
use super::naming;
use super::operations::Written;
use super::read::{self, Fields, MOST_PODS};
use super::schema::{any_of, integer, object, reference, words};
use super::step::Reader;
use super::tree::{Kind, Node};

const COUNT: Type =
    Type::Is(|_| any_of([words(&["all"]), integer(1, MOST_PODS)]), "a number, `all`, or a list of names");
const SHARE: Type = Type::Is(
    |_| any_of([integer(1, MOST_PODS), json!({"type": "string", "pattern": "^([1-9][0-9]?|100)%$"})]),
    "a number, or a percentage such as `10%`",
);
const BY_NAME: Type =
    Type::Is(|_| json!({"type": "array", "minItems": 1, "items": reference("name")}), "a list of names");
pub(super) const OF: Type = Type::Is(|_| reference("of"), "[whose pods](#of)");

const PODS: Field = Field::required(
    "pods",
    COUNT,
    "How many: a number, or `all`, until none is left, new ones included. Or the names that the case has given them, in this order.",
);
const WHOSE: Field = Field::new("of", OF, "Whose pods; all of the case's by default. Not with names.");

/// The fields of an operation that moves pods.
pub(super) static FIELDS: [Field; 2] = [PODS, WHOSE];
/// The same where all can move at once.
pub(super) static ATOMIC_FIELDS: [Field; 4] = [
    PODS,
    WHOSE,
    Field::new(
        "atomic",
        BOOLEAN,
        "One step for all of them instead of one each; compared by net change, unless minReadySeconds makes them available at one instant.",
    ),
    Field::new(
        "every",
        SHARE,
        "In place of `pods`: so many at once, one sub-step each time, until none is left. A percentage is of the pods that Deployments want, rounded up.",
    ),
];

/// Whose pods.
pub(super) static OF_FIELDS: [Field; 3] = [
    Field::new("revision", Type::Whole { least: 1, most: i32::MAX as i64 }, "Of the ReplicaSet with this revision."),
    Field::new("deployment", NAME, "Of this Deployment."),
    Field::new("replicaset", NAME, "Of this ReplicaSet: its name, or `rs2` for the second to appear."),
];

/// What an operation that moves pods takes, as JSON schema.
pub(super) fn schema(_: bool) -> Value {
    any_of([object(&FIELDS, false), by_name()])
}

/// The same where all can move at once.
pub(super) fn atomic_schema(_: bool) -> Value {
    let [pods, of, atomic, every] = ATOMIC_FIELDS;
    let every = Field { required: true, ..every };
    any_of([object(&[pods, of, atomic], false), object(&[every, of], false), by_name()])
}

fn by_name() -> Value {
    object(&[Field { takes: BY_NAME, ..PODS }], false)
}

/// The pods that an operation moves.
pub(super) fn read(reader: &mut Reader<'_>, written: &Written<'_>) -> Option<Pods> {
    let (name, node) = (written.key.as_key(), written.value);
    let what = format!("`{name}`");
    if matches!(node.kind, Kind::Int(_) | Kind::Text(_)) {
        let written = node.as_key();
        reader.report.add(node, format!("{what} must be a mapping"), format!("write `{name}: {{pods: {written}}}`"));
        return None;
    }
    let fields = Fields::of(node, &what, &names(&ATOMIC_FIELDS), reader.report)?;
    let count = fields.get("pods");
    if let Some(entry) = fields.entry("every") {
        return every(&fields, entry, &name, reader);
    }
    if fields.lacks("pods") {
        reader.report.add(node, format!("{what} without `pods`"), "how many: a number, or `all`");
    }
    let count = count.and_then(|count| read_count(count, reader));
    let of = of(fields.get("of"), reader)?;
    let atomic = match fields.get("atomic") {
        Some(atomic) => read::boolean(atomic, "atomic", reader.report)?,
        None => false,
    };
    if let (true, Some((key, _))) = (atomic && name != "ready", fields.entry("atomic")) {
        reader.report.add(key, format!("{what} is never atomic"), "only `ready` is");
        return None;
    }
    let (count, names) = count?;
    if let (false, Some((key, _))) = (names.is_empty(), fields.entry("of").or(fields.entry("atomic"))) {
        reader.report.add(key, "pods by name need no choosing", "leave this out");
        return None;
    }
    let pods = Pods { count, names, atomic, ..of };
    let chosen = !pods.names.is_empty() || pods.count == Count::All;
    if reader.scope.several() && pods.deployment.is_none() && pods.replica_set.is_none() && !chosen {
        reader.report.add(node, "the step does not say of which Deployment", "add `of: {deployment: …}`");
        return None;
    }
    Some(pods)
}

/// `{every: 10%}`.
fn every(fields: &Fields<'_>, (key, value): (&Node, &Node), name: &str, reader: &mut Reader<'_>) -> Option<Pods> {
    if name != "ready" {
        reader.report.add(key, format!("`{name}` has no `every`"), "only `ready` has");
        return None;
    }
    if let Some((key, _)) = fields.entry("pods").or(fields.entry("atomic")) {
        reader.report.add(key, "`every` goes on until no pod is left", "leave this out");
        return None;
    }
    let share = match &value.kind {
        Kind::Text(text) => {
            let percent = text.strip_suffix('%').filter(|number| !number.starts_with(['0', '+']));
            percent
                .and_then(|number| number.parse().ok())
                .filter(|percent| (1..=100).contains(percent))
                .map(Share::Percent)
        }
        Kind::Int(number) if (1..=MOST_PODS).contains(number) => u32::try_from(*number).ok().map(Share::Number),
        _ => None,
    };
    let Some(share) = share else {
        let hint = format!("a number from 1 to {MOST_PODS}, or a percentage from `1%` to `100%`");
        reader.report.add(value, "`every` is not a number of pods", hint);
        return None;
    };
    let of = of(fields.get("of"), reader)?;
    Some(Pods { every: Some(share), ..of })
}

/// `all`, a number above zero, or names that the case has given.
fn read_count(node: &Node, reader: &mut Reader<'_>) -> Option<(Count, Vec<String>)> {
    match &node.kind {
        Kind::Text(text) if text == "all" => Some((Count::All, Vec::new())),
        Kind::List(list) if !list.is_empty() => {
            let names = list.iter().map(|name| naming::known(name, reader)).collect::<Option<Vec<_>>>()?;
            Some((Count::Exactly(u32::try_from(names.len()).ok()?), names))
        }
        Kind::Text(text) => {
            reader.report.add(node, format!("`{text}` is not a number of pods"), "a number, or `all`");
            None
        }
        Kind::Int(0) => {
            reader.report.add(node, "the number of pods must not be 0", "a step must do something");
            None
        }
        _ => {
            let number = read::integer(node, "the number of pods", 1..=MOST_PODS, reader.report)?;
            u32::try_from(number).ok().map(|number| (Count::Exactly(number), Vec::new()))
        }
    }
}

/// `{revision: 1, deployment: web}`, `{replicaset: web}`: all of these pods. `None` is a finding.
pub(super) fn of(node: Option<&Node>, reader: &mut Reader<'_>) -> Option<Pods> {
    let Some(node) = node else { return Some(Pods::default()) };
    let fields = Fields::of(node, "`of`", &names(&OF_FIELDS), reader.report)?;
    let replica_set = match fields.get("replicaset") {
        Some(named) => Some(reader.scope.named_set(named, reader.report)?),
        None => None,
    };
    let deployment = match fields.get("deployment") {
        Some(named) => Some(reader.scope.named(named, reader.report)?),
        None => None,
    };
    let revision = match fields.get("revision") {
        Some(revision) => Some(read::integer(revision, "a revision", 1..=i64::from(i32::MAX), reader.report)?),
        None => None,
    };
    Some(Pods { deployment, revision, replica_set, ..Pods::default() })
}

/// `ready 2 of revision 1`.
pub(super) fn label(verb: &str, pods: &Pods) -> String {
    let count = match pods.count {
        _ if !pods.names.is_empty() => pods.names.join(","),
        _ if pods.every.is_some() => pods.every.map(|share| format!("every {share}")).unwrap_or_default(),
        Count::All => "all".to_owned(),
        Count::Exactly(number) => number.to_string(),
    };
    let atomic = if pods.atomic && pods.every.is_none() { " atomic" } else { "" };
    format!("{verb} {count}{}{atomic}", whose(pods))
}

/// ` of revision 1`, or nothing.
pub(super) fn whose(pods: &Pods) -> String {
    let deployment = pods.deployment.iter().map(|name| format!(" of {name}"));
    let revision = pods.revision.iter().map(|revision| format!(" of revision {revision}"));
    let set = pods.replica_set.iter().map(|name| format!(" of {name}"));
    deployment.chain(revision).chain(set).collect()
}
