//! The subresources other than status: scale and binding.

use http::StatusCode;
use serde_json::{Value, json};

use super::api::{TYPES, decode, decode_loosely};
use super::field::FieldError;
use super::object::Object;
use super::problem::{Outcome, Problem};
use super::server::{Answer, Ask, Server, whole};
use super::{admit, body, read, select, validate};

impl Server {
    pub(super) fn scale(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let object = self.existing(ask)?;
        Ok(whole(StatusCode::OK, &scale_of(&object)))
    }

    /// PUT and PATCH of a scale.
    pub(super) fn rescale(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let place = TYPES.place("Scale").expect("scales are in the table");
        let put = ask.call.method == http::Method::PUT;
        let wanted = if put { Some(self.read_as(ask, "autoscaling/v1", "Scale")?) } else { None };
        if !put {
            body::check_patch(ask.call)?;
        }
        if let Some(wanted) = &wanted {
            read::check_name(wanted, &ask.route.name)?;
        }
        let old = self.existing(ask)?;
        let mut applied = None;
        let scale = match wanted {
            Some(wanted) => wanted,
            None if ask.call.form() == body::APPLY => {
                let (scale, of_object) = self.applied_scale(ask, &old, &live_scale(&old))?;
                applied = Some(of_object);
                scale
            }
            None => {
                let (patched, mut told) = body::patched(ask, &live_scale(&old))?;
                let error = |why: String| body::patch_error(ask, &patched, &why);
                let loose = ask.call.form().contains("strategic");
                let decoded =
                    if loose { decode_loosely(place, patched.clone()) } else { decode(place, patched.clone()) };
                let decoded = decoded.map_err(error)?;
                told.extend(body::unknown_fields(&decoded.unknown));
                self.tell(ask, told, error)?;
                decoded.value
            }
        };
        // Of a custom resource the object is validated, not the scale.
        let errors = if ask.kind.custom.is_some() { Vec::new() } else { validate::scale(&scale["spec"]) };
        if !errors.is_empty() {
            return Err(Problem::invalid("autoscaling", "Scale", &ask.route.name, &errors));
        }
        let uid = scale["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != old.meta("uid") {
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", old.meta("uid"));
            return Err(Problem::conflict(ask.kind, &ask.route.name, &why));
        }
        let mut new = old.body.clone();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        match ask.kind.custom.and_then(|custom| custom.scale.as_ref()) {
            Some(scale) if replicas == NONE => {
                let why = format!("the spec replicas field {:?} cannot be empty", scale.spec);
                return Err(Problem::bad_request(why));
            }
            Some(scale) => scale.set(&mut new, replicas),
            None => new["spec"]["replicas"] = replicas.into(),
        }
        let version = &scale["metadata"]["resourceVersion"];
        if ask.kind.custom.is_none() || version.as_str().is_some_and(|version| !version.is_empty()) {
            new["metadata"]["resourceVersion"] = version.clone();
        }
        let object = self.replace(ask, &old, new, applied, false)?;
        Ok(whole(StatusCode::OK, &scale_of(&object)))
    }

    /// Binds a pod to a node.
    pub(super) fn bind(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let binding = self.read_as(ask, "v1", "Binding")?;
        admit::namespace_lives(self, ask.kind, &ask.route.namespace, &ask.route.name)?;
        if binding["metadata"]["name"].as_str().unwrap_or_default() != ask.route.name {
            return Err(Problem::bad_request("name in URL does not match name in Binding object".to_owned()));
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
            return Err(Problem::plain_internal(all));
        }
        let pod = self.existing(ask)?;
        let uid = binding["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != pod.meta("uid") {
            return Err(self.wrong_uid(ask, pod.meta("uid"), uid));
        }
        let name = pod.meta("name");
        let taken = pod.body["spec"]["nodeName"].as_str().unwrap_or_default();
        let refuse = |why: String| {
            let mut problem = Problem::conflict(ask.kind, name, &why);
            problem.message = format!("Operation cannot be fulfilled on pods/binding \"{name}\": {why}");
            if let Some(details) = &mut problem.details {
                details["kind"] = "pods/binding".into();
            }
            Err(problem)
        };
        if pod.deleting() {
            return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
        }
        if !taken.is_empty() {
            return refuse(format!("pod {name} is already assigned to node \"{taken}\""));
        }
        let mut bound = pod.body.clone();
        bound["spec"]["nodeName"] = node.into();
        for what in ["annotations", "labels"] {
            for (key, value) in binding["metadata"][what].as_object().into_iter().flatten() {
                bound["metadata"][what][key] = value.clone();
            }
        }
        if kind == "Node" {
            admit::topology(self, node, &mut bound);
        }
        let mut conditions = bound["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().all(|one| one["type"] != "PodScheduled") {
            conditions.push(json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": ask.stamp()}));
        }
        bound["status"]["conditions"] = Value::Array(conditions);
        self.write(ask.kind, bound, pod.managers.clone())?;
        let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(whole(StatusCode::CREATED, &done))
    }
}

/// The replicas of a custom resource that has none, in the scale that is patched.
const NONE: i64 = -2_147_483_648;

/// The scale that a patch changes.
fn live_scale(object: &Object) -> Value {
    let mut scale = scale_of(object);
    let custom = object.kind.custom.and_then(|custom| custom.scale.as_ref());
    if custom.is_some_and(|scale| scale.of(&object.body).0.is_none()) {
        scale["spec"]["replicas"] = NONE.into();
    }
    scale
}

fn scale_of(object: &Object) -> Value {
    let meta = |name: &str| object.body["metadata"][name].clone();
    let (spec, status) = (&object.body["spec"], &object.body["status"]);
    let (wanted, there, selected) = match object.kind.custom.and_then(|custom| custom.scale.as_ref()) {
        Some(scale) => scale.of(&object.body),
        None => (spec["replicas"].as_i64(), status["replicas"].as_i64().unwrap_or(0), select::text(&spec["selector"])),
    };
    let mut scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {
        "name": meta("name"), "namespace": meta("namespace"), "uid": meta("uid"), "resourceVersion": meta("resourceVersion"),
        "creationTimestamp": meta("creationTimestamp")}, "spec": {}, "status": {
        "replicas": there}});
    if !selected.is_empty() || object.kind.custom.is_none() {
        scale["status"]["selector"] = selected.into();
    }
    if let Some(replicas) = wanted.filter(|replicas| *replicas != 0) {
        scale["spec"]["replicas"] = replicas.into();
    }
    scale
}
