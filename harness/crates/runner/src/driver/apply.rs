//! `kubectl apply`: on the client's side by a three-way patch, or on the server's.
//!
//! Client-side apply stores the applied manifest in an annotation, and removes what an earlier
//! manifest had and this one lacks. Lists of built-in kinds are merged by the keys of their type;
//! those of custom resources are replaced. Both ask the server to check the fields strictly.
//!
//! A server-side apply of an object that was applied on the client's side takes over what that one
//! set, as kubectl does: otherwise the next manifest could not remove it.

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use kube_apiserver_sim::{ApiType, custom_apply_patch};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value, json};

use super::{DriveError, drive_error};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The same annotation as a field in `managedFields`.
const LAST_APPLIED_FIELD: &str = "/f:metadata/f:annotations/f:kubectl.kubernetes.io~1last-applied-configuration";

/// kubectl's field managers.
const CLIENT_SIDE: &str = "kubectl-client-side-apply";
const SERVER_SIDE: &str = "kubectl";
const LAST_APPLIED_MANAGER: &str = "kubectl-last-applied";

/// The request to apply one manifest.
pub(super) struct ApplyRequest<'a> {
    pub(super) client: &'a kube::Client,
    pub(super) api: Api<DynamicObject>,
    pub(super) name: String,
    pub(super) manifest: Value,
}

impl ApplyRequest<'_> {
    /// Returns the object if it was written; an object that already equals the manifest is not.
    pub(super) async fn on_client_side(mut self) -> Result<Option<DynamicObject>, DriveError> {
        let metadata = &mut self.manifest["metadata"];
        if !metadata["annotations"].is_object() {
            metadata["annotations"] = json!({});
        }
        if let Some(annotations) = metadata["annotations"].as_object_mut() {
            annotations.remove(LAST_APPLIED);
        }
        let text = go_json(&self.manifest);
        self.manifest["metadata"]["annotations"][LAST_APPLIED] = text.into();
        let Some(live) = self.api.get_opt(&self.name).await.map_err(drive_error)? else {
            return self.create().await.map(Some);
        };
        let live = serde_json::to_value(live).map_err(|error| DriveError::Server(error.into()))?;
        let last = match live["metadata"]["annotations"][LAST_APPLIED].as_str() {
            Some(text) if !text.is_empty() => {
                serde_json::from_str(text).map_err(|_| DriveError::Refused("invalid JSON document".to_owned()))?
            }
            Some(_) => Value::Null,
            None => {
                let name = &self.name;
                tracing::debug!(name, "applied over an object that was not applied before: none of its fields goes");
                Value::Null
            }
        };
        let text = |field: &str| self.manifest[field].as_str().unwrap_or_default();
        let params = params(CLIENT_SIDE);
        match ApiType::of(text("apiVersion"), text("kind")) {
            Some(built_in) => {
                let patch = built_in.apply_patch(&last, &self.manifest, &live).map_err(DriveError::Refused)?;
                self.send(&params, &Patch::Strategic(patch.clone()), &patch).await
            }
            None => {
                let patch = custom_apply_patch(&last, &self.manifest, &live);
                self.send(&params, &Patch::Merge(patch.clone()), &patch).await
            }
        }
    }

    async fn send(
        &self,
        params: &PatchParams,
        request: &Patch<Value>,
        patch: &Value,
    ) -> Result<Option<DynamicObject>, DriveError> {
        if patch.as_object().is_some_and(Map::is_empty) {
            return Ok(None);
        }
        Ok(Some(self.api.patch(&self.name, params, request).await.map_err(drive_error)?))
    }

    async fn create(&self) -> Result<DynamicObject, DriveError> {
        let object = without_nulls(&self.manifest);
        let body = serde_json::to_vec(&object).map_err(|error| DriveError::Server(error.into()))?;
        let params = PostParams { field_manager: Some(CLIENT_SIDE.to_owned()), ..PostParams::default() };
        let request = kube::core::Request::new(self.api.resource_url()).create(&params, body);
        let mut request = request.map_err(|error| DriveError::Server(error.into()))?;
        // `PostParams` has no field for strict validation.
        let strict = format!("{}&fieldValidation=Strict", request.uri());
        *request.uri_mut() =
            strict.parse().map_err(|error: hyper::http::uri::InvalidUri| DriveError::Server(error.into()))?;
        self.client.request(request).await.map_err(drive_error)
    }

    /// Returns the versions that were written; the last is the final one.
    pub(super) async fn on_server_side(self) -> Result<Vec<DynamicObject>, DriveError> {
        let params = params(SERVER_SIDE);
        let manifest = Patch::Apply(&self.manifest);
        let mut versions = vec![self.api.patch(&self.name, &params, &manifest).await.map_err(drive_error)?];
        let object = |versions: &[DynamicObject]| {
            let last = versions.last().expect("the first apply has an answer");
            serde_json::to_value(last).map_err(|error| DriveError::Server(error.into()))
        };
        let applied = object(&versions)?;
        if let Some(annotation) = self.last_applied_to_keep(&applied) {
            let params = PatchParams::apply(LAST_APPLIED_MANAGER);
            versions.push(self.api.patch(&self.name, &params, &Patch::Apply(&annotation)).await.map_err(drive_error)?);
        }
        let Some(managers) = take_over_fields(&object(&versions)?) else { return Ok(versions) };
        let version = object(&versions)?["metadata"]["resourceVersion"].clone();
        let patch = json!([
            {"op": "replace", "path": "/metadata/managedFields", "value": managers},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]);
        let patch = serde_json::from_value(patch).map_err(|error| DriveError::Server(error.into()))?;
        let plain = PatchParams { field_manager: Some(SERVER_SIDE.to_owned()), ..PatchParams::default() };
        versions.push(self.api.patch(&self.name, &plain, &Patch::<Value>::Json(patch)).await.map_err(drive_error)?);
        // This apply removes what the last manifest had and this one lacks.
        versions.push(self.api.patch(&self.name, &params, &manifest).await.map_err(drive_error)?);
        Ok(versions)
    }

    /// A patch with the object's annotation alone, unless it was set by an apply already.
    fn last_applied_to_keep(&self, applied: &Value) -> Option<Value> {
        let text = applied["metadata"]["annotations"][LAST_APPLIED].as_str()?;
        if owners(applied, "Apply").next().is_some() {
            return None;
        }
        let (version, kind) = (&self.manifest["apiVersion"], &self.manifest["kind"]);
        let metadata = json!({"name": self.name, "annotations": {LAST_APPLIED: text}});
        Some(json!({"apiVersion": version, "kind": kind, "metadata": metadata}))
    }
}

