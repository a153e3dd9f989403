//! What users write: undo, rollback by annotation, apply.

use super::*;

#[test]
fn template_of_an_older_replica_set_is_an_undo() {
    let inferred = Reel::begun().deployment(10, 9, "app:5", (2, 2)).inferred();
    assert_eq!(steps(&inferred), ["# or `set: {image: \"app:5\"}`: both write the same", "- undo: web"]);
}

/// The deprecated way to undo is an annotation; the controller restores the template and removes
/// the annotation.
#[test]
fn rollback_by_the_controller_is_not_a_step() {
    let asks = |image: &str, generation, asks: bool| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        if asks {
            deployment["metadata"]["annotations"]["deprecated.deployment.rollback.to"] = json!("0");
        }
        deployment
    };
    let inferred = begun_with(&asks("app:7", (9, 9), false))
        .version(DEPLOYMENT, ChangeType::Modified, &asks("app:7", (9, 9), true))
        .version(DEPLOYMENT, ChangeType::Modified, &asks("app:5", (10, 9), false))
        .inferred();
    let text = steps(&inferred);
    assert!(text.len() == 1 && text[0].contains("rollback.to: \"0\""), "{text:?}");
}

/// kubectl's undo also copies the annotations of the ReplicaSet; a write of the template alone is
/// not an undo.
#[rstest]
#[case::as_the_replica_set_has_them("first", &["- undo: web"])]
#[case::others("second", &["- set: {image: \"app:5\"}"])]
fn undo_copies_annotations(#[case] cause: &str, #[case] expected: &[&str]) {
    let caused = |object: &mut Value, cause: &str| {
        object["metadata"]["annotations"]["kubernetes.io/change-cause"] = json!(cause);
    };
    let deployment = |image: &str, generation, cause: &str| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        caused(&mut deployment, cause);
        deployment
    };
    let mut reel = begun_with(&deployment("app:7", (9, 9), "second"));
    for entry in &mut reel.entries {
        if let RecordingEntry::Object(version) = entry
            && version.name == "web-old"
        {
            let mut old = Value::clone(&version.object);
            caused(&mut old, "first");
            old["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] = json!("2");
            version.object = old.into();
        }
    }
    let inferred = reel.version(DEPLOYMENT, ChangeType::Modified, &deployment("app:5", (10, 9), cause)).inferred();
    assert_eq!(steps(&inferred), expected);
}

/// `kubectl apply` may change only its own annotation.
#[test]
fn change_of_last_applied_alone_is_a_step() {
    let applied = |image: &str, generation, annotation: &str| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        deployment["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!(annotation);
        deployment
    };
    let inferred = begun_with(&applied("app:7", (9, 9), "{}"))
        .version(DEPLOYMENT, ChangeType::Modified, &applied("app:7", (9, 9), "{1}"))
        .version(DEPLOYMENT, ChangeType::Modified, &applied("app:8", (10, 9), "{2}"))
        .inferred();
    let text = steps(&inferred);
    assert!(text[0].contains("last-applied-configuration: \"{1}\""), "{text:?}");
    assert_eq!(text[1..], ["- set: {image: \"app:8\"}"]);
}

/// The versions that another client wrote, by managed fields.
fn by_others(mut reel: Reel) -> Reel {
    if let Some(RecordingEntry::Object(version)) = reel.entries.last_mut() {
        version.by = lockstep_recording::WriterRole::Driver;
    }
    reel
}

