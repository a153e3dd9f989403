//! Serves self subject access and rules reviews. Every client may do everything, as authorization
//! is not simulated.
//!
//! `kubectl auth can-i` requests these. Nothing is stored.

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::request::{ApiRequest, ResourceRequest};
use crate::http::response::{ApiResponse, json_response};
use crate::http::route::RequestInfo;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::decode::normalize;
use crate::registry::field_ownership::update_managers;
use crate::registry::kinds::{AUTHORIZATION, REVIEWS};
use crate::registry::state::Server;
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;

/// The kind of review at a path.
pub(crate) fn review_kind(path: &str) -> Option<&'static ResourceKind> {
    let plural = path.trim_end_matches('/').strip_prefix("/apis/authorization.k8s.io/v1/")?;
    REVIEWS.iter().find(|kind| kind.plural == plural)
}

impl Server {
    pub(crate) fn review(
        &mut self,
        kind: &'static ResourceKind,
        http: &ApiRequest,
        now: Timestamp,
    ) -> ApiResult<ApiResponse> {
        if http.method != Method::POST {
            return Err(StatusError::method_not_allowed());
        }
        http.check_body()?;
        let info = RequestInfo::from_decoded(&http.method, &http.path, false);
        let request = ResourceRequest { kind, info: &info, http, now };
        let mut review = self.read(&request)?;
        if kind.kind == "SelfSubjectAccessReview" {
            let managers = update_managers(&request, (&normalize(kind, json!({}))?, &None), &mut review, &[])?;
            check(&review)?;
            review["status"] = json!({"allowed": true});
            if let Some(managers) = managers {
                review["metadata"]["managedFields"] = managers.to_json();
            }
        } else {
            if review["spec"]["namespace"].as_str().unwrap_or_default().is_empty() {
                return Err(StatusError::bad_request("no namespace on request".to_owned()));
            }
            review["spec"] = json!({});
            let all = json!(["*"]);
            review["status"] = json!({"incomplete": false,
                "resourceRules": [{"verbs": all, "apiGroups": all, "resources": all}],
                "nonResourceRules": [{"verbs": all, "nonResourceURLs": all}]});
        }
        review["kind"] = kind.kind.into();
        review["apiVersion"] = kind.api_version().into();
        Ok(json_response(StatusCode::CREATED, &review))
    }
}

/// Upstream: `ValidateSelfSubjectAccessReview`.
fn check(review: &Value) -> ApiResult<()> {
    let spec = &review["spec"];
    let (has_resource, non_resource) =
        (!spec["resourceAttributes"].is_null(), !spec["nonResourceAttributes"].is_null());
    if has_resource == non_resource && non_resource {
        return Err(StatusError::unsupported("a review of a resource and of a path at once"));
    }
    if has_resource == non_resource {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let error = FieldError::invalid("spec.resourceAttributes", Value::Null, why);
        return Err(StatusError::invalid(AUTHORIZATION, "", "", &[error]));
    }
    if review["metadata"].as_object().is_some_and(|meta| !meta.is_empty()) {
        return Err(StatusError::unsupported("a review with metadata"));
    }
    Ok(())
}
