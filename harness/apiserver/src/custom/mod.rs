//! Custom resources: what a CustomResourceDefinition says of the objects of its kind.
//!
//! A version of a definition becomes a [`Kind`] whose `custom` holds its structural schema. Kinds
//! live as long as the program, as the built-in ones do; equal definitions share one, so that many
//! servers in a program hold no more than there are definitions. Conversion is by renaming alone:
//! all versions have one form, and each prunes and fills in defaults by its own schema.
//!
//! `coerce` reads an object, `values` validates it, `typed` tells server-side apply how its fields
//! merge; `definition` serves the definitions themselves, which `checks` validates. Rules in CEL
//! are not evaluated.

mod addresses;
mod checks;
mod coerce;
mod definition;
mod formats;
mod go_classes;
mod go_regexp;
mod lists;
mod numbers;
mod scale;
mod schema;
mod typed;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::api::{Decoded, Type};
use crate::field::FieldError;
use crate::kinds::{Definition, Kind};
use crate::problem::{Outcome, Problem};
use crate::validate::{meta, words};
pub(crate) use scale::Scale;
use schema::{Purpose, Schema};

pub(super) use checks::{
    definition_warnings, validate_definition, validate_definition_status, validate_definition_update,
};
pub(super) use definition::{refuse_definition, refuse_invalid_before};

/// What a definition says of one version.
#[derive(Debug)]
pub(crate) struct Custom {
    api_version: String,
    kind: String,
    pub(crate) singular: String,
    pub(crate) list_kind: String,
    schema: Schema,
    /// The same as server-side apply sees it.
    pub(crate) typed: &'static Type,
    /// Whether its status is a subresource.
    pub(crate) status: bool,
    pub(crate) scale: Option<Scale>,
    /// The fields that can be selected by, as a query names them.
    pub(crate) selectable: Vec<String>,
    /// The schema as the definition has it.
    pub(crate) document: Value,
    /// The columns of its tables, as the definition has them.
    pub(crate) columns: Value,
    /// The names of the definition.
    pub(crate) names: Value,
}

/// Kinds by the JSON text of what makes them.
static KNOWN: Mutex<BTreeMap<String, &'static Kind>> = Mutex::new(BTreeMap::new());

/// The kind of one version of a definition.
///
/// # Errors
/// What of it is not supported.
fn kind_of(spec: &Value, version: &Value) -> Result<&'static Kind, String> {
    let key = json!([spec["group"], spec["names"], spec["scope"], version]).to_string();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kind) = known.get(&key) {
        return Ok(kind);
    }
    let kind: &'static Kind = Box::leak(Box::new(read(spec, version)?));
    known.insert(key, kind);
    Ok(kind)
}

fn read(spec: &Value, version: &Value) -> Result<Kind, String> {
    let leak = |text: &Value| -> &'static str { text.as_str().unwrap_or_default().to_owned().leak() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let schema = Schema::read(&version["schema"]["openAPIV3Schema"], Purpose::Objects)?;
    let status = version["subresources"].get("status").is_some();
    let scale = version["subresources"].get("scale").map(Scale::read).transpose()?;
    let subresources = [("status", status), ("scale", scale.is_some())];
    let subresources: Vec<&'static str> = subresources.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let custom = Custom {
        api_version: format!("{}/{}", text(&spec["group"]), text(&version["name"])),
        kind: text(&spec["names"]["kind"]),
        singular: text(&spec["names"]["singular"]),
        list_kind: text(&spec["names"]["listKind"]),
        typed: typed::of_resource(&schema),
        schema,
        status,
        scale,
        selectable: selectable.map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned()).collect(),
        document: version["schema"]["openAPIV3Schema"].clone(),
        columns: version["additionalPrinterColumns"].clone(),
        names: spec["names"].clone(),
    };
    Ok(Kind {
        group: leak(&spec["group"]),
        version: leak(&version["name"]),
        plural: leak(&spec["names"]["plural"]),
        kind: leak(&spec["names"]["kind"]),
        namespaced: spec["scope"] == "Namespaced",
        subresources: subresources.leak(),
        returns_deleted: false,
        custom: Some(Box::leak(Box::new(custom))),
        short_names: &[],
        categories: &[],
    })
}

