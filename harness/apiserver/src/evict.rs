//! Evictions: `pods/eviction`, by which `kubectl drain` deletes a pod only if its
//! PodDisruptionBudget allows.
//!
//! Upstream: `EvictionREST`.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::admit;
use super::call::Call;
use super::field::FieldError;
use super::kinds::{Kind, built_in};
use super::object::Object;
use super::problem::{Outcome, Problem};
use super::read::check_namespace;
use super::remove::{How, conflicts, how_of};
use super::select::Selector;
use super::server::{Answer, Ask, Server, whole};

/// The first words of a refusal.
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// The condition of a budget that says whether a pod may go.
const ALLOWED: &str = "DisruptionAllowed";

impl Server {
    /// Deletes a pod, if its budget allows.
    pub(super) fn evict(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let mut eviction = self.read_as(ask, "policy/v1", "Eviction")?;
        check_namespace(&mut eviction, ask.kind, &ask.route.namespace)?;
        admit::namespace_lives(self, ask.kind, &ask.route.namespace, &ask.route.name)?;
        if eviction["metadata"]["name"].as_str().unwrap_or_default() != ask.route.name {
            return Err(Problem::bad_request("name in URL does not match name in Eviction object".to_owned()));
        }
        let how = self.how_to_evict(ask, &eviction["deleteOptions"])?;
        let pod = self.existing(ask)?;
        let phase = pod.body["status"]["phase"].as_str().unwrap_or_default();
        if !matches!(phase, "Succeeded" | "Failed" | "Pending") && !pod.deleting() {
            let budgets = self.budgets(&pod);
            if budgets.len() > 1 {
                let why =
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                let refused = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": why, "code": 500});
                return Ok(whole(StatusCode::INTERNAL_SERVER_ERROR, &refused));
            }
            if let Some(budget) = budgets.first().filter(|budget| !spares(&pod.body, &budget.body)) {
                self.take_from(ask, budget)?;
            }
        }
        self.mark_and_take(ask, &pod, how)?;
        let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(whole(StatusCode::CREATED, &done))
    }

    /// The options of the deletion, with what is wrong with them: that is found when the pod is
    /// deleted.
    fn how_to_evict(&mut self, ask: &Ask<'_>, given: &Value) -> Outcome<Outcome<How>> {
        const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
        let mut given = if given.is_null() { json!({}) } else { given.clone() };
        if given[UNSAFE] == true {
            let why = "can not be set for pod eviction, try after removing the option";
            let error = FieldError::invalid(&format!("deleteOptions.{UNSAFE}"), true, why);
            return Err(Problem::invalid("policy", "Eviction", &ask.route.name, &[error]));
        }
        let of_body = given["dryRun"].as_array().cloned().unwrap_or_default();
        let of_query = super::options::dry_run(ask.call);
        if of_body.is_empty() {
            given["dryRun"] = json!(of_query);
        } else if !of_query.is_empty() && of_body != of_query {
            let shown = |all: Vec<&str>| format!("[{}]", all.join(" "));
            let of_body = of_body.iter().filter_map(Value::as_str).collect();
            let (one, other) = (shown(of_query), shown(of_body));
            let why = format!("Non-matching dry-run options in request and content: {one} and {other}");
            return Err(Problem::plain_internal(why));
        }
        self.dry = given["dryRun"].as_array().is_some_and(|all| !all.is_empty());
        Ok(how_of(&given))
    }

    /// The budgets that select a pod.
    fn budgets(&self, pod: &Object) -> Vec<std::sync::Arc<Object>> {
        let selects = |budget: &&std::sync::Arc<Object>| {
            let selector = &budget.body["spec"]["selector"];
            selector.is_object() && Selector::of_object(selector).matches_labels(&pod.body["metadata"]["labels"])
        };
        self.store.list(budget_kind(), pod.meta("namespace")).filter(selects).cloned().collect()
    }

    /// Takes one disruption from a budget, if it allows one. Upstream: `checkAndDecrement`, which
    /// writes by a client of the server's own.
    fn take_from(&mut self, ask: &Ask<'_>, budget: &Object) -> Outcome<()> {
        let (name, status) = (budget.meta("name"), &budget.body["status"]);
        let number = |of: &Value, name: &str| of[name].as_i64().unwrap_or(0);
        if number(status, "observedGeneration") < number(&budget.body["metadata"], "generation") {
            let why = format!("The disruption budget {name} is still being processed by the server.");
            return Err(Problem::too_many_requests(VIOLATES, 10, &why));
        }
        if number(status, "disruptionsAllowed") == 0 {
            return Err(Problem::too_many_requests(VIOLATES, 0, &why_not(name, status)));
        }
        let mut changed = budget.typed();
        let status = &mut changed["status"];
        let left = number(status, "disruptionsAllowed") - 1;
        status["disruptionsAllowed"] = left.into();
        if left == 0 {
            none_allowed(status, &ask.stamp());
        }
        if self.dry {
            return Ok(());
        }
        status["disruptedPods"][ask.route.name.as_str()] = ask.stamp();
        let namespace = budget.meta("namespace");
        let call = Call {
            method: Method::PUT,
            path: format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}/status"),
            query: std::collections::BTreeMap::new(),
            content_type: "application/json".to_owned(),
            accept: String::new(),
            user_agent: "kube-apiserver/v1.36".to_owned(),
            body: changed.to_string().into(),
            written: None,
            managed: ask.call.managed,
        };
        self.ask(&call, ask.now).map(drop)
    }

    /// Says in a pod's status why it is deleted, and deletes it.
    fn mark_and_take(&mut self, ask: &Ask<'_>, pod: &Object, how: Outcome<How>) -> Outcome<()> {
        let mut marked = None;
        if !self.dry {
            how.as_ref().map_or(Ok(()), |how| conflicts(pod, how))?;
            let mut body = pod.body.clone();
            let condition = json!({"type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
                "lastTransitionTime": ask.stamp(), "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting"});
            set_condition(&mut body["status"], condition);
            marked = Some(self.write(ask.kind, body, pod.managers.clone())?.version.to_string());
        }
        let how = how?;
        // The version that is asked for is that before it was marked.
        let version = how.version.clone().map(|asked| marked.unwrap_or(asked));
        let pod = self.existing(ask)?;
        self.take(&pod, &How { version, ..how }, ask.now).map(drop)
    }
}

fn budget_kind() -> &'static Kind {
    built_in("policy", "poddisruptionbudgets").expect("budgets are served")
}

/// Whether a pod that is not ready may go at no cost to its budget.
fn spares(pod: &Value, budget: &Value) -> bool {
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
fn why_not(name: &str, status: &Value) -> String {
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

/// The condition of a budget that is used up.
fn none_allowed(status: &mut Value, now: &Value) {
    let mut condition = json!({"type": ALLOWED, "status": "False", "reason": "InsufficientPods", "message": "",
        "lastTransitionTime": now});
    if let Some(generation) = status["observedGeneration"].as_i64().filter(|generation| *generation != 0) {
        condition["observedGeneration"] = generation.into();
    }
    set_condition(status, condition);
}

/// Sets a condition; one that had this status before keeps its time.
fn set_condition(status: &mut Value, mut condition: Value) {
    let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
    match all.iter_mut().find(|one| one["type"] == condition["type"]) {
        Some(there) => {
            if there["status"] == condition["status"] {
                condition["lastTransitionTime"] = there["lastTransitionTime"].clone();
            }
            *there = condition;
        }
        None => all.push(condition),
    }
    status["conditions"] = Value::Array(all);
}
