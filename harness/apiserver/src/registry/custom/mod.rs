//! Custom resources: the kinds that CustomResourceDefinitions declare.
//!
//! Each version of a definition becomes a [`ResourceKind`] whose `custom` holds its structural
//! schema. Kinds are leaked and live as long as the program, like the built-in ones; equal versions
//! share one, so memory is bounded by the number of different definitions. Conversion only changes
//! the apiVersion: an object is pruned by the schemas of the version in which it is written or read
//! and of the one in which it is stored.
//!
//! `coerce` decodes an object, `values` validates it, and `typed` describes its fields for
//! server-side apply; `definition` serves the definitions, which `checks` validates. CEL rules are
//! not evaluated.

pub(crate) mod checks;
mod coerce;
pub(crate) mod definition;
mod lists;
mod numbers;
mod typed;
pub(crate) mod validation_result;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::validate::meta;
use crate::types::custom_kind::CustomKind;
use crate::types::custom_scale::ScalePaths;
use crate::types::custom_schema::{Purpose, Schema};
use crate::types::decode::{DecodedValue, to_json_bytes};
use crate::types::field_error::FieldError;
use crate::types::kinds::{DefinitionVersions, ResourceKind, kind, version_rank};
use crate::types::names;
use crate::types::table::TypeDeclaration;

/// All kinds, by the digest of the parts of the definition that determine them.
static KIND_CACHE: Mutex<BTreeMap<[u8; 32], &'static ResourceKind>> = Mutex::new(BTreeMap::new());

/// The kind of one version of a definition.
///
/// # Errors
/// The unsupported feature.
fn kind_of(spec: &Value, version: &Value) -> Result<&'static ResourceKind, String> {
    let deprecation = (version["deprecated"] == true).then(|| deprecation(spec, version));
    let parts = [&spec["group"], &spec["names"], &spec["scope"], version, &json!(deprecation)];
    let key: [u8; 32] = Sha256::digest(json!(parts).to_string()).into();
    let mut cache = KIND_CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kind) = cache.get(&key) {
        return Ok(kind);
    }
    let kind: &'static ResourceKind = Box::leak(Box::new(read_version(spec, version, deprecation)?));
    cache.insert(key, kind);
    Ok(kind)
}

fn read_version(spec: &Value, version: &Value, deprecation: Option<String>) -> Result<ResourceKind, String> {
    let leak = |text: &Value| -> &'static str { text.as_str().unwrap_or_default().to_owned().leak() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let document = &version["schema"]["openAPIV3Schema"];
    // Read again when an object is written.
    Schema::read(document, Purpose::Objects)?;
    let status = version["subresources"].get("status").is_some();
    let scale = version["subresources"].get("scale").map(ScalePaths::read).transpose()?;
    let subresources = [("status", status), ("scale", scale.is_some())];
    let subresources: Vec<&'static str> = subresources.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let custom = CustomKind {
        api_version: format!("{}/{}", text(&spec["group"]), text(&version["name"])),
        kind: text(&spec["names"]["kind"]),
        singular: text(&spec["names"]["singular"]),
        list_kind: text(&spec["names"]["listKind"]),
        deprecation,
        schema: OnceLock::new(),
        typed: OnceLock::new(),
        status,
        scale,
        selectable: selectable.map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned()).collect(),
        document: to_json_bytes(document).into(),
        columns: version["additionalPrinterColumns"].clone(),
        names: spec["names"].clone(),
    };
    let [group, name] = [&spec["group"], &version["name"]].map(leak);
    let [plural, kind_name] = ["plural", "kind"].map(|name| leak(&spec["names"][name]));
    Ok(ResourceKind {
        namespaced: spec["scope"] == "Namespaced",
        subresources: subresources.leak(),
        verbs: &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        custom: Some(Box::leak(Box::new(custom))),
        has_protobuf: false,
        ..kind(group, name, plural, kind_name)
    })
}

