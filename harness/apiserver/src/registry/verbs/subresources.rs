//! The subresources scale and binding.

use http::StatusCode;
use serde_json::{Value, json};

use crate::admission::{namespace_lifecycle, pods};
use crate::http::request::{self, ResourceRequest};
use crate::http::response::{ApiResponse, json_response};
use crate::http::status_error::{ApiResult, StatusError};
use crate::http::{body, selector};
use crate::registry::decode;
use crate::registry::state::Server;
use crate::registry::validate::apps;
use crate::storage::object::StoredObject;
use crate::types::decode::{decode, decode_loosely};
use crate::types::field_error::FieldError;
use crate::types::table::TYPES;

impl Server {
    pub(crate) fn get_scale(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let object = self.existing_object(request)?;
        if let Some(scale) = request.kind.custom.and_then(|custom| custom.scale.as_ref())
            && scale.of(&object.body).0.is_none()
        {
            return Err(StatusError::internal(&format!("the spec replicas field {:?} does not exist", scale.spec)));
        }
        Ok(json_response(StatusCode::OK, &scale_of(&object)))
    }

    /// Handles PUT and PATCH of a scale.
    pub(crate) fn update_scale(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let type_index = TYPES.index_of("Scale").expect("scales are in the table");
        let put = request.http.method == http::Method::PUT;
        let requested = if put { Some(self.read_as(request, "autoscaling/v1", "Scale")?) } else { None };
        if !put {
            body::check_patch(request.http)?;
        }
        if let Some(requested) = &requested {
            decode::check_name(requested, &request.info.name)?;
        }
        let old = self.existing_object(request)?;
        let mut applied = None;
        let scale = match requested {
            Some(requested) => requested,
            None if request.http.media_type() == request::APPLY => {
                let (scale, of_object) = self.applied_scale(request, &old, &live_scale(&old))?;
                applied = Some(of_object);
                scale
            }
            None => {
                let (patched, mut errors) = body::patched(request, &live_scale(&old))?;
                let error = |why: String| body::patch_error(request, &patched, &why);
                let loose = request.http.media_type().contains("strategic");
                let decoded = if loose {
                    decode_loosely(type_index, patched.clone())
                } else {
                    decode(type_index, patched.clone())
                };
                let decoded = decoded.map_err(error)?;
                errors.extend(body::unknown_fields(&decoded.unknown));
                self.warn_or_reject(request, errors, error)?;
                decoded.value
            }
        };
        // For a custom resource, the object is validated instead of the scale.
        let errors = if request.kind.custom.is_some() { Vec::new() } else { apps::scale(&scale["spec"]) };
        if !errors.is_empty() {
            return Err(StatusError::invalid("autoscaling", "Scale", &request.info.name, &errors));
        }
        let uid = scale["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != old.meta("uid") {
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", old.meta("uid"));
            return Err(StatusError::conflict(request.kind, &request.info.name, &why));
        }
        let mut new = old.body.clone();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        match request.kind.custom.and_then(|custom| custom.scale.as_ref()) {
            Some(scale) if replicas == ABSENT_REPLICAS => {
                let why = format!("the spec replicas field {:?} cannot be empty", scale.spec);
                return Err(StatusError::bad_request(why));
            }
            Some(scale) => scale.set(&mut new, replicas),
            None => new["spec"]["replicas"] = replicas.into(),
        }
        let version = &scale["metadata"]["resourceVersion"];
        if request.kind.custom.is_none() || version.as_str().is_some_and(|version| !version.is_empty()) {
            new["metadata"]["resourceVersion"] = version.clone();
        }
        let object = self.replace(request, &old, new, applied, false)?;
        Ok(json_response(StatusCode::OK, &scale_of(&object)))
    }