/// A ReplicaSet of two pods with this change.
fn set(change: &Value) -> Value {
    let mut set = json!({
        "metadata": {"name": "web-new", "uid": "new", "generation": 1, "ownerReferences": [{"controller": true, "uid": "d"}],
            "labels": {"app.kubernetes.io/name": "web", "pod-template-hash": "new"},
            "annotations": {"deployment.kubernetes.io/revision": "7"}},
        "spec": {"replicas": 2, "template": template("app:7")},
        "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    });
    json_patch::merge(&mut set, change);
    set
}

fn selecting() -> Value {
    let mut deployment = with("RollingUpdate", 0, "app:7", (9, 9), BEGAN);
    deployment["spec"]["selector"] = json!({"matchLabels": {"app.kubernetes.io/name": "web"}});
    deployment
}

#[rstest]
#[case::annotation(json!({"metadata": {"annotations": {"team": "a", "deployment.kubernetes.io/revision": "5"}}}),
    r#"patch: {metadata: {annotations: {deployment.kubernetes.io/revision: "1", team: "a"}}}}"#)]
#[case::released(json!({"metadata": {"labels": {"app.kubernetes.io/name": "api"}}}),
    r#"patch: {metadata: {labels: {app: null, app.kubernetes.io/name: "api"}}}}"#)]
#[case::template(json!({"spec": {"template": template("app:9")}}),
    r#"patch: {spec: {template: {spec: {containers: [{image: "app:9", name: "app"}]}}}}}"#)]
#[case::size(json!({"spec": {"replicas": 5}}), "- scale: {replicaset: rs2, replicas: 5}")]
fn writes_of_other_clients_to_a_replica_set_are_steps(#[case] change: Value, #[case] expected: &str) {
    let whole = Reel::new()
        .version(DEPLOYMENT, ChangeType::Modified, &selecting())
        .set("old", 5, "app:5", (0, 0, 0))
        .version("ReplicaSet", ChangeType::Modified, &set(&json!({})))
        .pod("a", "new", true)
        .pod("b", "new", true)
        .settled();
    let inferred = by_others(whole.version("ReplicaSet", ChangeType::Modified, &set(&change))).inferred();
    let steps = steps(&inferred);
    assert_eq!(steps[0], "# written by a client other than the controller");
    assert!(steps[1].ends_with(expected), "{steps:?}");
}

/// Its labels match the selector of the case's Deployment, as they match that of the recorded one.
#[test]
fn creation_of_a_stray_replica_set_is_an_apply() {
    let stray =
        set(&json!({"metadata": {"name": "stray", "uid": "stray", "ownerReferences": null, "annotations": null},
        "spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "web"}}, "template": template("app:3")},
        "status": null}));
    let inferred = begun_with(&selecting()).version("ReplicaSet", ChangeType::Added, &stray).inferred();
    let text = steps(&inferred);
    assert_eq!(text[0], "# created by a client other than the controller");
    let expected = "- apply: {apiVersion: \"apps/v1\", kind: \"ReplicaSet\", metadata: {labels: {app: \"web\", \
                    pod-template-hash: \"new\"}, name: \"stray\"}, spec: {replicas: 2, selector: {matchLabels: {app: \
                    \"web\"}}, template: {metadata: {labels: {app: \"web\"}}, spec: {containers: [{image: \"app:3\", \
                    name: \"app\"}]}}}}";
    assert_eq!(text[1], expected);
}

/// A ReplicaSet that reports why it has no pods.
fn refused(why: &str) -> Value {
    let message = format!("pods \"web-new-x\" is forbidden: {why}");
    let failure = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]);
    set(&json!({"spec": {"replicas": 3}, "status": {"conditions": failure}}))
}

#[rstest]
#[case::pods("exceeded quota: few, requested: pods=1, used: pods=4, limited: pods=4", Some("2"))]
#[case::lowered_below_its_use("exceeded quota: few, requested: pods=1, used: pods=9, limited: pods=0", Some("0"))]
#[case::more("exceeded quota: few, requested: cpu=1, used: cpu=4, limited: cpu=4", None)]
#[case::no_quota("violates PodSecurity", None)]
#[case::several_lines("violates\n- scale: 9", None)]
fn infers_a_quota_from_refused_pods(#[case] why: &str, #[case] pods: Option<&str>) {
    let scaled = begun_with(&with("RollingUpdate", 0, "app:7", (9, 9), BEGAN));
    let mut asked = with("RollingUpdate", 0, "app:7", (10, 9), BEGAN);
    asked["spec"]["replicas"] = json!(3);
    let inferred = scaled
        .version(DEPLOYMENT, ChangeType::Modified, &asked)
        .version("ReplicaSet", ChangeType::Modified, &refused(why))
        .inferred();
    let text = steps(&inferred);
    match pods {
        Some(pods) => {
            let quota =
                format!("kind: \"ResourceQuota\", metadata: {{name: \"few\"}}, spec: {{hard: {{pods: \"{pods}\"}}}}}}");
            assert!(text[1].starts_with("- apply: ") && text[1].ends_with(&quota), "{text:?}");
            assert_eq!(
                text[2..],
                ["# a quota refused pods; how much of it was used at which time is not recorded", "- scale: 3"]
            );
            assert_eq!(inferred.unknown.map(|(step, _)| step.index), Some(2));
        }
        None => {
            assert!(
                text[0].starts_with(
                    "# pods were refused, and a recording does not show by what: pods \"web-new-x\" is forbidden"
                ),
                "{text:?}"
            );
            assert_eq!(inferred.unknown.map(|(step, _)| step.index), Some(1));
        }
    }
}

