//! Reads one step: a mapping with exactly one operation of the table, and its modifiers.
//!
//! An [`OperationSpec`] is an entry of that table; the reader gets the table as an argument, so it
//! knows no operation.

use std::collections::BTreeSet;

use lockstep_recording::PodExpectation;
use serde_json::{Value, json};

use super::diagnostics::DiagnosticCollector;
use super::field::{FieldSpec, FieldType, NAME, TEXT, any_of, names, object, reference};
use super::model::{CountSpec, Fault, InjectedSteps, InjectionPoint, Operation, Step};
use super::names_in_scope::NamesInScope;
use super::read::{self, MappingFields};
use super::yaml::{YamlKind, YamlNode};
use super::{during, fault};

/// The fields of a step beside its operation.
pub(super) static MODIFIERS: [FieldSpec; 5] = [
    FieldSpec::new("label", NAME, "A name for the moment of this step, for `advance: {to, since}` and for rules."),
    FieldSpec::new("refused", REFUSED, "The server must refuse the operation, and its message must contain this text."),
    FieldSpec::new("expect", EXPECT, "Which of the named pods live on."),
    FieldSpec::new("during", DURING, "Other steps in the middle of this one; not together with `fault`."),
    FieldSpec::new("fault", FAULT, "What goes wrong between the subject and the server."),
];

/// The fields of `refused`.
static REFUSED_FIELDS: [FieldSpec; 1] = [FieldSpec::required("message", TEXT, "A part of what the server says.")];

const REFUSED: FieldType = FieldType::Is(|_| object(&REFUSED_FIELDS, false), "`{message: a string}`");
const EXPECT: FieldType = FieldType::Is(|_| reference("expect"), "[a mapping](#expect)");
const DURING: FieldType = FieldType::Is(|_| reference("during"), "[a mapping](#during)");
const FAULT: FieldType = FieldType::Is(|_| reference("fault"), "[a mapping](#fault)");

/// The fields of `expect`, which takes one of the two.
pub(super) static EXPECT_FIELDS: [FieldSpec; 2] = [
    FieldSpec::new("alive", POD_NAMES, "These named pods live on, and no other."),
    FieldSpec::new("anyOf", POD_SETS, "Instead, where upstream leaves it to chance: one of these sets."),
];

const POD_NAMES: FieldType = FieldType::Is(|_| json!({"type": "array", "items": reference("name")}), "a list of names");
const POD_SETS: FieldType = FieldType::Is(
    |_| json!({"type": "array", "minItems": 1, "items": POD_NAMES.schema(false)}),
    "a list of lists of names",
);

/// The JSON schema of `expect`.
pub(super) fn expect_schema() -> Value {
    let [alive, any] = EXPECT_FIELDS;
    any_of([
        object(&[FieldSpec { required: true, ..alive }], false),
        object(&[FieldSpec { required: true, ..any }], false),
    ])
}

/// An entry of the table of operations: how an operation is written in a case.
#[derive(Debug)]
pub(crate) struct OperationSpec {
    /// The field of a step that names the operation.
    pub(crate) name: &'static str,
    /// A sentence for the reference page.
    pub(crate) description: &'static str,
    /// Who performs it.
    pub(crate) actor: Actor,
    /// What is accepted in place of a mapping; empty if nothing is.
    pub(crate) shorthand: &'static str,
    /// The fields of the mapping.
    pub(crate) fields: &'static [FieldSpec],
    /// The JSON schema of the value; the argument is whether the server must refuse the step.
    pub(crate) schema: fn(bool) -> Value,
    /// Reads the operation; returns `None` after a problem.
    pub(crate) read: fn(&mut StepReader<'_>, &OperationNode<'_>) -> Option<Operation>,
    /// The objects that the operation creates, which are declared before any step is read.
    pub(crate) declaration: NameDeclaration,
    /// Whether it is a single request, which the server can refuse.
    pub(crate) is_refusable: bool,
    /// Whether it is allowed inside another step.
    pub(crate) is_nestable: bool,
    /// Example steps, each a YAML list.
    pub(crate) examples: &'static [&'static str],
}

/// The names that an operation declares.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameDeclaration {
    /// It creates no object.
    Nothing,
    /// The object that it creates.
    Object(fn(&mut NamesInScope, &YamlNode)),
    /// The objects that the steps in it create.
    NestedSteps,
}

/// Who performs an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A user, by kubectl.
    User,
    Nodes,
    /// The harness: time, grouping, the subject's process.
    Harness,
}

/// The operation of a step, as YAML nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationNode<'n> {
    /// The key, which names the operation.
    pub(crate) key: &'n YamlNode,
    pub(crate) value: &'n YamlNode,
    /// Whether the server must refuse the operation.
    pub(crate) refused: bool,
}

