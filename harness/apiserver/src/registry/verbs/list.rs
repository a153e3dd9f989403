//! Lists: selection, resourceVersion and paging.

use http::StatusCode;
use serde_json::json;

use crate::http::query;
use crate::http::request::ResourceRequest;
use crate::http::response::{ApiResponse, json_bytes_response};
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;

impl Server {
    pub(crate) fn list(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let selector = query::list(request.http, request.kind, false)?;
        let latest = self.store.version();
        let continued = request.http.query.get("continue").filter(|list_position| !list_position.is_empty());
        let continued = continued.map(|list_position| query::continue_position(list_position)).transpose()?;
        if continued.is_some() && !matches!(request.http.param("resourceVersion"), "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(StatusError::bad_request(why.to_owned()));
        }
        let requested = request
            .resource_version()
            .map_err(|why| StatusError::bad_request(format!("invalid resource version: {why}")))?;
        let selects_one = continued.is_none() && selector.selects_one_object();
        let limit = request.http.param("limit").parse::<usize>().unwrap_or(0);
        let matching = request.http.param("resourceVersionMatch");
        // Upstream: `shouldDelegateList`. The watch cache answers version 0, and knows no pages.
        let is_cached = request.kind.is_in_watch_cache && request.http.param("resourceVersion") == "0";
        let limit = if is_cached && continued.is_none() { 0 } else { limit };
        // The pages of a version are from that version, unless newer ones will do.
        let exact = matching == "Exact" || (matching.is_empty() && limit > 0);
        if let Some(requested) = requested.filter(|requested| *requested > latest) {
            return Err(self.too_large_version(request.kind, requested));
        }
        let mut from = None;
        let mut at = if exact { requested.unwrap_or(latest) } else { latest };
        if let Some((version, key)) = continued {
            (at, from) = (version, Some(key));
        }
        if at < self.store.forgotten() {
            return Err(StatusError::expired("The resourceVersion for the provided list is too old.".to_owned()));
        }
        let mut objects = self.store.list_at(request.kind, &request.info.namespace, at);
        // Field selectors of a custom resource refer to the requested version.
        if request.kind.custom.is_some() {
            objects.iter_mut().for_each(|(_, object)| *object = object.as_kind(request.kind, &self.kinds));
        }
        if let Some(from) = &from {
            objects.retain(|(key, _)| list_position(key) > *from);
        }
        let end = objects.last().map(|(key, _)| list_position(key)).unwrap_or_default();
        if !selector.is_empty() {
            objects.retain(|(_, object)| selector.matches(&object.body));
        }
        let remaining = if limit == 0 { 0 } else { objects.len().saturating_sub(limit) };
        objects.truncate(objects.len() - remaining);
        let mut meta = json!({"resourceVersion": at.to_string()});
        let last = objects.last().map(|(key, _)| list_position(key)).unwrap_or_default();
        // There is a next page if any object follows, whether selected or not.
        if remaining > 0 || (limit > 0 && !selects_one && objects.len() == limit && last < end) {
            meta["continue"] = format!("{at}:{last}").into();
            if selector.is_empty() {
                meta["remainingItemCount"] = remaining.into();
            }
        }
        // Lists of custom resources have no type of their own upstream; they use that of
        // unstructured objects.
        if request.kind.custom.is_some() && meta["continue"].is_null() {
            meta["continue"] = "".into();
        }
        let kind = request.response_kind();
        let (list_kind, version) = (kind.list_kind(), kind.api_version());
        let start = format!("{{\"kind\":\"{list_kind}\",\"apiVersion\":\"{version}\",\"metadata\":{meta},\"items\":[");
        let mut body = start.into_bytes();
        for (index, object) in objects.iter().map(|(_, object)| object.as_kind(kind, &self.kinds)).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            if request.kind.custom.is_some() {
                object.write(&mut body, request.http.managed_fields);
            } else {
                object.write_untyped(&mut body, request.http.managed_fields);
            }
        }
        body.extend_from_slice(b"]}");
        Ok(json_bytes_response(StatusCode::OK, body))
    }
}

/// The position of an object in a list, for continue tokens.
fn list_position(key: &StoreKey) -> String {
    format!("{}/{}", key.namespace, key.name)
}
