//! The server as a function from a request and a time to a response. Nothing here waits or reads a
//! clock, and random numbers come from the seed.

use http::{Method, StatusCode};
use jiff::Timestamp;

use crate::http::media_types::{self, ResponseFormat, SupportedFormats};
use crate::http::request::{ApiRequest, JSON, ResourceRequest};
use crate::http::response::{ApiResponse, json_bytes_response, json_response};
use crate::http::route::{RequestInfo, Verb};
use crate::http::status_error::{ApiResult, StatusError};
use crate::http::{query, yaml};
use crate::registry::access_reviews;
use crate::registry::state::Server;
use crate::schema::discovery;
use crate::types::kinds::ResourceKind;

/// The media types of patches.
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The media types of patches of custom resources.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

impl Server {
    /// Handles a request.
    pub(crate) fn respond(&mut self, request: &ApiRequest, now: Timestamp) -> ApiResponse {
        self.warnings.clear();
        self.listed_quantities.clear();
        let without_protobuf = self.drop_protobuf_types(request);
        let accepted = without_protobuf.as_ref().unwrap_or(request);
        let result = self.dispatch_json(accepted, now).and_then(|response| match response {
            ApiResponse::Complete { content_type: JSON, .. } => {
                let kind = self.requested_kind(accepted);
                ResponseFormat::of(accepted, supported_formats(&accepted.path))?.transform(
                    response,
                    &self.kinds,
                    kind,
                    now,
                )
            }
            _ => Ok(response),
        });
        let mut response = result.unwrap_or_else(|error| {
            if error.unsupported {
                self.unsupported.push(format!("{} {}: {}", request.method, request.path, error.message));
            }
            let status = json_response(error.code, &error.status());
            let format = ResponseFormat::of_error(&request.accept);
            format.transform(status, &self.kinds, None, now).expect("every encoding can write a Status")
        });
        // The controllers that run next are not part of a dry run.
        self.dry_run = false;
        self.establish(now);
        if let ApiResponse::Complete { warnings, .. } = &mut response {
            warnings.append(&mut self.warnings);
        }
        response
    }

    fn dispatch_json(&mut self, request: &ApiRequest, now: Timestamp) -> ApiResult<ApiResponse> {
        match yaml::as_json(request)? {
            Some(converted) => self.dispatch(&converted, now),
            None => self.dispatch(request, now),
        }
    }

    pub(crate) fn dispatch(&mut self, request: &ApiRequest, now: Timestamp) -> ApiResult<ApiResponse> {
        let info = RequestInfo::from_decoded(&request.method, &request.path, request.flag("watch"));
        // Only the name of a namespace can be empty.
        let named = request.path.replacen("/namespaces//", "/namespaces/", 1);
        let is_unnamed = named != request.path;
        if request.path.starts_with("/api") && named.trim_end_matches('/').contains("//") {
            return Err(StatusError::no_path());
        }
        if request.method == Method::HEAD && !discovery::is_health(&request.path) {
            return Err(StatusError::method_not_allowed());
        }
        if info.resource.is_empty() {
            return discovery::respond(&self.kinds, &request.path, &request.accept);
        }
        if let Some(review) = access_reviews::review_kind(&request.path) {
            return self.review(review, request, now);
        }
        let Some(kind) = self.kinds.served(&info.group, path_version(&request.path), &info.resource) else {
            return discovery::absent(&info);
        };
        let is_custom = kind.custom.is_some();
        if !kind.namespaced && !info.namespace.is_empty() && info.resource != "namespaces" {
            return if is_custom { Ok(discovery::not_found_response()) } else { Err(StatusError::no_path()) };
        }
        let reads_all = matches!(info.verb, Verb::List | Verb::Watch);
        if is_custom && kind.namespaced && info.namespace.is_empty() && !is_unnamed && !reads_all {
            return Ok(discovery::not_found_response());
        }
        self.warnings.extend(kind.custom.and_then(|custom| custom.deprecation.clone()));
        if kind.unsupported_subresources.contains(&info.subresource.as_str()) {
            return Err(StatusError::unsupported(format!("{}/{}", kind.plural, info.subresource)));
        }
        if info.verb == Verb::Patch && kind.custom.is_some() && !CUSTOM_PATCHES.contains(&request.media_type()) {
            return Err(StatusError::unsupported_media_type(&CUSTOM_PATCHES.join(", ")));
        }
        let sub = info.subresource.as_str();
        let is_served = sub.is_empty() || kind.subresources.contains(&sub);
        if !is_served && kind.custom.is_some() {
            return Err(StatusError::not_found(kind, &info.name));
        }
        let has_name = !info.name.is_empty();
        let is_all_namespaces = info.namespace.is_empty() && kind.namespaced;
        // Upstream: `UpdateResource` checks the name before the `Accept` header.
        if kind.custom.is_some() && !has_name && !is_all_namespaces && matches!(info.verb, Verb::Update | Verb::Patch) {
            return Err(StatusError::bad_request("name must be provided".to_owned()));
        }
        ResponseFormat::check(request, supported_formats(&request.path))?;
        if !is_served {
            return Err(StatusError::no_path());
        }
        if is_all_namespaces && is_unnamed && has_name {
            return Err(StatusError::bad_request("Namespace parameter required.".to_owned()));
        }
        if is_all_namespaces && is_unnamed && !matches!(info.verb, Verb::List | Verb::Watch) {
            return Err(StatusError::unsupported("a write in a namespace without a name"));
        }
        if is_all_namespaces && has_name {
            return Err(StatusError::no_path());
        }
        if is_all_namespaces && !matches!(info.verb, Verb::List | Verb::Watch) {
            return Err(StatusError::method_not_allowed());
        }
        if info.verb != Verb::Watch {
            query::time_out(request)?;
        }
        check_path_names(&info)?;
        let resource = ResourceRequest { kind, info: &info, http: request, now };
        // Delete options are in the body of a deletion.
        self.dry_run =
            matches!(info.verb, Verb::Create | Verb::Update | Verb::Patch) && !query::dry_run(request).is_empty();
        if info.verb == Verb::Patch && has_name && !PATCHES.contains(&request.media_type()) && kind.custom.is_none() {
            return Err(StatusError::unknown_patch_type());
        }
        if !kind.has_protobuf && request.is_protobuf() && matches!(sub, "" | "status") && info.verb != Verb::Delete {
            return Err(StatusError::unsupported(format!("a {} in protobuf", kind.kind)));
        }
        if !matches!(info.verb, Verb::Get | Verb::List | Verb::Watch) {
            request.check_body()?;
        }
        match (info.verb, sub) {
            (Verb::Create, "") if has_name && kind.custom.is_none() => Err(StatusError::method_not_allowed()),
            (Verb::Update | Verb::Patch, _) if !has_name => Err(StatusError::method_not_allowed()),
            (Verb::DeleteCollection, _) if !kind.verbs.contains(&"deletecollection") => {
                Err(StatusError::method_not_allowed())
            }
            (Verb::Get, "scale") => self.get_scale(&resource),
            (Verb::Get, "" | "status") => self.get_object(&resource),
            // Only collections are watched; objects are watched at paths below `/watch`.
            (Verb::Watch, "" | "status") if has_name => self.get_object(&resource),
            (Verb::List, "") => self.list(&resource),
            (Verb::Watch, "") => self.watch(&resource),
            (Verb::Create, "") => self.create(&resource),
            (Verb::Create, "binding") if has_name => self.bind(&resource),
            (Verb::Create, "eviction") if has_name => self.evict(&resource),
            (Verb::Update | Verb::Patch, "scale") => self.update_scale(&resource),
            (Verb::Update | Verb::Patch, "finalize") => {
                Err(StatusError::unsupported("finalizing a namespace from outside"))
            }
            (Verb::Update | Verb::Patch, "" | "status") => self.update(&resource),
            (Verb::Delete, "") => self.delete(&resource),
            (Verb::DeleteCollection, "") => self.delete_collection(&resource),
            _ => Err(StatusError::method_not_allowed()),
        }
    }

