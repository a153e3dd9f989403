//! JSON patches (RFC 6902), operation by operation, with the errors of upstream's library.

use serde_json::Value;

use super::problem::{Outcome, Problem};
use crate::pointer::At;

/// Apply all operations to an object.
pub(super) fn apply(operations: &[Value], object: &Value) -> Outcome<Value> {
    let mut object = object.clone();
    for operation in operations {
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        let (op, path) = (text("op"), text("path"));
        if !matches!(op.as_str(), "add" | "remove" | "replace" | "move" | "copy" | "test") || !path.starts_with('/') {
            return Err(Problem::bad_patch(""));
        }
        let mut operation = operation.clone();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if op == "replace" && object.at(parent).is_some_and(Value::is_object) {
            // What is not there is replaced all the same.
            operation["op"] = "add".into();
        }
        let one = serde_json::from_value::<json_patch::PatchOperation>(operation);
        let one = one.map_err(|_| Problem::bad_patch(""))?;
        json_patch::patch(&mut object, &[one]).map_err(|_| Problem::bad_patch(""))?;
    }
    Ok(object)
}
