//! What a case writes into Secrets, taken out of all that is kept of a run: of the case's text, which a recording holds, and of whatever
//! repeats a value (an annotation that a subject copied it into, a message of the server's).
//!
//! A value becomes a stand-in, the same one wherever the same value stands in the case: `redacted0001`. Whether a step changes
//! a value is then still to be seen, and nothing can be tried against a stand-in, as it depends on no value, only on the order. It is text
//! and base64 alike, so a redacted case can be played.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::recording::{Entry, Recording};
use crate::tree::{Kind, Node};

/// What `kubectl apply` keeps of an object, in a text of its own.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The fields of a Secret that hold values.
const FIELDS: [&str; 2] = ["data", "stringData"];
/// Shorter values are everywhere, so they are replaced where the case writes them and nowhere else.
const SHORTEST: usize = 6;
/// What stands for the text of a case out of which its values cannot be taken.
const LEFT_OUT: &str =
    "# The case's text is left out: it writes Secrets, and their values could not be taken out of it.\n";

/// A case's text without the values of Secrets.
pub(crate) fn redacted(text: &str) -> String {
    if !text.to_ascii_lowercase().contains("secret") {
        return text.to_owned();
    }
    // A text that is no case holds whatever it holds, and no object was made of it.
    let Ok(root) = Node::parse(text) else { return text.to_owned() };
    let found = Found::of(&root);
    if found.0.is_empty() {
        return text.to_owned();
    }
    let stand_ins = found.stand_ins();
    let mut out = text.to_owned();
    let mut places: BTreeMap<usize, (usize, &str)> = BTreeMap::new();
    for (node, value) in &found.0 {
        let written = text.get(node.span.clone()).unwrap_or_default();
        places.insert(node.span.start, (node.span.start + written.trim_end().len(), &stand_ins[value]));
    }
    for (start, (end, stand_in)) in places.into_iter().rev() {
        if out.is_char_boundary(start) && out.is_char_boundary(end) && start < end {
            out.replace_range(start..end, stand_in);
        }
    }
    // A value may stand elsewhere too: in a comment, behind an alias, in a rule.
    let out = forms_of(stand_ins).iter().fold(out, |out, (value, stand_in)| out.replace(value, stand_in));
    let left = Node::parse(&out).map(|root| Found::of(&root).0.iter().all(|(_, value)| is_stand_in(value)));
    if left.unwrap_or(false) { out } else { LEFT_OUT.to_owned() }
}

/// Whether values of Secrets were taken out of this text of a case.
pub(crate) fn is_redacted(text: &str) -> bool {
    let has_stand_in = |root: Node| Found::of(&root).0.iter().any(|(_, value)| is_stand_in(value));
    text == LEFT_OUT || Node::parse(text).is_ok_and(has_stand_in)
}

/// A recording without the values that its case writes into Secrets.
pub(crate) fn redact(recording: &mut Recording) {
    let text = std::mem::take(&mut recording.header.source);
    recording.header.source = redacted(&text);
    if recording.header.source == text {
        return;
    }
    let Ok(root) = Node::parse(&text) else { return };
    let found = Found::of(&root);
    let values = forms_of(found.stand_ins());
    let tidy = |text: &mut String| {
        for (value, stand_in) in &values {
            if text.contains(value) {
                *text = text.replace(value, stand_in);
            }
        }
    };
    for entry in &mut recording.entries {
        match entry {
            Entry::Object(version) => each_text(version.object.change(), &tidy),
            Entry::Step(mark) => tidy(&mut mark.label),
            Entry::Met(meeting) => tidy(&mut meeting.what),
            Entry::Trouble(trouble) => tidy(&mut trouble.why),
            Entry::Settled(settling) => settling.unsettled.iter_mut().for_each(|trouble| tidy(&mut trouble.why)),
            Entry::Impossible(impossible) => tidy(&mut impossible.why),
            Entry::Header(_) | Entry::Named(_) | Entry::Request(_) | Entry::End(_) => {}
        }
    }
}

