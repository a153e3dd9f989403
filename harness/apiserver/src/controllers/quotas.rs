//! Recounts the usage of quotas. Upstream: the resource quota controller.
//!
//! Admission adds to the usage of a quota, and only this controller decreases it: when an object is
//! deleted, a pod ends or is resized, and every five minutes, when a terminating pod may have
//! become overdue. Otherwise the usage is kept, even where upstream's is wrong, for example after a
//! create that was refused after its quota was charged.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::admission::quota_scopes;
use crate::admission::quota_usage::{is_fully_charged, is_tracked, usage};
use crate::registry::core::resource_quota;
use crate::registry::core::resource_quota::counts_unserved_kind;
use crate::registry::kinds::strategy_of;
use crate::registry::resource_list::{ResourceList, add, amounts, to_json};
use crate::registry::state::Server;
use crate::registry::strategy::QuotaEvaluator;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::storage::store::ChangeRecord;
use crate::types::kinds::ResourceKind;
use crate::types::quantity::Quantity;

/// Upstream: `--resource-quota-sync-period`.
const RESYNC: i64 = 5 * 60;

impl Server {
    /// Recounts quotas until the status of one changes; returns whether one did.
    pub(crate) fn recount_quota(&mut self, now: Timestamp) -> bool {
        self.find_due(now);
        while let Some(key) = self.quotas.due.pop_first() {
            let Some(quota) = self.store.get(&key) else { continue };
            if let Some(status) = self.count(&quota, now) {
                let mut body = quota.body.clone();
                body["status"] = status;
                return self.write(quota.kind, body, quota.managers.clone()).is_ok();
            }
        }
        false
    }

    /// Schedules the quotas that need a recount.
    fn find_due(&mut self, now: Timestamp) {
        let period = Some(now.duration_since(self.quotas.start).as_secs() / RESYNC);
        let from = self.quotas.version;
        let due: Vec<StoreKey> = if self.store.list(&resource_quota::KIND, "").next().is_none() {
            Vec::new()
        } else if period > self.quotas.period || self.store.lacks_changes(from) {
            self.store.list(&resource_quota::KIND, "").map(|quota| quota.key()).collect()
        } else {
            self.store.since(from).iter().flat_map(|change| self.due_after(change, now)).collect()
        };
        self.quotas.due.extend(due);
        self.quotas.period = self.quotas.period.max(period);
        self.quotas.version = self.store.version();
    }

    /// The quotas to recount after a change. Upstream: `replenishQuota` and `DefaultUpdateFilter`.
    fn due_after(&self, change: &ChangeRecord, now: Timestamp) -> Vec<StoreKey> {
        let quotas = || self.store.list(&resource_quota::KIND, &change.key.namespace);
        if change.key.kind == resource_quota::KIND.order()
            && let Some(after) = change.after()
        {
            let limits = |quota: &StoredObject| amounts(&quota.body["spec"]["hard"]);
            let same = change.before().is_some_and(|before| limits(&before) == limits(&after));
            return if same { Vec::new() } else { vec![StoreKey::clone(&change.key)] };
        }
        if change.key.namespace.is_empty() || quotas().next().is_none() {
            return Vec::new();
        }
        let Some(before) = change.before() else { return Vec::new() };
        if change.after().is_some_and(|after| !frees_usage(&before, &after, now)) {
            return Vec::new();
        }
        let tracks = |quota: &Arc<StoredObject>| {
            amounts(&quota.body["status"]["hard"]).keys().any(|name| is_tracked(before.kind, name))
        };
        quotas().filter(tracks).map(|quota| quota.key()).collect()
    }

    /// The new status of a quota, if it differs. Upstream: `syncResourceQuota`.
    fn count(&self, quota: &StoredObject, now: Timestamp) -> Option<Value> {
        let (spec, status) = (&quota.body["spec"], &quota.body["status"]);
        let hard = amounts(&spec["hard"]);
        let before = amounts(&status["used"]);
        let mut used = before.clone();
        let kinds: BTreeMap<String, &ResourceKind> = self.kinds.all().map(|kind| (kind.resource(), kind)).collect();
        let zero = |name: &String| (name.clone(), Quantity::zero());
        used.extend(hard.keys().filter(|name| counts_unserved_kind(name)).map(zero));
        for kind in kinds.into_values().filter(|kind| hard.keys().any(|name| is_tracked(kind, name))) {
            let mut sum: ResourceList = hard.keys().filter(|name| is_tracked(kind, name)).map(zero).collect();
            for object in self.store.list(self.kinds.storage_of(kind), quota.meta("namespace")) {
                if quota_scopes::select(spec, kind, &object.body) {
                    let mut counted = usage(kind, &object.body, now);
                    counted.retain(|name, _| sum.contains_key(name));
                    add(&mut sum, &counted);
                }
            }
            used.extend(sum);
        }
        used.retain(|name, _| hard.contains_key(name));
        let differs = hard != amounts(&status["hard"]) || used != before;
        differs.then(|| json!({"hard": spec["hard"], "used": to_json(&used)}))
    }
}

/// Whether an update changes the usage of an object.
fn frees_usage(before: &StoredObject, after: &StoredObject, now: Timestamp) -> bool {
    if strategy_of(before.kind).quota_evaluator() != QuotaEvaluator::Pods {
        return false;
    }
    let resources = |pod: &StoredObject| -> BTreeMap<String, Value> {
        let lists = ["containerStatuses", "initContainerStatuses"].into_iter();
        let all = lists.flat_map(|list| pod.body["status"][list].as_array().into_iter().flatten());
        all.map(|one| (one["name"].as_str().unwrap_or_default().to_owned(), one["resources"].clone())).collect()
    };
    let (had, has) = (resources(before), resources(after));
    had.iter().any(|(name, old)| has.get(name).is_some_and(|new| new != old))
        || quota_scopes::has_deadline(&before.body) != quota_scopes::has_deadline(&after.body)
        || is_fully_charged(&before.body, now) && !is_fully_charged(&after.body, now)
}
