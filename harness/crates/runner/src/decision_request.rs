//! Whether a request of the subject makes the decision that a step waits for (`during:
//! {decision}`). Pure.

use lockstep_case::model::{DecisionKind, DecisionMatcher};
use lockstep_intercept::Verb;
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{self, REVISION, replicas};
use serde_json::Value;

/// A request about a Deployment or a ReplicaSet.
#[derive(Debug)]
pub(super) struct DecisionRequest<'a> {
    verb: Verb,
    name: &'a str,
    /// What it writes: the object, or those of its fields that it sets. Null for a deletion.
    content: Value,
    /// The object on the server, if it exists.
    now: Option<Value>,
}

impl<'a> DecisionRequest<'a> {
    /// A request with this body; `None` if the server will refuse it: with a conflict, after which
    /// the subject retries it, or as a JSON patch that does not apply.
    pub(super) fn of(verb: Verb, name: &'a str, body: Value, now: Option<Value>) -> Option<Self> {
        let content = if body.is_array() { patched(body, now.as_ref()?)? } else { body };
        let version =
            |object: &Value| object.at("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        let is_stale = match (now.as_ref().and_then(version), version(&content)) {
            (Some(latest), Some(known)) => latest != known,
            _ => false,
        };
        (!is_stale).then_some(Self { verb, name, content, now })
    }

    /// Whether it makes a decision. `sets`: the names of the Deployment's ReplicaSets, in the order
    /// of their appearance.
    pub(super) fn makes(&self, decided: &DecisionMatcher, sets: &[String]) -> bool {
        let is_decided =
            decided.set.is_some_and(|wanted| (1..).zip(sets).any(|(number, set)| number == wanted && set == self.name));
        match decided.kind {
            DecisionKind::Created(count) => {
                owner(&self.content).is_some_and(|owner| owner == decided.deployment)
                    && self.creates()
                    && u32::try_from(sets.len()).is_ok_and(|there| Some(there + 1) == decided.set)
                    && count.is_none_or(|count| count == replicas(&self.content))
            }
            DecisionKind::Deleted => self.verb == Verb::Delete && is_decided,
            DecisionKind::Resized { from, to } => {
                matches!(self.verb, Verb::Update | Verb::Patch)
                    && is_decided
                    && self.content.at("/spec/replicas").is_some()
                    && replicas(&self.content) == to
                    && self.now.as_ref().is_some_and(|now| replicas(now) == from)
            }
            DecisionKind::Revision(revision) => {
                let text = revision.to_string();
                let of = |object: &Value| object::annotation(object, REVISION) == Some(text.as_str());
                self.name == decided.deployment && of(&self.content) && !self.now.as_ref().is_some_and(of)
            }
        }
    }

    /// Server-side apply creates what does not exist.
    fn creates(&self) -> bool {
        self.verb == Verb::Create || self.verb == Verb::Patch && self.now.is_none()
    }
}

/// The object after a JSON patch; `None` if that does not apply to it.
fn patched(patch: Value, now: &Value) -> Option<Value> {
    let patch: json_patch::Patch = serde_json::from_value(patch).ok()?;
    let mut object = now.clone();
    json_patch::patch(&mut object, &patch).ok()?;
    Some(object)
}

/// The name of the Deployment that controls an object.
pub(super) fn owner(object: &Value) -> Option<&str> {
    let owner = object::controller(object)?;
    owner["name"].as_str().filter(|_| owner["kind"] == "Deployment")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn set(replicas: i32) -> Value {
        let owner = json!([{"kind": "Deployment", "name": "web", "uid": "d", "controller": true}]);
        json!({"metadata": {"name": "web-b", "resourceVersion": "7", "ownerReferences": owner}, "spec": {"replicas": replicas}})
    }

    fn decided(set: Option<u32>, kind: DecisionKind) -> DecisionMatcher {
        DecisionMatcher { text: String::new(), deployment: "web".to_owned(), set, kind }
    }

    fn makes(verb: Verb, body: Value, now: Option<Value>, decided: &DecisionMatcher) -> bool {
        let sets = ["web-a".to_owned(), "web-b".to_owned()];
        DecisionRequest::of(verb, "web-b", body, now).is_some_and(|request| request.makes(decided, &sets))
    }

    #[rstest]
    #[case::put(Verb::Update, set(3), true)]
    #[case::merge_patch(Verb::Patch, json!({"spec": {"replicas": 3}}), true)]
    #[case::json_patch(Verb::Patch, json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]), true)]
    #[case::to_another_number(Verb::Patch, json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]), false)]
    #[case::json_patch_whose_test_fails(Verb::Patch, json!([{"op": "test", "path": "/metadata/resourceVersion", "value": "6"},
        {"op": "replace", "path": "/spec/replicas", "value": 3}]), false)]
    #[case::of_another_field(Verb::Patch, json!({"metadata": {"labels": {"a": "b"}}}), false)]
    #[case::of_an_old_version(Verb::Patch, json!({"metadata": {"resourceVersion": "6"}, "spec": {"replicas": 3}}), false)]
    fn write_resizes_a_replica_set(#[case] verb: Verb, #[case] body: Value, #[case] expected: bool) {
        let resized = decided(Some(2), DecisionKind::Resized { from: 1, to: 3 });
        assert_eq!(makes(verb, body.clone(), Some(set(1)), &resized), expected);
        assert!(!makes(verb, body.clone(), Some(set(2)), &resized), "it has another size now");
        assert!(!makes(verb, body, Some(set(1)), &decided(Some(1), resized.kind)), "it is another one");
    }

    #[rstest]
    #[case::post(Verb::Create, None, true)]
    #[case::server_side_apply(Verb::Patch, None, true)]
    #[case::apply_of_one_that_is_there(Verb::Patch, Some(set(3)), false)]
    fn write_creates_a_replica_set(#[case] verb: Verb, #[case] now: Option<Value>, #[case] expected: bool) {
        let third = |count| decided(Some(3), DecisionKind::Created(count));
        assert_eq!(makes(verb, set(3), now.clone(), &third(Some(3))), expected);
        assert_eq!(makes(verb, set(3), now.clone(), &third(None)), expected);
        assert!(!makes(verb, set(3), now, &third(Some(0))));
    }

    #[rstest]
    #[case::merge_patch(json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}}))]
    #[case::json_patch(json!([{"op": "add", "path": "/metadata/annotations/deployment.kubernetes.io~1revision", "value": "2"}]))]
    fn write_sets_a_revision(#[case] body: Value) {
        let deployment =
            |revision: &str| json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": revision}}});
        let sets = |now: &str, name: &str| {
            let request = DecisionRequest::of(Verb::Patch, name, body.clone(), Some(deployment(now))).unwrap();
            request.makes(&decided(None, DecisionKind::Revision(2)), &[])
        };
        assert!(sets("1", "web") && !sets("2", "web") && !sets("1", "api"));
    }
}
