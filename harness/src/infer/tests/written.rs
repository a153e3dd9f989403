//! What users write: undo, rollback by annotation, apply.

use super::*;

#[test]
fn a_template_of_an_older_replica_set_is_an_undo() {
    let inferred = Reel::begun().deployment(10, 9, "app:5", (2, 2)).inferred();
    assert_eq!(steps(&inferred), ["# or `set: {image: \"app:5\"}`: both write the same", "- undo: web"]);
}

/// The old way to undo is an annotation; the controller writes the template back and removes it.
#[test]
fn a_rollback_by_the_controller_is_no_step() {
    let asks = |image: &str, generation, asks: bool| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        if asks {
            deployment["metadata"]["annotations"]["deprecated.deployment.rollback.to"] = json!("0");
        }
        deployment
    };
    let inferred = begun_with(&asks("app:7", (9, 9), false))
        .version(DEPLOYMENT, Change::Modified, &asks("app:7", (9, 9), true))
        .version(DEPLOYMENT, Change::Modified, &asks("app:5", (10, 9), false))
        .inferred();
    let text = steps(&inferred);
    assert!(text.len() == 1 && text[0].contains("rollback.to: \"0\""), "{text:?}");
}

/// kubectl's undo writes the annotations of the ReplicaSet as well, and what writes the template alone is none.
#[rstest]
#[case::as_the_replica_set_has_them("first", &["- undo: web"])]
#[case::others("second", &["- set: {image: \"app:5\"}"])]
fn an_undo_brings_annotations(#[case] cause: &str, #[case] expected: &[&str]) {
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
        if let Entry::Object(version) = entry
            && version.name == "web-old"
        {
            let mut old = Value::clone(&version.object);
            caused(&mut old, "first");
            old["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] = json!("2");
            version.object = Arc::new(old);
        }
    }
    let inferred = reel.version(DEPLOYMENT, Change::Modified, &deployment("app:5", (10, 9), cause)).inferred();
    assert_eq!(steps(&inferred), expected);
}

/// `kubectl apply` may change nothing but what it remembers.
#[test]
fn what_was_applied_last_is_a_step_where_nothing_else_is_written() {
    let applied = |image: &str, generation, what: &str| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        deployment["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!(what);
        deployment
    };
    let inferred = begun_with(&applied("app:7", (9, 9), "{}"))
        .version(DEPLOYMENT, Change::Modified, &applied("app:7", (9, 9), "{1}"))
        .version(DEPLOYMENT, Change::Modified, &applied("app:8", (10, 9), "{2}"))
        .inferred();
    let text = steps(&inferred);
    assert!(text[0].contains("last-applied-configuration: \"{1}\""), "{text:?}");
    assert_eq!(text[1..], ["- set: {image: \"app:8\"}"]);
}
