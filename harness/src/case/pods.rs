//! Which pods a step moves: `{pods: all}`, `{pods: 4, of: {revision: 1}}`, `{pods: [a, b]}`, `{pods: 2, atomic: true}`.

use super::model::{Count, Pods};
use super::naming;
use super::read::{self, Fields, MOST_PODS};
use super::step::Reader;
use super::tree::{Kind, Node};

/// The pods that the operation `name` moves.
pub(super) fn read(node: &Node, name: &str, reader: &mut Reader<'_>) -> Option<Pods> {
    let what = format!("`{name}`");
    if matches!(node.kind, Kind::Int(_) | Kind::Text(_)) {
        let written = node.as_key();
        reader.report.add(node, format!("{what} is a mapping"), format!("write `{name}: {{pods: {written}}}`"));
        return None;
    }
    let fields = Fields::of(node, &what, &["pods", "of", "atomic"], reader.report)?;
    let count = fields.get("pods");
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
        reader.report.add(node, "the pods of which Deployment?", "add `of: {deployment: …}`");
        return None;
    }
    Some(pods)
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
            reader.report.add(node, format!("`{text}` is no number of pods"), "a number, or `all`");
            None
        }
        Kind::Int(0) => {
            reader.report.add(node, "no pod at all", "a step that does nothing proves nothing");
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
    let fields = Fields::of(node, "`of`", &["revision", "deployment", "replicaset"], reader.report)?;
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
