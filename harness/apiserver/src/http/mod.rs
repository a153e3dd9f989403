//! What arrives and what leaves over HTTP: requests and their routes, query parameters, bodies,
//! selectors, media types, and the responses and errors of the API.
//!
//! It imports `types` and `go`. It must not know the store's state, the verbs or rules of single
//! kinds; of the store it knows only the objects of a watch.

pub(crate) mod body;
pub(crate) mod json_patch;
pub(crate) mod labels;
pub(crate) mod limits;
pub(crate) mod media_types;
pub(crate) mod query;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod route;
pub(crate) mod selector;
pub(crate) mod status_error;
pub(crate) mod yaml;
