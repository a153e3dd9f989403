//! What `kubectl` does to a Deployment: `set`, `scale`, `pause`, `resume`, `undo`, `restart`.

use std::collections::BTreeMap;

use super::model::{Operation, Target};
use super::read::{self, Fields, MOST_PODS};
use super::step::Reader;
use super::tree::{Kind, Node};

impl Reader<'_> {
    /// `set: {image: "app:2"}`, with `container`, `env` and `deployment`.
    pub(super) fn set(&mut self, key: &Node, node: &Node, refused: bool) -> Option<Operation> {
        let fields = Fields::of(node, "`set`", &["deployment", "container", "image", "env"], self.report)?;
        let deployment = self.scope.meant(fields.get("deployment"), key, self.report);
        let mut text = |name: &str| {
            fields
                .get(name)
                .map(|node| read::text(node, name, self.report).map(str::to_owned))
                .map_or(Ok(None), |text| text.map(Some).ok_or(()))
        };
        let (container, image) = (text("container").ok()?, text("image").ok()?);
        let env = match fields.get("env") {
            Some(env) => read::texts(env, "env", self.report)?,
            None => BTreeMap::new(),
        };
        if image.is_none() && fields.get("env").is_none_or(Node::is_empty) && !fields.is_misspelt("image") {
            self.report.add(key, "`set` sets nothing", "add `image` or `env`");
            return None;
        }
        self.scope.retemplated |= !refused;
        Some(Operation::Set { deployment: deployment?, container, image, env })
    }

    /// `scale: 12`, `scale: {deployment: web, replicas: 12}`, `scale: {replicaset: rs1, replicas: 12}`.
    pub(super) fn scale(&mut self, key: &Node, node: &Node, refused: bool) -> Option<Operation> {
        let (named, set, number) = if let Kind::Map(_) = node.kind {
            let fields = Fields::of(node, "`scale`", &["deployment", "replicaset", "replicas"], self.report)?;
            if fields.lacks("replicas") {
                self.report.add(key, "`scale` without `replicas`", "how many?");
            }
            let replicas = fields.get("replicas")?;
            (fields.get("deployment"), fields.get("replicaset"), replicas)
        } else {
            (None, None, node)
        };
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=MOST_PODS };
        let replicas = read::integer(number, "the number of replicas", range, self.report);
        let target = |kind: &str, name: String| Target { kind: kind.to_owned(), name };
        let target = match (named, set, self.scope.only_set()) {
            (None, Some(set), _) => target("replicaset", self.scope.named_set(set, self.report)?),
            (None, None, Some(only)) => target("replicaset", only),
            (named, None, _) => target("deployment", self.scope.meant(named, key, self.report)?),
            (Some(_), Some(set), _) => {
                self.report.add(set, "`scale` scales one thing", "either `deployment` or `replicaset`");
                return None;
            }
        };
        Some(Operation::Scale { target, replicas: i32::try_from(replicas?).ok()? })
    }

    /// `pause: web`, `pause: {deployment: web}`, `pause: {}`, `pause:`.
    pub(super) fn one_deployment(&mut self, name: &str, key: &Node, node: &Node) -> Option<String> {
        let named = match node.kind {
            Kind::Null => None,
            Kind::Map(_) => Fields::of(node, &format!("`{name}`"), &["deployment"], self.report)?.get("deployment"),
            _ => Some(node),
        };
        self.scope.meant(named, key, self.report)
    }

    /// `undo: {}`, `undo: {toRevision: 2}`, `undo: web`.
    pub(super) fn undo(&mut self, key: &Node, node: &Node, refused: bool) -> Option<Operation> {
        let fields = match node.kind {
            Kind::Map(_) => Some(Fields::of(node, "`undo`", &["deployment", "toRevision"], self.report)?),
            _ => None,
        };
        let named = match (fields, &node.kind) {
            (Some(fields), _) => fields.get("deployment"),
            (None, Kind::Null) => None,
            (None, _) => Some(node),
        };
        let deployment = self.scope.meant(named, key, self.report);
        let to_revision = match fields.and_then(|fields| fields.get("toRevision")) {
            Some(revision) => read::integer(revision, "toRevision", 0..=i64::from(i32::MAX), self.report)?,
            None => 0,
        };
        let deployment = deployment?;
        if !refused && !self.scope.retemplated {
            self.report.add(key, "there is nothing to undo", "no step before it changes the template");
            self.report.help("if the server must say so, add `refused: {message: \"…\"}`");
            return None;
        }
        Some(Operation::Undo { deployment, to_revision })
    }
}
