//! JSON patches, with upstream's limits, and with its library's reading of RFC 6902: an absent
//! member equals null, negative indices count from the end, and only a replacement and a test can
//! name the whole object.
//!
//! Upstream: `jsonPatcher`, and `Patch` of evanphx/json-patch.

use serde_json::Value;

use crate::go::json_errors;
use crate::http::limits::MAX_DEPTH;
use crate::http::status_error::{ApiResult, StatusError};
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
        let refused = || StatusError::bad_patch("");
        let path = operation["path"].as_str().ok_or_else(refused)?;
        let value = match operation["op"].as_str().unwrap_or_default() {
            "add" | "replace" | "test" => operation["value"].clone(),
            "copy" | "move" => {
                let from = operation["from"].as_str().ok_or_else(refused)?;
                member(&mut object, from).and_then(|member| member.get()).ok_or_else(refused)?
            }
            _ => Value::Null,
        };
        // Checked before each operation: a copy can double the depth of an object, so a few of them
        // would exhaust the stack.
        let levels = path.matches('/').count();
        let adds = matches!(operation["op"].as_str(), Some("add" | "replace" | "copy" | "move"));
        if adds && (levels > MAX_DEPTH || json_errors::is_deeper(&value, MAX_DEPTH - levels)) {
            return Err(StatusError::too_deep());
        }
        match operation["op"].as_str().unwrap_or_default() {
            "copy" => copied += to_json_bytes(&value).len(),
            "move" => moved += to_json_bytes(&value).len(),
            _ => {}
        }
        if copied > MOST_COPIED {
            return Err(refused());
        }
        if moved > MOST_MOVED {
            return Err(StatusError::unsupported(format!("a JSON patch that moves more than {MOST_MOVED} bytes")));
        }
        perform(&mut object, operation, path, value).ok_or_else(refused)?;
    }
    Ok(object)
}

/// Performs an operation with its value; `None` if it fails.
fn perform(object: &mut Value, operation: &Value, path: &str, value: Value) -> Option<()> {
    match operation["op"].as_str()? {
        "test" if path.is_empty() => (*object == value).then_some(()),
        "test" => (member(object, path)?.get()? == value).then_some(()),
        "replace" if path.is_empty() => value.is_object().then(|| *object = value),
        "replace" => member(object, path)?.set(value),
        "add" | "copy" => member(object, path)?.add(value),
        "remove" => member(object, path)?.remove(),
        "move" => {
            member(object, operation["from"].as_str()?)?.remove()?;
            member(object, path)?.add(value)
        }
        _ => None,
    }
}

/// A member of an object or a list, present or not.
struct PatchMember<'a> {
    parent: &'a mut Value,
    key: String,
}

/// The member that a path names, if its parent exists. Upstream: `findObject`, which ignores what
/// precedes the first slash.
fn member<'a>(object: &'a mut Value, path: &str) -> Option<PatchMember<'a>> {
    let mut keys: Vec<String> = path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let key = keys.pop()?;
    let mut parent = object;
    for key in keys {
        parent = match parent {
            Value::Array(items) => {
                let at = index(&key, items.len())?;
                items.get_mut(at)?
            }
            parent => parent.as_object_mut()?.get_mut(&key)?,
        };
    }
    matches!(parent, Value::Array(_) | Value::Object(_)).then_some(PatchMember { parent, key })
}

/// The index that a key names in a list of this length, or just behind it. Upstream:
/// `partialArray.get`, which parses it by `strconv.Atoi`.
fn index(key: &str, length: usize) -> Option<usize> {
    let index = key.parse::<i64>().ok()?;
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    }
}

impl PatchMember<'_> {
    /// The value, which is null if an object does not have it; `None` for an item that a list does
    /// not have.
    fn get(&self) -> Option<Value> {
        match &*self.parent {
            Value::Array(items) => items.get(index(&self.key, items.len())?).cloned(),
            parent => Some(parent.get(&self.key).cloned().unwrap_or_default()),
        }
    }

    fn set(self, value: Value) -> Option<()> {
        match self.parent {
            Value::Array(items) => {
                let at = index(&self.key, items.len())?;
                *items.get_mut(at)? = value;
            }
            parent => drop(parent.as_object_mut()?.insert(self.key, value)),
        }
        Some(())
    }

    fn add(self, value: Value) -> Option<()> {
        match self.parent {
            Value::Array(items) if self.key == "-" => items.push(value),
            Value::Array(items) => {
                // A negative index counts from the end of the longer list.
                let at = index(&self.key, items.len() + 1).filter(|at| *at <= items.len())?;
                items.insert(at, value);
            }
            parent => drop(parent.as_object_mut()?.insert(self.key, value)),
        }
        Some(())
    }

    fn remove(self) -> Option<()> {
        match self.parent {
            Value::Array(items) => {
                let at = index(&self.key, items.len()).filter(|at| *at < items.len())?;
                items.remove(at);
            }
            parent => drop(parent.as_object_mut()?.remove(&self.key)?),
        }
        Some(())
    }
}
