//! `set: {image: "app:2"}`: another image or environment, as `kubectl set` changes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::change;
use super::form::nothing;
use super::{Action, By, Change, Drive, DriveError, Form, Names, Operation, Performing, Written};
use crate::case::field::{Field, NAME, TEXT, TEXTS, names};
use crate::case::read::{self, Fields};
use crate::case::schema::object;
use crate::case::step::Reader;
use crate::case::tree::Node;
use crate::pointer::At;

static FIELDS: [Field; 4] = [
    Field::new("deployment", NAME, "The Deployment; not needed where there is only one."),
    Field::new(
        "container",
        TEXT,
        "The container or init container; `*` for all. By default the first for `image`, all for `env`.",
    ),
    Field::new("image", TEXT, "Its new image."),
    Field::new("env", TEXTS, "Environment variables to set."),
];

/// Stands for every container.
const EVERY: &str = "*";

pub(super) static FORM: Form = Form {
    name: "set",
    says: "`kubectl set image` and `kubectl set env`: `image`, `env` or both, in one patch. A container that is not there is refused.",
    by: By::User,
    short: "",
    fields: &FIELDS,
    schema,
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &[
        "- set: {image: \"app:2\"}",
        "- set: {deployment: web, container: app, env: {LEVEL: debug}}",
        "- set: {container: sidecar, image: \"app:2\"}\n  refused: {message: unable to find container}",
    ],
};

/// A Deployment's container gets another image or environment.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Set {
    /// The Deployment.
    pub(in crate::case) deployment: String,
    /// Only this container; else the first for an image, and all for variables.
    pub(in crate::case) container: Option<String>,
    /// The new image.
    pub(in crate::case) image: Option<String>,
    /// Environment variables to set.
    pub(in crate::case) env: BTreeMap<String, String>,
}

fn schema(refused: bool) -> Value {
    let mut schema = object(&FIELDS, refused);
    schema["anyOf"] =
        json!([{"required": ["image"]}, {"required": ["env"], "properties": {"env": {"minProperties": 1}}}]);
    schema
}

fn read(reader: &mut Reader<'_>, Written { key, value, refused }: &Written<'_>) -> Option<Operation> {
    let fields = Fields::of(value, "`set`", &names(&FIELDS), reader.report)?;
    let deployment = reader.scope.meant(fields.get("deployment"), key, reader.report);
    let mut text = |name: &str| {
        fields
            .get(name)
            .map(|node| read::text(node, name, reader.report).map(str::to_owned))
            .map_or(Ok(None), |text| text.map(Some).ok_or(()))
    };
    let (container, image) = (text("container").ok()?, text("image").ok()?);
    let env = match fields.get("env") {
        Some(env) => read::texts(env, "env", reader.report)?,
        None => BTreeMap::new(),
    };
    if image.is_none() && fields.get("env").is_none_or(Node::is_empty) && !fields.is_misspelt("image") {
        reader.report.add(key, "`set` sets nothing", "add `image` or `env`");
        return None;
    }
    reader.scope.retemplated |= !refused;
    Some(Operation::new(Set { deployment: deployment?, container, image, env }))
}

impl Action for Set {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        let container = self.container.iter().map(|c| format!(" container={c}"));
        let image = self.image.iter().map(|i| format!(" image={i}"));
        let env = self.env.iter().map(|(key, value)| format!(" {key}={value}"));
        format!("set{}{}", names.deployment(&self.deployment), container.chain(image).chain(env).collect::<String>())
    }

    fn change(&self) -> Change<'_> {
        Change::Template(&self.deployment)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(self.set(driver))
    }
}

impl Set {
    async fn set(&self, driver: &dyn Drive) -> Result<(), DriveError> {
        let found = driver.deployment(&self.deployment).await?;
        let mut changed = found.clone();
        let pod = &mut changed["spec"]["template"]["spec"];
        if let Some(image) = &self.image {
            self.set_image(pod, image)?;
        }
        if !self.env.is_empty() {
            self.set_env(pod)?;
        }
        change(driver, &found, &changed, "kubectl-set").await.map(drop)
    }

    /// Upstream: `SetImageOptions.Run`.
    fn set_image(&self, pod: &mut Value, image: &str) -> Result<(), DriveError> {
        let first = pod.at("/containers/0/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = self.container.as_ref().unwrap_or(&first);
        let containers = containers(pod, name);
        if containers.is_empty() {
            return Err(DriveError::Refused(format!("unable to find container named {name:?}")));
        }
        containers.into_iter().for_each(|container| container["image"] = image.into());
        Ok(())
    }

    /// Upstream: `EnvOptions.RunEnv`, which only warns of a container that is not there, and
    /// changes nothing.
    fn set_env(&self, pod: &mut Value) -> Result<(), DriveError> {
        let name = self.container.as_deref().unwrap_or(EVERY);
        let containers = containers(pod, name);
        if containers.is_empty() {
            let deployment = &self.deployment;
            let why = format!("Deployment/{deployment} does not have any containers matching {name:?}");
            return Err(DriveError::Refused(why));
        }
        for container in containers {
            let before = container["env"].as_array().cloned().unwrap_or_default();
            container["env"] = updated(&before, &self.env);
        }
        Ok(())
    }
}

/// The containers of this name, init containers among them.
fn containers<'a>(pod: &'a mut Value, name: &str) -> Vec<&'a mut Value> {
    let lists = pod.as_object_mut().into_iter().flatten();
    let lists = lists.filter(|(field, _)| ["containers", "initContainers"].contains(&field.as_str()));
    let all = lists.filter_map(|(_, list)| list.as_array_mut()).flatten();
    all.filter(|container| name == EVERY || container["name"] == name).collect()
}

/// The variables after some have been set: a variable replaces all of its name, where the first of
/// them stood. Upstream: `updateEnv`.
fn updated(before: &[Value], set: &BTreeMap<String, String>) -> Value {
    let variable = |(name, value): (&String, &String)| json!({"name": name, "value": value});
    let mut left = set.clone();
    let mut all = Vec::new();
    for old in before {
        let name = old["name"].as_str().unwrap_or_default();
        match (left.remove_entry(name), set.contains_key(name)) {
            (Some((name, value)), _) => all.push(variable((&name, &value))),
            (None, true) => {}
            (None, false) => all.push(old.clone()),
        }
    }
    all.extend(left.iter().map(variable));
    all.into()
}