/// The kinds of a definition.
///
/// # Errors
/// What of it is not supported.
pub(super) fn kinds_of(spec: &Value) -> Result<Definition, String> {
    if !matches!(spec["conversion"]["strategy"].as_str(), None | Some("None")) {
        return Err("conversion of custom resources by a webhook".to_owned());
    }
    let versions = || spec["versions"].as_array().into_iter().flatten();
    let served = versions().filter(|version| version["served"] == true).map(|version| kind_of(spec, version));
    let stored = versions().find(|version| version["storage"] == true);
    let storage = stored.ok_or("a CustomResourceDefinition without a storage version")?;
    Ok(Definition { served: served.collect::<Result<_, _>>()?, storage: kind_of(spec, storage)? })
}

impl Custom {
    /// Reads an object: its metadata typed, without unknown fields.
    ///
    /// # Errors
    /// The decoder's message for metadata of the wrong type.
    pub(crate) fn decode(&self, value: &Value) -> Result<Decoded, String> {
        coerce::coerce(&self.schema, value)
    }

    /// Fills in defaults.
    pub(crate) fn fill(&self, body: &mut Value) {
        coerce::fill(&self.schema, body);
    }

    /// The warnings for a valid object: finalizers that no domain owns. Upstream:
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
            warnings.extend(words::key(name).iter().map(|why| say(why)));
            if !name.contains('/') && !STANDARD.contains(&name.as_str()) {
                let path = if name.contains('.') { " including a path (/)" } else { "" };
                warnings.push(say(&format!(
                    "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
                )));
            }
        }
        warnings
    }

    /// Validates an object; `old` is that before an update.
    pub(crate) fn validate(&self, new: &Value, old: Option<&Value>) -> Outcome<Vec<FieldError>> {
        let mut errors = match old {
            None => meta::of_custom(&new["metadata"]),
            Some(old) => meta::of_custom_update(&new["metadata"], &old["metadata"]),
        };
        let old_value = old.map(|old| self.plain(old));
        let found = values::check(&self.schema, &self.plain(new), old_value.as_ref(), "", "");
        errors.extend(found.map_err(Problem::unsupported)?);
        if let Some(scale) = &self.scale {
            errors.extend(scale.check_spec(new));
            errors.extend(scale.check_status(new));
        }
        errors.extend(lists::embedded(&self.schema, &self.with_type(new), false, ""));
        errors.extend(self.lists(new, old));
        Ok(self.with_left_out(errors))
    }

    /// Validates a change of the status.
    pub(crate) fn validate_status(&self, new: &Value, old: &Value) -> Outcome<Vec<FieldError>> {
        let mut errors = meta::of_custom_update(&new["metadata"], &old["metadata"]);
        if let (Some(status), Some(schema)) = (new.get("status"), self.schema.properties.get("status")) {
            let found = values::check(schema, status, old.get("status"), "status", "");
            errors.extend(found.map_err(Problem::unsupported)?);
        }
        errors.extend(self.scale.iter().flat_map(|scale| scale.check_status(new)));
        errors.extend(self.lists(new, Some(old)));
        Ok(self.with_left_out(errors))
    }

    /// Lists with items that are equal, unless there were some before.
    fn lists(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        if old.is_some_and(|old| !lists::repeated(&self.schema, old, "").is_empty()) {
            return Vec::new();
        }
        lists::repeated(&self.schema, new, "")
    }

    /// Adds what upstream says of the rules of an object that is too wrong for them.
    fn with_left_out(&self, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        const LEFT_OUT: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        if self.schema.has_rules && errors.iter().any(FieldError::prevents_rules) {
            errors.push(FieldError::invalid("<nil>", Value::Null, LEFT_OUT));
        }
        errors
    }

    /// An object with what says its kind.
    fn with_type(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.api_version.as_str().into());
            fields.insert("kind".to_owned(), self.kind.as_str().into());
        }
        object
    }

    /// An object without its metadata, which its schema does not judge but for its name.
    fn plain(&self, object: &Value) -> Value {
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
