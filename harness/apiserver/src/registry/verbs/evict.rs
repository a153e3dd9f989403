//! Serves `pods/eviction`, by which `kubectl drain` deletes a pod only if its PodDisruptionBudget
//! allows it.
//!
//! Upstream: `EvictionREST`.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::admission::namespace_lifecycle;
use crate::http::request::{ApiRequest, ResourceRequest};
use crate::http::response::{ApiResponse, json_response};
use crate::http::route::RequestInfo;
use crate::http::selector::Selector;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::decode::check_namespace;
use crate::registry::policy::pod_disruption_budget;
use crate::registry::state::Server;
use crate::registry::verbs::delete::{DeleteOptions, check_uid_and_version, parse_delete_options};
use crate::storage::object::StoredObject;
use crate::types::field_error::FieldError;

/// The message of a refusal.
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// The condition of a budget that says whether pods can be evicted.
const ALLOWED: &str = "DisruptionAllowed";

impl Server {
    /// Evicts a pod if its budget allows it.
    pub(crate) fn evict(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let mut eviction = self.read_as(request, "policy/v1", "Eviction")?;
        check_namespace(&mut eviction, request.kind, &request.info.namespace)?;
        namespace_lifecycle::check(self, request.kind, &request.info.namespace, &request.info.name)?;
        if eviction["metadata"]["name"].as_str().unwrap_or_default() != request.info.name {
            return Err(StatusError::bad_request("name in URL does not match name in Eviction object".to_owned()));
        }
        let options = self.eviction_delete_options(request, &eviction["deleteOptions"])?;
        let pod = self.existing_object(request)?;
        let phase = pod.body["status"]["phase"].as_str().unwrap_or_default();
        if !matches!(phase, "Succeeded" | "Failed" | "Pending") && !pod.is_deleting() {
            let budgets = self.budgets(&pod);
            if budgets.len() > 1 {
                let why =
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                let refused = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": why, "code": 500});
                return Ok(json_response(StatusCode::INTERNAL_SERVER_ERROR, &refused));
            }
            if let Some(budget) = budgets.first().filter(|budget| !allows_unready_eviction(&pod.body, &budget.body)) {
                self.decrement_budget(request, budget)?;
            }
        }
        self.mark_and_delete(request, &pod, options)?;
        let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(json_response(StatusCode::CREATED, &done))
    }

    /// The delete options of an eviction. Their errors are reported only once the pod is deleted.
    fn eviction_delete_options(
        &mut self,
        request: &ResourceRequest<'_>,
        given: &Value,
    ) -> ApiResult<ApiResult<DeleteOptions>> {
        const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
        let mut given = if given.is_null() { json!({}) } else { given.clone() };
        if given[UNSAFE] == true {
            let why = "can not be set for pod eviction, try after removing the option";
            let error = FieldError::invalid(&format!("deleteOptions.{UNSAFE}"), true, why);
            return Err(StatusError::invalid("policy", "Eviction", &request.info.name, &[error]));
        }
        let body_values = given["dryRun"].as_array().cloned().unwrap_or_default();
        let query_values = crate::http::query::dry_run(request.http);
        if body_values.is_empty() {
            given["dryRun"] = json!(query_values);
        } else if !query_values.is_empty() && body_values != query_values {
            let shown = |all: Vec<&str>| format!("[{}]", all.join(" "));
            let body_values = body_values.iter().filter_map(Value::as_str).collect();
            let (from_query, from_body) = (shown(query_values), shown(body_values));
            let why = format!("Non-matching dry-run options in request and content: {from_query} and {from_body}");
            return Err(StatusError::plain_internal(why));
        }
        self.dry_run = given["dryRun"].as_array().is_some_and(|all| !all.is_empty());
        Ok(parse_delete_options(&given))
    }

    /// The budgets that select a pod.
    fn budgets(&self, pod: &StoredObject) -> Vec<std::sync::Arc<StoredObject>> {
        let selects = |budget: &std::sync::Arc<StoredObject>| {
            let selector = &budget.body["spec"]["selector"];
            selector.is_object() && Selector::of_object(selector).matches_labels(&pod.body["metadata"]["labels"])
        };
        self.store.list(&pod_disruption_budget::KIND, pod.meta("namespace")).filter(selects).collect()
    }

