//! Applies JSON patches (RFC 6902) operation by operation, with the errors of upstream's library.

use json_patch::PatchOperation;
use serde_json::Value;

use crate::go::json_errors;
use crate::http::limits::MAX_DEPTH;
use crate::http::status_error::{ApiResult, StatusError};
use crate::pointer::JsonPointer;
use crate::types::decode::to_json_bytes;

/// Upstream: `maxJSONPatchOperations`.
const MOST_OPERATIONS: usize = 10_000;
/// The limit of the bytes that all `copy` operations of a patch add. Upstream:
/// `JSONPatchMaxCopyBytes`.
const MOST_COPIED: usize = 3 << 20;
/// The limit of the bytes that all `move` operations of a patch move. Upstream has none; this one
/// is far above that of copies, and prevents a patch from measuring one large value ten thousand
/// times.
const MOST_MOVED: usize = 64 << 20;

/// Applies all operations to an object.
pub(crate) fn apply(operations: &[Value], object: &Value) -> ApiResult<Value> {
    if operations.len() > MOST_OPERATIONS {
        let found = operations.len();
        let why = format!("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {found}");
        return Err(StatusError::body_too_large(&why));
    }
    let mut object = object.clone();
    let (mut copied, mut moved) = (0, 0);
    for operation in operations {
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        let (op, path) = (text("op"), text("path"));
        if !matches!(op.as_str(), "add" | "remove" | "replace" | "move" | "copy" | "test") || !path.starts_with('/') {
            return Err(StatusError::bad_patch(""));
        }
        let mut operation = operation.clone();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if op == "replace" && object.at(parent).is_some_and(Value::is_object) {
            // Upstream replaces absent members too.
            operation["op"] = "add".into();
        }
        let one = serde_json::from_value::<PatchOperation>(operation);
        let one = one.map_err(|_| StatusError::bad_patch(""))?;
        let added = match &one {
            PatchOperation::Add(add) => Some(&add.value),
            PatchOperation::Replace(replace) => Some(&replace.value),
            PatchOperation::Copy(copy) => object.pointer(copy.from.as_str()),
            PatchOperation::Move(moving) => object.pointer(moving.from.as_str()),
            PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
        };
        // Checked before each operation: a copy can double the depth of an object, so a few of them
        // would exhaust the stack.
        let levels = path.matches('/').count();
        if added.is_some_and(|value| levels > MAX_DEPTH || json_errors::is_deeper(value, MAX_DEPTH - levels)) {
            return Err(StatusError::too_deep());
        }
        let size = || added.map_or(0, |value| to_json_bytes(value).len());
        match &one {
            PatchOperation::Copy(_) => copied += size(),
            PatchOperation::Move(_) => moved += size(),
            _ => {}
        }
        if copied > MOST_COPIED {
            return Err(StatusError::bad_patch(""));
        }
        if moved > MOST_MOVED {
            return Err(StatusError::unsupported(format!("a JSON patch that moves more than {MOST_MOVED} bytes")));
        }
        json_patch::patch(&mut object, &[one]).map_err(|_| StatusError::bad_patch(""))?;
    }
    Ok(object)
}
