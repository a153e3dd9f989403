//! Documents that the server makes from its kinds and objects: discovery, OpenAPI, tables, and
//! responses in the format that a client accepts; and the types of the API for clients.
//!
//! It imports `types`, `http` and the conversions of `registry`. It must not know the store, the
//! verbs or the state of the server.

pub(crate) mod discovery;
pub(crate) mod openapi;
pub(crate) mod printers;
pub(crate) mod representation;
