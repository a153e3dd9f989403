//! Derives the decision in one version of an object: the difference to the version before, without
//! the status.
//!
//! Of a new ReplicaSet, a timeline prints only deviations from the ordinary shape, so that lines
//! stay short and nothing is lost. An ordinary ReplicaSet is controlled by its Deployment with
//! blockOwnerDeletion, and has no other owner and no finalizer; is named `<deployment>-<hash>`,
//! with the Deployment's name cut if that is too long; has the Deployment's template, with the hash
//! added to its labels; has the same labels itself; and has the Deployment's selector with the
//! hash.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{ChangeType, ObjectVersion, SubjectRequest, WriterRole};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value};

use super::model::{Decision, DecisionAction, KeyValue};
use super::names::NormalizedNames;
use super::object::{self, HASH_LABEL, OWN_PREFIX, REVISION};
use super::order::OrderedDecision;
use super::recorded_objects::{
    CRON_JOB, DAEMON_SET, DEPLOYMENT, JOB, REPLICA_SET, ROLLOUT, RecordedObjects, STATEFUL_SET,
};

/// The controller's own annotations without their prefix, and their names in timelines, in print
/// order.
pub(super) const SHORT_NAMES: [(&str, &str); 4] = [
    ("revision", "revision"),
    ("desired-replicas", "desired"),
    ("max-replicas", "max"),
    ("revision-history", "history"),
];

/// The decision in a version, and what orders it.
pub(super) fn decision_in(
    before: Option<&Value>,
    version: &ObjectVersion,
    world: &RecordedObjects<'_>,
    names: &NormalizedNames,
) -> Option<OrderedDecision> {
    match version.kind.as_str() {
        REPLICA_SET => {
            let decision = replica_set(before, version, world, names)?;
            let (deployment, number) = names.rank(&version.object);
            let collected = is_garbage_collected(&decision, before, world).then_some(number);
            Some(OrderedDecision {
                deployment: deployment.map(str::to_owned),
                is_of_deployment: false,
                collected_number: collected,
                burst: None,
                decision,
            })
        }
        DEPLOYMENT => {
            let decision = deployment(before, version)?;
            Some(OrderedDecision {
                deployment: Some(version.name.clone()),
                is_of_deployment: true,
                collected_number: None,
                burst: None,
                decision,
            })
        }
        STATEFUL_SET | DAEMON_SET | CRON_JOB | ROLLOUT => {
            let decision = workload(before?, version)?;
            Some(OrderedDecision {
                deployment: Some(decision.object.clone()),
                is_of_deployment: true,
                collected_number: None,
                burst: None,
                decision,
            })
        }
        JOB => {
            let decision = job(before, version)?;
            Some(OrderedDecision {
                deployment: Some(decision.object.clone()),
                is_of_deployment: true,
                collected_number: None,
                burst: None,
                decision,
            })
        }
        _ => None,
    }
}

/// Whether the garbage collector made this decision: it deletes or orphans the ReplicaSet because
/// the Deployment is being deleted or gone.
pub(super) fn is_garbage_collected(decision: &Decision, before: Option<&Value>, world: &RecordedObjects<'_>) -> bool {
    let gone = before
        .is_some_and(|set| object::controller(set).is_some() && world.deployment_of(set).is_none_or(object::deleting));
    gone && matches!(decision.action, DecisionAction::Deleted | DecisionAction::Released)
}

