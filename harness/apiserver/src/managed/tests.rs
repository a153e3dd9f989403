//! Writes of several managers, and what the field manager of `k8s.io/apimachinery` v0.36.3
//! makes of them with the types of client-go (`examples/`).

use rstest::rstest;
use serde_json::{Value, json};

use super::{Managed, Managers, Refused, Writer, are_same, are_same_but_for_times, told};
use crate::api::{TYPES, decode};
use crate::managed::Atom;

/// As the server keeps it.
fn normal(place: usize, object: &Value) -> Value {
    let mut object = decode(place, object.clone()).unwrap().value;
    let fields = object.as_object_mut().unwrap();
    for name in ["kind", "apiVersion"] {
        fields.remove(name);
    }
    object
}

fn untimed(managers: &Value) -> Value {
    let mut managers = managers.as_array().cloned().unwrap_or_default();
    managers.iter_mut().for_each(|entry| drop(entry.as_object_mut().unwrap().remove("time")));
    // Upstream's test runs within a second or two, so the order of entries is up to chance there.
    managers.sort_by_key(|entry| entry["manager"].to_string() + &entry["operation"].to_string());
    managers.into()
}

#[rstest]
fn managers_have_what_upstream_gives_them(#[files("src/managed/examples/*.json")] path: std::path::PathBuf) {
    let place = TYPES.place("Deployment").unwrap();
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut live, mut had) = (normal(place, &json!({})), Managers::None);
    for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let writer = Writer {
            root: Atom::of_type(place),
            replicas: &["spec", "replicas"],
            api_version: "apps/v1".to_owned(),
            manager: step["manager"].as_str().unwrap().to_owned(),
            subresource: String::new(),
            reset: &[],
            time: Some(format!("2026-01-01T00:00:{at:02}Z")),
            others: Vec::new(),
            empty: json!({}),
        };
        let object = &step["object"];
        if step["op"] == "apply" {
            match writer.apply(&live, &had, object, step["force"] == true) {
                Ok((applied, managers)) => {
                    (live, had) = (normal(place, &applied), managers);
                    assert!(step["expected"]["error"].is_null(), "step {at} must be refused");
                }
                Err(Refused::Conflicts(conflicts)) => {
                    assert_eq!(told(&conflicts).0, step["expected"]["error"], "step {at}");
                }
                Err(Refused::Merge(why)) => panic!("step {at}: {why}"),
            }
        } else {
            let mut new = normal(place, object);
            let given = new["metadata"].as_object_mut().unwrap().remove("managedFields").unwrap_or_default();
            had = writer.update(&live, &had, &given, &new);
            live = new;
        }
        let managers = had.as_ref().map_or(Value::Null, |had| had.to_json());
        assert_eq!(untimed(&managers), untimed(&step["expected"]["managedFields"]), "step {at}");
        assert_eq!(normal(place, &live), normal(place, &step["expected"]["live"]), "step {at}");
    }
}

#[rstest]
#[case::times_alone("2026-01-01T00:00:01Z", "a", "", true)]
#[case::a_manager("2026-01-01T00:00:00Z", "b", "", false)]
#[case::a_field_more("2026-01-01T00:00:00Z", "a", "status", false)]
fn times_of_managers_make_no_other_object(
    #[case] time: &str,
    #[case] manager: &str,
    #[case] part: &str,
    #[case] same: bool,
) {
    let managers = |time: &str, manager: &str, part: &str| -> Managers {
        let entries = json!([{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time,
            "subresource": part, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]);
        Managed::read(&entries).unwrap().into_managers()
    };
    let (one, other) = (managers("2026-01-01T00:00:00Z", "a", ""), managers(time, manager, part));
    assert_eq!(are_same_but_for_times(&one, &other), same);
    assert!(!are_same(&one, &other) && are_same(&one, &one.clone()));
    assert!(!are_same_but_for_times(&one, &None));
}
