//! What LimitRanges add to a pod's containers, and what they refuse. Upstream: the LimitRanger
//! admission plugin, for items of the type `Container`.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::defaults::entry;
use super::kinds::{Kind, built_in};
use super::problem::{Outcome, Problem};
use super::server::Server;
use super::validate::compare;

/// The annotation that says what was added.
const ADDED: &str = "kubernetes.io/limit-ranger";

/// Adds defaults to a new pod before it is validated.
pub(super) fn admit(server: &Server, namespace: &str, pod: &mut Value) {
    for limit in limits(server, namespace) {
        let mut added = Vec::new();
        for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
            for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let named = container["name"].as_str().unwrap_or_default().to_owned();
                for (field, default, word) in
                    [("requests", "defaultRequest", "request"), ("limits", "default", "limit")]
                {
                    let names = fill(container, field, &limit[default]);
                    if !names.is_empty() {
                        added.push(format!("{} {word} for {what} {named}", names.join(", ")));
                    }
                }
            }
        }
        if !added.is_empty() {
            let annotations = entry(&mut pod["metadata"], "annotations");
            annotations[ADDED] = format!("LimitRanger plugin set: {}", added.join("; ")).into();
        }
    }
}

/// Refuses a new pod that is outside of the bounds, after it is validated.
pub(super) fn validate(server: &Server, kind: &Kind, namespace: &str, name: &str, pod: &Value) -> Outcome<()> {
    for limit in limits(server, namespace) {
        let mut wrong = Vec::new();
        for list in ["containers", "initContainers"] {
            for container in pod["spec"][list].as_array().into_iter().flatten() {
                wrong.extend(check(limit, &container["resources"]));
            }
        }
        let told = match wrong.as_slice() {
            [] => continue,
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        return Err(Problem::forbidden(kind, name, &told));
    }
    Ok(())
}

fn limits<'a>(server: &'a Server, namespace: &'a str) -> impl Iterator<Item = &'a Value> {
    let ranges = built_in("", "limitranges").expect("LimitRanges are served");
    server.store.list(ranges, namespace).flat_map(|one| one.body["spec"]["limits"].as_array().into_iter().flatten())
}

/// Adds what a container does not say; the names of what was added.
fn fill(container: &mut Value, field: &str, defaults: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for (name, amount) in defaults.as_object().into_iter().flatten() {
        let there = container["resources"][field].get(name).is_some();
        if !there {
            if !container["resources"][field].is_object() {
                entry(container, "resources")[field] = json!({});
            }
            container["resources"][field][name] = amount.clone();
            names.push(name.clone());
        }
    }
    names
}

/// What of a container is outside of the bounds.
fn check(limit: &Value, resources: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (bound, word, needed) in [("min", "minimum", "request"), ("max", "maximum", "limit")] {
        for (name, amount) in limit[bound].as_object().into_iter().flatten() {
            let says = format!("{word} {name} usage per Container is {}", text(amount));
            let beyond = |value: &Value| match bound {
                "min" => compare(value, amount) == Ordering::Less,
                _ => compare(value, amount) == Ordering::Greater,
            };
            let (request, most) = (resources["requests"].get(name), resources["limits"].get(name));
            let (first, second) = if bound == "min" { (request, most) } else { (most, request) };
            let other = if bound == "min" { "limit" } else { "request" };
            match (first, second) {
                (None, _) => wrong.push(format!("{says}.  No {needed} is specified")),
                (Some(value), _) if beyond(value) => wrong.push(format!("{says}, but {needed} is {}", text(value))),
                (_, Some(value)) if beyond(value) => wrong.push(format!("{says}, but {other} is {}", text(value))),
                _ => {}
            }
        }
    }
    wrong
}
