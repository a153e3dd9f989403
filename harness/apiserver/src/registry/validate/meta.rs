//! Validates metadata: names, labels, annotations, owners, finalizers, and immutable fields.
//! Upstream: `ValidateObjectMeta…`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::types::field_error::FieldError;
use crate::types::names;

/// The size limit of all annotations of an object.
const ANNOTATIONS: usize = 256 << 10;
/// The finalizers that need no domain.
const FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// Validates the metadata of a new object. `qualifies`: whether a finalizer must have a domain or
/// be a standard one, which core, apps and batch require.
pub(crate) fn create(meta: &Value, name: fn(&str) -> Vec<String>, qualifies: bool) -> Vec<FieldError> {
    let mut errors = object_meta(meta, name);
    if qualifies {
        errors.extend(standard_finalizers(meta));
    }
    errors
}

/// Validates metadata with a rule for names.
fn object_meta(meta: &Value, name: fn(&str) -> Vec<String>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let base = meta["generateName"].as_str().unwrap_or_default();
    if !base.is_empty() {
        // A suffix is appended, so the prefix may end in a dash.
        let prefix = match base.strip_suffix('-') {
            Some(rest) if !rest.is_empty() => format!("{}a", &base[..base.len() - 2]),
            _ => base.to_owned(),
        };
        errors.extend(name(&prefix).into_iter().map(|wrong| FieldError::invalid("metadata.generateName", base, wrong)));
    }
    match meta["name"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        given => {
            errors.extend(name(given).into_iter().map(|wrong| FieldError::invalid("metadata.name", given, wrong)));
        }
    }
    crate::registry::validate::scalars::nonnegative(&mut errors, meta, "metadata", "generation");
    errors.extend(labels(&meta["labels"], "metadata.labels"));
    errors.extend(annotations(&meta["annotations"], "metadata.annotations"));
    errors.extend(owners(&meta["ownerReferences"]));
    for finalizer in texts(&meta["finalizers"]) {
        let wrong = names::key(finalizer);
        errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid("metadata.finalizers", finalizer, wrong)));
    }
    let both = ["orphan", "foregroundDeletion"].iter().all(|name| texts(&meta["finalizers"]).any(|one| one == *name));
    if both {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid("metadata.finalizers", meta["finalizers"].clone(), why));
    }
    errors
}

/// Validates the metadata of a new custom resource.
pub(crate) fn custom_resource(meta: &Value) -> Vec<FieldError> {
    object_meta(meta, names::dns_subdomain)
}

/// Validates an update of a custom resource's metadata, which upstream does twice.
pub(crate) fn custom_resource_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = update_of_any_kind(new, old);
    errors.extend(object_meta_update(new, old));
    errors
}

/// Validates the metadata of a resource embedded at a path.
pub(crate) fn embedded_resource(meta: &Value, path: &str) -> Vec<FieldError> {
    let mut meta = meta.clone();
    if meta["name"].as_str().unwrap_or_default().is_empty() {
        meta["name"] = "unnamed".into();
    }
    let mut errors = object_meta(&meta, names::path_segment);
    if let Some(namespace) = meta["namespace"].as_str().filter(|namespace| !namespace.is_empty()) {
        let wrong = names::dns_label(namespace).into_iter();
        errors.extend(wrong.map(|wrong| FieldError::invalid("metadata.namespace", namespace, wrong)));
    }
    if path.is_empty() { errors } else { errors.into_iter().map(|error| error.below(path)).collect() }
}

/// Validates the metadata of a new definition, whose name is derived from its spec.
pub(crate) fn definition(meta: &Value, name: &str) -> Vec<FieldError> {
    const WHY: &str = "must be spec.names.plural+\".\"+spec.group";
    let mut errors = Vec::new();
    let common = object_meta(meta, names::dns_subdomain);
    let is_name = |error: &FieldError| error.is_at("metadata.generateName") || error.is_at("metadata.name");
    let (names, others): (Vec<_>, Vec<_>) = common.into_iter().partition(is_name);
    let base = meta["generateName"].as_str().unwrap_or_default();
    let given = meta["name"].as_str().unwrap_or_default();
    let (of_base, of_name): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|error| error.is_at("metadata.generateName"));
    errors.extend(of_base);
    if !base.is_empty() && base != name {
        errors.push(FieldError::invalid("metadata.generateName", base, WHY));
    }
    errors.extend(of_name);
    if !given.is_empty() && given != name {
        errors.push(FieldError::invalid("metadata.name", given, WHY));
    }
    errors.extend(others);
    errors
}