/// The state while steps are read.
#[derive(Debug)]
pub(super) struct StepReader<'a> {
    /// The table of operations.
    pub(super) operations: &'a [&'static OperationSpec],
    pub(super) scope: &'a mut NamesInScope,
    pub(super) report: &'a mut DiagnosticCollector,
    /// Whether deletions wait for `terminate`.
    pub(super) terminations_are_held: bool,
    /// Whether pods wait for the case to bind them to a node.
    pub(super) bindings_are_held: bool,
    /// Where the subject was stopped, until it is started again.
    pub(super) stopped_at: Option<std::ops::Range<usize>>,
}

/// The names that the steps of these lists create; `operations` is the table.
pub(super) fn names_in_scope(operations: &[&OperationSpec], lists: &[Option<&YamlNode>]) -> NamesInScope {
    let mut scope = NamesInScope::default();
    lists.iter().flatten().for_each(|list| declare_steps(operations, list, &mut scope));
    scope
}

/// Declares the names of the objects that a list of steps creates.
fn declare_steps(operations: &[&OperationSpec], list: &YamlNode, scope: &mut NamesInScope) {
    let YamlKind::List(steps) = &list.kind else { return };
    for step in steps.iter().filter(|step| step.get("refused").is_none()) {
        for form in operations {
            let Some(value) = step.get(form.name) else { continue };
            match form.declaration {
                NameDeclaration::Nothing => {}
                NameDeclaration::Object(declare) => declare(scope, value),
                NameDeclaration::NestedSteps => declare_steps(operations, value, scope),
            }
        }
        let within = step.get("during").and_then(|during| during.get("do"));
        within.into_iter().for_each(|inner| declare_steps(operations, inner, scope));
    }
}