/// The decision in a version of a ReplicaSet; `world` includes the version already.
pub(super) fn replica_set(
    before: Option<&Value>,
    version: &ObjectVersion,
    world: &RecordedObjects<'_>,
    names: &NormalizedNames,
) -> Option<Decision> {
    let after = &version.object;
    let decision = |action, details| Some(Decision { object: names.replica_set(after), action, details });
    match (version.change, before) {
        (ChangeType::Deleted, _) => decision(DecisionAction::Deleted, Vec::new()),
        (_, None) => {
            let mut details = controller_annotations(None, after);
            details.extend(min_ready_seconds(after));
            details.extend(user_annotations(None, after));
            details.extend(deviations(after, world));
            decision(DecisionAction::Created(object::replicas(after)), details)
        }
        (_, Some(before)) => {
            let annotations = controller_annotations(Some(before), after);
            let renewed = annotations.iter().any(|field| field.key == "revision");
            let users = user_annotations(Some(before), after);
            let rest: Vec<KeyValue> = [spec_changes(before, after, &["replicas"], ""), metadata_changes(before, after)]
                .into_iter()
                .flatten()
                .collect();
            let annotated = !annotations.is_empty() || users.is_some();
            let only_annotations = annotated && rest.is_empty() && !renewed;
            let owner = ownership(before, after, names);
            let mut details: Vec<KeyValue> = annotations.into_iter().chain(users).chain(rest).collect();
            let (from, to) = (object::replicas(before), object::replicas(after));
            let action = match owner {
                _ if from != to => {
                    details.extend(owner.map(|(_, field)| field));
                    DecisionAction::Resized { from, to }
                }
                Some((action @ (DecisionAction::Adopted | DecisionAction::Released), _)) => action,
                Some((action, field)) => {
                    details.push(field);
                    action
                }
                None if only_annotations => DecisionAction::Annotated,
                None if details.is_empty() => return None,
                None => DecisionAction::Changed,
            };
            decision(action, details)
        }
    }
}

/// The decision in a version of a Deployment: all changes but those of its status, of which only
/// collisionCount counts.
fn deployment(before: Option<&Value>, version: &ObjectVersion) -> Option<Decision> {
    let after = &version.object;
    let decision = |action, details| Some(Decision { object: version.name.clone(), action, details });
    match (version.change, before) {
        // The garbage collector finishes a deletion that was requested before.
        (ChangeType::Deleted, Some(before)) if object::deleting(before) => None,
        (ChangeType::Deleted, _) => decision(DecisionAction::Deleted, Vec::new()),
        (_, None) => decision(DecisionAction::Created(object::replicas(after)), Vec::new()),
        (_, Some(before)) => {
            let collisions =
                (collision_count(before) != collision_count(after)).then(|| collision_count(after)).flatten();
            let details: Vec<KeyValue> = controller_annotations(Some(before), after)
                .into_iter()
                .chain(collisions.map(|n| KeyValue::number("collisionCount", n)))
                .chain(user_annotations(Some(before), after))
                .chain(spec_changes(before, after, &[], "spec."))
                .chain(template_changes(before, after))
                .chain(metadata_changes(before, after))
                .collect();
            if details.is_empty() { None } else { decision(DecisionAction::Changed, details) }
        }
    }
}

/// The decision in a version of another workload: changes of its annotations and its spec.
fn workload(before: &Value, version: &ObjectVersion) -> Option<Decision> {
    let after = &version.object;
    let object = format!("{}/{}", version.kind.to_lowercase(), version.name);
    if version.change == ChangeType::Deleted {
        let began = !object::deleting(before);
        return began.then_some(Decision { object, action: DecisionAction::Deleted, details: Vec::new() });
    }
    let users = user_annotations(Some(before), after);
    let details: Vec<KeyValue> = users
        .into_iter()
        .chain(spec_changes(before, after, &[], "spec."))
        .chain(template_changes(before, after))
        .collect();
    (!details.is_empty()).then_some(Decision { object, action: DecisionAction::Changed, details })
}