    /// Binds a pod to a node.
    pub(crate) fn bind(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let binding = self.read_as(request, "v1", "Binding")?;
        namespace_lifecycle::check(self, request.kind, &request.info.namespace, &request.info.name)?;
        if binding["metadata"]["name"].as_str().unwrap_or_default() != request.info.name {
            return Err(StatusError::bad_request("name in URL does not match name in Binding object".to_owned()));
        }
        let (kind, node) = (
            binding["target"]["kind"].as_str().unwrap_or_default(),
            binding["target"]["name"].as_str().unwrap_or_default(),
        );
        let mut errors = Vec::new();
        if !matches!(kind, "" | "Node") {
            errors.push(FieldError::unsupported("target.kind", kind, &["Node", "<empty>"]));
        }
        if node.is_empty() {
            errors.push(FieldError::required("target.name", ""));
        }
        if !errors.is_empty() {
            let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let all = if let [one] = all.as_slice() { one.clone() } else { format!("[{}]", all.join(", ")) };
            return Err(StatusError::plain_internal(all));
        }
        let pod = self.existing_object(request)?;
        let uid = binding["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != pod.meta("uid") {
            return Err(self.uid_precondition_error(request, pod.meta("uid"), uid));
        }
        let name = pod.meta("name");
        let assigned_node = pod.body["spec"]["nodeName"].as_str().unwrap_or_default();
        let refuse = |why: String| {
            let mut error = StatusError::conflict(request.kind, name, &why);
            error.message = format!("Operation cannot be fulfilled on pods/binding \"{name}\": {why}");
            if let Some(details) = &mut error.details {
                details["kind"] = "pods/binding".into();
            }
            Err(error)
        };
        if pod.is_deleting() {
            return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
        }
        if !assigned_node.is_empty() {
            return refuse(format!("pod {name} is already assigned to node \"{assigned_node}\""));
        }
        let mut bound = pod.body.clone();
        bound["spec"]["nodeName"] = node.into();
        for field in ["annotations", "labels"] {
            for (key, value) in binding["metadata"][field].as_object().into_iter().flatten() {
                bound["metadata"][field][key] = value.clone();
            }
        }
        if kind == "Node" {
            pods::add_topology_labels(self, node, &mut bound);
        }
        let mut conditions = bound["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().all(|one| one["type"] != "PodScheduled") {
            conditions.push(json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": request.timestamp_value()}));
        }
        bound["status"]["conditions"] = Value::Array(conditions);
        self.write(request.kind, bound, pod.managers.clone())?;
        let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(json_response(StatusCode::CREATED, &done))
    }
}

/// Represents absent replicas of a custom resource in a scale that is patched.
const ABSENT_REPLICAS: i64 = -2_147_483_648;

/// The scale to which a patch is applied.
fn live_scale(object: &StoredObject) -> Value {
    let mut scale = scale_of(object);
    let custom = object.kind.custom.and_then(|custom| custom.scale.as_ref());
    if custom.is_some_and(|scale| scale.of(&object.body).0.is_none()) {
        scale["spec"]["replicas"] = ABSENT_REPLICAS.into();
    }
    scale
}

fn scale_of(object: &StoredObject) -> Value {
    let meta = |name: &str| object.body["metadata"][name].clone();
    let (spec, status) = (&object.body["spec"], &object.body["status"]);
    let (requested, status_replicas, selected) = match object.kind.custom.and_then(|custom| custom.scale.as_ref()) {
        Some(scale) => scale.of(&object.body),
        None => {
            (spec["replicas"].as_i64(), status["replicas"].as_i64().unwrap_or(0), selector::text(&spec["selector"]))
        }
    };
    let mut scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {
        "name": meta("name"), "namespace": meta("namespace"), "uid": meta("uid"), "resourceVersion": meta("resourceVersion"),
        "creationTimestamp": meta("creationTimestamp")}, "spec": {}, "status": {
        "replicas": status_replicas}});
    if !selected.is_empty() || object.kind.custom.is_none() {
        scale["status"]["selector"] = selected.into();
    }
    if let Some(replicas) = requested.filter(|replicas| *replicas != 0) {
        scale["spec"]["replicas"] = replicas.into();
    }
    scale
}
