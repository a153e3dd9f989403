//! `set: {image: "app:2"}`: another image or environment, by a strategic merge patch.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

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
    Field::new("container", TEXT, "The container; the first by default."),
    Field::new("image", TEXT, "Its new image."),
    Field::new("env", TEXTS, "Environment variables to set."),
];

pub(super) static FORM: Form = Form {
    name: "set",
    says: "`kubectl set image` and `kubectl set env`: `image`, `env` or both.",
    by: By::User,
    short: "",
    fields: &FIELDS,
    schema,
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- set: {image: \"app:2\"}", "- set: {deployment: web, container: app, env: {LEVEL: debug}}"],
};

/// A Deployment's container gets another image or environment.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Set {
    /// The Deployment.
    pub(in crate::case) deployment: String,
    /// Only this container; else the first.
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
        let container = match &self.container {
            Some(name) => name.clone(),
            None => {
                let found = driver.deployment(&self.deployment).await?;
                let name = found.at("/spec/template/spec/containers/0/name").and_then(Value::as_str);
                name.unwrap_or_default().to_owned()
            }
        };
        let mut change = Map::from_iter([("name".to_owned(), json!(container))]);
        if let Some(image) = &self.image {
            change.insert("image".into(), json!(image));
        }
        if !self.env.is_empty() {
            let env = self.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            change.insert("env".into(), Value::Array(env));
        }
        driver.change(&self.deployment, json!({"spec": {"template": {"spec": {"containers": [change]}}}})).await
    }
}
