//! Compares writes of several managers with the field manager of `k8s.io/apimachinery` v0.36.3 and
//! the types of client-go (`examples/`).

use rstest::rstest;
use serde_json::{Value, json};

use crate::fields::conflict::conflict_message;
use crate::fields::entries::{ManagedFields, Managers};
use crate::fields::field_manager::{ApplyRefusal, FieldManager, are_equal, are_equal_ignoring_times};
use crate::fields::path::FieldSet;
use crate::fields::typed::Atom;
use crate::types::decode::decode;
use crate::types::table::TYPES;

/// Normalizes an object as the server stores it.
fn normal(type_index: usize, object: &Value) -> Value {
    let mut object = decode(type_index, object.clone()).unwrap().value;
    let fields = object.as_object_mut().unwrap();
    for name in ["kind", "apiVersion"] {
        fields.remove(name);
    }
    object
}

fn untimed(managers: &Value) -> Value {
    let mut managers = managers.as_array().cloned().unwrap_or_default();
    managers.iter_mut().for_each(|entry| drop(entry.as_object_mut().unwrap().remove("time")));
    // Upstream's test runs within a second or two, so its order of entries is random.
    managers.sort_by_key(|entry| entry["manager"].to_string() + &entry["operation"].to_string());
    managers.into()
}

#[rstest]
fn field_ownership_matches_upstream(#[files("src/fields/examples/*.json")] path: std::path::PathBuf) {
    let type_index = TYPES.index_of("Deployment").unwrap();
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut live, mut old_managers) = (normal(type_index, &json!({})), Managers::None);
    for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let writer = FieldManager {
            root: Atom::of_type(type_index),
            replicas: &["spec", "replicas"],
            api_version: "apps/v1".to_owned(),
            manager: step["manager"].as_str().unwrap().to_owned(),
            subresource: String::new(),
            reset: &[],
            time: Some(format!("2026-01-01T00:00:{at:02}Z")),
            converters: Vec::new(),
            empty: json!({}),
            rewritten: FieldSet::default(),
        };
        let object = &step["object"];
        if step["op"] == "apply" {
            match writer.apply(&live, &old_managers, object, step["force"] == true) {
                Ok((applied, managers)) => {
                    (live, old_managers) = (normal(type_index, &applied), managers);
                    assert!(step["expected"]["error"].is_null(), "step {at} must be refused");
                }
                Err(ApplyRefusal::Conflicts(conflicts)) => {
                    assert_eq!(conflict_message(&conflicts).0, step["expected"]["error"], "step {at}");
                }
                Err(ApplyRefusal::Merge(why)) => panic!("step {at}: {why}"),
            }
        } else {
            let mut new = normal(type_index, object);
            let given = new["metadata"].as_object_mut().unwrap().remove("managedFields").unwrap_or_default();
            old_managers = writer.update(&live, &old_managers, &given, &new);
            live = new;
        }
        let managers = old_managers.as_ref().map_or(Value::Null, |old_managers| old_managers.to_json());
        assert_eq!(untimed(&managers), untimed(&step["expected"]["managedFields"]), "step {at}");
        assert_eq!(normal(type_index, &live), normal(type_index, &step["expected"]["live"]), "step {at}");
    }
}

#[rstest]
#[case::different_time("2026-01-01T00:00:01Z", "a", "", true)]
#[case::different_manager("2026-01-01T00:00:00Z", "b", "", false)]
#[case::different_subresource("2026-01-01T00:00:00Z", "a", "status", false)]
fn comparison_of_managers_can_ignore_times(
    #[case] time: &str,
    #[case] manager: &str,
    #[case] subresource: &str,
    #[case] expected: bool,
) {
    let managers = |time: &str, manager: &str, subresource: &str| -> Managers {
        let entries = json!([{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time,
            "subresource": subresource, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]);
        ManagedFields::read(&entries).unwrap().into_managers()
    };
    let (one, other) = (managers("2026-01-01T00:00:00Z", "a", ""), managers(time, manager, subresource));
    assert_eq!(are_equal_ignoring_times(&one, &other), expected);
    assert!(!are_equal(&one, &other) && are_equal(&one, &one.clone()));
    assert!(!are_equal_ignoring_times(&one, &None));
}