/// The decision in a version of a Job. A restart does not change a Job: it creates one of a
/// CronJob, or deletes and recreates it. A Job that the case creates is not a decision. Of a
/// generated name only the prefix is the same in every run.
fn job(before: Option<&Value>, version: &ObjectVersion) -> Option<Decision> {
    let after = &version.object;
    let made_up = object::text(after, "/metadata/generateName").map(|prefix| format!("job/{prefix}*"));
    let object = made_up.unwrap_or_else(|| format!("job/{}", version.name));
    let Some(before) = before.filter(|_| version.change != ChangeType::Deleted) else {
        let is_subjects = version.by != WriterRole::Driver;
        return match version.change {
            ChangeType::Deleted if before.is_some_and(object::deleting) => None,
            ChangeType::Deleted => Some(Decision { object, action: DecisionAction::Deleted, details: Vec::new() }),
            _ => is_subjects.then(|| {
                let pods = object::count(after, "/spec/parallelism").max(1);
                let pods = i32::try_from(pods).unwrap_or(i32::MAX);
                Decision {
                    object,
                    action: DecisionAction::Created(pods),
                    details: template_changes(&Value::Null, after),
                }
            }),
        };
    };
    workload(before, version).map(|decision| Decision { object, ..decision })
}

/// A message to the webhook. JSON stays as it is, without the time.
pub(super) fn webhook_decision(text: &str) -> Decision {
    let text = text.trim();
    let field = match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(mut message) => {
            message.remove("time");
            KeyValue::json("message", &message.into())
        }
        Err(_) => KeyValue::new("message", text),
    };
    Decision { object: SubjectRequest::WEBHOOK.to_owned(), action: DecisionAction::Changed, details: vec![field] }
}

/// What a config-restart controller changes in a pod template: the names of annotations, because
/// their values are times, and variables with their values.
fn template_changes(before: &Value, after: &Value) -> Vec<KeyValue> {
    let annotations = |object| object::strings(object, "/spec/template/metadata/annotations");
    let (old, new) = (annotations(before), annotations(after));
    let keys: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let changed = |key: &&str| old.get(key) != new.get(key);
    let words = keys
        .into_iter()
        .filter(changed)
        .map(|key| if new.contains_key(key) { key.to_owned() } else { format!("-{key}") });
    let words: Vec<String> = words.collect();
    let (old, new) = (variables(before), variables(after));
    let set = new
        .iter()
        .filter(|(name, value)| old.get(*name) != Some(*value))
        .map(|(name, value)| format!("{name}={value}"));
    let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| format!("-{name}"));
    let env: Vec<String> = set.chain(gone).collect();
    let field = |key: &str, words: Vec<String>| (!words.is_empty()).then(|| KeyValue::json(key, &Value::from(words)));
    [field("template.annotations", words), field("template.env", env)].into_iter().flatten().collect()
}

/// The variables of a pod template that have a literal value: `CONTAINER:NAME`.
fn variables(object: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for list in ["/spec/template/spec/initContainers", "/spec/template/spec/containers"] {
        for container in object.at(list).and_then(Value::as_array).into_iter().flatten() {
            let name = object::text(container, "/name").unwrap_or_default();
            for variable in container.at("/env").and_then(Value::as_array).into_iter().flatten() {
                let text = |field| object::text(variable, field);
                if let (Some(key), Some(value)) = (text("/name"), text("/value")) {
                    all.insert(format!("{name}:{key}"), value.to_owned());
                }
            }
        }
    }
    all
}

/// `status.collisionCount`, if it is set.
pub(super) fn collision_count(deployment: &Value) -> Option<i64> {
    object::int(deployment, "/status/collisionCount")
}

/// The controller's own annotations under their short names, in a fixed order.
pub(super) fn controller_annotations(before: Option<&Value>, after: &Value) -> Vec<KeyValue> {
    let changes = annotation_changes(before, after);
    let short = |key: &str| {
        let key = key.strip_prefix(OWN_PREFIX)?;
        let known = SHORT_NAMES.iter().position(|(long, _)| *long == key);
        Some((known.unwrap_or(SHORT_NAMES.len()), known.map_or(key, |at| SHORT_NAMES[at].1).to_owned()))
    };
    let mut fields: Vec<_> = changes.iter().filter_map(|(key, value)| Some((short(key)?, value))).collect();
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    fields.into_iter().map(|((_, key), value)| KeyValue::new(&key, value.as_str().unwrap_or("-"))).collect()
}

