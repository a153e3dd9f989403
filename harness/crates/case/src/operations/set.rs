//! `set: {image: "app:2"}`: changes images or environment variables, as `kubectl set` does.

use std::collections::BTreeMap;

use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::patch::patch_difference;
use crate::field::{FieldSpec, NAME, TEXT, TEXTS, names, object};
use crate::model::{DeclaredChange, Drive, DriveError, LabelStyle, Operation, PerformFuture, StepAction};
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlNode;

static FIELDS: [FieldSpec; 4] = [
    FieldSpec::new("deployment", NAME, "The Deployment; not needed where there is only one."),
    FieldSpec::new(
        "container",
        TEXT,
        "The container or init container; `*` for all. By default the first for `image`, all for `env`.",
    ),
    FieldSpec::new("image", TEXT, "Its new image."),
    FieldSpec::new("env", TEXTS, "Environment variables to set."),
];

/// Selects every container.
const ALL_CONTAINERS: &str = "*";

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "set",
    description: "`kubectl set image` and `kubectl set env`: `image`, `env` or both, in one patch. A container that is not there is refused.",
    actor: Actor::User,
    shorthand: "",
    fields: &FIELDS,
    schema,
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &[
        "- set: {image: \"app:2\"}",
        "- set: {deployment: web, container: app, env: {LEVEL: debug}}",
        "- set: {container: sidecar, image: \"app:2\"}\n  refused: {message: unable to find container}",
    ],
};

/// Changes the image or environment of a Deployment's containers.
#[derive(Debug, PartialEq)]
pub(crate) struct SetStep {
    pub(crate) deployment: String,
    /// Only this container; by default the first one for an image, and all for variables.
    pub(crate) container: Option<String>,
    /// The new image.
    pub(crate) image: Option<String>,
    /// Environment variables to set.
    pub(crate) env: BTreeMap<String, String>,
}

fn schema(refused: bool) -> Value {
    let mut schema = object(&FIELDS, refused);
    schema["anyOf"] =
        json!([{"required": ["image"]}, {"required": ["env"], "properties": {"env": {"minProperties": 1}}}]);
    schema
}

fn read(reader: &mut StepReader<'_>, OperationNode { key, value, refused }: &OperationNode<'_>) -> Option<Operation> {
    let fields = MappingFields::of(value, "`set`", &names(&FIELDS), reader.report)?;
    let deployment = reader.scope.resolve_deployment(fields.get("deployment"), key, reader.report);
    let mut text = |name: &str| {
        fields
            .get(name)
            .map(|node| read::text(node, name, reader.report).map(str::to_owned))
            .map_or(Ok(None), |text| text.map(Some).ok_or(()))
    };
    let (container, image) = (text("container").ok()?, text("image").ok()?);
    let env = match fields.get("env") {
        Some(env) => read::string_map(env, "env", reader.report)?,
        None => BTreeMap::new(),
    };
    if image.is_none() && fields.get("env").is_none_or(YamlNode::is_empty) && !fields.is_misspelt("image") {
        reader.report.add(key, "`set` sets nothing", "add `image` or `env`");
        return None;
    }
    reader.scope.has_template_change |= !refused;
    Some(Operation::new(SetStep { deployment: deployment?, container, image, env }))
}

impl StepAction for SetStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        let container = self.container.iter().map(|c| format!(" container={c}"));
        let image = self.image.iter().map(|i| format!(" image={i}"));
        let env = self.env.iter().map(|(key, value)| format!(" {key}={value}"));
        format!("set{}{}", names.deployment(&self.deployment), container.chain(image).chain(env).collect::<String>())
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::NewTemplate(&self.deployment)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(self.set(driver))
    }
}

impl SetStep {
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
        patch_difference(driver, &found, &changed, "kubectl-set").await.map(drop)
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

    /// Upstream: `EnvOptions.RunEnv`, which only warns of a missing container and changes nothing.
    fn set_env(&self, pod: &mut Value) -> Result<(), DriveError> {
        let name = self.container.as_deref().unwrap_or(ALL_CONTAINERS);
        let containers = containers(pod, name);
        if containers.is_empty() {
            let deployment = &self.deployment;
            let why = format!("Deployment/{deployment} does not have any containers matching {name:?}");
            return Err(DriveError::Refused(why));
        }
        for container in containers {
            let before = container["env"].as_array().cloned().unwrap_or_default();
            container["env"] = merge_env(&before, &self.env);
        }
        Ok(())
    }
}

/// The containers with this name, init containers included.
fn containers<'a>(pod: &'a mut Value, name: &str) -> Vec<&'a mut Value> {
    let lists = pod.as_object_mut().into_iter().flatten();
    let lists = lists.filter(|(field, _)| ["containers", "initContainers"].contains(&field.as_str()));
    let all = lists.filter_map(|(_, list)| list.as_array_mut()).flatten();
    all.filter(|container| name == ALL_CONTAINERS || container["name"] == name).collect()
}

/// Sets variables: a variable replaces all of its name, at the position of the first. Upstream:
/// `updateEnv`.
fn merge_env(before: &[Value], set: &BTreeMap<String, String>) -> Value {
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
