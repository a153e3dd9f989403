//! Converts the objects of a frame to CEL variables.

use std::sync::Arc;

use cel::extractors::This;
use cel::objects::Key;
use cel::{Context, ExecutionError, Value as Cel};
use lockstep_timeline::Frame;
use serde_json::{Value, json};

use super::history::RuleHistory;

/// The lists of objects, by variable and kind.
const LISTS: [(&str, &str); 10] = [
    ("deployments", "Deployment"),
    ("replicaSets", "ReplicaSet"),
    ("pods", "Pod"),
    ("statefulSets", "StatefulSet"),
    ("daemonSets", "DaemonSet"),
    ("jobs", "Job"),
    ("cronJobs", "CronJob"),
    ("rollouts", "Rollout"),
    ("configMaps", "ConfigMap"),
    ("secrets", SECRET),
];
/// The variable of the case's only Deployment.
pub(super) const DEPLOYMENT: &str = "deployment";
/// The variable of the webhook's messages, each as text.
pub(super) const POSTS: &str = "posts";
/// The number of the step, 0 for `given`, and whether this state has settled.
const CLOCK: [&str; 2] = ["step", "settled"];
/// Functions besides CEL's own; `sum` is a method of lists, as in Kubernetes.
pub(super) const FUNCTIONS: [&str; 3] = ["sum", "min", "max"];

const SECRET: &str = "Secret";

/// Counts that the API omits if they are 0.
const DEPLOYMENT_COUNTS: [&str; 6] =
    ["observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"];
const REPLICA_SET_COUNTS: [&str; 5] =
    ["observedGeneration", "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"];

/// All variables that a rule may use.
pub(super) fn variables() -> Vec<&'static str> {
    let lists = LISTS.iter().map(|(name, _)| *name);
    [DEPLOYMENT].into_iter().chain(lists).chain([POSTS]).chain(CLOCK).collect()
}

/// Whether a variable may have another value than at the frame before.
pub(super) fn may_have_changed(variable: &str, frame: &Frame<'_, '_>) -> bool {
    match kind_of(variable) {
        // Messages belong to no version; the caller checks the history.
        _ if variable == POSTS => false,
        Some(kind) => frame.version.is_some_and(|version| version.kind == kind),
        None => frame.is_settled() || frame.number == 1,
    }
}

/// Why a rule cannot be evaluated at a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EvaluationObstacle {
    /// There is no Deployment now; the rule is evaluated once there is one.
    NoDeployment,
    /// It cannot be evaluated at all.
    Error(String),
}

/// Builds the context of a rule at a frame: its variables, and the functions over history.
pub(super) fn context<'c>(
    variables: impl Iterator<Item = &'c str>,
    frame: &Frame<'_, '_>,
    history: &Arc<RuleHistory>,
) -> Result<Context<'static, 'static>, EvaluationObstacle> {
    let mut context = Context::default();
    for variable in variables {
        context.add_variable_from_value(variable, variable_value(variable, frame, history)?);
    }
    add_functions(&mut context, history).map_err(|error| EvaluationObstacle::Error(error.to_string()))?;
    Ok(context)
}

fn variable_value(variable: &str, frame: &Frame<'_, '_>, history: &RuleHistory) -> Result<Cel, EvaluationObstacle> {
    match (variable, kind_of(variable)) {
        (POSTS, _) => Ok(Cel::List(Arc::new(history.posts().map(|text| Cel::from(text.to_owned())).collect()))),
        ("step", _) => Ok(Cel::Int(i64::from(frame.step.index))),
        (_, None) => Ok(Cel::Bool(frame.is_settled())),
        (_, Some(kind)) => {
            let mut all: Vec<Cel> =
                frame.objects_of_kind(kind).iter().map(|(name, object)| rule_view(kind, name, object)).collect();
            match (variable, all.len()) {
                (DEPLOYMENT, 0) => Err(EvaluationObstacle::NoDeployment),
                (DEPLOYMENT, 1) => Ok(all.remove(0)),
                (DEPLOYMENT, several) => {
                    Err(EvaluationObstacle::Error(format!("there are {several} Deployments; use `deployments`")))
                }
                _ => Ok(Cel::List(Arc::new(all))),
            }
        }
    }
}

