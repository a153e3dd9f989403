//! A live cluster under watch: the invariants at each decision, and the statuses where nothing
//! changes any more.
//!
//! `Monitor` is pure: what watches bring goes in, with the time; breaches and evidence come out.
//! [`watch`] is the thin part around it: watches, metrics, alerts, files. Nothing is written to the
//! cluster, but for Events if they are asked for.
//!
//! A false alarm costs more than a breach that is found an hour later. So this is asked, and no
//! more:
//!
//! * Only what the Deployment controller wrote is judged, by managed fields (`author`). Pods fail
//!   by themselves.
//! * A decision is a breach only if it is one by every state of the last seconds that the
//!   controller may have acted on (`past`, `judge`).
//! * A bound that somebody else broke is excused until it holds and the Deployment's status has
//!   been right for some time (`estate`).
//! * A status is asked only when what it sums up has not changed for some time (`clocks`,
//!   `status`).
//! * Nothing is judged until every watch was heard of after it (`queue`). After a gap all begins
//!   anew.
//! * What depends on requests is not asked: a live cluster does not show them. Nor is what a
//!   controller left undone.
//!
//! `window` keeps the last minutes of each Deployment, which become the evidence: an ordinary
//! recording, as [`capture`](crate::capture) makes them.

mod alert;
mod apply;
mod author;
mod breach;
mod clocks;
mod counts;
mod estate;
mod evidence;
mod facts;
mod folder;
mod judge;
mod model;
mod past;
mod queue;
mod seen;
mod serve;
mod status;
mod watch;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use alert::{AlertError, WebhookUrl};
pub use breach::Breach;
pub use model::Terms;
pub(crate) use model::{Output, Place};
pub use watch::{Said, WatchError, Wish, watch};

use self::counts::Counts;
use self::estate::Estate;
use self::evidence::Evidence;
use self::model::{DEPLOYMENT, Found, KINDS};
use self::queue::Queue;
use self::seen::Seen;
use crate::capture::News;
use crate::clock::to_rfc3339;
use crate::recording::Change;

/// See the module.
#[derive(Debug)]
pub(crate) struct Monitor {
    terms: Terms,
    place: Place,
    queue: Queue,
    estate: Estate,
    evidence: Evidence,
    /// What was there, until all kinds have been listed.
    first: BTreeMap<&'static str, Vec<Seen>>,
    /// The resourceVersion of the version that was taken in last.
    last: u64,
    /// Decisions before this are not judged; `None`: nothing is known yet.
    blind: Option<u64>,
    /// When which rule was last reported of which Deployment.
    told: BTreeMap<(String, &'static str), u64>,
    /// Breaches that were found when there was nobody to be told.
    found: Vec<Found>,
    notes: Vec<String>,
    /// Why a kind is not seen now.
    lost: BTreeMap<&'static str, String>,
    /// Numbers for metrics.
    pub(crate) counts: Counts,
}

impl Monitor {
    pub(crate) fn new(terms: Terms, place: Place) -> Self {
        Self {
            terms,
            evidence: Evidence::new(terms, place.clone()),
            place,
            queue: Queue::default(),
            estate: Estate::new(terms),
            first: BTreeMap::new(),
            last: 0,
            blind: None,
            told: BTreeMap::new(),
            found: Vec::new(),
            notes: Vec::new(),
            lost: BTreeMap::new(),
            counts: Counts::default(),
        }
    }

    /// Take in what a watch has brought.
    pub(crate) fn take(&mut self, news: News, at: u64) {
        let kind = match news {
            News::Heard { kind } => kind,
            // What was seen until then stays judged until then.
            News::Lost { kind, why } => {
                self.lost.insert(kind, why);
                return;
            }
            News::Seen { kind, change, object } => {
                let seen = self.seen(kind, change, object, at);
                self.queue.put(seen);
                kind
            }
            News::Listed { kind, objects, .. } if self.blind.is_none() => {
                let found = objects.into_iter().map(|object| self.seen(kind, Change::Added, object, at)).collect();
                self.first.insert(kind, found);
                if self.first.len() == KINDS.len() {
                    self.begin(at);
                }
                kind
            }
            News::Listed { kind, objects, gap } => {
                self.listed_again(kind, objects, &gap.unwrap_or_default(), at);
                kind
            }
        };
        self.lost.remove(kind);
        self.queue.heard(kind, at);
    }

    /// Why a kind is not seen now, if the server says so.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.lost.iter().next().map(|(kind, why)| format!("{kind}s are not seen: {why}"))
    }

