//! The request bodies of profile `reloader`.
//!
//! Cases: `config-restart/reloader/auto`, `config-restart/reloader/pause-period`.

use jiff::Timestamp;
use rollout_model::names::restart::{INSTANTIATED, LAST_RELOADED_FROM};
use rollout_model::whole_second;
use serde_json::{Value, json};

use crate::engines::reloader::strategy::TemplateChange;
use crate::settings::ReloaderAnnotations;

/// Labels by which a Job's controller finds its pods; the server sets them on a new Job.
const CONTROLLER_LABELS: [&str; 4] =
    ["controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "job-name"];

/// The strategic merge patch of a restart. Unless it changes a variable, it is also a valid JSON
/// merge patch.
pub fn patch(write: &TemplateChange) -> Value {
    let env = |container: &str, env: Value| json!({"spec": {"containers": [{"name": container, "env": [env]}]}});
    let template = match write {
        TemplateChange::SetVariable { container, name, value } => env(container, json!({"name": name, "value": value})),
        TemplateChange::RemoveVariable { container, name } => env(container, json!({"name": name, "$patch": "delete"})),
        TemplateChange::SetAnnotation(value) => json!({"metadata": {"annotations": {LAST_RELOADED_FROM: value}}}),
        TemplateChange::SetRestartAt(time) => return json!({"spec": {"restartAt": time.to_string()}}),
    };
    json!({"spec": {"template": template}})
}

/// The JSON merge patch of a restart of a custom resource, whose lists are replaced as a whole. It
/// has the resourceVersion of the object, so the server refuses it if the object has changed.
pub fn versioned_patch(object: &Value, write: &TemplateChange) -> Value {
    let mut template = object["spec"]["template"].clone();
    put_trigger(&mut template, write);
    json!({
        "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
        "spec": {"template": {"spec": {"containers": template["spec"]["containers"]}}},
    })
}

/// The patch that pauses a Deployment.
pub fn pause_patch(names: &ReloaderAnnotations, now: Timestamp) -> Value {
    let now = whole_second(now).to_string();
    json!({"metadata": {"annotations": {&names.paused_at: now}}, "spec": {"paused": true}})
}

/// The patch that resumes a Deployment.
pub fn resume_patch(names: &ReloaderAnnotations) -> Value {
    json!({"metadata": {"annotations": {&names.paused_at: null}}, "spec": {"paused": false}})
}

/// A Job from a CronJob, like that of `kubectl create job --from`, with the trigger.
pub fn job_from_cron_job(cron_job: &Value, write: &TemplateChange) -> Value {
    let template = &cron_job["spec"]["jobTemplate"];
    let mut spec = template["spec"].clone();
    put_trigger(&mut spec["template"], write);
    let mut annotations = json!({INSTANTIATED: "manual"});
    json_merge(&mut annotations, &template["metadata"]["annotations"]);
    let metadata = &cron_job["metadata"];
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": format!("{}-", metadata["name"].as_str().unwrap_or_default()),
            "namespace": metadata["namespace"],
            "annotations": annotations,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [{
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": metadata["name"],
                "uid": metadata["uid"],
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    })
}

/// The Job that replaces a deleted one, with the trigger.
pub fn recreated_job(job: &Value, write: &TemplateChange) -> Value {
    let mut job = job.clone();
    for (part, fields) in [
        ("metadata", &["resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"][..]),
        ("spec", &["selector"]),
    ] {
        if let Some(part) = job[part].as_object_mut() {
            fields.iter().for_each(|field| drop(part.remove(*field)));
        }
    }
    job["status"] = json!({});
    if let Some(labels) = job["spec"]["template"]["metadata"]["labels"].as_object_mut() {
        CONTROLLER_LABELS.iter().for_each(|label| drop(labels.remove(*label)));
    }
    put_trigger(&mut job["spec"]["template"], write);
    job
}

/// Sets the trigger in a pod template that is sent as a whole.
fn put_trigger(template: &mut Value, write: &TemplateChange) {
    let (container, name, value) = match write {
        TemplateChange::SetAnnotation(value) => {
            template["metadata"]["annotations"][LAST_RELOADED_FROM] = value.clone().into();
            return;
        }
        // It is not in the template.
        TemplateChange::SetRestartAt(_) => return,
        TemplateChange::SetVariable { container, name, value } => (container, name, Some(value)),
        TemplateChange::RemoveVariable { container, name } => (container, name, None),
    };
    let containers = template["spec"]["containers"].as_array_mut().into_iter().flatten();
    for found in containers.filter(|found| found["name"] == container.as_str()) {
        let mut env = found["env"].as_array().cloned().unwrap_or_default();
        match (env.iter_mut().find(|env| env["name"] == name.as_str()), value) {
            (Some(found), Some(value)) => found["value"] = value.clone().into(),
            (None, Some(value)) => env.push(json!({"name": name, "value": value})),
            (_, None) => env.retain(|env| env["name"] != name.as_str()),
        }
        found["env"] = env.into();
    }
}

fn json_merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger() -> TemplateChange {
        TemplateChange::SetVariable {
            container: "app".to_owned(),
            name: "STAKATER_C_CONFIGMAP".to_owned(),
            value: "1".to_owned(),
        }
    }

    #[test]
    fn creates_a_job_from_a_cron_job() {
        let spec = json!({"template": {"spec": {"containers": [{"name": "app"}]}}});
        let cron_job = json!({
            "metadata": {"name": "backup", "namespace": "ns", "uid": "u"},
            "spec": {"jobTemplate": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": spec}},
        });
        let job = job_from_cron_job(&cron_job, &trigger());
        assert_eq!(job["metadata"]["generateName"], "backup-");
        assert_eq!(job["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(job["metadata"]["annotations"], json!({"c": "d", INSTANTIATED: "manual"}));
        assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], "u");
        let env = json!([{"name": "STAKATER_C_CONFIGMAP", "value": "1"}]);
        assert_eq!(job["spec"]["template"]["spec"]["containers"], json!([{"name": "app", "env": env}]));
    }

    #[test]
    fn rollout_patch_has_all_containers_and_the_resource_version() {
        let containers =
            json!([{"name": "side", "env": [{"name": "A", "value": "b"}]}, {"name": "app", "image": "app:1"}]);
        let rollout = json!({
            "metadata": {"resourceVersion": "7", "name": "web"},
            "spec": {"replicas": 3, "template": {"spec": {"containers": containers}}},
        });
        let mut expected = containers;
        expected[1]["env"] = json!([{"name": "STAKATER_C_CONFIGMAP", "value": "1"}]);
        let sent = versioned_patch(&rollout, &trigger());
        assert_eq!(
            sent,
            json!({"metadata": {"resourceVersion": "7"}, "spec": {"template": {"spec": {"containers": expected}}}})
        );
    }

    #[test]
    fn recreated_job_has_no_server_set_fields_of_the_old_one() {
        let env = json!([{"name": "A", "value": "b"}, {"name": "STAKATER_C_CONFIGMAP", "value": "0"}]);
        let job = json!({
            "metadata": {"name": "load", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
            "spec": {
                "selector": {"matchLabels": {"controller-uid": "u"}},
                "template": {
                    "metadata": {"labels": {"controller-uid": "u", "job-name": "load", "a": "b"}},
                    "spec": {"containers": [{"name": "app", "env": env}]},
                },
            },
            "status": {"succeeded": 1},
        });
        let again = recreated_job(&job, &trigger());
        assert_eq!(again["metadata"], json!({"name": "load", "labels": {"a": "b"}}));
        assert_eq!((&again["spec"]["selector"], &again["status"]), (&Value::Null, &json!({})));
        assert_eq!(again["spec"]["template"]["metadata"]["labels"], json!({"a": "b"}));
        let env = json!([{"name": "A", "value": "b"}, {"name": "STAKATER_C_CONFIGMAP", "value": "1"}]);
        assert_eq!(again["spec"]["template"]["spec"]["containers"][0]["env"], env);
        let gone =
            TemplateChange::RemoveVariable { container: "app".to_owned(), name: "STAKATER_C_CONFIGMAP".to_owned() };
        let without = recreated_job(&job, &gone);
        assert_eq!(without["spec"]["template"]["spec"]["containers"][0]["env"], json!([{"name": "A", "value": "b"}]));
    }
}
