//! One version of a CustomResourceDefinition, as the kinds of its objects refer to it.

use std::sync::OnceLock;

use serde_json::Value;

use crate::types::custom_scale::ScalePaths;
use crate::types::custom_schema::{Purpose, Schema};
use crate::types::table::TypeDeclaration;

/// One version of a definition.
#[derive(Debug)]
pub(crate) struct CustomKind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) singular: String,
    pub(crate) list_kind: String,
    /// The schema, once an object was written.
    pub(crate) schema: OnceLock<Schema>,
    /// The schema as server-side apply uses it, once an object was written.
    pub(crate) typed: OnceLock<&'static TypeDeclaration>,
    /// The warning for each request, if the version is deprecated.
    pub(crate) deprecation: Option<String>,
    /// Whether its status is a subresource.
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// The selectable fields, as a query names them.
    pub(crate) selectable: Vec<String>,
    /// The JSON of the schema as the definition has it: parsed, a schema takes ten times its JSON,
    /// and of the hundreds of kinds that operators define few are written in a test.
    pub(crate) document: Box<[u8]>,
    /// The columns of its tables, as the definition has them.
    pub(crate) columns: Value,
    /// The names of the definition.
    pub(crate) names: Value,
}

impl CustomKind {
    /// The schema as the definition has it.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_slice(&self.document).expect("what was written as JSON reads as JSON")
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| {
            Schema::read(&self.document(), Purpose::Objects).expect("the schema was read when its kind was defined")
        })
    }
}