fn params(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    }
}

/// The managers that own the annotation through this operation.
fn owners<'a>(object: &'a Value, operation: &'static str) -> impl Iterator<Item = &'a Value> {
    let entries = object.at("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    entries.filter(move |entry| entry["operation"] == operation && entry["fieldsV1"].at(LAST_APPLIED_FIELD).is_some())
}

/// The managers after kubectl's server-side apply has taken over what its client-side applies set;
/// `None` if there were no client-side applies. Upstream: `csaupgrade.UpgradeManagedFieldsPatch`.
fn take_over_fields(object: &Value) -> Option<Vec<Value>> {
    let names: Vec<Value> = owners(object, "Update").map(|entry| entry["manager"].clone()).collect();
    let mut entries = object.at("/metadata/managedFields")?.as_array()?.clone();
    let is = |entry: &Value, manager: &Value, operation: &str| {
        entry["manager"] == *manager && entry["operation"] == operation && entry["subresource"].is_null()
    };
    for name in &names {
        let server_side = SERVER_SIDE.into();
        let found = entries.iter().position(|entry| is(entry, &server_side, "Apply"));
        let Some(at) = found.or_else(|| entries.iter().position(|entry| is(entry, name, "Update"))) else { continue };
        let version = entries[at]["apiVersion"].clone();
        let of_client = entries.iter().find(|entry| is(entry, name, "Update") && entry["apiVersion"] == version);
        let fields = of_client.map(|entry| entry["fieldsV1"].clone()).unwrap_or_default();
        unite(&mut entries[at]["fieldsV1"], &fields);
        entries[at]["manager"] = server_side;
        entries[at]["operation"] = "Apply".into();
        entries.retain(|entry| !is(entry, name, "Update"));
    }
    (!names.is_empty()).then_some(entries)
}

/// Adds the fields of one set to another.
fn unite(fields: &mut Value, more: &Value) {
    let (Value::Object(fields), Value::Object(more)) = (fields, more) else { return };
    for (name, inner) in more {
        unite(fields.entry(name).or_insert_with(|| json!({})), inner);
    }
}

/// The object without nulls, as a create sends it: an update treats both alike.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The JSON that Go writes, with the characters escaped that HTML could take for markup.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text += &format!("\\u{:04x}", u32::from(letter)),
            other => text.push(other),
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotation_is_the_text_that_go_writes() {
        let value = json!({"b": "<a & b>", "a": null});
        assert_eq!(go_json(&value), "{\"a\":null,\"b\":\"\\u003ca \\u0026 b\\u003e\"}\n");
    }

    #[test]
    fn server_side_apply_takes_over_the_fields_of_client_side_apply() {
        let annotation = json!({"f:kubectl.kubernetes.io/last-applied-configuration": {}});
        let object = json!({"metadata": {"managedFields": [
            {"manager": "kubectl", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "apps/v1",
                "fieldsV1": {"f:spec": {"f:paused": {}}, "f:metadata": {"f:annotations": annotation}}},
            {"manager": "controller", "operation": "Update", "apiVersion": "apps/v1", "subresource": "status", "fieldsV1": {}},
        ]}});
        let managers = take_over_fields(&object).unwrap();
        assert_eq!(managers.len(), 2);
        let wanted = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}, "f:metadata": {"f:annotations": annotation}});
        assert_eq!((&managers[0]["manager"], &managers[0]["fieldsV1"]), (&json!("kubectl"), &wanted));
        assert_eq!(take_over_fields(&json!({"metadata": {"managedFields": []}})), None);
    }
}
