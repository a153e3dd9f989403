//! Which pods a step moves: `{pods: all}`, `{pods: 4, of: {revision: 1}}`, `{pods: 2, atomic: true}`.

use super::model::{Count, Pods};
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
    let (deployment, revision) = of(fields.get("of"), reader)?;
    let atomic = match fields.get("atomic") {
        Some(atomic) => read::boolean(atomic, "atomic", reader.report)?,
        None => false,
    };
    if let (true, Some((key, _))) = (atomic && name != "ready", fields.entry("atomic")) {
        reader.report.add(key, format!("{what} is never atomic"), "only `ready` is");
        return None;
    }
    let pods = Pods { deployment, revision, count: count?, atomic };
    if reader.cast.several() && pods.deployment.is_none() && pods.count != Count::All {
        reader.report.add(node, "the pods of which Deployment?", "add `of: {deployment: …}`");
        return None;
    }
    Some(pods)
}

/// `all`, or a number above zero.
fn read_count(node: &Node, reader: &mut Reader<'_>) -> Option<Count> {
    match &node.kind {
        Kind::Text(text) if text == "all" => Some(Count::All),
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
            u32::try_from(number).ok().map(Count::Exactly)
        }
    }
}

/// `{revision: 1, deployment: web}`. The outer `None` is a finding.
fn of(node: Option<&Node>, reader: &mut Reader<'_>) -> Option<(Option<String>, Option<i64>)> {
    let Some(node) = node else { return Some((None, None)) };
    let fields = Fields::of(node, "`of`", &["revision", "deployment"], reader.report)?;
    let deployment = match fields.get("deployment") {
        Some(named) => Some(reader.cast.named(named, reader.report)?),
        None => None,
    };
    let revision = match fields.get("revision") {
        Some(revision) => Some(read::integer(revision, "a revision", 1..=i64::from(i32::MAX), reader.report)?),
        None => None,
    };
    Some((deployment, revision))
}
