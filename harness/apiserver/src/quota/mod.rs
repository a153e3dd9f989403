//! ResourceQuotas: what a write may use, and what is in use.
//!
//! [`admit`] is upstream's admission plugin: it compares a write with each quota of the namespace,
//! and adds what it uses to their status. [`recount`] is the controller, which counts again what
//! may have become free. Both know all scopes, and all resources of the kinds that are served; a
//! quota that counts objects of another kind is refused ([`refuse`]).

mod recount;
mod scopes;
mod usage;

use jiff::Timestamp;
use serde_json::Value;

use super::amounts::{Amounts, add, amounts};
use super::api::Quantity;
use super::kinds::{Kind, built_in};
use super::problem::{Outcome, Problem};
use super::server::Server;
pub(super) use recount::Progress;
use recount::written;
use usage::is_tracked;

/// A create, or a change of an object, that admission compares with quotas.
pub(super) struct Charge<'a> {
    pub(super) kind: &'static Kind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) new: &'a Value,
    /// Before a change.
    pub(super) old: Option<&'a Value>,
    pub(super) now: Timestamp,
}

/// Compares a write with all quotas, and charges them if it fits. Upstream: `CheckRequest` and
/// `checkQuotas`. Where several quotas refuse it, upstream names one by chance and this the first.
pub(super) fn admit(server: &mut Server, charge: &Charge<'_>) -> Outcome<()> {
    if !charge.is_counted() {
        return Ok(());
    }
    let Charge { kind, namespace, name, new, old, now } = *charge;
    let forbidden = |why: String| Err(Problem::forbidden(kind, name, &why));
    let quotas = quota_kind();
    let mut interesting = Vec::new();
    for quota in server.store.list(quotas, namespace) {
        let (spec, status) = (&quota.body["spec"], &quota.body["status"]);
        let hard = amounts(&status["hard"]);
        let tracked = || hard.keys().map(String::as_str).filter(|name| is_tracked(kind, name));
        if tracked().next().is_none() || !scopes::select(spec, kind, new) {
            continue;
        }
        if kind.built_in() == "Pod"
            && let Some(why) = usage::unsaid(new, tracked())
        {
            return forbidden(format!("failed quota: {}: {why}", quota.meta("name")));
        }
        if tracked().any(|name| status["used"].get(name).is_none()) {
            let names = tracked().collect::<Vec<_>>().join(",");
            return forbidden(format!("status unknown for quota: {}, resources: {names}", quota.meta("name")));
        }
        interesting.push((quota.clone(), hard));
    }
    let used = usage::usage(kind, new, now);
    let mut charged = Vec::new();
    for (quota, hard) in interesting {
        let before = old.filter(|old| scopes::select(&quota.body["spec"], kind, old));
        let mut requested = match before {
            Some(old) => difference(&used, &usage::usage(kind, old, now)),
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
            let shown = |of: &Amounts| {
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
        body["status"]["used"] = written(&used);
        server.keep(quotas, quota.key(), body, quota.managers.clone());
    }
    Ok(())
}

impl Charge<'_> {
    /// Upstream: `Handles`.
    fn is_counted(&self) -> bool {
        match (self.kind.built_in(), self.old) {
            ("Event", _) => false,
            (_, None) | ("Service", _) => true,
            ("Pod", Some(old)) => scopes::has_deadline(self.new) != scopes::has_deadline(old),
            _ => false,
        }
    }
}

/// What is used more than before, of each resource that was or is used. Upstream:
/// `SubtractWithNonNegativeResult`.
fn difference(after: &Amounts, before: &Amounts) -> Amounts {
    let less = |name: &String, amount: &Quantity| match before.get(name) {
        Some(there) => amount.less(there),
        None => amount.clone(),
    };
    after.iter().map(|(name, amount)| (name.clone(), less(name, amount))).collect()
}

/// Refuses a quota that counts objects of a kind of which it is not known here whether upstream has
/// it.
pub(super) fn refuse(server: &Server, kind: &Kind, body: &Value) -> Outcome<()> {
    let names = body["spec"]["hard"].as_object().into_iter().flatten().map(|(name, _)| name);
    for name in names.filter(|name| kind.built_in() == "ResourceQuota" && !usage::is_unserved(name)) {
        let Some(counted) = name.strip_prefix("count/") else { continue };
        let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
        if server.kinds.of_group(group, plural).is_none() {
            return Err(Problem::unsupported(format!("a quota of {name}")));
        }
    }
    Ok(())
}

fn quota_kind() -> &'static Kind {
    built_in("", "resourcequotas").expect("quotas are served")
}
