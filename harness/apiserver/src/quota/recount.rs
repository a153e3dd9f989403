//! Counting what quotas limit. Upstream: the resource quota controller.
//!
//! Admission adds to a quota's usage, and this alone takes from it: when an object is deleted, a
//! pod ends or is resized, and every five minutes, by which time a pod may be overdue that was
//! being deleted. In between a usage stays as it is, even where upstream's has become wrong, as
//! after a create that was refused later than by its quota.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::usage::{is_charged, is_tracked, is_unserved, usage};
use super::{quota_kind, scopes};
use crate::amounts::{Amounts, add, amounts};
use crate::api::Quantity;
use crate::kinds::Kind;
use crate::object::Object;
use crate::server::Server;
use crate::store::{Change, Key};

/// Upstream: `--resource-quota-sync-period`.
const RESYNC: i64 = 5 * 60;

/// How far the counting got.
#[derive(Debug)]
pub(in super::super) struct Progress {
    /// The changes up to this version have been looked at.
    version: u64,
    /// The quotas to be counted.
    due: BTreeSet<Key>,
    began: Timestamp,
    /// Which of the periods since then all quotas were counted in last.
    period: Option<i64>,
}

impl Progress {
    pub(in super::super) fn starting(began: Timestamp) -> Self {
        Self { version: 0, due: BTreeSet::new(), began, period: None }
    }

    /// Has all quotas counted: objects were stored without admission.
    pub(in super::super) fn restart(&mut self) {
        self.period = None;
    }
}

impl Server {
    /// Counts one quota whose status then changes; whether there was one.
    pub(in super::super) fn recount_quota(&mut self, now: Timestamp) -> bool {
        self.find_due(now);
        while let Some(key) = self.quotas.due.pop_first() {
            let Some(quota) = self.store.get(&key).cloned() else { continue };
            if let Some(status) = self.count(&quota, now) {
                let mut body = quota.body.clone();
                body["status"] = status;
                return self.write(quota.kind, body, quota.managers.clone()).is_ok();
            }
        }
        false
    }

    /// Finds out which quotas are to be counted.
    fn find_due(&mut self, now: Timestamp) {
        let period = Some(now.duration_since(self.quotas.began).as_secs() / RESYNC);
        let from = self.quotas.version;
        let due: Vec<Key> = if self.store.list(quota_kind(), "").next().is_none() {
            Vec::new()
        } else if period > self.quotas.period || self.store.lacks(from) {
            self.store.list(quota_kind(), "").map(|quota| quota.key()).collect()
        } else {
            self.store.since(from).iter().flat_map(|change| self.due_after(change, now)).collect()
        };
        self.quotas.due.extend(due);
        self.quotas.period = self.quotas.period.max(period);
        self.quotas.version = self.store.version();
    }

    /// The quotas to be counted after a change. Upstream: `replenishQuota` and
    /// `DefaultUpdateFilter`.
    fn due_after(&self, change: &Change, now: Timestamp) -> Vec<Key> {
        let quotas = || self.store.list(quota_kind(), &change.key.namespace);
        if change.key.kind == quota_kind().place()
            && let Some(after) = change.after()
        {
            let limits = |quota: &Object| amounts(&quota.body["spec"]["hard"]);
            let same = change.before().is_some_and(|before| limits(&before) == limits(&after));
            return if same { Vec::new() } else { vec![change.key.clone()] };
        }
        if change.key.namespace.is_empty() || quotas().next().is_none() {
            return Vec::new();
        }
        let Some(before) = change.before() else { return Vec::new() };
        if change.after().is_some_and(|after| !frees(&before, &after, now)) {
            return Vec::new();
        }
        let tracks = |quota: &&Arc<Object>| {
            amounts(&quota.body["status"]["hard"]).keys().any(|name| is_tracked(before.kind, name))
        };
        quotas().filter(tracks).map(|quota| quota.key()).collect()
    }

    /// A quota's new status, if it differs. Upstream: `syncResourceQuota`.
    fn count(&self, quota: &Object, now: Timestamp) -> Option<Value> {
        let (spec, status) = (&quota.body["spec"], &quota.body["status"]);
        let hard = amounts(&spec["hard"]);
        let before = amounts(&status["used"]);
        let mut used = before.clone();
        let kinds: BTreeMap<String, &Kind> = self.kinds.all().map(|kind| (kind.resource(), kind)).collect();
        let zero = |name: &String| (name.clone(), Quantity::zero());
        used.extend(hard.keys().filter(|name| is_unserved(name)).map(zero));
        for kind in kinds.into_values().filter(|kind| hard.keys().any(|name| is_tracked(kind, name))) {
            let mut sum: Amounts = hard.keys().filter(|name| is_tracked(kind, name)).map(zero).collect();
            for object in self.store.list(self.kinds.stored(kind), quota.meta("namespace")) {
                if scopes::select(spec, kind, &object.body) {
                    let mut counted = usage(kind, &object.body, now);
                    counted.retain(|name, _| sum.contains_key(name));
                    add(&mut sum, &counted);
                }
            }
            used.extend(sum);
        }
        used.retain(|name, _| hard.contains_key(name));
        let differs = hard != amounts(&status["hard"]) || used != before;
        differs.then(|| json!({"hard": spec["hard"], "used": written(&used)}))
    }
}

/// Whether a change of an object changes what it uses.
fn frees(before: &Object, after: &Object, now: Timestamp) -> bool {
    if before.kind.built_in() != "Pod" {
        return false;
    }
    let resources = |pod: &Object| -> BTreeMap<String, Value> {
        let lists = ["containerStatuses", "initContainerStatuses"].into_iter();
        let all = lists.flat_map(|list| pod.body["status"][list].as_array().into_iter().flatten());
        all.map(|one| (one["name"].as_str().unwrap_or_default().to_owned(), one["resources"].clone())).collect()
    };
    let (had, has) = (resources(before), resources(after));
    had.iter().any(|(name, old)| has.get(name).is_some_and(|new| new != old))
        || scopes::has_deadline(&before.body) != scopes::has_deadline(&after.body)
        || is_charged(&before.body, now) && !is_charged(&after.body, now)
}

/// Amounts as they stand in a status.
pub(super) fn written(amounts: &Amounts) -> Value {
    amounts.iter().map(|(name, amount)| (name.clone(), Value::from(amount.to_string()))).collect()
}