fn kind_of(variable: &str) -> Option<&'static str> {
    let list = LISTS.iter().find(|(name, _)| *name == variable).map(|(_, kind)| *kind);
    list.or((variable == DEPLOYMENT).then_some("Deployment"))
}

/// An object as rules see it: with its `name`, and with the zeros and empty maps that the API
/// omits. Of a Secret the name alone.
fn rule_view(kind: &str, name: &str, object: &Value) -> Cel {
    if kind == SECRET {
        return cel(&json!({"name": name, "metadata": {"name": name}}));
    }
    let mut object = object.clone();
    object["name"] = name.into();
    for field in ["labels", "annotations"] {
        default(&mut object, "metadata", field, json!({}));
    }
    default(&mut object, "metadata", "ownerReferences", json!([]));
    let counts: &[&str] = match kind {
        "Deployment" => &DEPLOYMENT_COUNTS,
        "ReplicaSet" => &REPLICA_SET_COUNTS,
        _ => &[],
    };
    for count in counts {
        default(&mut object, "status", count, json!(0));
    }
    if ["Deployment", "ReplicaSet", "Pod"].contains(&kind) {
        default(&mut object, "status", "conditions", json!([]));
    }
    if ["Deployment", "ReplicaSet"].contains(&kind) {
        default(&mut object, "spec", "minReadySeconds", json!(0));
    }
    if kind == "Deployment" {
        default(&mut object, "spec", "paused", json!(false));
    }
    cel(&object)
}

fn default(object: &mut Value, group: &str, field: &str, value: Value) {
    if object[group].is_null() {
        object[group] = json!({});
    }
    if let Some(group) = object[group].as_object_mut() {
        group.entry(field).or_insert(value);
    }
}

/// Converts JSON to CEL. Whole numbers become `int`; CEL's own conversion makes them `uint` unless
/// they are negative.
fn cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Cel::Int(number),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(list) => Cel::List(Arc::new(list.iter().map(cel).collect())),
        Value::Object(map) => map_of(map.iter().map(|(key, value)| (Key::from(key.as_str()), cel(value)))),
    }
}

#[expect(clippy::disallowed_types, reason = "what CEL takes; it is looked up by key, and printed in order")]
fn map_of(entries: impl Iterator<Item = (Key, Cel)>) -> Cel {
    entries.collect::<std::collections::HashMap<Key, Cel>>().into()
}

fn add_functions(context: &mut Context<'_, '_>, history: &Arc<RuleHistory>) -> Result<(), cel::DeclarationError> {
    context.add_function("sum", |This(list): This<Arc<Vec<Cel>>>| sum(&list))?;
    context.add_function("min", cel::functions::min)?;
    context.add_function("max", cel::functions::max)?;
    let past = Arc::clone(history);
    context.add_function("count", move |words: Arc<String>| past.count(&words))?;
    let past = Arc::clone(history);
    context.add_function("began", move |label: Arc<String>| {
        past.began(&label).map_err(|why| ExecutionError::function_error("began", why))
    })?;
    let past = Arc::clone(history);
    context.add_function("restarts", move |workload: Arc<String>| {
        past.restarts(&workload).map_err(|why| ExecutionError::function_error("restarts", why))
    })
}

/// The sum of a list of whole numbers; 0 for an empty list.
fn sum(list: &[Cel]) -> Result<i64, ExecutionError> {
    list.iter().try_fold(0_i64, |sum, value| match value {
        Cel::Int(number) => {
            sum.checked_add(*number).ok_or_else(|| ExecutionError::function_error("sum", "the sum is too large"))
        }
        other => Err(ExecutionError::function_error("sum", format!("{:?} is not a whole number", other.type_of()))),
    })
}
