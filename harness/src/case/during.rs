//! What a step says about the middle of its step: `during`, which makes other steps there, and the
//! moment that is meant.
//!
//! `during: {decision: "rs1 5 -> 4", do: [{scale: 4}]}`: the subject asks for that, its request
//! waits, the world moves, the request goes on. `during: {held: replicasets, do: [{scale: 8}]}`:
//! the subject acts on what it knew before the step.

use serde_json::{Value, json};

use super::field::{Field, Type, names};
use super::model::{Count, Decided, DecidedWhat, During, Moment, Operation, Step};
use super::nearest::did_you_mean;
use super::read::{self, Fields};
use super::schema::{any_of, object, reference};
use super::step::Reader;
use super::tree::Node;

/// The kinds whose watch can be held or disturbed.
pub(super) const WATCHED: [&str; 7] =
    ["deployments", "replicasets", "pods", "statefulsets", "daemonsets", "configmaps", "secrets"];

const DECISION: Type = Type::Is(
    |_| json!({"type": "string", "pattern": "^\\s*\\S+\\s+(created(\\s+[0-9]+)?|deleted|-?[0-9]+\\s+->\\s+-?[0-9]+|revision=[0-9]+)\\s*$"}),
    "`rs1 5 -> 4`, `rs2 created 3`, `rs1 deleted` or `web revision=2`",
);
const STEPS: Type = Type::Is(|_| json!({"type": "array", "items": reference("innerStep")}), "a list of steps");
const SOME_STEPS: Type = Type::Is(|_| json!({"type": "array", "minItems": 1, "items": reference("innerStep")}), "");

/// The fields.
pub(super) static FIELDS: [Field; 3] = [
    Field::new("decision", DECISION, "What the subject asks for. Its request waits while the steps are made."),
    Field::new(
        "held",
        Type::Words(&WATCHED),
        "Instead: a kind (plural). What becomes of it during the step is kept from the subject, which acts on what it knew before.",
    ),
    Field::new("do", STEPS, "The steps; with `held` there may be none."),
];

/// As JSON schema.
pub(super) fn schema() -> Value {
    let [decision, held, steps] = FIELDS;
    any_of([
        object(&[Field { required: true, ..decision }, Field { required: true, takes: SOME_STEPS, ..steps }], false),
        object(&[Field { required: true, ..held }, steps], false),
    ])
}

impl Reader<'_> {
    /// `during: {decision: …, do: […]}`, `during: {held: …, do: […]}`. `step` is what the step
    /// itself does.
    pub(super) fn during(&mut self, key: &Node, node: &Node, operation: &Operation) -> Option<During> {
        let fields = Fields::of(node, "`during`", &names(&FIELDS), self.report)?;
        let moment = match (fields.get("decision"), fields.get("held")) {
            (Some(decision), None) => Moment::Decision(self.decided(decision)?),
            (None, Some(held)) => {
                if several(operation) {
                    self.report.add(
                        key,
                        "`held` on a step of several steps",
                        "choose one; the other can be a step of its own",
                    );
                    self.report.help("`ready: {pods: 1}` is one step, `ready: {pods: 4}` are four");
                    return None;
                }
                let words = WATCHED.map(|kind| (kind, kind));
                Moment::Held(read::word(held, "what is held", &words, self.report)?.to_owned())
            }
            (Some(_), Some(_)) => {
                self.report.add(key, "`during` with `decision` and `held`", "choose one");
                return None;
            }
            (None, None) => {
                if fields.lacks("decision") && fields.lacks("held") {
                    self.report.add(key, "`during` without `decision` or `held`", "during what?");
                }
                return None;
            }
        };
        let steps = match (fields.get("do"), &moment) {
            (Some(list), _) => self.inner_steps(list)?,
            (None, Moment::Held(_)) => Vec::new(),
            (None, Moment::Decision(_)) => {
                if fields.lacks("do") {
                    self.report.add(key, "`during` without `do`", "add `do: […]`, what happens then");
                }
                return None;
            }
        };
        if let (Moment::Decision(_), true) = (&moment, steps.is_empty()) {
            self.report.add(key, "`during` does nothing", "add `do: […]`, what happens then");
            return None;
        }
        Some(During { moment, steps })
    }

    fn inner_steps(&mut self, list: &Node) -> Option<Vec<Step>> {
        let items = read::items(list, "`do`", self.report)?;
        let steps: Vec<Step> = items.iter().filter_map(|step| self.step(step, false)).collect();
        (steps.len() == items.len()).then_some(steps)
    }

    /// `rs1 5 -> 4`, `rs2 created`, `rs2 created 3`, `rs1 deleted`, `web revision=2`; `web/rs1`
    /// where there are several Deployments.
    fn decided(&mut self, node: &Node) -> Option<Decided> {
        let text = read::text(node, "a decision", self.report)?.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let what = match words.as_slice() {
            [_, "created"] => Some(DecidedWhat::Created(None)),
            [_, "created", replicas] => replicas.parse().ok().map(|replicas| DecidedWhat::Created(Some(replicas))),
            [_, from, "->", to] => match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) => Some(DecidedWhat::Resized { from, to }),
                _ => None,
            },
            [_, "deleted"] => Some(DecidedWhat::Deleted),
            [_, change] => change.strip_prefix("revision=").and_then(|n| n.parse().ok()).map(DecidedWhat::Revision),
            _ => None,
        };
        let Some(what) = what else {
            let hint = "such as `rs1 5 -> 4`, `rs2 created 3`, `rs1 deleted` or `web revision=2`";
            self.report.add(node, format!("`{text}` is not a decision"), hint);
            return None;
        };
        if let DecidedWhat::Resized { from, to } = what
            && from == to
        {
            self.report.add(node, format!("`{text}` decides nothing"), "both numbers are the same");
            return None;
        }
        let object = words[0];
        let (deployment, set) = match (what, object.split_once('/')) {
            (DecidedWhat::Revision(_), _) => (Some(object), None),
            (_, Some((deployment, set))) => (Some(deployment), Some(set)),
            (_, None) => (None, Some(object)),
        };
        let set =
            match set.map(|set| (set, set.strip_prefix("rs").and_then(|n| n.parse::<u32>().ok()).filter(|n| *n > 0))) {
                Some((name, None)) => {
                    let hint = did_you_mean(name, ["rs1", "rs2"]).unwrap_or_else(|| "the first is `rs1`".to_owned());
                    self.report.add(node, format!("`{name}` is not a ReplicaSet"), hint);
                    return None;
                }
                Some((_, number)) => number,
                None => None,
            };
        let deployment = match deployment {
            Some(name) => self.scope.known(name, node, self.report).then(|| name.to_owned()),
            None => self.scope.meant(None, node, self.report),
        };
        Some(Decided { text: words.join(" "), deployment: deployment?, set, what })
    }
}

/// Whether a step is, or may be, more than one step.
fn several(operation: &Operation) -> bool {
    operation.moves().is_some_and(|(_, pods)| !pods.atomic && pods.count != Count::Exactly(1))
}
