//! The kinds that the server serves: the built-in ones, and custom resources with their schemas.
//! The types of the API, by which objects are decoded, merged and encoded, are in
//! `kube-apimachinery`.
//!
//! It must not know requests, stored objects or rules of single kinds: it imports no other room.

pub(crate) mod custom_kind;
pub(crate) mod custom_scale;
pub(crate) mod custom_schema;
pub(crate) mod kinds;

pub(crate) use kube_apimachinery::types::{
    addresses, decode, expressions, field_error, formats, list_quantities, merge, names, protobuf, quantity, strict,
    table,
};
