//! What is special about a kind: how its objects are defaulted, prepared, validated and printed.
//!
//! Each built-in kind implements [`Strategy`] in a file of its own, `registry/<group>/<kind>.rs`,
//! beside its `KIND`, which has what paths and discovery need. `registry/kinds.rs` lists both. The
//! names are those of upstream's strategies, and the defaults are what most kinds do.
//!
//! Upstream: `RESTCreateStrategy` and `RESTUpdateStrategy` of `registry/rest`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::http::status_error::ApiResult;
use crate::registry::state::Server;
use crate::registry::validate::meta;
use crate::schema::printers::columns::Column;
use crate::types::field_error::FieldError;
use crate::types::names;

/// Paths of fields that the server resets.
pub(crate) type FieldPaths = &'static [&'static [&'static str]];

/// How objects are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// With the request, unless finalizers remain.
    Immediate,
    /// After a grace period, as pods are.
    Graceful,
    /// A controller first deletes what a namespace contains, and then removes it.
    ContentsFirst,
    /// A controller first deletes the custom resources of a definition, and then removes it.
    InstancesFirst,
}

/// How quotas count objects. Upstream: the evaluators of `pkg/quota`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaEvaluator {
    /// Not at all. Upstream: `ignoredResources`.
    Ignored,
    /// By their number.
    ObjectCount,
    /// By their number and resources.
    Pods,
    /// By their number, node ports and load balancers.
    Services,
}

/// The conversions of a kind that is stored as another kind.
pub(crate) struct StoredConversion {
    pub(crate) to_stored: fn(Value) -> Value,
    pub(crate) from_stored: fn(Value) -> Value,
}