/// The user's annotations, which a Deployment copies to its ReplicaSets:
/// `annotations={"team":"a"}`; null for one that was removed.
fn user_annotations(before: Option<&Value>, after: &Value) -> Option<KeyValue> {
    let mut changes = annotation_changes(before, after);
    changes.retain(|key, _| !key.starts_with(OWN_PREFIX));
    (!changes.is_empty()).then(|| KeyValue::json("annotations", &Value::Object(changes)))
}

/// Every annotation that differs, with its new value; null if it was removed.
fn annotation_changes(before: Option<&Value>, after: &Value) -> Map<String, Value> {
    let old = before.map(|before| object::strings(before, "/metadata/annotations")).unwrap_or_default();
    let new = object::strings(after, "/metadata/annotations");
    let keys: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let changed = keys.into_iter().filter(|key| old.get(key) != new.get(key));
    changed.map(|key| (key.to_owned(), new.get(key).map_or(Value::Null, |value| Value::from(*value)))).collect()
}

/// `minReadySeconds`, unless it is the default.
pub(super) fn min_ready_seconds(object: &Value) -> Option<KeyValue> {
    let seconds = object::count(object, "/spec/minReadySeconds");
    (seconds != 0).then(|| KeyValue::number("minReadySeconds", seconds))
}

/// The fields of the spec that differ: numbers and words by their value, others as `changed`.
fn spec_changes(before: &Value, after: &Value, except: &[&str], prefix: &str) -> Vec<KeyValue> {
    let empty = Map::new();
    let spec = |object| Value::get(object, "spec").and_then(Value::as_object).unwrap_or(&empty);
    let (old, new): (&Map<_, _>, &Map<_, _>) = (spec(before), spec(after));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = keys.into_iter().filter(|key| !except.contains(&key.as_str()) && old.get(*key) != new.get(*key));
    let field = |key: &String| {
        let key_name = format!("{prefix}{key}");
        match new.get(key) {
            None | Some(Value::Null) => KeyValue::new(&key_name, "-"),
            Some(Value::Object(_) | Value::Array(_)) => KeyValue::new(&key_name, "changed"),
            Some(Value::String(text)) => KeyValue::new(&key_name, text),
            Some(scalar) => KeyValue::new(&key_name, &scalar.to_string()),
        }
    };
    changed.map(field).collect()
}

/// Labels, owners that are not the controller, and finalizers that differ. Finalizers of an object
/// that is being deleted belong to the garbage collector.
fn metadata_changes(before: &Value, after: &Value) -> Vec<KeyValue> {
    let finalizers = |object: &Value| object.at("/metadata/finalizers").cloned();
    let finalizers = (!object::deleting(after) && finalizers(before) != finalizers(after))
        .then(|| KeyValue::new("finalizers", "changed"));
    let owners = (other_owners(before) != other_owners(after)).then(|| KeyValue::new("otherOwners", "changed"));
    label_changes(before, after).into_iter().chain(owners).chain(finalizers).collect()
}

/// The owner references that do not say that the owner is the controller.
fn other_owners(object: &Value) -> Vec<&Value> {
    let references = object.at("/metadata/ownerReferences").and_then(Value::as_array);
    references.into_iter().flatten().filter(|owner| owner["controller"] != true).collect()
}

/// All labels, if any differs.
fn label_changes(before: &Value, after: &Value) -> Option<KeyValue> {
    let labels = |object| object::strings(object, "/metadata/labels");
    (labels(before) != labels(after)).then(|| KeyValue::json("labels", &without_hash(&labels(after))))
}

/// The change of the controller reference, and its field beside another action.
fn ownership(before: &Value, after: &Value, names: &NormalizedNames) -> Option<(DecisionAction, KeyValue)> {
    match (object::controller_uid(before), object::controller_uid(after)) {
        (None, None) => None,
        (Some(old), Some(new)) if old == new => None,
        (_, None) => Some((DecisionAction::Released, KeyValue::new("owner", "none"))),
        (old, Some(new)) => {
            let owner = KeyValue::new("owner", names.deployment(new).unwrap_or("other"));
            Some((if old.is_none() { DecisionAction::Adopted } else { DecisionAction::Changed }, owner))
        }
    }
}

