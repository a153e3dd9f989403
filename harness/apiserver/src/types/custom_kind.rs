//! One version of a CustomResourceDefinition, as the kinds of its objects refer to it.

use serde_json::Value;

use crate::types::custom_scale::ScalePaths;
use crate::types::custom_schema::Schema;
use crate::types::table::TypeDeclaration;

/// One version of a definition.
#[derive(Debug)]
pub(crate) struct CustomKind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) singular: String,
    pub(crate) list_kind: String,
    pub(crate) schema: Schema,
    /// The schema as server-side apply uses it.
    pub(crate) typed: &'static TypeDeclaration,
    /// Whether its status is a subresource.
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// The selectable fields, as a query names them.
    pub(crate) selectable: Vec<String>,
    /// The schema as the definition has it.
    pub(crate) document: Value,
    /// The columns of its tables, as the definition has them.
    pub(crate) columns: Value,
    /// The names of the definition.
    pub(crate) names: Value,
}