/// The warning for each request at a deprecated version, which by default names a newer version.
/// Upstream: `defaultDeprecationWarning`.
fn deprecation(spec: &Value, deprecated: &Value) -> String {
    if let Some(warning) = deprecated["deprecationWarning"].as_str() {
        return warning.to_owned();
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let describe = |version: &str| format!("{}/{version} {}", text(&spec["group"]), text(&spec["names"]["kind"]));
    let name = text(&deprecated["name"]);
    let versions = spec["versions"].as_array().into_iter().flatten();
    let newer = versions.filter(|version| version["served"] == true && version["deprecated"] != true);
    let newest = newer.map(|version| text(&version["name"])).max_by_key(|version| version_rank(version));
    let newest = newest.filter(|newest| version_rank(newest) > version_rank(&name));
    let hint = newest.map(|newest| format!("; use {}", describe(&newest))).unwrap_or_default();
    format!("{} is deprecated{hint}", describe(&name))
}

/// The kinds of a definition.
///
/// # Errors
/// The unsupported feature.
pub(crate) fn kinds_of(spec: &Value) -> Result<DefinitionVersions, String> {
    if !matches!(spec["conversion"]["strategy"].as_str(), None | Some("None")) {
        return Err("conversion of custom resources by a webhook".to_owned());
    }
    let versions = || spec["versions"].as_array().into_iter().flatten();
    let served = versions().filter(|version| version["served"] == true).map(|version| kind_of(spec, version));
    let stored = versions().find(|version| version["storage"] == true);
    let storage = stored.ok_or("a CustomResourceDefinition without a storage version")?;
    let spec_digest = Sha256::digest(spec.to_string()).into();
    Ok(DefinitionVersions { served: served.collect::<Result<_, _>>()?, storage: kind_of(spec, storage)?, spec_digest })
}

impl CustomKind {
    /// The schema as server-side apply uses it.
    pub(crate) fn typed(&self) -> &'static TypeDeclaration {
        self.typed.get_or_init(|| typed::by_resource(self.schema()))
    }

    /// Decodes an object: types its metadata and drops unknown fields.
    ///
    /// # Errors
    /// The decoding error for metadata of the wrong type.
    pub(crate) fn decode(&self, value: &Value) -> Result<DecodedValue, String> {
        coerce::coerce(self.schema(), value)
    }

    /// Decodes an object without dropping nulls, which an apply keeps.
    ///
    /// # Errors
    /// The decoding error for metadata of the wrong type.
    pub(crate) fn decode_with_nulls(&self, value: &Value) -> Result<DecodedValue, String> {
        coerce::coerce_with_nulls(self.schema(), value)
    }

    /// An object of another version without the fields that this one does not declare.
    pub(crate) fn pruned(&self, object: Value) -> Value {
        self.decode(&object).map_or(object, |decoded| decoded.value)
    }

    /// Fills in defaults.
    pub(crate) fn fill(&self, body: &mut Value) {
        coerce::fill(self.schema(), body);
    }

    /// The warnings for a valid object: finalizers without a domain. Upstream:
    /// `validateKubeFinalizerName`.
    pub(crate) fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
        const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
        let of = |object: &Value| -> BTreeSet<String> {
            let all = object["metadata"]["finalizers"].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let before = old.map(of).unwrap_or_default();
        let mut warnings = Vec::new();
        for name in of(new).difference(&before) {
            let say = |why: &str| format!("metadata.finalizers: {name:?}: {why}");
            warnings.extend(names::key(name).iter().map(|why| say(why)));
            if !name.contains('/') && !STANDARD.contains(&name.as_str()) {
                let path = if name.contains('.') { " including a path (/)" } else { "" };
                warnings.push(say(&format!(
                    "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
                )));
            }
        }
        warnings
    }

    /// Validates an object; `old` is the object before an update.
    pub(crate) fn validate(&self, new: &Value, old: Option<&Value>) -> ApiResult<Vec<FieldError>> {
        let mut errors = match old {
            None => meta::custom_resource(&new["metadata"]),
            Some(old) => meta::custom_resource_update(&new["metadata"], &old["metadata"]),
        };
        let old_value = old.map(|old| self.schema_input(old));
        let found = values::check(self.schema(), &self.schema_input(new), old_value.as_ref(), "", "");
        errors.extend(found.map_err(StatusError::unsupported)?);
        if let Some(scale) = &self.scale {
            errors.extend(scale.check_spec(new));
            errors.extend(scale.check_status(new));
        }
        errors.extend(lists::embedded(self.schema(), &self.with_type(new), false, ""));
        errors.extend(self.lists(new, old));
        Ok(self.with_skipped_rules(errors))
    }

    /// Validates an updated status.
    pub(crate) fn validate_status(&self, new: &Value, old: &Value) -> ApiResult<Vec<FieldError>> {
        let mut errors = meta::custom_resource_update(&new["metadata"], &old["metadata"]);
        if let (Some(status), Some(schema)) = (new.get("status"), self.schema().properties.get("status")) {
            let found = values::check(schema, status, old.get("status"), "status", "");
            errors.extend(found.map_err(StatusError::unsupported)?);
        }
        errors.extend(self.scale.iter().flat_map(|scale| scale.check_status(new)));
        errors.extend(self.lists(new, Some(old)));
        Ok(self.with_skipped_rules(errors))
    }

    /// Reports duplicate list items, unless the old object had some.
    fn lists(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        if old.is_some_and(|old| !lists::duplicate_items(self.schema(), old, "").is_empty()) {
            return Vec::new();
        }
        lists::duplicate_items(self.schema(), new, "")
    }

    /// Adds upstream's note that CEL rules were skipped because the object is invalid.
    fn with_skipped_rules(&self, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        const RULES_SKIPPED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        if self.schema().has_rules && errors.iter().any(FieldError::prevents_rules) {
            errors.push(FieldError::invalid("<nil>", Value::Null, RULES_SKIPPED));
        }
        errors
    }

    /// The object with its apiVersion and kind.
    fn with_type(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.api_version.as_str().into());
            fields.insert("kind".to_owned(), self.kind.as_str().into());
        }
        object
    }

    /// The object as the schema validates it: with its type, and only the names of its metadata.
    fn schema_input(&self, object: &Value) -> Value {
        let mut object = self.with_type(object);
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.retain(|name, _| matches!(name.as_str(), "name" | "generateName"));
        }
        object
    }
}