pub(crate) trait Strategy: Sync {
    /// The rule for names. Upstream: `ValidateNameFunc`.
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::dns_subdomain
    }

    /// Whether a finalizer must have a domain or be a standard one. Upstream's core, apps and
    /// batch validate this; groups whose validation uses apimachinery's rules only do not.
    fn qualifies_finalizers(&self) -> bool {
        true
    }

    /// Whether PUT creates an absent object.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Whether an update may have no resourceVersion.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// Whether the generation of its objects counts changes of the spec.
    fn has_generation(&self) -> bool {
        false
    }

    /// The fields that the server resets after a write of the object or a subresource, so that no
    /// manager owns them. Upstream: `GetResetFields`.
    fn reset_fields(&self, subresource: &str) -> FieldPaths {
        if subresource == "status" { &[&["spec"]] } else { &[&["status"]] }
    }

    /// Sets defaults. Upstream: `SetDefaults_…`.
    fn set_defaults(&self, _: &mut Value) {}

    /// Converts fields that are stored as others.
    fn convert_fields(&self, _: &mut Value) {}

    /// Whether the server generates a name where upstream's admission would. Upstream generates
    /// names of LimitRanges without one.
    fn generates_missing_name(&self) -> bool {
        false
    }

    /// The fields of the spec in which empty lists and maps differ from absent ones until the
    /// object is stored.
    fn fields_with_empty_lists(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether an object has an empty list of rules, which is not stored but which errors show.
    fn has_empty_rules(&self, _: &Value) -> bool {
        false
    }

    /// The lists that are not stored if they are empty.
    fn unstored_lists(&self) -> &'static [&'static str] {
        &[]
    }

    /// The folder of its objects in etcd, if it is not the plural.
    fn storage_folder(&self) -> Option<&'static str> {
        None
    }

    /// The conversions, if its objects are stored as those of another kind.
    fn stored_conversion(&self) -> Option<StoredConversion> {
        None
    }

    /// Whether objects are stored without the defaults that they have when they are read.
    fn is_stored_without_defaults(&self) -> bool {
        false
    }

    /// Changes or rejects a new object before validation, as upstream's admission plugins do;
    /// `name` is the one that admission reports.
    ///
    /// # Errors
    /// The error of the plugin that rejects the object.
    fn admit(&self, _: &mut Server, _namespace_and_name: (&str, &str), _new: &mut Value) -> ApiResult<()> {
        Ok(())
    }

    /// Changes an update before validation, as upstream's admission plugins do.
    fn admit_update(&self, _new: &mut Value, _old: &Value) {}

    /// Rejects a valid object, as upstream's validating admission plugins do; `old` is the object
    /// before an update.
    ///
    /// # Errors
    /// The error of the plugin that rejects the object.
    fn validate_admission(
        &self,
        _: &Server,
        _namespace_and_name: (&str, &str),
        _new: &Value,
        _old: Option<&Value>,
    ) -> ApiResult<()> {
        Ok(())
    }

    /// How objects are deleted.
    fn deletion(&self) -> Deletion {
        Deletion::Immediate
    }

    /// Whether the garbage collector knows the kind. The finalizers of other kinds do not follow
    /// the propagation policy.
    fn is_garbage_collected(&self) -> bool {
        true
    }

    /// How quotas count its objects.
    fn quota_evaluator(&self) -> QuotaEvaluator {
        QuotaEvaluator::ObjectCount
    }

    /// Whether quotas also count its objects by the plural alone. Upstream:
    /// `legacyObjectCountAliases`.
    fn has_legacy_quota_name(&self) -> bool {
        false
    }

    /// Prepares a new object: only the server sets its status.
    fn prepare_for_create(&self, _: &mut Value) {}

    /// The error for a new object without a name, where upstream needs the name before validation.
    fn missing_name_error(&self, _: &mut Server, _new: &Value) -> Option<FieldError> {
        None
    }

    /// Whether a new object shares the labels of its template if the request sets none.
    fn shares_template_labels(&self) -> bool {
        false
    }

    /// Sets what is allocated for a valid new object. Upstream: `BeginCreate`.
    fn begin_create(&self, _: &mut Server, _new: &mut Value) {}

    /// The object with the fields that deprecated annotations stand for, as it is validated.
    ///
    /// # Errors
    /// The message for an unreadable annotation.
    fn with_deprecated_fields<'a>(&self, object: &'a Value) -> Result<Cow<'a, Value>, String> {
        Ok(Cow::Borrowed(object))
    }

    /// Validates a new object.
    fn validate(&self, new: &Value) -> Vec<FieldError> {
        self.validate_metadata(new)
    }

    /// Prepares an update of an object whose status is kept already.
    fn prepare_for_update(&self, _new: &mut Value, _old: &Value) {}

    /// Keeps what is allocated for an updated object, and allocates what is missing. Upstream:
    /// `BeginUpdate`.
    fn begin_update(&self, _: &mut Server, _new: &mut Value, _old: &Value) {}

    /// Whether an update counts as a new generation.
    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["spec"] != old["spec"]
    }

    /// Validates an update, after the rules for the metadata of all kinds.
    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        self.validate_metadata_update(new, old)
    }

    /// Prepares an update of the status, in which the spec is kept already.
    fn prepare_for_status_update(&self, _new: &mut Value, _old: &Value) {}

    /// Validates an update of the status, after the rules for the metadata of all kinds.
    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        self.validate_metadata_update(new, old)
    }

    /// The warnings for a valid object.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Whether a deletion without a propagation policy orphans the dependents. Upstream:
    /// `DefaultGarbageCollectionPolicy`.
    fn orphans_dependents(&self) -> bool {
        false
    }

    /// The unsupported feature that must be detected before validation: errors that upstream
    /// reports in the order of a Go map, and objects that take too long to validate.
    fn unsupported_before_validation(&self, _: &Value) -> Option<String> {
        None
    }

    /// The unsupported feature of an object; `old` is the object before an update.
    fn unsupported_feature(&self, _new: &Value, _old: Option<&Value>) -> Option<String> {
        None
    }

    /// Rejects a valid object that this server cannot serve beside those that it has.
    ///
    /// # Errors
    /// The unsupported feature.
    fn check_servable(&self, _: &Server, _new: &Value) -> ApiResult<()> {
        Ok(())
    }

    /// The unsupported feature of an invalid update: upstream may tolerate errors that the object
    /// had before.
    fn unsupported_if_invalid(&self, _old: &Value) -> Option<String> {
        None
    }

    /// The unsupported feature of a status.
    fn unsupported_status(&self, _: &Value) -> Option<String> {
        None
    }

    /// Whether a decoded object equals its stored form: a kind with one version and no empty
    /// defaults. Normalization is skipped for it.
    fn is_stored_as_read(&self) -> bool {
        false
    }

    /// Sets the fields that the version has for server-side apply and the stored form has not.
    fn fill_typed(&self, _: &mut Cow<'_, Value>) {}

    /// Sets the fields that the otherwise empty object of a bookmark has.
    fn fill_bookmark(&self, _: &mut Value) {}

    /// The columns of its tables. Upstream: `AddHandlers` of `pkg/printers/internalversion`.
    fn columns(&self) -> &'static [Column] {
        &Column::DEFAULT
    }

    /// The cells of an object: one for each column.
    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        vec![
            object["metadata"]["name"].as_str().unwrap_or_default().into(),
            object["metadata"]["creationTimestamp"].clone(),
        ]
    }

    /// The conditions of a row in its tables.
    fn row_conditions(&self, _: &Value) -> Option<Value> {
        None
    }

    /// Validates the metadata of a new object.
    fn validate_metadata(&self, new: &Value) -> Vec<FieldError> {
        meta::create(&new["metadata"], self.name_rule(), self.qualifies_finalizers())
    }

    /// Validates the metadata of an update by the rules of the kind.
    fn validate_metadata_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        meta::update(&new["metadata"], &old["metadata"], self.qualifies_finalizers())
    }
}

/// What custom resources and access reviews have: nothing special.
pub(crate) struct DefaultStrategy;

impl Strategy for DefaultStrategy {}

/// Keeps a field as it was.
pub(crate) fn keep(new: &mut Value, old: &Value, name: &str) {
    if let Value::Object(fields) = new {
        match old.get(name) {
            Some(value) => fields.insert(name.to_owned(), value.clone()),
            None => fields.remove(name),
        };
    }
}

/// An object without its metadata.
pub(crate) fn without_metadata(body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().and_then(|body| body.remove("metadata"));
    body
}
