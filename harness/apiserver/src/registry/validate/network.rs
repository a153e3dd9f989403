//! Validates what kinds with ports share.

use crate::types::field_error::FieldError;
use crate::types::names;

pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(crate) fn label(value: &str, path: &str) -> Vec<FieldError> {
    names::dns_label(value).into_iter().map(|wrong| FieldError::invalid(path, value, wrong)).collect()
}