/// Validates the metadata of an Event of `events.k8s.io`; `old` is the metadata before an update.
pub(crate) fn events_v1(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = match old {
        Some(old) => object_meta_update(new, old),
        None => object_meta(new, names::dns_subdomain),
    };
    errors.extend(standard_finalizers(new));
    errors
}

fn standard_finalizers(meta: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, finalizer) in texts(&meta["finalizers"]).enumerate() {
        if !finalizer.contains('/') && !FINALIZERS.contains(&finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(&format!("metadata.finalizers[{index}]"), finalizer, why));
        }
    }
    errors
}

/// Validates an update of metadata by the rules of a kind, which contain those of all kinds.
pub(crate) fn update(new: &Value, old: &Value, qualifies: bool) -> Vec<FieldError> {
    let mut errors = object_meta_update(new, old);
    if qualifies {
        errors.extend(standard_finalizers(new));
    }
    errors
}

/// Validates an update of metadata by the rules of all kinds. Upstream reports these errors besides
/// those of the kind.
pub(crate) fn update_of_any_kind(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = object_meta(new, names::path_segment);
    errors.extend(object_meta_update(new, old));
    errors
}

fn object_meta_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.get("deletionTimestamp").is_some() {
        let had: BTreeSet<&str> = texts(&old["finalizers"]).collect();
        let has: BTreeSet<&str> = texts(&new["finalizers"]).collect();
        let extra: Vec<String> = has.difference(&had).map(|name| format!("\"{name}\"")).collect();
        if !extra.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                extra.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", &why));
        }
    }
    for name in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new[name] != old[name] {
            errors.push(FieldError::invalid(&format!("metadata.{name}"), new[name].clone(), "field is immutable"));
        }
    }
    errors.extend(labels(&new["labels"], "metadata.labels"));
    errors.extend(annotations(&new["annotations"], "metadata.annotations"));
    errors.extend(owners(&new["ownerReferences"]));
    errors
}

pub(crate) fn labels(labels: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(path, key.clone(), wrong)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(names::label_value(value).into_iter().map(|wrong| FieldError::invalid(path, value, wrong)));
    }
    errors
}

pub(crate) fn annotations(annotations: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        let wrong = names::key(&key.to_lowercase());
        errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid(path, key.clone(), wrong)));
    }
    if size > ANNOTATIONS {
        errors.push(FieldError::too_long(path, ANNOTATIONS));
    }
    errors
}

fn owners(references: &Value) -> Vec<FieldError> {
    const PATH: &str = "metadata.ownerReferences";
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in references.as_array().into_iter().flatten() {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
        if version.is_empty() {
            let why = "version must not be empty";
            errors.push(FieldError::invalid(&format!("{PATH}.apiVersion"), text("apiVersion"), why));
        }
        for name in ["kind", "name", "uid"] {
            if text(name).is_empty() {
                errors.push(FieldError::invalid(&format!("{PATH}.{name}"), "", "must not be empty"));
            }
        }
        if text("kind") == "Event" && text("apiVersion") == "v1" {
            errors.push(FieldError::invalid_printed(
                PATH,
                owner_text(owner),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if owner["controller"] == true {
            let this = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    let all: Vec<String> = references.as_array().into_iter().flatten().map(owner_text).collect();
                    errors.push(FieldError::invalid_printed(PATH, format!("[{}]", all.join(",")), why));
                }
                None => controller = Some(this),
            }
        }
    }
    errors
}

/// Prints an owner as upstream does.
fn owner_text(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let fields = fields.iter().filter_map(|name| Some(format!("\"{name}\":{}", owner.get(*name)?)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
