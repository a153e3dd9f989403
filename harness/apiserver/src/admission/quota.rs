//! ResourceQuotas: admission of writes, and the usage of namespaces.
//!
//! [`admit`] is upstream's admission plugin: it compares a write with each quota of the namespace,
//! and adds the used resources to their status. The controller (`controllers::quotas`) recounts
//! after resources may have become free. Both support all scopes, and all resources of the served
//! kinds; a quota for objects of another kind is unsupported.

use jiff::Timestamp;
use serde_json::Value;

use crate::admission::quota_scopes;
use crate::admission::quota_usage::{self, is_tracked};
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::core::resource_quota;
use crate::registry::kinds::strategy_of;
use crate::registry::resource_list::{ResourceList, add, amounts, to_json};
use crate::registry::state::Server;
use crate::registry::strategy::QuotaEvaluator;
use crate::types::kinds::ResourceKind;
use crate::types::quantity::Quantity;

/// A create or an update, for comparison with quotas.
pub(crate) struct QuotaRequest<'a> {
    pub(crate) kind: &'static ResourceKind,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) new: &'a Value,
    /// The object before an update.
    pub(crate) old: Option<&'a Value>,
    pub(crate) now: Timestamp,
}

/// Compares a write with all quotas, and adds its usage if it fits. Upstream: `CheckRequest` and
/// `checkQuotas`. If several quotas refuse it, upstream reports a random one and this server the
/// first.
pub(crate) fn admit(server: &mut Server, charge: &QuotaRequest<'_>) -> ApiResult<()> {
    if !charge.is_counted() {
        return Ok(());
    }
    let QuotaRequest { kind, namespace, name, new, old, now } = *charge;
    let evaluator = strategy_of(kind).quota_evaluator();
    let forbidden = |why: String| Err(StatusError::forbidden(kind, name, &why));
    let mut interesting = Vec::new();
    for quota in server.store.list(&resource_quota::KIND, namespace) {
        let (spec, status) = (&quota.body["spec"], &quota.body["status"]);
        let hard = amounts(&status["hard"]);
        let tracked = || hard.keys().map(String::as_str).filter(|name| is_tracked(kind, name));
        if tracked().next().is_none() || !quota_scopes::select(spec, kind, new) {
            continue;
        }
        if evaluator == QuotaEvaluator::Pods
            && let Some(why) = quota_usage::missing_amounts(new, tracked())
        {
            return forbidden(format!("failed quota: {}: {why}", quota.meta("name")));
        }
        if tracked().any(|name| status["used"].get(name).is_none()) {
            let names = tracked().collect::<Vec<_>>().join(",");
            return forbidden(format!("status unknown for quota: {}, resources: {names}", quota.meta("name")));
        }
        interesting.push((quota, hard));
    }
    let used = quota_usage::usage(kind, new, now);
    let mut charged = Vec::new();
    for (quota, hard) in interesting {
        let before = old.filter(|old| quota_scopes::select(&quota.body["spec"], kind, old));
        let mut requested = match before {
            Some(old) => difference(&used, &quota_usage::usage(kind, old, now)),
            None => used.clone(),
        };
        // A quota whose usage does not change is neither compared nor written.
        if requested.values().all(|amount| amount.is_zero()) {
            continue;
        }
        requested.retain(|name, amount| !amount.is_zero() && hard.contains_key(name));
        let now_used = amounts(&quota.body["status"]["used"]);
        let mut then_used = now_used.clone();
        add(&mut then_used, &requested);
        let exceeded: Vec<&String> = requested.keys().filter(|name| then_used.get(*name) > hard.get(*name)).collect();
        if !exceeded.is_empty() {
            let shown = |of: &ResourceList| {
                let all = exceeded.iter().filter_map(|name| of.get(*name).map(|amount| format!("{name}={amount}")));
                all.collect::<Vec<_>>().join(",")
            };
            return forbidden(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                quota.meta("name"),
                shown(&requested),
                shown(&now_used),
                shown(&hard)
            ));
        }
        if then_used != now_used {
            charged.push((quota, then_used));
        }
    }
    for (quota, used) in charged {
        let mut body = quota.body.clone();
        body["status"]["used"] = to_json(&used);
        server.put_object(&resource_quota::KIND, quota.key(), body, quota.managers.clone());
    }
    Ok(())
}

impl QuotaRequest<'_> {
    /// Whether quotas apply to the write. Upstream: `Handles`.
    fn is_counted(&self) -> bool {
        match (strategy_of(self.kind).quota_evaluator(), self.old) {
            (QuotaEvaluator::Ignored, _) => false,
            (_, None) | (QuotaEvaluator::Services, _) => true,
            (QuotaEvaluator::Pods, Some(old)) => {
                quota_scopes::has_deadline(self.new) != quota_scopes::has_deadline(old)
            }
            (QuotaEvaluator::ObjectCount, Some(_)) => false,
        }
    }
}

/// The increase of each used resource. Upstream: `SubtractWithNonNegativeResult`.
fn difference(after: &ResourceList, before: &ResourceList) -> ResourceList {
    let less = |name: &String, amount: &Quantity| match before.get(name) {
        Some(old_amount) => amount.saturating_sub(old_amount),
        None => amount.clone(),
    };
    after.iter().map(|(name, amount)| (name.clone(), less(name, amount))).collect()
}