/// A patch of a Secret, fit for a label: its fields without their values.
pub(crate) fn masked(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), if key == "value" { mask(value) } else { in_fields(key, value) }))
            .collect(),
        Value::Array(list) => list.iter().map(masked).collect(),
        other => other.clone(),
    }
}

fn in_fields(key: &str, value: &Value) -> Value {
    if FIELDS.contains(&key) || key == LAST_APPLIED { mask(value) } else { masked(value) }
}

fn mask(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), mask(value))).collect(),
        Value::Array(list) => list.iter().map(mask).collect(),
        _ => "…".into(),
    }
}

/// All forms of all values that are long enough to be looked for anywhere, the longest first: one value may be part of another.
fn forms_of(stand_ins: BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut values: Vec<(String, String)> = stand_ins.into_iter().flat_map(forms).collect();
    values.retain(|(value, _)| value.len() >= SHORTEST && !is_stand_in(value));
    values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    values
}

/// A value as it is written, and what it is in base64 or stands for in it.
fn forms((value, stand_in): (String, String)) -> Vec<(String, String)> {
    let bytes = k8s_openapi::ByteString(value.clone().into_bytes());
    let encoded = serde_json::to_value(bytes).ok().and_then(|text| text.as_str().map(str::to_owned));
    let decoded: Option<k8s_openapi::ByteString> = serde_json::from_value(value.as_str().into()).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes.0).ok());
    [Some(value), encoded, decoded].into_iter().flatten().map(|form| (form, stand_in.clone())).collect()
}