impl StepReader<'_> {
    /// Reads all steps of a list; leaves out those with problems.
    pub(super) fn steps(&mut self, node: &YamlNode, noun: &str) -> Vec<Step> {
        let items = read::items(node, noun, self.report).unwrap_or_default();
        items.iter().filter_map(|step| self.step(step, true)).collect()
    }

    /// Reads one step.
    pub(super) fn step(&mut self, node: &YamlNode, is_top_level: bool) -> Option<Step> {
        let operations: Vec<&str> = self.operations.iter().map(|form| form.name).collect();
        if let Some(word) = node.as_text().filter(|word| operations.contains(word)) {
            self.report.add(node, "a step must be a mapping", format!("write `{word}: …`"));
            return None;
        }
        let besides = names(&MODIFIERS);
        let fields = MappingFields::of(node, "a step", &[operations.as_slice(), &besides].concat(), self.report)?;
        let refused = self.read_refused(&fields);
        let mut found =
            self.operations.iter().filter_map(|form| Some((*form, fields.entry(form.name)?))).collect::<Vec<_>>();
        found.sort_by_key(|(_, (key, _))| key.span.start);
        let (form, (key, value)) = match found.as_slice() {
            [] => {
                // An unknown field has been reported already.
                let only_besides = matches!(&node.kind, YamlKind::Map(map) if map.iter().all(|(key, _)| besides.contains(&key.as_key().as_str())));
                if only_besides {
                    let hint = format!("one of {}", read::join_quoted(&operations));
                    self.report.add(node, "a step without an operation", hint);
                }
                return None;
            }
            [one] => *one,
            [(first, _), (second, (key, _)), ..] => {
                self.report.add(
                    key,
                    format!("two operations in one step: `{}` and `{}`", first.name, second.name),
                    "a step does one thing",
                );
                self.report.help("make them two steps, or `together: [{…}, {…}]` for no settling between them");
                return None;
            }
        };
        let name = form.name;
        if let (Some(_), false) = (&refused, form.is_refusable)
            && let Some((at, _)) = fields.entry("refused")
        {
            self.report.add(at, format!("`{name}` cannot be refused"), "only an operation of a user's can");
            return None;
        }
        if !is_top_level && !form.is_nestable {
            self.report.add(key, format!("`{name}` is not allowed inside `together`"), "make it a step of its own");
            self.report.help("nor inside the `do` of a `during`");
            return None;
        }
        let operation = (form.read)(self, &OperationNode { key, value, refused: refused.is_some() })?;
        let (during, fault) = self.read_injection(&fields, is_top_level, &operation)?;
        let line = if node.line == 0 { key.line } else { node.line };
        let expect = self.read_expect(&fields, &operation, is_top_level)?;
        let label = self.read_label(&fields, is_top_level);
        Some(Step { line, operation, label, refused, during, fault, expect })
    }

    /// Reads `during` and `fault`. The outer `None` follows a problem.
    fn read_injection(
        &mut self,
        fields: &MappingFields<'_>,
        top: bool,
        operation: &Operation,
    ) -> Option<(Option<InjectedSteps>, Option<Fault>)> {
        let (during, fault) = (fields.entry("during"), fields.entry("fault"));
        let Some((key, _)) = during.or(fault) else { return Some((None, None)) };
        let name = key.as_key();
        if let (Some(_), Some((key, _))) = (during, fault) {
            self.report.add(key, "`during` and `fault` in one step", "one of them at a time");
        } else if !top {
            self.report.add(key, format!("`{name}` is not allowed here"), "only a step of its own has a middle");
        } else if self.stopped_at.is_some() || operation.process_action().is_some() {
            self.report.add(
                key,
                format!("`{name}` while the subject is stopped"),
                "no controller runs then; start the subject first",
            );
        } else if let Some((key, value)) = during {
            return Some((Some(self.read_during(key, value, operation)?), None));
        } else if let Some((key, value)) = fault {
            return Some((None, Some(fault::read_faults(key, value, self.report)?)));
        }
        None
    }

    /// Reads `during: {decision: …, do: […]}` or `during: {held: …, do: […]}`; `operation` is that
    /// of the step itself.
    fn read_during(&mut self, key: &YamlNode, node: &YamlNode, operation: &Operation) -> Option<InjectedSteps> {
        let fields = MappingFields::of(node, "`during`", &names(&during::FIELDS), self.report)?;
        let point = during::read_point(key, &fields, operation, self.scope, self.report)?;
        let steps = match (fields.get("do"), &point) {
            (Some(list), _) => self.read_inner_steps(list)?,
            (None, InjectionPoint::HeldWatch(_)) => Vec::new(),
            (None, InjectionPoint::Decision(_)) => {
                if fields.lacks("do") {
                    self.report.add(key, "`during` without `do`", "add `do: […]`, what happens then");
                }
                return None;
            }
        };
        if let (InjectionPoint::Decision(_), true) = (&point, steps.is_empty()) {
            self.report.add(key, "`during` does nothing", "add `do: […]`, what happens then");
            return None;
        }
        Some(InjectedSteps { point, steps })
    }

    fn read_inner_steps(&mut self, list: &YamlNode) -> Option<Vec<Step>> {
        let items = read::items(list, "`do`", self.report)?;
        let steps: Vec<Step> = items.iter().filter_map(|step| self.step(step, false)).collect();
        (steps.len() == items.len()).then_some(steps)
    }

    /// Reads `expect: {alive: [b]}` or `expect: {anyOf: [[a], [b]]}` beside an operation that is a
    /// single step. The outer `None` follows a problem.
    fn read_expect(
        &mut self,
        fields: &MappingFields<'_>,
        operation: &Operation,
        top: bool,
    ) -> Option<Option<PodExpectation>> {
        let Some((key, value)) = fields.entry("expect") else { return Some(None) };
        if !top
            || operation.pod_operation().is_some_and(|(_, pods)| !pods.atomic && pods.count != CountSpec::Exactly(1))
        {
            self.report.add(key, "`expect` is for one step", "put it beside the last of them, in a step of its own");
            return None;
        }
        let fields = MappingFields::of(value, "`expect`", &names(&EXPECT_FIELDS), self.report)?;
        let sets = match (fields.get("alive"), fields.get("anyOf")) {
            (Some(alive), None) => vec![self.read_named_pods(alive)?],
            (None, Some(any)) => {
                let sets = read::items(any, "`anyOf`", self.report)?;
                sets.iter().map(|set| self.read_named_pods(set)).collect::<Option<Vec<_>>>()?
            }
            _ => {
                self.report.add(value, "who is expected?", "either `alive: […]` or `anyOf: [[…], […]]`");
                return None;
            }
        };
        if sets.is_empty() {
            self.report.add(value, "no set is right", "add one to `anyOf`");
            return None;
        }
        Some(Some(PodExpectation::any_of(sets)))
    }

    fn read_named_pods(&mut self, node: &YamlNode) -> Option<BTreeSet<String>> {
        let items = read::items(node, "the pods", self.report)?;
        items.iter().map(|item| self.scope.pod_named(item, self.report)).collect()
    }

    /// Reads `refused: {message: "unable to find"}`.
    fn read_refused(&mut self, fields: &MappingFields<'_>) -> Option<String> {
        let (key, value) = fields.entry("refused")?;
        let inner = MappingFields::of(value, "`refused`", &names(&REFUSED_FIELDS), self.report)?;
        let Some(message) = inner.get("message") else {
            self.report.add(key, "refused without a message", "add `{message: \"…\"}`, a part of what the server says");
            return None;
        };
        read::text(message, "the message", self.report).map(str::to_owned)
    }

    /// Reads `label: changed`.
    fn read_label(&mut self, fields: &MappingFields<'_>, top: bool) -> Option<String> {
        let (key, value) = fields.entry("label")?;
        if !top {
            self.report.add(key, "`label` is for a step of its own", "put it beside the `together`");
            return None;
        }
        let label = read::name(value, "a label", self.report)?;
        if !self.scope.labels.insert(label.clone()) {
            self.report.add(value, format!("duplicate label `{label}`"), "each moment has a name of its own");
        }
        Some(label)
    }
}