    /// What is to be said by now.
    pub(crate) fn look(&mut self, now: u64) -> Vec<Output> {
        let mut out: Vec<Output> = std::mem::take(&mut self.notes).into_iter().map(Output::Note).collect();
        let horizon = self.queue.horizon(KINDS.len()).filter(|_| self.blind.is_some());
        let horizon = horizon.map(|horizon| horizon.min(now));
        self.counts.behind = now.saturating_sub(horizon.unwrap_or(0));
        let Some(horizon) = horizon else { return out };
        while let Some(seen) = self.queue.next(horizon) {
            let judged = seen.version.rv >= self.last && self.blind.is_some_and(|blind| seen.version.at >= blind);
            if seen.version.rv < self.last {
                // It should not have been waited for in vain; what it led to cannot be told from
                // what it did not.
                self.blind = self.blind.max(Some(seen.version.at + self.terms.staleness));
                self.counts.late += 1;
            }
            self.last = self.last.max(seen.version.rv);
            self.counts.versions += 1;
            let found = self.estate.apply(&seen, judged);
            self.found.extend(found);
        }
        while let Some(found) = self.estate.wrong_status(horizon) {
            self.found.push(found);
        }
        for found in std::mem::take(&mut self.found) {
            out.extend(self.breach(found).map(|breach| Output::Breach(Box::new(breach))));
        }
        out.extend(self.evidence.due(&self.estate, horizon));
        self.estate.trim(Some(horizon.saturating_sub(self.terms.keep)));
        self.estate.bury(|uid| self.evidence.is_pending(uid));
        self.told.retain(|_, at| *at + self.terms.keep > horizon);
        self.counts.deployments = self.estate.groups.len();
        self.counts.bytes = self.estate.weight;
        out
    }

    /// The evidence that there is, before this ends. What came too late to be judged is in it.
    pub(crate) fn end(&mut self) -> Vec<Output> {
        self.take_in_unjudged();
        self.evidence.all(&self.estate)
    }

    /// Take in all that waits for its turn.
    fn take_in_unjudged(&mut self) {
        for seen in self.queue.all() {
            self.last = self.last.max(seen.version.rv);
            self.estate.apply(&seen, false);
        }
    }

    /// A version as it is kept; whose controllers write it is noted first.
    fn seen(&mut self, kind: &'static str, change: Change, object: Value, at: u64) -> Seen {
        if kind == DEPLOYMENT {
            self.estate.note_controllers(&object);
        }
        Seen::of(kind, change, object, at)
    }

    /// Everything was listed for the first time.
    fn begin(&mut self, at: u64) {
        let mut first = std::mem::take(&mut self.first);
        for kind in KINDS {
            first.remove(kind).into_iter().flatten().for_each(|seen| self.estate.found(seen));
        }
        self.start(at);
    }

    /// A watch could not go on. What happened meanwhile is not known, so all begins anew.
    fn listed_again(&mut self, kind: &'static str, objects: Vec<Value>, why: &str, at: u64) {
        self.counts.gaps += 1;
        self.notes.push(format!("{kind}s were not seen for a time, as the server could not go on: {why}"));
        let there: Vec<Seen> =
            objects.into_iter().map(|object| self.seen(kind, Change::Modified, object, at)).collect();
        // First what is known, then what is gone, then what is there.
        self.take_in_unjudged();
        let names: BTreeSet<(String, String)> =
            there.iter().map(|seen| (seen.namespace.clone(), seen.version.name.clone())).collect();
        for seen in self.estate.gone(kind, &names, at).into_iter().chain(there) {
            self.estate.apply(&seen, false);
        }
        let outputs = self.evidence.all(&self.estate);
        self.notes.extend(outputs.iter().map(|_| "evidence ends at a gap".to_owned()));
        self.evidence.wait(outputs);
        self.estate.trim(None);
        self.start(at);
    }

    /// What came before is not known.
    fn start(&mut self, at: u64) {
        self.estate.excuse_all(at);
        self.blind = self.blind.max(Some(at + self.terms.staleness));
    }

    fn breach(&mut self, found: Found) -> Option<Breach> {
        let Found { group: uid, invariant, detail, rv, at } = found;
        let group = self.estate.groups.get(&uid)?;
        let (rule, says) = invariant.map_or(breach::STATUS, |one| (one.name(), one.says()));
        let key = (uid.clone(), rule);
        let is_repeated = self.told.get(&key).is_some_and(|told| told + self.terms.keep > at);
        if !is_repeated {
            self.told.insert(key, at);
        }
        self.counts.breach(&group.namespace, &group.name, rule);
        let evidence = Some(self.evidence.wanted(&uid, group, at).to_string());
        let time = evidence::time(&self.place, at);
        Some(Breach {
            time: to_rfc3339(time),
            cluster: self.place.cluster.clone(),
            namespace: group.namespace.clone(),
            deployment: group.name.clone(),
            uid,
            rule,
            says,
            detail,
            resource_version: rv,
            evidence,
            is_repeated,
        })
    }
}

#[cfg(test)]
impl Monitor {
    /// A version whose author is known.
    fn take_by(&mut self, namespace: &str, author: author::Author, version: crate::recording::Version) {
        self.queue.put(Seen { namespace: namespace.to_owned(), author, version });
    }
}

#[cfg(test)]
mod tests;