/// The same, with the ReplicaSet of `set`, but without the authors of later versions.
fn unsigned() -> Reel {
    Reel::new()
        .version(DEPLOYMENT, ChangeType::Modified, &selecting())
        .set("old", 5, "app:5", (0, 0, 0))
        .version("ReplicaSet", ChangeType::Modified, &set(&json!({})))
        .pod("a", "new", true)
        .pod("b", "new", true)
        .settled()
}

#[rstest]
#[case::finalizer(json!({"metadata": {"finalizers": ["example.com/hold"]}}), r#"finalizers: ["example.com/hold"]"#)]
#[case::owner(json!({"metadata": {"ownerReferences": null}}), "ownerReferences: null")]
fn attributes_changes_that_no_controller_writes_to_a_user(#[case] change: Value, #[case] expected: &str) {
    let inferred = unsigned().version("ReplicaSet", ChangeType::Modified, &set(&change)).inferred();
    let expected = format!("- patch: {{target: replicaset/rs2, type: merge, patch: {{metadata: {{{expected}}}}}}}");
    assert_eq!(steps(&inferred), ["# written by a client other than the controller", expected.as_str()]);
}

/// The garbage collector and the Deployment controller release ReplicaSets too.
#[rstest]
#[case::labels_no_longer_match(json!({"labels": {"app.kubernetes.io/name": null}}), json!({}))]
#[case::deployment_is_deleted(json!({}), json!({"deletionTimestamp": "2026-11-24T00:00:09Z", "finalizers": ["orphan"]}))]
fn release_by_a_controller_is_not_a_step(#[case] of_set: Value, #[case] of_deployment: Value) {
    let mut deployment = selecting();
    json_patch::merge(&mut deployment["metadata"], &of_deployment);
    let mut released = of_set.clone();
    released["ownerReferences"] = Value::Null;
    let inferred = unsigned()
        .version(DEPLOYMENT, ChangeType::Modified, &deployment)
        .version("ReplicaSet", ChangeType::Modified, &set(&json!({"metadata": of_set})))
        .version("ReplicaSet", ChangeType::Modified, &set(&json!({"metadata": released})))
        .pod("c", "new", true)
        .inferred();
    assert!(!inferred.case.source.contains("ownerReferences"), "{}", inferred.case.source);
}

#[test]
fn removing_the_last_finalizer_is_a_step() {
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let going = json!({"metadata": {"finalizers": ["example.com/hold"], "deletionTimestamp": "2026-11-24T00:00:09Z"}});
    let gone = json!({"metadata": {"deletionTimestamp": "2026-11-24T00:00:09Z"}});
    let inferred = unsigned()
        .version("ReplicaSet", ChangeType::Modified, &set(&held))
        .version("ReplicaSet", ChangeType::Modified, &set(&going))
        .version("ReplicaSet", ChangeType::Deleted, &set(&gone))
        .inferred();
    let source = &inferred.case.source;
    let places = ["finalizers: [\"example.com/hold\"]", "delete: replicaset/rs2", "finalizers: null"];
    let places = places.map(|text| source.find(text).unwrap_or_else(|| panic!("no `{text}` in\n{source}")));
    assert!(places.is_sorted(), "{source}");
}

