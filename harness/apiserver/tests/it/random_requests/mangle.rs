//! Random changes of a value or of its text.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// A change of a value at a random position.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Another value replaces it.
    Replace(Index, Index),
    Remove(Index),
    /// A copy of another part replaces it.
    Copy(Index, Index),
    /// A member of this name is added, with this value.
    Insert(Index, Index, Index),
    /// The first item of a list is repeated this many times, or a member is repeated under another
    /// name.
    Repeat(Index, usize),
    /// It is nested in this many lists or objects.
    Nest(Index, usize, bool),
}

/// A change of a text.
#[derive(Debug, Clone)]
pub(crate) enum Cut {
    Truncate(Index),
    Flip(Index, u8),
    Insert(Index, &'static [u8]),
    /// The text is repeated.
    Twice,
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        6 => (index(), index()).prop_map(|(at, value)| Change::Replace(at, value)),
        3 => index().prop_map(Change::Remove),
        2 => (index(), index()).prop_map(|(at, from)| Change::Copy(at, from)),
        3 => (index(), index(), index()).prop_map(|(at, name, value)| Change::Insert(at, name, value)),
        1 => (index(), 1..40_usize).prop_map(|(at, times)| Change::Repeat(at, times)),
        1 => (index(), 1..130_usize, any::<bool>()).prop_map(|(at, depth, lists)| Change::Nest(at, depth, lists)),
    ]
}

pub(crate) fn cut() -> impl Strategy<Value = Cut> {
    const INSERTS: [&[u8]; 12] = [
        b"\"metadata\":1,",
        b"\"spec\":[],",
        b"\"kind\":\"Pod\",",
        b"\"a\":\"b\",",
        b"\xff",
        b"\0",
        b"\\ud800",
        b"[[[[",
        b"}",
        b",",
        b"1e999",
        b"\n---\n",
    ];
    prop_oneof![
        any::<Index>().prop_map(Cut::Truncate),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Cut::Flip(at, byte)),
        (any::<Index>(), prop::sample::select(&INSERTS[..])).prop_map(|(at, bytes)| Cut::Insert(at, bytes)),
        Just(Cut::Twice),
    ]
}

/// Values with a wrong type or at a limit.
fn odd_values() -> Vec<Value> {
    let texts = [
        "",
        "a",
        "0",
        "-1",
        "1e9",
        "1e-30",
        "9223372036854775808",
        "25%",
        "-5%",
        "99999999999%",
        "1Ki",
        "1000000000000Ei",
        "true",
        "null",
        "A_B",
        "a/b/c",
        "é\u{1F600}",
        "\u{0}",
        "2026-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "-0001-01-01T00:00:00Z",
        "10.96.0.1",
        "::1",
        "10.0.0.0/8",
        "All",
        "default",
        "RollingUpdate",
        "Recreate",
        "OnDelete",
        "Foreground",
        "Orphan",
        "In",
        "Exists",
        "v1",
        "apps/v1",
        "Pod",
        "{}",
        "[1]",
        "(",
        "^(a|b){1000}$",
        ".spec.replicas",
        ".spec['a']",
        "Etc/UTC",
        "* * * * *",
        "60 * * * *",
        "Utilization",
        "external",
        "kubernetes.io/x",
        "foregroundDeletion",
        "{\"f:a\":{}}",
        "AQI=",
        "!",
        "metadata.name",
    ];
    let numbers = [
        json!(0),
        json!(1),
        json!(-1),
        json!(65_536),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1.5),
        json!(-0.0),
        json!(1e300),
    ];
    let others = [
        json!(null),
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!([null]),
        json!([[]]),
        json!([1, "a", null]),
        json!([{}]),
        json!({"": ""}),
        json!({"a": null}),
        json!({"a": 1}),
        json!({"a": {"b": []}}),
        json!({"$patch": "delete"}),
        json!({"$patch": "replace"}),
        json!([{"$patch": "replace"}]),
        json!([{"$patch": "delete", "name": "a"}]),
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "x", "controller": true, "blockOwnerDeletion": true}]),
        json!({"$retainKeys": ["a"]}),
        json!({"$setElementOrder/a": [1]}),
        json!({"matchLabels": 1}),
        json!("x".repeat(300)),
        json!({"x".repeat(300): "y"}),
        json!([{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": 1, "k:{": {}, "v:1": {}, "f:spec": {"k:{\"a\":1}": {".": {}}}}}]),
    ];
    texts.iter().map(|text| json!(text)).chain(numbers).chain(others).collect()
}

