//! One step: a mapping with exactly one operation, and `refused` where a server must say no.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cast::Cast;
use super::finding::Report;
use super::model::{Cascade, Edge, PatchKind, Step, Target};
use super::read::{self, Fields, MOST_PODS};
use super::tree::{Kind, Node};
use super::{pods, short};

/// Every operation.
const OPERATIONS: [&str; 17] = [
    "deployment",
    "apply",
    "patch",
    "delete",
    "set",
    "scale",
    "pause",
    "resume",
    "undo",
    "restart",
    "ready",
    "unready",
    "fail",
    "succeed",
    "terminate",
    "advance",
    "together",
];

/// Operations that no server takes part in, or not as one request.
const NOT_REFUSABLE: [&str; 7] = ["ready", "unready", "fail", "succeed", "terminate", "advance", "together"];

/// The kinds of object that `patch` and `delete` know.
const KINDS: [(&str, &str); 5] = [
    ("deployment", "deployment"),
    ("replicaset", "replicaset"),
    ("pod", "pod"),
    ("configmap", "configmap"),
    ("secret", "secret"),
];

/// Longer than anything that a Deployment waits for.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// What reading a step needs to know.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) cast: &'a mut Cast,
    pub(super) report: &'a mut Report,
    /// Whether deletions wait for `terminate`.
    pub(super) held: bool,
}

