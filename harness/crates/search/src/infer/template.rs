//! Expresses the change from one pod template to the next in a case.
//!
//! A case's template has one container and whatever `set` adds to it. Nothing else in a template
//! matters: the Deployment controller only compares templates for equality. So a change that `set
//! image`, `set env` and `restart` cannot express becomes a variable of its own, with a number for
//! each template.

use std::collections::BTreeMap;

use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value, json};

use super::live::text;
use super::step_text::{StepText, flow, quoted};

/// The annotation that `kubectl rollout restart` writes.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// The variable that represents the parts that a case's template lacks.
const REST: &str = "REST_OF_TEMPLATE";
/// The name of the only container of a case.
const CONTAINER: &str = "app";

/// The parts of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TemplateShape {
    /// The image of its first container.
    pub(super) image: String,
    /// The variables of the first container with a literal value.
    env: BTreeMap<String, String>,
    /// When it was restarted.
    restarted: Option<String>,
    /// Everything else.
    rest: Value,
}

/// How a case changes one template into another.
#[derive(Debug, PartialEq)]
pub(super) struct Wording {
    /// The operation, as a step of a case.
    pub(super) step: String,
    /// The same as part of a strategic merge patch of the template.
    pub(super) patch: Value,
    /// What else changed, which the case lacks.
    pub(super) left_out: Option<String>,
    /// Whether only the image changed.
    pub(super) is_image: bool,
    /// Whether the case then has the template that it had in place of this one before.
    pub(super) is_exact: bool,
}

/// What a case has in place of a recorded template. It depends on the changes that led there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaseTemplate {
    image: String,
    /// The variables that the case has set.
    env: BTreeMap<String, String>,
    /// When it was restarted last, by the recording; `None` if not since the beginning.
    restarted: Option<String>,
}

impl CaseTemplate {
    /// That of a Deployment that the case creates with this template.
    pub(super) fn created(template: &Value) -> Self {
        Self { image: TemplateShape::of(template).image, env: BTreeMap::new(), restarted: None }
    }

    /// How a case of the Deployment `name` gets from this template to one that it had before, if it
    /// can: the time of a restart is the case's own.
    fn change_to(&self, earlier: &Self, name: &str) -> Option<Wording> {
        let ends_restart = self.restarted != earlier.restarted;
        if self == earlier || ends_restart && earlier.restarted.is_some() {
            return None;
        }
        let image = (self.image != earlier.image).then(|| earlier.image.clone());
        let changed = earlier.env.iter().filter(|(key, value)| self.env.get(*key) != Some(*value));
        let env = changed.map(|(key, value)| (key.as_str(), value.clone())).collect();
        let gone: Vec<&String> = self.env.keys().filter(|key| !earlier.env.contains_key(*key)).collect();
        let mut wording = Wording::of_container(image, &env);
        if gone.is_empty() && !ends_restart {
            return Some(wording);
        }
        if let Some(container) = wording.patch.pointer_mut("/spec/containers/0").and_then(Value::as_object_mut)
            && !gone.is_empty()
        {
            let variables = container.entry("env").or_insert_with(|| json!([])).as_array_mut();
            variables
                .into_iter()
                .for_each(|all| all.extend(gone.iter().map(|key| json!({"name": key, "$patch": "delete"}))));
        }
        if ends_restart {
            wording.patch["metadata"] = json!({"annotations": {RESTARTED_AT: null}});
        }
        let patch = json!({"target": format!("deployment/{name}"), "patch": {"spec": {"template": wording.patch}}});
        Some(Wording { step: format!("patch: {}", flow(&patch)), is_image: false, ..wording })
    }

    /// After this change to another template.
    fn changed(&self, before: &TemplateShape, after: &TemplateShape, wording: &Wording) -> Self {
        let mut next = self.clone();
        match wording.patch.at("/spec/containers/0") {
            None => next.restarted.clone_from(&after.restarted),
            Some(container) => {
                if before.image != after.image {
                    next.image.clone_from(&after.image);
                }
                let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
                next.env.extend(variables.map(|one| (text(one, "/name").to_owned(), text(one, "/value").to_owned())));
            }
        }
        next
    }
}

/// A template of the recording.
#[derive(Debug, Clone)]
struct RecordedTemplate {
    template: Value,
    /// What the case has in its place; `None` if the case has not had it yet.
    in_case: Option<CaseTemplate>,
}

