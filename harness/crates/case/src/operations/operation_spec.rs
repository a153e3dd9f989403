//! Describes how an operation is written in a case.

use serde_json::Value;

use crate::field::FieldSpec;
use crate::model::Operation;
use crate::names_in_scope::NamesInScope;
use crate::step::StepReader;
use crate::yaml::YamlNode;

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
    /// Declares the objects that the operation creates, before any step is read.
    pub(crate) declare: fn(&mut NamesInScope, &YamlNode),
    /// Whether it is a single request, which the server can refuse.
    pub(crate) is_refusable: bool,
    /// Whether it is allowed inside another step.
    pub(crate) is_nestable: bool,
    /// Example steps, each a YAML list.
    pub(crate) examples: &'static [&'static str],
}

/// Who performs an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A user, by kubectl.
    User,
    /// The nodes.
    Nodes,
    /// The harness: time, grouping, the subject's process.
    Harness,
}

/// The operation of a step, as YAML nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationNode<'n> {
    /// The key, which names the operation.
    pub(crate) key: &'n YamlNode,
    /// The value.
    pub(crate) value: &'n YamlNode,
    /// Whether the server must refuse the operation.
    pub(crate) refused: bool,
}

/// For an operation that creates no object.
pub(super) fn declare_nothing(_: &mut NamesInScope, _: &YamlNode) {}
