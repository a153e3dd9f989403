//! `pods: {of: {revision: 1}, name: {a: {node: n1, ready: {since: -2h}}, b: {node: null}}}`: pods whose fate matters get names and
//! traits, so that the case owns everything that a ReplicaSet looks at when it chooses whom to kill. And `expect`, which says of named
//! pods who lives on.
//!
//! The one thing it cannot own on a real API server is when a pod was created: the rule about that, the last of the order, is for clusters
//! whose server is the harness's own.

use std::collections::BTreeSet;

use super::finding::Report;
use super::model::{Naming, Phase, Place, Pods, Readiness, Traits};
use super::pods;
use super::read::{self, Fields};
use super::step::Reader;
use super::tree::{Kind, Node};
use crate::expect::Expect;

/// What can be said of a pod.
const TRAITS: [&str; 5] = ["node", "phase", "ready", "deletionCost", "restarts"];
/// Longer than any pod has been ready.
const LONGEST: u64 = 10 * 365 * 24 * 60 * 60;

/// The names, each with its traits, and whose pods they are for.
pub(super) fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Naming> {
    let fields = Fields::of(node, "`pods`", &["of", "name"], reader.report)?;
    let of = pods::of(fields.get("of"), reader)?;
    let Some(named) = fields.get("name") else {
        reader.report.add(node, "`pods` names none", "add `name: {a: {…}, b: {…}}`");
        return None;
    };
    let Kind::Map(map) = &named.kind else {
        reader.report.add(named, "`name` is a mapping", format!("this is {}", named.describe()));
        return None;
    };
    let mut names = Vec::new();
    for (key, value) in map {
        let name = read::name(key, "a pod's name", reader.report)?;
        let traits = traits(value, reader)?;
        reader.scope.pods.insert(name.clone());
        names.push((name, traits));
    }
    if names.is_empty() {
        reader.report.add(named, "`pods` names none", "a step that does nothing proves nothing");
        return None;
    }
    if reader.scope.several_sets() && of == Pods::default() {
        reader.report.add(node, "the pods of which ReplicaSet?", "add `of: {revision: …}` or `of: {replicaset: …}`");
        return None;
    }
    Some(Naming { of, names })
}

fn traits(node: &Node, reader: &mut Reader<'_>) -> Option<Traits> {
    if matches!(node.kind, Kind::Null) {
        return Some(Traits::default());
    }
    let fields = Fields::of(node, "a pod", &TRAITS, reader.report)?;
    let mut traits = Traits::default();
    if let Some((key, node)) = fields.entry("node") {
        if !reader.unbound {
            reader.report.add(
                key,
                "`node` where pods get nodes by themselves",
                "they have one before the case names them",
            );
            reader.report.help("add `bindings: held` at the top of the case");
            return None;
        }
        traits.node = Some(match node.kind {
            Kind::Null => Place::Nowhere,
            _ => Place::On(read::name(node, "a node's name", reader.report)?),
        });
    }
    if let Some(node) = fields.get("phase") {
        let words = Phase::ALL.map(|phase| (phase.as_str(), phase));
        traits.phase = Some(read::word(node, "a phase", &words, reader.report)?);
    }
    if let Some(node) = fields.get("ready") {
        traits.ready = Some(readiness(node, reader.report)?);
    }
    if let Some(node) = fields.get("deletionCost") {
        // As an annotation it is a text, and any text can be tried.
        traits.deletion_cost = Some(match &node.kind {
            Kind::Text(text) => text.clone(),
            _ => read::integer(node, "a deletion cost", i64::MIN..=i64::MAX, reader.report)?.to_string(),
        });
    }
    if let Some(node) = fields.get("restarts") {
        let count = |node: &Node, report: &mut Report| {
            read::integer(node, "a number of restarts", 0..=i64::from(i32::MAX), report)
        };
        if let Kind::Map(_) = node.kind {
            let fields = Fields::of(node, "`restarts`", &["containers", "sidecars"], reader.report)?;
            let mut of = |name: &str| match fields.get(name) {
                Some(node) => count(node, reader.report).map(Some),
                None => Some(None),
            };
            (traits.restarts, traits.sidecar_restarts) = (of("containers")?, of("sidecars")?);
        } else {
            traits.restarts = Some(count(node, reader.report)?);
        }
    }
    Some(traits)
}

/// `true`, `false`, `{since: -2h}`, `{since: unknown}`.
fn readiness(node: &Node, report: &mut Report) -> Option<Readiness> {
    if let Kind::Bool(ready) = node.kind {
        return Some(if ready { Readiness::Since(0) } else { Readiness::No });
    }
    let fields = Fields::of(node, "`ready`", &["since"], report)?;
    let Some(since) = fields.get("since") else {
        report.add(node, "ready since when?", "add `since: -2h`, or write `ready: true` for now");
        return None;
    };
    let text = read::text(since, "a time", report)?;
    if text == "unknown" {
        return Some(Readiness::SinceUnknown);
    }
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("-", rest)) => (-1, rest),
        Some(("+", rest)) => (1, rest),
        _ => {
            report.add(since, format!("`{text}` has no sign"), "before now: `-2h`; after it: `+2h`; or `unknown`");
            return None;
        }
    };
    match humantime::parse_duration(rest) {
        Ok(time) if time.as_secs() <= LONGEST => {
            Some(Readiness::Since(sign * i64::try_from(time.as_secs()).unwrap_or(i64::MAX)))
        }
        Ok(_) => {
            report.add(since, "that is too long", "at most ten years");
            None
        }
        Err(_) => {
            report.add(since, format!("`{text}` is no time"), "try `-90s` or `-2h`");
            None
        }
    }
}

/// `expect: {alive: [b]}`, `expect: {anyOf: [[a], [b]]}`.
pub(super) fn expect(node: &Node, reader: &mut Reader<'_>) -> Option<Expect> {
    let fields = Fields::of(node, "`expect`", &["alive", "anyOf"], reader.report)?;
    let sets = match (fields.get("alive"), fields.get("anyOf")) {
        (Some(alive), None) => vec![names(alive, reader)?],
        (None, Some(any)) => {
            let sets = read::items(any, "`anyOf`", reader.report)?;
            sets.iter().map(|set| names(set, reader)).collect::<Option<Vec<_>>>()?
        }
        _ => {
            reader.report.add(node, "who is expected?", "either `alive: […]` or `anyOf: [[…], […]]`");
            return None;
        }
    };
    if sets.is_empty() {
        reader.report.add(node, "no set is right", "add one to `anyOf`");
        return None;
    }
    Some(Expect::any_of(sets))
}

fn names(node: &Node, reader: &mut Reader<'_>) -> Option<BTreeSet<String>> {
    let items = read::items(node, "the pods", reader.report)?;
    items.iter().map(|item| known(item, reader)).collect()
}

/// A pod that an earlier step has named.
pub(super) fn known(node: &Node, reader: &mut Reader<'_>) -> Option<String> {
    let name = read::name(node, "a pod's name", reader.report)?;
    if reader.scope.pods.contains(&name) {
        return Some(name);
    }
    reader.report.add(node, format!("no pod is called `{name}`"), "name it in a step before: `pods: {name: {…}}`");
    None
}
