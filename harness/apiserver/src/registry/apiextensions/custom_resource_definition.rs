//! CustomResourceDefinitions. What they declare is in `registry/custom`. Upstream:
//! `apiextensions-apiserver/pkg/registry/customresourcedefinition`,
//! `SetDefaults_CustomResourceDefinitionSpec`.

use serde_json::{Value, json};

use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::custom::checks::{
    definition_warnings, is_valid, undecided, validate_definition, validate_definition_status,
    validate_definition_update,
};
use crate::registry::custom::kinds_of;
use crate::registry::defaults::{entry, set};
use crate::registry::state::Server;
use crate::registry::strategy::{Deletion, Strategy};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

/// The maximum number of patterns in a definition.
const MOST_PATTERNS: usize = 1_000;

pub(crate) static KIND: ResourceKind = ResourceKind {
    namespaced: false,
    subresources: &["status"],
    short_names: &["crd", "crds"],
    categories: &["api-extensions"],
    // Upstream stores definitions as v1beta1.
    hashed_version: Some("v1beta1"),
    ..kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")
};

pub(crate) struct DefinitionStrategy;

impl Strategy for DefinitionStrategy {
    fn qualifies_finalizers(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn set_defaults(&self, definition: &mut Value) {
        let spec = entry(definition, "spec");
        let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
        let names = entry(spec, "names");
        set(names, "singular", kind.to_lowercase().into());
        if !kind.is_empty() {
            set(names, "listKind", format!("{kind}List").into());
        }
        if spec["conversion"].is_null() {
            spec["conversion"] = json!({"strategy": "None"});
        }
    }

    fn storage_folder(&self) -> Option<&'static str> {
        Some("apiextensions.k8s.io/customresourcedefinitions")
    }

    fn deletion(&self) -> Deletion {
        Deletion::InstancesFirst
    }

    fn prepare_for_create(&self, definition: &mut Value) {
        definition["status"] = json!({"storedVersions": stored_versions(&definition["spec"], &Value::Null)});
    }

    fn prepare_for_update(&self, new: &mut Value, old: &Value) {
        new["status"]["storedVersions"] = stored_versions(&new["spec"], &old["status"]["storedVersions"]);
    }

    // Decoded definitions have a default for the stored versions.
    fn prepare_for_status_update(&self, new: &mut Value, old: &Value) {
        if new["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty) {
            new["status"]["storedVersions"] = stored_versions(&old["spec"], &Value::Null);
        }
    }

    fn unsupported_before_validation(&self, new: &Value) -> Option<String> {
        let is_too_large = patterns(&new["spec"]["versions"]) > MOST_PATTERNS;
        is_too_large.then(|| format!("a CustomResourceDefinition with more than {MOST_PATTERNS} patterns"))
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        validate_definition(new)
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_definition_update(new, old));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_definition_status(new));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        definition_warnings(new, old)
    }

    fn unsupported_if_invalid(&self, old: &Value) -> Option<String> {
        (!is_valid(old)).then(|| "a change of a CustomResourceDefinition that was not valid".to_owned())
    }

    fn check_servable(&self, server: &Server, new: &Value) -> ApiResult<()> {
        check_servable(server, new)
    }
}

/// The versions in which objects of a definition may be stored.
fn stored_versions(spec: &Value, before: &Value) -> Value {
    let mut all = before.as_array().cloned().unwrap_or_default();
    let stored = spec["versions"].as_array().into_iter().flatten().find(|version| version["storage"] == true);
    if let Some(name) = stored.map(|version| version["name"].clone()).filter(|name| !all.contains(name)) {
        all.push(name);
    }
    Value::Array(all)
}

/// The number of patterns in the schemas of a definition. Compiling each takes time and memory.
fn patterns(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let own = fields.get("pattern").is_some_and(Value::is_string);
            usize::from(own) + fields.values().map(patterns).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// Rejects a definition that this server cannot serve.
fn check_servable(server: &Server, body: &Value) -> ApiResult<()> {
    let spec = &body["spec"];
    let group = spec["group"].as_str().unwrap_or_default();
    kinds_of(spec).map_err(StatusError::unsupported)?;
    if let Some(what) = undecided(spec) {
        return Err(StatusError::unsupported(what));
    }
    if server.kinds.built_in_groups().any(|built_in| built_in == group) {
        return Err(StatusError::unsupported(format!("a CustomResourceDefinition of the group {group}")));
    }
    let kinds = |names: &Value| [names["kind"].clone(), names["listKind"].clone()];
    let resources = |names: &Value| -> Vec<String> {
        let short = names["shortNames"].as_array().into_iter().flatten();
        let all = ["plural", "singular"].iter().map(|name| &names[*name]).chain(short);
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (own_kinds, own_resources) = (kinds(&spec["names"]), resources(&spec["names"]));
    for (name, other) in server.kinds.definitions() {
        if other.storage.group != group || body["metadata"]["name"] == *name {
            continue;
        }
        let Some(custom) = other.storage.custom else { continue };
        if resources(&custom.names).iter().any(|name| own_resources.contains(name))
            || kinds(&custom.names).iter().any(|kind| own_kinds.contains(kind))
        {
            return Err(StatusError::unsupported("two CustomResourceDefinitions of one group that share a name"));
        }
    }
    Ok(())
}
