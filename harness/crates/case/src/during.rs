//! Reads `during`: other steps that run in the middle of a step, and the point at which they run.
//!
//! `during: {decision: "rs1 5 -> 4", do: [{scale: 4}]}`: when the subject requests this change, the
//! request waits until the steps are done. `during: {held: replicasets, do: [{scale: 8}]}`: the
//! subject acts on what it knew before the step.

use serde_json::{Value, json};

use super::diagnostics::{DiagnosticCollector, did_you_mean};
use super::field::{FieldSpec, FieldType, any_of, object, reference};
use super::model::{CountSpec, DecisionKind, DecisionMatcher, InjectionPoint, Operation};
use super::names_in_scope::NamesInScope;
use super::read::{self, MappingFields};
use super::yaml::YamlNode;

/// The kinds whose watch can be held or disturbed.
pub(super) const WATCHED: [&str; 7] =
    ["deployments", "replicasets", "pods", "statefulsets", "daemonsets", "configmaps", "secrets"];

const DECISION: FieldType = FieldType::Is(
    |_| json!({"type": "string", "pattern": "^\\s*\\S+\\s+(created(\\s+[0-9]+)?|deleted|-?[0-9]+\\s+->\\s+-?[0-9]+|revision=[0-9]+)\\s*$"}),
    "`rs1 5 -> 4`, `rs2 created 3`, `rs1 deleted` or `web revision=2`",
);
const STEPS: FieldType =
    FieldType::Is(|_| json!({"type": "array", "items": reference("innerStep")}), "a list of steps");
const SOME_STEPS: FieldType =
    FieldType::Is(|_| json!({"type": "array", "minItems": 1, "items": reference("innerStep")}), "");

pub(super) static FIELDS: [FieldSpec; 3] = [
    FieldSpec::new("decision", DECISION, "What the subject asks for. Its request waits while the steps are made."),
    FieldSpec::new(
        "held",
        FieldType::Words(&WATCHED),
        "Instead: a kind (plural). What becomes of it during the step is kept from the subject, which acts on what it knew before.",
    ),
    FieldSpec::new("do", STEPS, "The steps; with `held` there may be none."),
];

/// As JSON schema.
pub(super) fn schema() -> Value {
    let [decision, held, steps] = FIELDS;
    any_of([
        object(
            &[FieldSpec { required: true, ..decision }, FieldSpec { required: true, field_type: SOME_STEPS, ..steps }],
            false,
        ),
        object(&[FieldSpec { required: true, ..held }, steps], false),
    ])
}

/// Reads when the steps of `during` run; `operation` is that of the step itself.
pub(super) fn read_point(
    key: &YamlNode,
    fields: &MappingFields<'_>,
    operation: &Operation,
    scope: &NamesInScope,
    report: &mut DiagnosticCollector,
) -> Option<InjectionPoint> {
    match (fields.get("decision"), fields.get("held")) {
        (Some(decision), None) => read_decision(decision, scope, report).map(InjectionPoint::Decision),
        (None, Some(held)) => {
            if may_have_sub_steps(operation) {
                report.add(key, "`held` on a step of several steps", "choose one; the other can be a step of its own");
                report.help("`ready: {pods: 1}` is one step, `ready: {pods: 4}` are four");
                return None;
            }
            let words = WATCHED.map(|kind| (kind, kind));
            read::word(held, "what is held", &words, report).map(|kind| InjectionPoint::HeldWatch(kind.to_owned()))
        }
        (Some(_), Some(_)) => {
            report.add(key, "`during` with `decision` and `held`", "choose one");
            None
        }
        (None, None) => {
            if fields.lacks("decision") && fields.lacks("held") {
                report.add(key, "`during` without `decision` or `held`", "during what?");
            }
            None
        }
    }
}

/// Reads `rs1 5 -> 4`, `rs2 created`, `rs2 created 3`, `rs1 deleted`, `web revision=2`;
/// `web/rs1` in a case with several Deployments.
fn read_decision(node: &YamlNode, scope: &NamesInScope, report: &mut DiagnosticCollector) -> Option<DecisionMatcher> {
    let text = read::text(node, "a decision", report)?.trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    let what = match words.as_slice() {
        [_, "created"] => Some(DecisionKind::Created(None)),
        [_, "created", replicas] => replicas.parse().ok().map(|replicas| DecisionKind::Created(Some(replicas))),
        [_, from, "->", to] => match (from.parse(), to.parse()) {
            (Ok(from), Ok(to)) => Some(DecisionKind::Resized { from, to }),
            _ => None,
        },
        [_, "deleted"] => Some(DecisionKind::Deleted),
        [_, change] => change.strip_prefix("revision=").and_then(|n| n.parse().ok()).map(DecisionKind::Revision),
        _ => None,
    };
    let Some(what) = what else {
        let hint = "such as `rs1 5 -> 4`, `rs2 created 3`, `rs1 deleted` or `web revision=2`";
        report.add(node, format!("`{text}` is not a decision"), hint);
        return None;
    };
    if let DecisionKind::Resized { from, to } = what
        && from == to
    {
        report.add(node, format!("`{text}` decides nothing"), "both numbers are the same");
        return None;
    }
    let object = words[0];
    let (deployment, set) = match (what, object.split_once('/')) {
        (DecisionKind::Revision(_), _) => (Some(object), None),
        (_, Some((deployment, set))) => (Some(deployment), Some(set)),
        (_, None) => (None, Some(object)),
    };
    let set = match set.map(|set| (set, set.strip_prefix("rs").and_then(|n| n.parse::<u32>().ok()).filter(|n| *n > 0)))
    {
        Some((name, None)) => {
            let hint = did_you_mean(name, ["rs1", "rs2"]).unwrap_or_else(|| "the first is `rs1`".to_owned());
            report.add(node, format!("`{name}` is not a ReplicaSet"), hint);
            return None;
        }
        Some((_, number)) => number,
        None => None,
    };
    let deployment = match deployment {
        Some(name) => scope.check_created(name, node, report).then(|| name.to_owned()),
        None => scope.resolve_deployment(None, node, report),
    };
    Some(DecisionMatcher { text: words.join(" "), deployment: deployment?, set, kind: what })
}

/// Whether a step has, or may have, several sub-steps.
fn may_have_sub_steps(operation: &Operation) -> bool {
    operation.pod_operation().is_some_and(|(_, pods)| !pods.atomic && pods.count != CountSpec::Exactly(1))
}
