//! The documents of the built-in kinds are complete.

use crate::schema::openapi::*;

fn references<'a>(value: &'a Value, references_found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            references_found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, references_found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, references_found)),
        _ => {}
    }
}

fn document(path: &str) -> Value {
    serde_json::from_slice(&BUILT_IN[path]).unwrap()
}

#[test]
fn every_reference_resolves() {
    let mut all: Vec<Value> = BUILT_IN.keys().map(|path| document(path)).collect();
    all.push(v2::document(&KINDS));
    for document in all {
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            let place = reference.trim_start_matches('#');
            assert!(document.pointer(place).is_some(), "{reference}");
        }
    }
}

#[test]
fn deployment_schema_matches_upstream() {
    let apps = document("apis/apps/v1");
    let schemas = &apps["components"]["schemas"];
    assert_eq!(
        schemas["io.k8s.api.core.v1.ContainerPort"],
        json!({"type": "object", "required": ["containerPort"],
        "properties": {"containerPort": {"type": "integer", "format": "int32", "default": 0}, "hostIP": {"type": "string"},
            "hostPort": {"type": "integer", "format": "int32"}, "name": {"type": "string"},
            "protocol": {"type": "string", "default": "TCP", "enum": ["SCTP", "TCP", "UDP"]}}})
    );
    assert_eq!(
        schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"],
        json!([{"group": "apps", "kind": "Deployment", "version": "v1"}])
    );
    let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    assert_eq!(patch["parameters"][2]["name"], "fieldValidation");
}

#[test]
fn encodes_openapi_v2_as_gnostic_message() {
    let encoded = v2::encode(&v2::document(&[KINDS[0]]));
    let fields: Vec<u32> = crate::types::protobuf::wire::fields(&encoded).map(|field| field.unwrap().0).collect();
    assert_eq!(fields, [1, 2, 8, 9]);
}