/// Pod templates in the order of their appearance, with what the case has in place of each. A
/// template that comes back must be the same in the case too: its ReplicaSet has it.
#[derive(Debug, Default, Clone)]
pub(super) struct CaseTemplates(Vec<RecordedTemplate>);

impl CaseTemplates {
    /// The number of a template, from 1.
    pub(super) fn number(&mut self, template: &Value) -> usize {
        self.index(template) + 1
    }

    fn index(&mut self, template: &Value) -> usize {
        self.0.iter().position(|known| known.template == *template).unwrap_or_else(|| {
            self.0.push(RecordedTemplate { template: template.clone(), in_case: None });
            self.0.len() - 1
        })
    }

    /// The case creates a Deployment with this template.
    pub(super) fn create(&mut self, template: &Value) {
        let index = self.index(template);
        self.0[index].in_case = Some(CaseTemplate::created(template));
    }

    /// How a case of the Deployment `name` changes one template into the other.
    pub(super) fn change(&mut self, old: &Value, new: &Value, name: &str) -> Wording {
        let (from, to) = (self.index(old), self.index(new));
        let (before, after) = (TemplateShape::of(old), TemplateShape::of(new));
        let wording = before.change_to(&after, name, to + 1);
        match (&self.0[from].in_case, &self.0[to].in_case) {
            (Some(one), Some(earlier)) => match one.change_to(earlier, name) {
                Some(exact) => Wording { left_out: wording.left_out, ..exact },
                None => wording,
            },
            (Some(one), None) => {
                self.0[to].in_case = Some(one.changed(&before, &after, &wording));
                Wording { is_exact: true, ..wording }
            }
            (None, _) => wording,
        }
    }
}

impl TemplateShape {
    /// The parts of this template.
    pub(super) fn of(template: &Value) -> Self {
        let mut rest = template.clone();
        let annotations = rest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        let restarted =
            annotations.and_then(|all| all.remove(RESTARTED_AT)).and_then(|at| Some(at.as_str()?.to_owned()));
        if rest.at("/metadata/annotations").and_then(Value::as_object).is_some_and(Map::is_empty)
            && let Some(metadata) = rest.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
        let (mut image, mut env) = (String::new(), BTreeMap::new());
        if let Some(first) = rest.pointer_mut("/spec/containers/0").and_then(Value::as_object_mut) {
            image = first.remove("image").and_then(|image| Some(image.as_str()?.to_owned())).unwrap_or_default();
            if let Some(Value::Array(list)) = first.remove("env") {
                let plain = |one: &Value| one.get("valueFrom").is_none();
                let (own, others): (Vec<Value>, Vec<Value>) = list.into_iter().partition(plain);
                env = own.iter().map(|one| (text(one, "/name").to_owned(), text(one, "/value").to_owned())).collect();
                if !others.is_empty() {
                    first.insert("env".to_owned(), others.into());
                }
            }
        }
        Self { image, env, restarted, rest }
    }

    /// Whether the two are equal except for the image, the variables and the labels.
    pub(super) fn differs_in_container_alone(&self, peer: &Self) -> bool {
        let rest = |shape: &Self| {
            let mut rest = shape.rest.clone();
            if let Some(metadata) = rest.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                metadata.remove("labels");
            }
            rest
        };
        self.restarted == peer.restarted && rest(self) == rest(peer)
    }

    /// Add the variable that represents the parts that a case's template lacks, for the template
    /// with this number.
    pub(super) fn stand_for_rest(&mut self, number: usize) {
        self.env.insert(REST.to_owned(), number.to_string());
    }

    /// The container of a case's template.
    pub(super) fn container(&self) -> Value {
        let mut container = json!({"name": CONTAINER, "image": self.image});
        if !self.env.is_empty() {
            let all: Vec<Value> = self.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            container["env"] = all.into();
        }
        container
    }

    /// How a case of the Deployment `name` changes this template into `next`, which is the template
    /// with this number.
    pub(super) fn change_to(&self, next: &Self, name: &str, number: usize) -> Wording {
        let gone = self.env.keys().any(|key| !next.env.contains_key(key));
        let other_rest = differing(&self.rest, &next.rest, "");
        let restarted = self.restarted != next.restarted;
        let image = (self.image != next.image).then(|| next.image.clone());
        let changed = next.env.iter().filter(|(key, value)| self.env.get(*key) != Some(*value));
        let mut env: BTreeMap<&str, String> = changed.map(|(key, value)| (key.as_str(), value.clone())).collect();
        let only_restarted = restarted && image.is_none() && env.is_empty() && !gone && other_rest.is_empty();
        if only_restarted {
            let annotations = json!({"annotations": {RESTARTED_AT: next.restarted}});
            let step = format!("restart: {name}");
            let patch = json!({"metadata": annotations});
            return Wording { step, patch, left_out: None, is_image: false, is_exact: false };
        }
        let mut left_out = other_rest;
        left_out.extend(gone.then(|| "/spec/containers/0/env".to_owned()));
        left_out.extend(restarted.then(|| "/metadata/annotations".to_owned()));
        if !left_out.is_empty() || image.is_none() && env.is_empty() {
            env.insert(REST, number.to_string());
        }
        let left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
        Wording { left_out, is_exact: false, ..Wording::of_container(image, &env) }
    }
}

