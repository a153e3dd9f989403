//! Reviews of what the client may do: everything, as authorization is not simulated.
//!
//! `kubectl auth can-i` asks for these. Nothing is stored.

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::Call;
use super::claims::note_manager;
use super::field::FieldError;
use super::kinds::Kind;
use super::problem::{Outcome, Problem};
use super::server::{Answer, Ask, Server, whole};
use super::write::normal;
use crate::route::Route;

const GROUP: &str = "authorization.k8s.io";

const fn review(plural: &'static str, kind: &'static str) -> Kind {
    Kind { namespaced: false, ..super::kinds::kind(GROUP, plural, kind, &[]) }
}

/// The reviews that are answered.
pub(super) static REVIEWS: [Kind; 2] = [
    review("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    review("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
];

/// The review that a path is about.
pub(super) fn asked(path: &str) -> Option<&'static Kind> {
    let plural = path.trim_end_matches('/').strip_prefix("/apis/authorization.k8s.io/v1/")?;
    REVIEWS.iter().find(|kind| kind.plural == plural)
}

impl Server {
    pub(super) fn review(&mut self, kind: &'static Kind, call: &Call, now: Timestamp) -> Outcome<Answer> {
        if call.method != Method::POST {
            return Err(Problem::method_not_allowed());
        }
        call.check_body()?;
        let route = Route::of_decoded(&call.method, &call.path, false);
        let ask = Ask { kind, route: &route, call, now };
        let mut review = self.read(&ask)?;
        if kind.kind == "SelfSubjectAccessReview" {
            let managers = note_manager(&ask, (&normal(kind, json!({}))?, &None), &mut review)?;
            check(&review)?;
            review["status"] = json!({"allowed": true});
            if let Some(managers) = managers {
                review["metadata"]["managedFields"] = managers.to_json();
            }
        } else {
            if review["spec"]["namespace"].as_str().unwrap_or_default().is_empty() {
                return Err(Problem::bad_request("no namespace on request".to_owned()));
            }
            review["spec"] = json!({});
            let all = json!(["*"]);
            review["status"] = json!({"incomplete": false,
                "resourceRules": [{"verbs": all, "apiGroups": all, "resources": all}],
                "nonResourceRules": [{"verbs": all, "nonResourceURLs": all}]});
        }
        review["kind"] = kind.kind.into();
        review["apiVersion"] = kind.api_version().into();
        Ok(whole(StatusCode::CREATED, &review))
    }
}

/// Upstream: `ValidateSelfSubjectAccessReview`.
fn check(review: &Value) -> Outcome<()> {
    let spec = &review["spec"];
    let (resource, other) = (!spec["resourceAttributes"].is_null(), !spec["nonResourceAttributes"].is_null());
    if resource == other && other {
        return Err(Problem::unsupported("a review of a resource and of a path at once"));
    }
    if resource == other {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let error = FieldError::invalid("spec.resourceAttributes", Value::Null, why);
        return Err(Problem::invalid(GROUP, "", "", &[error]));
    }
    if review["metadata"].as_object().is_some_and(|meta| !meta.is_empty()) {
        return Err(Problem::unsupported("a review with metadata"));
    }
    Ok(())
}
