//! How an operation is written in a case: one entry of the table.

use serde_json::Value;

use super::Operation;
use crate::case::field::Field;
use crate::case::scope::Scope;
use crate::case::step::Reader;
use crate::case::tree::Node;

/// How an operation is written in a case.
#[derive(Debug)]
pub struct Form {
    /// The field of a step that names it.
    pub(in crate::case) name: &'static str,
    /// One sentence.
    pub(in crate::case) says: &'static str,
    /// Who does it.
    pub(in crate::case) by: By,
    /// What may stand there instead of a mapping; empty where nothing may.
    pub(in crate::case) short: &'static str,
    /// The mapping's fields.
    pub(in crate::case) fields: &'static [Field],
    /// What may stand there, as JSON schema; asked with whether the server must refuse the step.
    pub(in crate::case) schema: fn(bool) -> Value,
    /// Reads it; `None` after a finding.
    pub(in crate::case) read: fn(&mut Reader<'_>, &Written<'_>) -> Option<Operation>,
    /// Looks for the objects that it makes, before any step is read.
    pub(in crate::case) announce: fn(&mut Scope, &Node),
    /// Whether it is one request, which the server can refuse.
    pub(in crate::case) refusable: bool,
    /// Whether it may stand inside another step.
    pub(in crate::case) inner: bool,
    /// Why only pods without a kubelet can do it, where that is so.
    pub(in crate::case) only_held: Option<&'static str>,
    /// Steps as a case has them, each a YAML list. The first is shown first.
    pub(in crate::case) examples: &'static [&'static str],
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::case) enum By {
    /// A user, as kubectl does it.
    User,
    /// The nodes.
    Nodes,
    /// Neither: time, grouping, the subject's process.
    Harness,
}

/// An operation as it stands in a step.
#[derive(Debug, Clone, Copy)]
pub(in crate::case) struct Written<'n> {
    /// Its name.
    pub(in crate::case) key: &'n Node,
    /// What stands after it.
    pub(in crate::case) value: &'n Node,
    /// Whether the server must refuse it.
    pub(in crate::case) refused: bool,
}

/// Of an operation that makes no object.
pub(super) fn nothing(_: &mut Scope, _: &Node) {}