#[test]
fn given_includes_initial_finalizers() {
    let mut deployment = selecting();
    deployment["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let inferred = begun_with(&deployment).deployment(10, 9, "app:8", (2, 2)).inferred();
    let (given, _) = inferred.case.source.split_once("\nsteps:\n").unwrap();
    assert!(given.contains("patch: {target: deployment/web, type: merge, patch: {metadata: {finalizers:"), "{given}");
}

/// A Deployment at generation 9 and more, whose containers ask for this much of a processor.
fn asking(cpu: Option<&str>, generation: i64) -> Value {
    let mut deployment = with("RollingUpdate", 0, "app:7", (generation, 9), BEGAN);
    if let Some(cpu) = cpu {
        deployment["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    }
    deployment
}

/// An older manifest is applied again. Its ReplicaSet has the template still, so the case must come
/// back to the template that it had, without the variable that stands for the other one.
#[rstest]
#[case::with_another_size(json!({"spec": {"replicas": 3}}), "{spec: {replicas: 3, template: ")]
#[case::with_an_annotation(
    json!({"metadata": {"annotations": {"team": "b"}}}),
    r#"{metadata: {annotations: {team: "b"}}, spec: {template: "#
)]
#[case::while_it_is_paused(json!({"spec": {"paused": true}}), "{spec: {paused: true, template: ")]
fn a_template_that_comes_back_is_the_same_in_the_case(#[case] change: Value, #[case] begins: &str) {
    let mut again = asking(None, 11);
    json_patch::merge(&mut again, &change);
    let inferred = begun_with(&asking(None, 9))
        .version(DEPLOYMENT, ChangeType::Modified, &asking(Some("2"), 10))
        .version(DEPLOYMENT, ChangeType::Modified, &again)
        .inferred();
    let without = r#"{spec: {containers: [{env: [{"$patch": "delete", name: "REST_OF_TEMPLATE"}], name: "app"}]}}"#;
    let patch = format!("{{patch: {{patch: {begins}{without}}}}}, target: \"deployment/web\"}}}}");
    let line = format!("- together: [{{set: {{env: {{REST_OF_TEMPLATE: \"3\"}}}}}}, {patch}]");
    assert_eq!(steps(&inferred).last(), Some(&line.as_str()));
}

/// A write of annotations and of the spec raises the generation once, and two steps would raise it
/// twice.
#[test]
fn one_write_of_annotations_and_a_template_is_one_step() {
    let mut deployment = with("RollingUpdate", 0, "app:8", (10, 9), BEGAN);
    deployment["metadata"]["annotations"]["team"] = json!("b");
    let begun = begun_with(&with("RollingUpdate", 0, "app:7", (9, 9), BEGAN));
    let inferred = begun.version(DEPLOYMENT, ChangeType::Modified, &deployment).inferred();
    let template = r#"{spec: {containers: [{image: "app:8", name: "app"}]}}"#;
    let both = format!("{{metadata: {{annotations: {{team: \"b\"}}}}, spec: {{template: {template}}}}}");
    assert_eq!(steps(&inferred), [format!("- patch: {{patch: {both}, target: \"deployment/web\"}}")]);
}

/// It has no ReplicaSet until the pause ends.
#[test]
fn given_includes_the_template_of_a_paused_deployment() {
    let paused = |paused: bool, generation| {
        let mut deployment = with("RollingUpdate", 0, "app:8", (generation, 9), BEGAN);
        deployment["spec"]["paused"] = json!(paused);
        deployment
    };
    let begun = begun_with(&paused(true, 9));
    let inferred = begun.version(DEPLOYMENT, ChangeType::Modified, &paused(false, 10)).inferred();
    let (given, _) = inferred.case.source.split_once("\nsteps:\n").unwrap();
    assert!(given.ends_with("- pause: web\n  - set: {image: \"app:8\"}"), "{given}");
    assert_eq!(steps(&inferred), ["- resume: web"]);
}
