//! Applies a patch to a Deployment outside of a server. A custom resource does not support
//! strategic merge, and its paths differ from a Deployment's, so the harness reads, patches and
//! replaces.

use kube_apiserver_sim::ApiType;
use serde_json::Value;

/// Applies a patch of this content type.
///
/// # Errors
/// The patch does not match the object.
pub fn apply(object: &mut Value, content_type: &str, patch: &Value) -> Result<(), String> {
    match content_type {
        "application/strategic-merge-patch+json" => {
            let of_deployment = ApiType::of("apps/v1", "Deployment").expect("the server has Deployments");
            *object = of_deployment.merge(object, patch)?;
            Ok(())
        }
        "application/merge-patch+json" => {
            json_patch::merge(object, patch);
            Ok(())
        }
        "application/json-patch+json" => {
            let patch: json_patch::Patch = serde_json::from_value(patch.clone()).map_err(|error| error.to_string())?;
            json_patch::patch(object, &patch).map_err(|error| error.to_string())
        }
        other => Err(format!("a patch of type {other} cannot be made of a workload")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strategic_patch_merges_lists_by_keys_of_deployment() {
        let pod = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let mut object = pod(json!([{"name": "a", "image": "x:1", "env": []}, {"name": "b"}]));
        let patch = pod(json!([{"name": "a", "image": "x:2"}, {"name": "b", "$patch": "delete"}]));
        apply(&mut object, "application/strategic-merge-patch+json", &patch).unwrap();
        assert_eq!(object, pod(json!([{"name": "a", "image": "x:2", "env": []}])));
    }

    #[test]
    fn patch_that_does_not_match_is_an_error() {
        let patch = json!([{"op": "remove", "path": "/b"}]);
        assert!(apply(&mut json!({"a": 1}), "application/json-patch+json", &patch).is_err());
    }
}