impl Wording {
    /// The step of `given`, with a note about what it lacks.
    pub(super) fn into_given_step(self) -> StepText {
        let note = self.left_out.map(|places| format!("the template also differs in {places}"));
        StepText::noted(self.step, note)
    }

    /// Another image or other variables, or both.
    fn of_container(image: Option<String>, env: &BTreeMap<&str, String>) -> Self {
        let is_image = image.is_some() && env.is_empty();
        let variables: Vec<Value> = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let mut container = Map::from_iter([("name".to_owned(), json!(CONTAINER))]);
        let mut fields = Vec::new();
        if let Some(image) = image {
            fields.push(format!("image: {}", quoted(&image)));
            container.insert("image".to_owned(), image.into());
        }
        if !env.is_empty() {
            fields.push(format!("env: {}", flow(&json!(env))));
            container.insert("env".to_owned(), variables.into());
        }
        let step = format!("set: {{{}}}", fields.join(", "));
        let patch = json!({"spec": {"containers": [container]}});
        Self { step, patch, left_out: None, is_image, is_exact: true }
    }
}

/// The pointers at which two values differ, the shallowest ones that suffice.
fn differing(one: &Value, two: &Value, at: &str) -> Vec<String> {
    match (one, two) {
        _ if one == two => Vec::new(),
        (Value::Object(one), Value::Object(two)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            let none = Value::Null;
            let field = |map: &'_ Map<String, Value>, key: &str| map.get(key).unwrap_or(&none).clone();
            keys.into_iter()
                .flat_map(|key| differing(&field(one, key), &field(two, key), &format!("{at}/{key}")))
                .collect()
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let both = one.iter().zip(two).enumerate();
            both.flat_map(|(number, (one, two))| differing(one, two, &format!("{at}/{number}"))).collect()
        }
        _ => vec![at.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn template(image: &str, env: &Value, annotations: &Value, cpu: &str) -> Value {
        json!({"metadata": {"labels": {"app": "web"}, "annotations": annotations},
            "spec": {"containers": [{"name": "c", "image": image, "env": env, "resources": {"cpu": cpu}}]}})
    }

    #[rstest]
    #[case::image(template("a:2", &json!([]), &json!({}), "1"), "set: {image: \"a:2\"}", None)]
    #[case::env(
        template("a:1", &json!([{"name": "LEVEL", "value": "debug"}]), &json!({}), "1"),
        "set: {env: {LEVEL: \"debug\"}}",
        None
    )]
    #[case::restart(template("a:1", &json!([]), &json!({RESTARTED_AT: "now"}), "1"), "restart: web", None)]
    #[case::resources(
        template("a:1", &json!([]), &json!({}), "2"),
        "set: {env: {REST_OF_TEMPLATE: \"7\"}}",
        Some("/spec/containers/0/resources/cpu")
    )]
    #[case::secret(
        template("a:2", &json!([{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s"}}}]), &json!({}), "1"),
        "set: {image: \"a:2\", env: {REST_OF_TEMPLATE: \"7\"}}",
        Some("/spec/containers/0/env")
    )]
    fn a_change_in_the_words_of_a_case(#[case] next: Value, #[case] step: &str, #[case] left_out: Option<&str>) {
        let before = TemplateShape::of(&template("a:1", &json!([]), &json!({}), "1"));
        let wording = before.change_to(&TemplateShape::of(&next), "web", 7);
        assert_eq!((wording.step.as_str(), wording.left_out.as_deref()), (step, left_out));
    }
}