impl Reader<'_> {
    /// All steps of a list; those with findings are left out.
    pub(super) fn steps(&mut self, node: &Node, what: &str) -> Vec<Step> {
        let items = read::items(node, what, self.report).unwrap_or_default();
        items.iter().filter_map(|step| self.step(step, true)).collect()
    }

    /// One step.
    fn step(&mut self, node: &Node, top: bool) -> Option<Step> {
        if let Some(word) = node.as_text().filter(|word| OPERATIONS.contains(word)) {
            self.report.add(node, "a step is a mapping", format!("write `{word}: …`"));
            return None;
        }
        let mut known = OPERATIONS.to_vec();
        known.push("refused");
        let fields = Fields::of(node, "a step", &known, self.report)?;
        let refused = self.refused(&fields);
        let mut found = OPERATIONS.iter().filter_map(|name| Some((*name, fields.entry(name)?))).collect::<Vec<_>>();
        found.sort_by_key(|(_, (key, _))| key.span.start);
        let (name, (key, value)) = match found.as_slice() {
            [] => {
                // An unknown field has been reported already.
                let only_refused =
                    matches!(&node.kind, Kind::Map(map) if map.iter().all(|(key, _)| key.as_key() == "refused"));
                if only_refused {
                    self.report.add(node, "a step without an operation", format!("one of {}", read::list(&OPERATIONS)));
                }
                return None;
            }
            [one] => *one,
            [(first, _), (second, (key, _)), ..] => {
                self.report.add(
                    key,
                    format!("two operations in one step: `{first}` and `{second}`"),
                    "a step does one thing",
                );
                self.report.help("make them two steps, or `together: [{…}, {…}]` for no settling between them");
                return None;
            }
        };
        if let (Some(_), true) = (&refused, NOT_REFUSABLE.contains(&name))
            && let Some((at, _)) = fields.entry("refused")
        {
            self.report.add(at, format!("`{name}` cannot be refused"), "only an operation of a user's can");
            return None;
        }
        if !top && ["together", "advance"].contains(&name) {
            self.report.add(key, format!("`{name}` cannot stand inside `together`"), "make it a step of its own");
            return None;
        }
        let edge = self.operation(name, key, value, refused.is_some())?;
        let line = if node.line == 0 { key.line } else { node.line };
        Some(Step { line, edge, refused })
    }

    /// `refused: {message: "unable to find"}`.
    fn refused(&mut self, fields: &Fields<'_>) -> Option<String> {
        let (key, value) = fields.entry("refused")?;
        let inner = Fields::of(value, "`refused`", &["message"], self.report)?;
        let Some(message) = inner.get("message") else {
            self.report.add(key, "refused without a message", "add `{message: \"…\"}`, a part of what the server says");
            return None;
        };
        read::text(message, "the message", self.report).map(str::to_owned)
    }

    fn operation(&mut self, name: &str, key: &Node, value: &Node, refused: bool) -> Option<Edge> {
        match name {
            "deployment" => {
                let manifest = short::deployment(value, refused, self.report)?;
                self.apply(manifest, refused)
            }
            "apply" => self.manifest(value, refused),
            "patch" => self.patch(value, refused),
            "delete" => self.delete(value),
            "set" => self.set(key, value, refused),
            "scale" => self.scale(key, value, refused),
            "pause" => self.one_deployment(name, key, value).map(Edge::Pause),
            "resume" => self.one_deployment(name, key, value).map(Edge::Resume),
            "restart" => {
                let deployment = self.one_deployment(name, key, value)?;
                self.cast.retemplated |= !refused;
                Some(Edge::Restart(deployment))
            }
            "undo" => self.undo(key, value, refused),
            "ready" => pods::read(value, name, self).map(Edge::Ready),
            "unready" => pods::read(value, name, self).map(Edge::Unready),
            "fail" => pods::read(value, name, self).map(Edge::Fail),
            "succeed" => pods::read(value, name, self).map(Edge::Succeed),
            "terminate" if !self.held => {
                self.report.add(key, "`terminate` without held terminations", "deletions finish by themselves here");
                self.report.help("add `terminations: held` at the top of the case");
                None
            }
            "terminate" => pods::read(value, name, self).map(Edge::Terminate),
            "advance" => self.advance(value).map(Edge::Advance),
            _ => self.together(value).map(Edge::Together),
        }
    }

    /// Any manifest: one object with a kind and a name.
    fn manifest(&mut self, node: &Node, refused: bool) -> Option<Edge> {
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
        if complete { self.apply(node.to_json(), refused) } else { None }
    }

    fn apply(&mut self, manifest: serde_json::Value, refused: bool) -> Option<Edge> {
        let name = manifest["metadata"]["name"].as_str()?;
        if manifest["kind"] == "Deployment" && !refused {
            self.cast.enter(name);
        }
        Some(Edge::Apply(manifest))
    }

    /// `patch: {target: deployment/web, type: merge, patch: {…}}`.
    fn patch(&mut self, node: &Node, refused: bool) -> Option<Edge> {
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
        self.cast.retemplated |= target.kind == "deployment" && !refused;
        Some(Edge::Patch { target, kind, patch: patch.to_json() })
    }

    /// `delete: deployment/web`, `delete: {target: deployment/web, cascade: orphan}`.
    fn delete(&mut self, node: &Node) -> Option<Edge> {
        if node.as_text().is_some() {
            return Some(Edge::Delete { target: self.target(Some(node), node)?, cascade: Cascade::default() });
        }
        let fields = Fields::of(node, "`delete`", &["target", "cascade"], self.report)?;
        let words =
            [("background", Cascade::Background), ("foreground", Cascade::Foreground), ("orphan", Cascade::Orphan)];
        let target = self.target(fields.get("target"), node);
        let cascade = match fields.get("cascade") {
            Some(cascade) => read::word(cascade, "the cascade", &words, self.report)?,
            None => Cascade::default(),
        };
        Some(Edge::Delete { target: target?, cascade })
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
        if !KINDS.iter().any(|(known, _)| *known == kind) {
            let known = KINDS.map(|(known, _)| known);
            let hint =
                super::nearest::did_you_mean(kind, known).unwrap_or_else(|| format!("one of {}", read::list(&known)));
            self.report.add(node, format!("unknown kind `{kind}`"), hint);
            return None;
        }
        if kind == "deployment" && !self.cast.known(name, node, self.report) {
            return None;
        }
        Some(Target { kind: kind.to_owned(), name: name.to_owned() })
    }

    /// `set: {image: "app:2"}`, with `container`, `env` and `deployment`.
    fn set(&mut self, key: &Node, node: &Node, refused: bool) -> Option<Edge> {
        let fields = Fields::of(node, "`set`", &["deployment", "container", "image", "env"], self.report)?;
        let deployment = self.cast.meant(fields.get("deployment"), key, self.report);
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
        if image.is_none() && env.is_empty() {
            self.report.add(key, "`set` sets nothing", "add `image` or `env`");
            return None;
        }
        self.cast.retemplated |= !refused;
        Some(Edge::Set { deployment: deployment?, container, image, env })
    }

    /// `scale: 12`, `scale: {deployment: web, replicas: 12}`.
    fn scale(&mut self, key: &Node, node: &Node, refused: bool) -> Option<Edge> {
        let (named, number) = if let Kind::Map(_) = node.kind {
            let fields = Fields::of(node, "`scale`", &["deployment", "replicas"], self.report)?;
            let Some(replicas) = fields.get("replicas") else {
                self.report.add(key, "`scale` without `replicas`", "how many?");
                return None;
            };
            (fields.get("deployment"), replicas)
        } else {
            (None, node)
        };
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=MOST_PODS };
        let replicas = read::integer(number, "the number of replicas", range, self.report);
        let deployment = self.cast.meant(named, key, self.report)?;
        Some(Edge::Scale { deployment, replicas: i32::try_from(replicas?).ok()? })
    }

    /// `pause: web`, `pause: {deployment: web}`, `pause: {}`, `pause:`.
    fn one_deployment(&mut self, name: &str, key: &Node, node: &Node) -> Option<String> {
        let named = match node.kind {
            Kind::Null => None,
            Kind::Map(_) => Fields::of(node, &format!("`{name}`"), &["deployment"], self.report)?.get("deployment"),
            _ => Some(node),
        };
        self.cast.meant(named, key, self.report)
    }

    /// `undo: {}`, `undo: {toRevision: 2}`, `undo: web`.
    fn undo(&mut self, key: &Node, node: &Node, refused: bool) -> Option<Edge> {
        let fields = match node.kind {
            Kind::Map(_) => Some(Fields::of(node, "`undo`", &["deployment", "toRevision"], self.report)?),
            _ => None,
        };
        let named = match (fields, &node.kind) {
            (Some(fields), _) => fields.get("deployment"),
            (None, Kind::Null) => None,
            (None, _) => Some(node),
        };
        let deployment = self.cast.meant(named, key, self.report);
        let to_revision = match fields.and_then(|fields| fields.get("toRevision")) {
            Some(revision) => read::integer(revision, "toRevision", 0..=i64::from(i32::MAX), self.report)?,
            None => 0,
        };
        let deployment = deployment?;
        if !refused && !self.cast.retemplated {
            self.report.add(key, "there is nothing to undo", "no step before it changes the template");
            self.report.help("if the server must say so, add `refused: {message: \"…\"}`");
            return None;
        }
        Some(Edge::Undo { deployment, to_revision })
    }

    /// `advance: 10m`.
    fn advance(&mut self, node: &Node) -> Option<Duration> {
        if let Kind::Map(_) = node.kind {
            self.report.add(node, "`advance: {to, since}` is not supported yet", "give a duration: `10m`");
            return None;
        }
        if let Kind::Int(number) = node.kind {
            self.report.add(node, "a duration has a unit", format!("did you mean `{number}s`?"));
            return None;
        }
        let text = read::text(node, "a duration", self.report)?;
        match humantime::parse_duration(text) {
            Ok(Duration::ZERO) => self.report.add(node, "no time passes", "more than `0s`, please"),
            Ok(duration) if duration > LONGEST => self.report.add(node, "that is too long", "at most ten years"),
            Ok(duration) => return Some(duration),
            Err(error) => {
                self.report.add(node, format!("`{text}` is no duration"), format!("{error}; try `90s` or `10m`"))
            }
        }
        None
    }

    /// `together: [{…}, {…}]`.
    fn together(&mut self, node: &Node) -> Option<Vec<Step>> {
        let items = read::items(node, "`together`", self.report)?;
        if items.len() < 2 {
            self.report.add(node, "`together` takes two steps or more", "a single step needs no `together`");
            return None;
        }
        let steps: Vec<Step> = items.iter().filter_map(|step| self.step(step, false)).collect();
        (steps.len() == items.len()).then_some(steps)
    }
}
