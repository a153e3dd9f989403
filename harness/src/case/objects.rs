//! Operations on objects by kind and name: `deployment`, `replicaset`, `apply`, `patch`, `delete`.

use super::model::{Cascade, Operation, PatchKind, Target};
use super::nearest::did_you_mean;
use super::read::{self, Fields};
use super::short;
use super::step::Reader;
use super::tree::{Kind, Node};

/// The kinds of object that `patch` and `delete` know.
pub(super) const KINDS: [&str; 7] =
    ["deployment", "replicaset", "statefulset", "daemonset", "pod", "configmap", "secret"];

impl Reader<'_> {
    /// `deployment: {name: web, …}`, the short form.
    pub(super) fn deployment(&mut self, node: &Node, refused: bool) -> Option<Operation> {
        let manifest = short::deployment(node, refused, self.report);
        let name = node.get("name").and_then(Node::as_text).filter(|_| !refused);
        // Even if it is wrong, so that later steps may name it.
        name.into_iter().for_each(|name| self.scope.enter(name));
        manifest.map(Operation::Apply)
    }

    /// `replicaset: {name: web, …}`, the short form.
    pub(super) fn replica_set(&mut self, node: &Node, refused: bool) -> Option<Operation> {
        short::replica_set(node, refused, self.report).map(Operation::Apply)
    }

    /// Any manifest: one object with a kind and a name.
    pub(super) fn manifest(&mut self, node: &Node, refused: bool) -> Option<Operation> {
        let Kind::Map(_) = node.kind else {
            self.report.add(node, "`apply` takes a manifest", format!("this is {}", node.describe()));
            return None;
        };
        let metadata = node.get("metadata");
        let required = [
            ("apiVersion", node.get("apiVersion")),
            ("kind", node.get("kind")),
            ("name", metadata.and_then(|it| it.get("name"))),
        ];
        let mut complete = true;
        for (what, found) in required {
            let found = found.map(|found| read::text(found, what, self.report).is_some());
            if found.is_none() {
                self.report.add(node, format!("the manifest has no `{what}`"), "an object needs it");
            }
            complete &= found == Some(true);
        }
        if let Some(namespace) = metadata.and_then(|it| it.get("namespace")) {
            self.report.add(namespace, "a case does not choose its namespace", "leave this out");
            complete = false;
        }
        let name = metadata.and_then(|it| it.get("name")).and_then(Node::as_text);
        if node.get("kind").and_then(Node::as_text) == Some("Deployment") && !refused {
            name.into_iter().for_each(|name| self.scope.enter(name));
        }
        complete.then(|| Operation::Apply(node.to_json()))
    }

    /// `patch: {target: deployment/web, type: merge, patch: {…}}`.
    pub(super) fn patch(&mut self, node: &Node, refused: bool) -> Option<Operation> {
        let fields = Fields::of(node, "`patch`", &["target", "type", "patch"], self.report)?;
        let target = self.target(fields.get("target"), node);
        let kinds = [("strategic", PatchKind::Strategic), ("merge", PatchKind::Merge), ("json", PatchKind::Json)];
        let kind = match fields.get("type") {
            Some(kind) => read::word(kind, "the type of a patch", &kinds, self.report)?,
            None => PatchKind::default(),
        };
        let Some(patch) = fields.get("patch") else {
            self.report.add(node, "a patch without `patch`", "say what changes");
            return None;
        };
        let fits = match kind {
            PatchKind::Json => matches!(patch.kind, Kind::List(_)),
            PatchKind::Strategic | PatchKind::Merge => matches!(patch.kind, Kind::Map(_)),
        };
        if !fits {
            let shape = if kind == PatchKind::Json { "a list of operations" } else { "a mapping" };
            self.report.add(patch, format!("this patch is {shape}"), format!("this is {}", patch.describe()));
            return None;
        }
        let target = target?;
        self.scope.retemplated |= target.kind == "deployment" && !refused;
        Some(Operation::Patch { target, kind, patch: patch.to_json() })
    }

    /// `delete: deployment/web`, `delete: {target: deployment/web, cascade: orphan}`.
    pub(super) fn delete(&mut self, node: &Node) -> Option<Operation> {
        if node.as_text().is_some() {
            return Some(Operation::Delete { target: self.target(Some(node), node)?, cascade: Cascade::default() });
        }
        let fields = Fields::of(node, "`delete`", &["target", "cascade"], self.report)?;
        let words =
            [("background", Cascade::Background), ("foreground", Cascade::Foreground), ("orphan", Cascade::Orphan)];
        let target = self.target(fields.get("target"), node);
        let cascade = match fields.get("cascade") {
            Some(cascade) => read::word(cascade, "the cascade", &words, self.report)?,
            None => Cascade::default(),
        };
        Some(Operation::Delete { target: target?, cascade })
    }

    /// `deployment/web`.
    fn target(&mut self, node: Option<&Node>, step: &Node) -> Option<Target> {
        let Some(node) = node else {
            self.report.add(step, "no target", "add `target: deployment/…`");
            return None;
        };
        let text = read::text(node, "a target", self.report)?;
        let Some((kind, name)) = text.split_once('/').filter(|(_, name)| !name.is_empty()) else {
            self.report.add(node, format!("`{text}` is no target"), "write `kind/name`, such as `deployment/web`");
            return None;
        };
        if !KINDS.contains(&kind) {
            let hint = did_you_mean(kind, KINDS).unwrap_or_else(|| format!("one of {}", read::list(&KINDS)));
            self.report.add(node, format!("unknown kind `{kind}`"), hint);
            return None;
        }
        if kind == "deployment" && !self.scope.known(name, node, self.report) {
            return None;
        }
        Some(Target { kind: kind.to_owned(), name: name.to_owned() })
    }
}