/// Field names with a meaning in some type.
const NAMES: [&str; 44] = [
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "labels",
    "annotations",
    "managedFields",
    "finalizers",
    "ownerReferences",
    "generateName",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "kind",
    "apiVersion",
    "selector",
    "template",
    "replicas",
    "matchLabels",
    "matchExpressions",
    "$patch",
    "$retainKeys",
    "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder/containers",
    "containers",
    "initContainers",
    "conditions",
    "type",
    "value",
    "default",
    "additionalProperties",
    "items",
    "properties",
    "x-kubernetes-list-type",
    "allOf",
    "not",
    "pattern",
    "format",
    "rules",
    "",
];

/// The pointers of all parts of a value.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, pointers: &mut Vec<String>) {
        pointers.push(at.to_owned());
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    walk(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), pointers);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, &format!("{at}/{index}"), pointers);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// Changes a value at one position.
pub(crate) fn apply(value: &mut Value, change: &Change) {
    let pointers = pointers(value);
    let (Change::Replace(at, ..)
    | Change::Remove(at)
    | Change::Copy(at, ..)
    | Change::Insert(at, ..)
    | Change::Repeat(at, ..)
    | Change::Nest(at, ..)) = change;
    let place = at.get(&pointers).clone();
    let copy = match change {
        Change::Copy(_, from) => value.pointer(from.get(pointers.as_slice()).as_str()).cloned().unwrap_or_default(),
        _ => Value::Null,
    };
    if let Change::Remove(_) = change {
        let (parent, name) = place.rsplit_once('/').unwrap_or_default();
        match value.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.remove(&name.replace("~1", "/").replace("~0", "~"))),
            Some(Value::Array(items)) => {
                drop(name.parse().ok().filter(|at| *at < items.len()).map(|at: usize| items.remove(at)));
            }
            _ => {}
        }
        return;
    }
    let Some(part) = value.pointer_mut(&place) else { return };
    match change {
        Change::Replace(_, with) => *part = with.get(&odd_values()).clone(),
        Change::Copy(..) => *part = copy,
        Change::Insert(_, name, with) => {
            let with = with.get(&odd_values()).clone();
            match part {
                Value::Object(fields) => drop(fields.insert((*name.get(&NAMES)).to_owned(), with)),
                Value::Array(items) => items.push(with),
                other => *other = json!({*name.get(&NAMES): with}),
            }
        }
        Change::Repeat(_, times) => match part {
            Value::Array(items) => items
                .extend(std::iter::repeat_n(items.first().cloned().unwrap_or_default(), *times).collect::<Vec<_>>()),
            Value::Object(fields) => {
                let one = fields.values().next().cloned().unwrap_or_default();
                fields.extend((0..*times).map(|at| (format!("k{at}"), one.clone())));
            }
            other => *other = Value::Array(vec![other.clone(); *times]),
        },
        Change::Nest(_, depth, lists) => {
            for _ in 0..*depth {
                *part = if *lists { json!([part.take()]) } else { json!({"a": part.take()}) };
            }
        }
        Change::Remove(_) => {}
    }
}

/// Changes a text.
pub(crate) fn spoil(text: &mut Vec<u8>, cut: &Cut) {
    if text.is_empty() {
        return;
    }
    match cut {
        Cut::Truncate(at) => text.truncate(at.index(text.len())),
        Cut::Flip(at, byte) => {
            let at = at.index(text.len());
            text[at] = *byte;
        }
        Cut::Insert(at, bytes) => {
            let at = at.index(text.len());
            text.splice(at..at, bytes.iter().copied());
        }
        Cut::Twice => text.extend_from_within(..),
    }
}
