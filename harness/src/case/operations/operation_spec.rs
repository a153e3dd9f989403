//! Describes how an operation is written in a case.

use serde_json::Value;

use super::Operation;
use crate::case::field::FieldSpec;
use crate::case::names_in_scope::NamesInScope;
use crate::case::step::StepReader;
use crate::case::yaml::YamlNode;

/// An entry of the table of operations: how an operation is written in a case.
#[derive(Debug)]
pub struct OperationSpec {
    /// The field of a step that names the operation.
    pub(in crate::case) name: &'static str,
    /// A sentence for the reference page.
    pub(in crate::case) description: &'static str,
    /// Who performs it.
    pub(in crate::case) actor: Actor,
    /// What is accepted in place of a mapping; empty if nothing is.
    pub(in crate::case) shorthand: &'static str,
    /// The fields of the mapping.
    pub(in crate::case) fields: &'static [FieldSpec],
    /// The JSON schema of the value; the argument is whether the server must refuse the step.
    pub(in crate::case) schema: fn(bool) -> Value,
    /// Reads the operation; returns `None` after a problem.
    pub(in crate::case) read: fn(&mut StepReader<'_>, &OperationNode<'_>) -> Option<Operation>,
    /// Declares the objects that the operation creates, before any step is read.
    pub(in crate::case) declare: fn(&mut NamesInScope, &YamlNode),
    /// Whether it is a single request, which the server can refuse.
    pub(in crate::case) is_refusable: bool,
    /// Whether it is allowed inside another step.
    pub(in crate::case) is_nestable: bool,
    /// Why it requires pods without a kubelet, if it does.
    pub(in crate::case) requires_held_pods: Option<&'static str>,
    /// Example steps, each a YAML list.
    pub(in crate::case) examples: &'static [&'static str],
}

/// Who performs an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::case) enum Actor {
    /// A user, by kubectl.
    User,
    /// The nodes.
    Nodes,
    /// The harness: time, grouping, the subject's process.
    Harness,
}

/// The operation of a step, as YAML nodes.
#[derive(Debug, Clone, Copy)]
pub(in crate::case) struct OperationNode<'n> {
    /// The key, which names the operation.
    pub(in crate::case) key: &'n YamlNode,
    /// The value.
    pub(in crate::case) value: &'n YamlNode,
    /// Whether the server must refuse the operation.
    pub(in crate::case) refused: bool,
}

/// For an operation that creates no object.
pub(super) fn declare_nothing(_: &mut NamesInScope, _: &YamlNode) {}