    /// The request without protobuf in its `Accept` header, if its kind has no protobuf encoding.
    fn drop_protobuf_types(&self, request: &ApiRequest) -> Option<ApiRequest> {
        if !request.accept.contains("protobuf") {
            return None;
        }
        let kind = self.requested_kind(request)?;
        if kind.has_protobuf {
            return None;
        }
        // Partial metadata supports protobuf for every kind.
        let is_allowed = |form: &&str| !form.contains("protobuf") || form.contains("as=PartialObjectMetadata");
        let left: Vec<&str> = request.accept.split(',').filter(is_allowed).collect();
        // Upstream supports protobuf for definitions: a client that accepts nothing else gets JSON.
        let none = if kind.custom.is_some() { media_types::UNSUPPORTED_PROTOBUF } else { JSON };
        let accept = if left.is_empty() { none.to_owned() } else { left.join(",") };
        Some(ApiRequest { accept, ..request.clone() })
    }

    fn requested_kind(&self, request: &ApiRequest) -> Option<&'static ResourceKind> {
        let info = RequestInfo::from_decoded(&request.method, &request.path, false);
        self.kinds.served(&info.group, path_version(&request.path), &info.resource)
    }

    fn get_object(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        if request.http.flag("export") {
            let why = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(StatusError::bad_request(why.to_owned()));
        }
        let requested = request.resource_version().map_err(StatusError::plain_internal)?;
        if let Some(requested) = requested.filter(|requested| *requested > self.store.version()) {
            return Err(self.too_large_version(request.kind, requested));
        }
        let object = self.existing_object(request)?.as_kind(request.response_kind(), &self.kinds);
        Ok(json_bytes_response(StatusCode::OK, object.text(request.http.managed_fields)))
    }

    /// The future resourceVersion that a read requests, if upstream waits for it.
    pub(crate) fn version_to_await(&self, request: &ApiRequest) -> Option<u64> {
        let requested = request
            .param("resourceVersion")
            .parse::<u64>()
            .ok()
            .filter(|requested| *requested > self.store.version())?;
        let info = RequestInfo::from_decoded(&request.method, &request.path, request.flag("watch"));
        let reads = match info.verb {
            Verb::Get | Verb::List => true,
            Verb::Watch => request.flag("sendInitialEvents"),
            _ => false,
        };
        (reads && self.requested_kind(request)?.is_in_watch_cache).then_some(requested)
    }
}

/// The supported formats of a path: writes to subresources of pods have no table.
fn supported_formats(path: &str) -> SupportedFormats {
    let plain = ["/binding", "/eviction"].iter().any(|end| path.trim_end_matches('/').ends_with(end));
    if plain && path.contains("/pods/") { SupportedFormats::NoTable } else { SupportedFormats::All }
}

/// Rejects names that cannot be part of a key in etcd. Upstream: `IsValidPathSegmentName`.
fn check_path_names(info: &RequestInfo) -> ApiResult<()> {
    if matches!(info.namespace.as_str(), "." | "..") {
        return Err(StatusError::unsupported(format!("the namespace {:?}", info.namespace)));
    }
    let name = info.name.as_str();
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(StatusError::bad_request(format!("Name parameter invalid: {name:?}: {why}")))
}

fn path_version(path: &str) -> &str {
    let nth = if path.starts_with("/apis") { 2 } else { 1 };
    path.trim_start_matches('/').split('/').nth(nth).unwrap_or_default()
}
