//! Updates the field managers of an object for a request, and removes fields from all managers for
//! a controller. The sets of fields are in `field_manager`.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::fields::entries::Managers;
use crate::fields::field_manager::{self, FieldManager};
use crate::fields::path::FieldSet;
use crate::fields::typed::Atom;
use crate::fields::validation::type_error;
use crate::fields::versions::VersionConverter;
use crate::http::request::ResourceRequest;
use crate::http::status_error::ApiResult;
use crate::registry::conversion::{convert_borrowed, convert_object};
use crate::registry::decode::normalize;
use crate::registry::kinds::{other_versions, strategy_of};
use crate::registry::prepare;
use crate::storage::object::StoredObject;
use crate::types::kinds::ResourceKind;
use crate::types::list_quantities::ListedQuantity;

/// The managers after a write. `managedFields` are removed from the new object; `quantities` are
/// those of its atomic lists as the request writes them.
pub(crate) fn update_managers(
    request: &ResourceRequest<'_>,
    (before, old_managers): (&Value, &Managers),
    new: &mut Value,
    quantities: &[ListedQuantity],
) -> ApiResult<Managers> {
    let given = take_managed_fields(new);
    let (inner, mut writer) = (request.kind.inner(), field_manager(request));
    let is_read = matches!(request.info.subresource.as_str(), "" | "status");
    let mut typed = if is_read && strategy_of(inner).is_stored_as_read() {
        debug_assert_eq!(
            normalize(inner, new.clone()).ok().as_ref(),
            Some(&*new),
            "an object of these kinds is read as it would be stored"
        );
        Cow::Borrowed(&*new)
    } else {
        Cow::Owned(convert_object(normalize(inner, new.clone())?, inner, request.kind))
    };
    let before = &convert_borrowed(before, inner, request.kind);
    strategy_of(request.kind).fill_typed(&mut typed);
    // A scale omits zero replicas.
    if request.info.subresource == "scale" && typed["spec"]["replicas"] == 0 {
        typed.to_mut()["spec"].as_object_mut().and_then(|spec| spec.remove("replicas"));
    }
    // Upstream cannot compare such an object, and drops the managers.
    if let Some(custom) = request.kind.custom
        && is_read
        && [&**before, &typed].into_iter().any(|object| type_error(custom.typed(), object, true).is_some())
    {
        return Ok(None);
    }
    writer.note_rewritten_quantities(quantities, &typed);
    Ok(writer.update(before, old_managers, &given, &typed))
}

/// Removes and returns `managedFields`.
pub(crate) fn take_managed_fields(object: &mut Value) -> Value {
    object["metadata"].as_object_mut().and_then(|meta| meta.remove("managedFields")).unwrap_or_default()
}

/// The type of a kind for field sets.
fn root(kind: &ResourceKind) -> Atom<'static> {
    match kind.custom {
        Some(custom) => Atom::of_fields(custom.typed()),
        None => Atom::of_type(kind.table_index()),
    }
}

/// The converter between two versions of a kind.
fn converter(from: &'static ResourceKind, to: &'static ResourceKind, subresource: &str) -> VersionConverter {
    let reset = prepare::reset_fields(to, subresource);
    VersionConverter { root: root(to), api_version: to.api_version(), reset, from, to, convert: convert_object }
}

/// The object after a built-in controller removed fields, and its managers without these fields.
pub(crate) fn without_removed_fields(before: &StoredObject, after: &Value) -> (Value, Managers) {
    let kind = before.kind;
    let after = normalize(kind, after.clone()).unwrap_or_else(|_| after.clone());
    let managers = field_manager::remove_fields(root(kind), &before.managers, &before.body, &after);
    (after, managers)
}

pub(crate) fn field_manager(request: &ResourceRequest<'_>) -> FieldManager {
    FieldManager {
        empty: json!({}),
        rewritten: FieldSet::default(),
        root: root(request.kind),
        replicas: match request.kind.custom {
            Some(custom) => custom.scale.as_ref().map_or(&[], |scale| scale.fields),
            None => &["spec", "replicas"],
        },
        api_version: request.kind.api_version(),
        manager: request.http.manager(),
        subresource: request.info.subresource.clone(),
        reset: prepare::reset_fields(request.kind, &request.info.subresource),
        converters: other_versions(request.kind)
            .map(|kind| converter(request.kind, kind, &request.info.subresource))
            .collect(),
        // Upstream: `ScaleHandler.ToParent` keeps the times of the parent's entries.
        time: (request.info.subresource != "scale").then(|| crate::clock::rfc3339(request.now)),
    }
}
