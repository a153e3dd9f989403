//! ResourceQuotas. Upstream: `pkg/registry/core/resourcequota`, `ValidateResourceQuota`,
//! `printResourceQuota`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::defaults::round_up;
use crate::registry::state::Server;
use crate::registry::strategy::Strategy;
use crate::registry::validate::quota;
use crate::schema::printers::cells::{age, name, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    returns_deleted: true,
    short_names: &["quota"],
    ..kind("", "v1", "resourcequotas", "ResourceQuota")
};

pub(crate) struct ResourceQuotaStrategy;

impl Strategy for ResourceQuotaStrategy {
    fn set_defaults(&self, body: &mut Value) {
        round_up(&mut body["spec"], &["hard"]);
        round_up(&mut body["status"], &["hard", "used"]);
    }

    fn prepare_for_create(&self, quota: &mut Value) {
        quota["status"] = json!({});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(quota::spec(&new["spec"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(quota::update(&new["spec"], &old["spec"]));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(quota::amounts(&new["status"]["hard"], "status.hard"));
        errors.extend(quota::amounts(&new["status"]["used"], "status.used"));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { quota::warnings(&new["spec"]["hard"]) }
    }

    // Upstream may or may not have a kind that this server does not serve.
    fn check_servable(&self, server: &Server, quota: &Value) -> ApiResult<()> {
        let names = quota["spec"]["hard"].as_object().into_iter().flatten().map(|(name, _)| name);
        for name in names.filter(|name| !counts_unserved_kind(name)) {
            let Some(counted) = name.strip_prefix("count/") else { continue };
            let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
            if server.kinds.in_group(group, plural).is_none() {
                return Err(StatusError::unsupported(format!("a quota of {name}")));
            }
        }
        Ok(())
    }

    fn has_legacy_quota_name(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Request"), text("Limit"), AGE] }
    }

    fn cells(&self, quota: &Value, now: Timestamp) -> Vec<Value> {
        let (mut requests, mut limits) = (Vec::new(), Vec::new());
        for (resource, hard) in quota["status"]["hard"].as_object().into_iter().flatten() {
            let used = or(&quota["status"]["used"][resource], "0");
            let line = format!("{resource}: {used}/{}", or(hard, "0"));
            if resource.starts_with("limits.") { limits.push(line) } else { requests.push(line) }
        }
        vec![name(quota), requests.join(", ").into(), limits.join(", ").into(), age(quota, now)]
    }
}

/// Whether a limit applies to kinds that are not served, so that its usage stays zero: volume and
/// device claims, and ReplicationControllers.
pub(crate) fn counts_unserved_kind(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "persistentvolumeclaims",
        "count/persistentvolumeclaims",
        "requests.storage",
        "replicationcontrollers",
        "count/replicationcontrollers",
        "count/resourceclaims.resource.k8s.io",
    ];
    const ENDS: [&str; 3] = [
        ".storageclass.storage.k8s.io/requests.storage",
        ".storageclass.storage.k8s.io/persistentvolumeclaims",
        ".deviceclass.resource.k8s.io/devices",
    ];
    NAMES.contains(&name) || ENDS.iter().any(|end| name.ends_with(end))
}