    /// Takes one disruption from a budget if it allows one. Upstream: `checkAndDecrement`, which
    /// writes through a client of the server.
    fn decrement_budget(&mut self, request: &ResourceRequest<'_>, budget: &StoredObject) -> ApiResult<()> {
        let (name, status) = (budget.meta("name"), &budget.body["status"]);
        let number = |of: &Value, name: &str| of[name].as_i64().unwrap_or(0);
        if number(status, "observedGeneration") < number(&budget.body["metadata"], "generation") {
            let why = format!("The disruption budget {name} is still being processed by the server.");
            return Err(StatusError::too_many_requests(VIOLATES, 10, &why));
        }
        if number(status, "disruptionsAllowed") == 0 {
            return Err(StatusError::too_many_requests(VIOLATES, 0, &refusal_reason(name, status)));
        }
        let mut changed = budget.typed();
        let status = &mut changed["status"];
        let left = number(status, "disruptionsAllowed") - 1;
        status["disruptionsAllowed"] = left.into();
        if left == 0 {
            set_disruption_not_allowed(status, &request.timestamp_value());
        }
        if self.dry_run {
            return Ok(());
        }
        status["disruptedPods"][request.info.name.as_str()] = request.timestamp_value();
        let namespace = budget.meta("namespace");
        let status_update = ApiRequest {
            method: Method::PUT,
            path: format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}/status"),
            query: std::collections::BTreeMap::new(),
            content_type: "application/json".to_owned(),
            accept: String::new(),
            user_agent: "kube-apiserver/v1.36".to_owned(),
            body: changed.to_string().into(),
            yaml_body: None,
            managed_fields: request.http.managed_fields,
        };
        let info = RequestInfo::from_decoded(&status_update.method, &status_update.path, false);
        let status_request =
            ResourceRequest { kind: &pod_disruption_budget::KIND, info: &info, http: &status_update, now: request.now };
        self.update(&status_request).map(drop)
    }

    /// Adds the reason to the status of a pod, and deletes it.
    fn mark_and_delete(
        &mut self,
        request: &ResourceRequest<'_>,
        pod: &StoredObject,
        options: ApiResult<DeleteOptions>,
    ) -> ApiResult<()> {
        let mut marked_version = None;
        if !self.dry_run {
            options.as_ref().map_or(Ok(()), |options| check_uid_and_version(pod, options))?;
            let mut body = pod.body.clone();
            let condition = json!({"type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
                "lastTransitionTime": request.timestamp_value(), "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting"});
            set_condition(&mut body["status"], condition);
            marked_version = Some(self.write(request.kind, body, pod.managers.clone())?.version.to_string());
        }
        let options = options?;
        // A precondition refers to the version before the status was written.
        let version = options.version.clone().map(|requested| marked_version.unwrap_or(requested));
        let pod = self.existing_object(request)?;
        self.delete_object(&pod, &DeleteOptions { version, ..options }, request.now).map(drop)
    }
}

/// Whether an unready pod can be evicted without counting against its budget.
fn allows_unready_eviction(pod: &Value, budget: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    if conditions.is_some_and(|all| all.iter().any(ready)) {
        return false;
    }
    let number = |name: &str| budget["status"][name].as_i64().unwrap_or(0);
    let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || healthy >= desired && desired > 0
}

/// Why a budget allows no disruption.
fn refusal_reason(name: &str, status: &Value) -> String {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let condition = conditions.find(|one| one["type"] == ALLOWED).filter(|one| one["status"] == "False");
    let text = |name: &str| condition.and_then(|one| one[name].as_str()).unwrap_or_default();
    let (reason, message) = (text("reason"), text("message"));
    let number = |name: &str| status[name].as_i64().unwrap_or(0);
    let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
    let does_not = format!("The disruption budget {name} does not allow evicting pods currently");
    match (reason, message) {
        ("SyncFailed", message) if !message.is_empty() => format!("{does_not} because it failed sync: {message}"),
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        (reason, message) if !message.is_empty() => format!("{does_not} ({reason}): {message}"),
        _ => does_not,
    }
}

/// Sets the condition of an exhausted budget.
fn set_disruption_not_allowed(status: &mut Value, now: &Value) {
    let mut condition = json!({"type": ALLOWED, "status": "False", "reason": "InsufficientPods", "message": "",
        "lastTransitionTime": now});
    if let Some(generation) = status["observedGeneration"].as_i64().filter(|generation| *generation != 0) {
        condition["observedGeneration"] = generation.into();
    }
    set_condition(status, condition);
}

/// Sets a condition. Its transition time changes only with its status.
fn set_condition(status: &mut Value, mut condition: Value) {
    let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
    match all.iter_mut().find(|one| one["type"] == condition["type"]) {
        Some(existing) => {
            if existing["status"] == condition["status"] {
                condition["lastTransitionTime"] = existing["lastTransitionTime"].clone();
            }
            *existing = condition;
        }
        None => all.push(condition),
    }
    status["conditions"] = Value::Array(all);
}