/// The revision annotation as a field; `None` if it is missing.
pub(super) fn revision(object: &Value) -> Option<KeyValue> {
    object::annotation(object, REVISION).map(|revision| KeyValue::new("revision", revision))
}

/// Replaces a hash.
const HASH: &str = "<hash>";
/// The longest name that the server accepts, in characters; names of Deployments are ASCII.
const LONGEST_NAME: usize = 253;

/// Every deviation of a new ReplicaSet from the ordinary shape.
fn deviations(set: &Value, world: &RecordedObjects<'_>) -> Vec<KeyValue> {
    let Some(deployment) = world.deployment_of(set) else {
        let owner = if object::controller(set).is_some() { "other" } else { "none" };
        return vec![KeyValue::new("owner", owner)];
    };
    let hash = object::strings(set, "/metadata/labels").get(HASH_LABEL).copied().unwrap_or_default();
    [
        blocking_deviation(set),
        (!other_owners(set).is_empty()).then(|| KeyValue::new("otherOwners", "some")),
        set.at("/metadata/finalizers").is_some().then(|| KeyValue::new("finalizers", "some")),
        name_deviation(set, deployment, hash),
        label_deviation(set, deployment, hash, "/metadata/labels", "labels"),
        label_deviation(set, deployment, hash, "/spec/template/metadata/labels", "templateLabels"),
        selector_deviation(set, deployment, hash),
        (object::bare_template(set) != object::bare_template(deployment)).then(|| KeyValue::new("template", "differs")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Labels as JSON, with the hash replaced.
fn without_hash(labels: &BTreeMap<&str, &str>) -> Value {
    let value = |key: &str, value: &str| Value::from(if key == HASH_LABEL { HASH } else { value });
    Value::Object(labels.iter().map(|(key, text)| ((*key).to_owned(), value(key, text))).collect::<Map<_, _>>())
}

fn blocking_deviation(set: &Value) -> Option<KeyValue> {
    let blocks = object::controller(set)?.get("blockOwnerDeletion") == Some(&Value::Bool(true));
    (!blocks).then(|| KeyValue::new("blockOwnerDeletion", "false"))
}

/// A name is at most as long as the server allows, and the hash is never cut
/// (rolling/deployment-name-leaves-no-room).
fn name_deviation(set: &Value, deployment: &Value, hash: &str) -> Option<KeyValue> {
    let room = LONGEST_NAME.saturating_sub(hash.len() + 1);
    let ordinary = format!("{:.room$}-{hash}", object::name(deployment));
    (object::name(set) != ordinary).then(|| KeyValue::new("name", "unusual"))
}

/// The labels must be those of the Deployment's template with the hash.
fn label_deviation(set: &Value, deployment: &Value, hash: &str, pointer: &str, key: &str) -> Option<KeyValue> {
    let mut ordinary = object::strings(deployment, "/spec/template/metadata/labels");
    ordinary.insert(HASH_LABEL, hash);
    let labels = object::strings(set, pointer);
    (labels != ordinary).then(|| KeyValue::json(key, &without_hash(&labels)))
}

/// The selector must be the Deployment's with the hash.
fn selector_deviation(set: &Value, deployment: &Value, hash: &str) -> Option<KeyValue> {
    let expressions = |object: &Value| object.at("/spec/selector/matchExpressions").cloned();
    let mut ordinary = object::strings(deployment, "/spec/selector/matchLabels");
    ordinary.insert(HASH_LABEL, hash);
    let labels = object::strings(set, "/spec/selector/matchLabels");
    let same = labels == ordinary && expressions(set) == expressions(deployment);
    (!same).then(|| KeyValue::json("selector", &without_hash(&labels)))
}