fn each_text(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| each_text(value, change)),
        Value::Object(map) => map.values_mut().for_each(|value| each_text(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_stand_in(value: &str) -> bool {
    value
        .strip_prefix("redacted")
        .is_some_and(|number| number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The nodes that hold values of Secrets, in the order of the text, each with its value.
struct Found<'n>(Vec<(&'n Node, String)>);

impl<'n> Found<'n> {
    fn of(root: &'n Node) -> Self {
        let mut found = Self(Vec::new());
        found.look(root, false);
        found.0.sort_by_key(|(node, _)| node.span.start);
        found
    }

    /// What stands for each value: by the order in which they come, so that nothing of a value is in it.
    fn stand_ins(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeSet::new();
        let new = self.0.iter().filter(|(_, value)| seen.insert(value.clone()));
        new.zip(1..).map(|((_, value), number)| (value.clone(), format!("redacted{number:04}"))).collect()
    }

    /// `in_secret`: in the metadata of one, which may repeat its values.
    fn look(&mut self, node: &'n Node, in_secret: bool) {
        match &node.kind {
            Kind::List(list) => list.iter().for_each(|node| self.look(node, in_secret)),
            Kind::Map(map) => {
                let text = |key: &str| node.get(key).and_then(Node::as_text).unwrap_or_default();
                let of_secret = text("target").starts_with("secret/");
                let is_secret = text("kind") == "Secret";
                let inside = in_secret || is_secret;
                for (key, value) in map {
                    match key.as_key().as_str() {
                        LAST_APPLIED if inside => self.leaves(value),
                        field if is_secret && FIELDS.contains(&field) => self.leaves(value),
                        "patch" if of_secret => self.patch(value),
                        _ => self.look(value, inside),
                    }
                }
            }
            _ => {}
        }
    }

    /// A merge patch has the fields of the object, a JSON patch has a list of operations with values.
    fn patch(&mut self, node: &'n Node) {
        match &node.kind {
            Kind::List(list) => {
                list.iter().filter_map(|operation| operation.get("value")).for_each(|it| self.leaves(it));
            }
            Kind::Map(map) => {
                for (key, value) in map {
                    if FIELDS.contains(&key.as_key().as_str()) { self.leaves(value) } else { self.look(value, true) }
                }
            }
            _ => {}
        }
    }

    fn leaves(&mut self, node: &'n Node) {
        match &node.kind {
            Kind::Null => {}
            Kind::List(list) => list.iter().for_each(|node| self.leaves(node)),
            Kind::Map(map) => map.iter().for_each(|(_, value)| self.leaves(value)),
            Kind::Text(text) => self.0.push((node, text.clone())),
            Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => self.0.push((node, node.to_json().to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::timeline::fixture::{Film, deployment, of_case, with};

    #[rstest]
    #[case::data(
        "- apply: {kind: Secret, data: {k: aHVudGVyMg==}}",
        "- apply: {kind: Secret, data: {k: redacted0001}}"
    )]
    #[case::string_data(
        "- apply:\n    kind: Secret\n    stringData:\n      k: \"hunter2\"\n      l: 'x y'\n",
        "- apply:\n    kind: Secret\n    stringData:\n      k: redacted0001\n      l: redacted0002\n"
    )]
    #[case::the_same_twice(
        "- {kind: Secret, data: {a: MQ==}}\n- patch: {target: secret/c, patch: {data: {a: MQ==, b: Mg==}}}",
        "- {kind: Secret, data: {a: redacted0001}}\n- patch: {target: secret/c, patch: {data: {a: redacted0001, b: redacted0002}}}"
    )]
    #[case::json_patch(
        "- patch: {target: secret/c, type: json, patch: [{op: add, path: /data/k, value: MQ==}]}",
        "- patch: {target: secret/c, type: json, patch: [{op: add, path: /data/k, value: redacted0001}]}"
    )]
    #[case::last_applied(
        "- {kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"x\": 1}'}}}",
        "- {kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: redacted0001}}}"
    )]
    #[case::a_number(
        "- {kind: Secret, stringData: {pin: 123456}}",
        "- {kind: Secret, stringData: {pin: redacted0001}}"
    )]
    #[case::others("- {kind: ConfigMap, data: {k: v}} # no secret", "- {kind: ConfigMap, data: {k: v}} # no secret")]
    #[case::applied_by_others(
        "- {metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}} # no secret",
        "- {metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}} # no secret"
    )]
    fn values_are_taken_out_of_a_case(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(redacted(text), expected);
        assert_eq!(redacted(expected), expected, "what is redacted stays as it is");
    }

    #[rstest]
    #[case::a_block("- kind: Secret\n  stringData:\n    k: |\n      hunter2\n      and more\n    l: plain\n")]
    #[case::an_anchor("- kind: Secret\n  stringData: {k: &it hunter2, l: *it}\n")]
    #[case::an_alias("- {kind: ConfigMap, data: &it {k: hunter2}}\n- {kind: Secret, data: *it}\n")]
    #[case::folded("- kind: Secret\n  stringData: {k: \"hun\\\n    ter2\"}\n")]
    fn however_it_is_written_no_value_stays(#[case] text: &str) {
        let out = redacted(text);
        assert!(!out.contains("hunter2") && !out.contains("ter2") && !out.contains("and more"), "{out}");
    }

    #[test]
    fn no_value_is_left_in_a_recording() {
        let fields =
            "given:\n  - apply: {apiVersion: v1, kind: Secret, metadata: {name: c}, stringData: {k: hunter2}}\n";
        let copied = json!({"metadata": {"annotations": {"copied": "it is hunter2", "encoded": "aHVudGVyMg=="}}});
        let film =
            Film::rolled_out(1).user(1, "set env K=hunter2").other(&with(&deployment("web", 1, "app:1"), &copied));
        let film = film.met("hunter2").trouble(crate::recording::Blame::Subject, "hunter2 is no port");
        let mut recording = of_case(fields, film.aborted());
        recording.header.source = format!("description: x\n{fields}steps: []\n");
        redact(&mut recording);
        let mut written = Vec::new();
        recording.write(&mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(!written.contains("hunter2") && !written.contains("aHVudGVyMg"), "{written}");
        assert!(written.contains("it is redacted0001"), "{written}");
    }

    #[test]
    fn a_label_names_the_fields_of_a_secret_and_no_value() {
        let merge = json!({"data": {"k": "Mg==", "gone": null}, "metadata": {"labels": {"a": "b"}}});
        assert_eq!(masked(&merge), json!({"data": {"k": "…", "gone": null}, "metadata": {"labels": {"a": "b"}}}));
        let list = json!([{"op": "add", "path": "/data/k", "value": "Mg=="}]);
        assert_eq!(masked(&list), json!([{"op": "add", "path": "/data/k", "value": "…"}]));
    }
}
