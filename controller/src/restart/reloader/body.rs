//! The bodies of the requests of profile `reloader`.
//!
//! Cases: `config-restart/reloader-auto`, `config-restart/reloader-pause-period`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::strategy::Write;
use crate::model::names::restart::{INSTANTIATED, LAST_RELOADED_FROM};
use crate::model::whole_second;
use crate::settings::ReloaderAnnotations;

/// Labels by which a Job's controller finds its pods; a new Job gets its own.
const OF_THE_OLD: [&str; 4] =
    ["controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "job-name"];

/// The strategic merge patch of a restart. Without a variable it is a JSON merge patch, too.
pub(super) fn patch(write: &Write) -> Value {
    let env = |container: &str, env: Value| json!({"spec": {"containers": [{"name": container, "env": [env]}]}});
    let template = match write {
        Write::Variable { container, name, value } => env(container, json!({"name": name, "value": value})),
        Write::NoVariable { container, name } => env(container, json!({"name": name, "$patch": "delete"})),
        Write::Annotation(value) => json!({"metadata": {"annotations": {LAST_RELOADED_FROM: value}}}),
        Write::RestartAt(time) => return json!({"spec": {"restartAt": time.to_string()}}),
    };
    json!({"spec": {"template": template}})
}

/// The JSON merge patch of a restart of a custom resource, whose lists are replaced as a whole. The
/// server refuses it where the object has changed since it was read.
pub(super) fn patch_of_read(object: &Value, write: &Write) -> Value {
    let mut template = object["spec"]["template"].clone();
    put(&mut template, write);
    json!({
        "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
        "spec": {"template": {"spec": {"containers": template["spec"]["containers"]}}},
    })
}

/// The patch that pauses a Deployment.
pub(super) fn paused(names: &ReloaderAnnotations, now: Timestamp) -> Value {
    let now = whole_second(now).to_string();
    json!({"metadata": {"annotations": {&names.paused_at: now}}, "spec": {"paused": true}})
}

/// The patch that resumes it.
pub(super) fn resumed(names: &ReloaderAnnotations) -> Value {
    json!({"metadata": {"annotations": {&names.paused_at: null}}, "spec": {"paused": false}})
}

/// A Job of a CronJob, as `kubectl create job --from` makes one, with the trigger in it.
pub(super) fn job_of(cron_job: &Value, write: &Write) -> Value {
    let template = &cron_job["spec"]["jobTemplate"];
    let mut spec = template["spec"].clone();
    put(&mut spec["template"], write);
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

/// The Job that takes the place of one that has been deleted, with the trigger in it.
pub(super) fn job_again(job: &Value, write: &Write) -> Value {
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
        OF_THE_OLD.iter().for_each(|label| drop(labels.remove(*label)));
    }
    put(&mut job["spec"]["template"], write);
    job
}

/// Puts the trigger into a pod template that is sent as a whole.
fn put(template: &mut Value, write: &Write) {
    let (container, name, value) = match write {
        Write::Annotation(value) => {
            template["metadata"]["annotations"][LAST_RELOADED_FROM] = value.clone().into();
            return;
        }
        // No part of a template.
        Write::RestartAt(_) => return,
        Write::Variable { container, name, value } => (container, name, Some(value)),
        Write::NoVariable { container, name } => (container, name, None),
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

    fn trigger() -> Write {
        Write::Variable { container: "app".to_owned(), name: "STAKATER_C_CONFIGMAP".to_owned(), value: "1".to_owned() }
    }

    #[test]
    fn a_cron_job_makes_a_job() {
        let spec = json!({"template": {"spec": {"containers": [{"name": "app"}]}}});
        let cron_job = json!({
            "metadata": {"name": "backup", "namespace": "ns", "uid": "u"},
            "spec": {"jobTemplate": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": spec}},
        });
        let job = job_of(&cron_job, &trigger());
        assert_eq!(job["metadata"]["generateName"], "backup-");
        assert_eq!(job["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(job["metadata"]["annotations"], json!({"c": "d", INSTANTIATED: "manual"}));
        assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], "u");
        let env = json!([{"name": "STAKATER_C_CONFIGMAP", "value": "1"}]);
        assert_eq!(job["spec"]["template"]["spec"]["containers"], json!([{"name": "app", "env": env}]));
    }

    #[test]
    fn of_a_rollout_all_containers_are_sent_with_the_version_that_was_read() {
        let containers =
            json!([{"name": "side", "env": [{"name": "A", "value": "b"}]}, {"name": "app", "image": "app:1"}]);
        let rollout = json!({
            "metadata": {"resourceVersion": "7", "name": "web"},
            "spec": {"replicas": 3, "template": {"spec": {"containers": containers}}},
        });
        let mut expected = containers;
        expected[1]["env"] = json!([{"name": "STAKATER_C_CONFIGMAP", "value": "1"}]);
        let sent = patch_of_read(&rollout, &trigger());
        assert_eq!(
            sent,
            json!({"metadata": {"resourceVersion": "7"}, "spec": {"template": {"spec": {"containers": expected}}}})
        );
    }

    #[test]
    fn a_job_is_made_again_without_what_was_the_old_ones() {
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
        let again = job_again(&job, &trigger());
        assert_eq!(again["metadata"], json!({"name": "load", "labels": {"a": "b"}}));
        assert_eq!((&again["spec"]["selector"], &again["status"]), (&Value::Null, &json!({})));
        assert_eq!(again["spec"]["template"]["metadata"]["labels"], json!({"a": "b"}));
        let env = json!([{"name": "A", "value": "b"}, {"name": "STAKATER_C_CONFIGMAP", "value": "1"}]);
        assert_eq!(again["spec"]["template"]["spec"]["containers"][0]["env"], env);
        let gone = Write::NoVariable { container: "app".to_owned(), name: "STAKATER_C_CONFIGMAP".to_owned() };
        let without = job_again(&job, &gone);
        assert_eq!(without["spec"]["template"]["spec"]["containers"][0]["env"], json!([{"name": "A", "value": "b"}]));
    }
}
