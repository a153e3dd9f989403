//! Monitors a live cluster: the invariants at each decision, and the statuses once nothing changes
//! any more.
//!
//! `Monitor` is pure: the watches' updates go in, with their times; breaches and evidence come out.
//! [`watch`] does the input and output: watches, metrics, alerts, files. It writes nothing to the
//! cluster except Events, on request.
//!
//! A false alarm costs more than a breach that is found an hour later. So only this is checked:
//!
//! * Only what the Deployment controller wrote is judged, by managed fields (`observed`). Pods fail
//!   by themselves.
//! * A decision is a breach only if it is one for every recent state that the controller may have
//!   acted on (`judge`).
//! * A bound that another client broke is excused until it holds and the Deployment's status has
//!   been right for some time (`cluster_state`).
//! * A status is checked only when what it sums up has not changed for some time
//!   (`StatusTimers`).
//! * A version is judged only after every watch has reported something later (`queue`). After a gap
//!   everything starts over.
//! * What depends on requests is not checked, as a live cluster does not show them. Nor is what a
//!   controller failed to do.
//!
//! An `EvidenceWindow` stores the last minutes of each Deployment, which become the evidence: an
//! ordinary recording, like those of [`capture`](crate::capture).

mod alert;
mod cluster_state;
mod counts;
mod evidence;
mod judge;
mod model;
mod observed;
mod queue;
mod watch;

use std::collections::BTreeMap;

pub use alert::AlertUrl;
use lockstep_recording::ChangeType;
use lockstep_support::clock::to_rfc3339;
pub use model::Tolerances;
pub(crate) use model::{BreachReport, ClusterInfo, MonitorOutput};
use serde_json::Value;
pub use watch::{WatchError, WatchMessage, WatchOptions, watch};

use self::cluster_state::ClusterState;
use self::counts::MonitorCounts;
use self::evidence::EvidenceRecorder;
use self::model::{BreachCandidate, DEPLOYMENT, KINDS};
use self::observed::ObservedVersion;
use self::queue::VersionQueue;
use crate::capture::WatchUpdate;

/// Judges the updates of the watches; see the module's documentation.
#[derive(Debug)]
pub(crate) struct Monitor {
    terms: Tolerances,
    cluster_info: ClusterInfo,
    queue: VersionQueue,
    cluster_state: ClusterState,
    evidence: EvidenceRecorder,
    /// The first lists, until all kinds have been listed.
    first: BTreeMap<&'static str, Vec<ObservedVersion>>,
    /// The resourceVersion of the version that was applied last.
    last: u64,
    /// Decisions before this time are not judged; `None`: nothing is known yet.
    judge_from: Option<u64>,
    /// When each rule was last reported for each Deployment.
    last_reports: BTreeMap<(String, &'static str), u64>,
    /// Breaches found outside of `poll`, to be reported next.
    candidates: Vec<BreachCandidate>,
    notes: Vec<String>,
    /// The kinds without a working watch, and the reason.
    lost_watches: BTreeMap<&'static str, String>,
    /// The metrics.
    pub(crate) counts: MonitorCounts,
}

impl Monitor {
    pub(crate) fn new(terms: Tolerances, cluster_info: ClusterInfo) -> Self {
        Self {
            terms,
            evidence: EvidenceRecorder::new(terms, cluster_info.clone()),
            cluster_info,
            queue: VersionQueue::default(),
            cluster_state: ClusterState::new(terms),
            first: BTreeMap::new(),
            last: 0,
            judge_from: None,
            last_reports: BTreeMap::new(),
            candidates: Vec::new(),
            notes: Vec::new(),
            lost_watches: BTreeMap::new(),
            counts: MonitorCounts::default(),
        }
    }

    /// Apply an update of a watch.
    pub(crate) fn take(&mut self, news: WatchUpdate, at: u64) {
        let kind = match news {
            WatchUpdate::Alive { kind } => kind,
            WatchUpdate::Opened { kind, length } => {
                self.lost_watches.remove(kind);
                self.queue.record_opening(kind, at + 1_000 * u64::from(length));
                return;
            }
            // Versions seen until then are still judged until then.
            WatchUpdate::Lost { kind, why } => {
                self.lost_watches.insert(kind, why);
                return;
            }
            WatchUpdate::Version { kind, change, object } => {
                let observed = self.observe(kind, change, object, at);
                self.lost_watches.remove(kind);
                self.queue.put(observed);
                return;
            }
            WatchUpdate::Listed { kind, objects, .. } if self.judge_from.is_none() => {
                self.queue.record_list(kind);
                let first =
                    objects.into_iter().map(|object| self.observe(kind, ChangeType::Added, object, at)).collect();
                self.first.insert(kind, first);
                if self.first.len() == KINDS.len() {
                    self.begin(at);
                }
                kind
            }
            WatchUpdate::Listed { kind, objects, gap } => {
                self.queue.record_list(kind);
                self.listed_again(kind, objects, &gap.unwrap_or_default(), at);
                kind
            }
        };
        self.lost_watches.remove(kind);
        self.queue.record_contact(kind, at);
    }

    /// Why a kind is not seen at the moment, if the server reports a reason.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.lost_watches.iter().next().map(|(kind, why)| format!("{kind}s are not seen: {why}"))
    }

    /// What to report by now.
    pub(crate) fn poll(&mut self, now: u64) -> Vec<MonitorOutput> {
        let mut out: Vec<MonitorOutput> =
            std::mem::take(&mut self.notes).into_iter().map(MonitorOutput::Note).collect();
        let horizon = self.queue.horizon(KINDS.len()).filter(|_| self.judge_from.is_some());
        let horizon = horizon.map(|horizon| horizon.min(now));
        self.counts.behind = now.saturating_sub(horizon.unwrap_or(0));
        let Some(horizon) = horizon else { return out };
        while let Some(observed) = self.queue.next(horizon) {
            let can_judge =
                observed.version.rv >= self.last && self.judge_from.is_some_and(|from| observed.version.at >= from);
            if observed.version.rv < self.last {
                // Waiting for it should have sufficed. What this version led to cannot be separated
                // from other changes.
                self.judge_from = self.judge_from.max(Some(observed.version.at + self.terms.staleness));
                self.counts.late += 1;
            }
            self.last = self.last.max(observed.version.rv);
            self.counts.versions += 1;
            let candidates = self.cluster_state.apply(&observed, can_judge);
            self.candidates.extend(candidates);
        }
        // A version that waits may have put a status right long ago.
        let known = self.queue.earliest().map_or(horizon, |earliest| earliest.min(horizon));
        while let Some(candidate) = self.cluster_state.wrong_status(known) {
            self.candidates.push(candidate);
        }
        for candidate in std::mem::take(&mut self.candidates) {
            out.extend(self.breach(candidate).map(|breach| MonitorOutput::Breach(Box::new(breach))));
        }
        out.extend(self.evidence.due(&self.cluster_state, horizon));
        self.cluster_state.trim(Some(horizon.saturating_sub(self.terms.keep)));
        self.cluster_state.forget_deleted_deployments(|uid| self.evidence.is_pending(uid));
        self.last_reports.retain(|_, at| *at + self.terms.keep > horizon);
        self.counts.deployments = self.cluster_state.groups.len();
        self.counts.bytes = self.cluster_state.weight;
        out
    }

    /// The evidence so far, before the monitor ends. It includes versions that were too late to be
    /// judged.
    pub(crate) fn end(&mut self) -> Vec<MonitorOutput> {
        self.take_in_unjudged();
        self.evidence.all(&self.cluster_state)
    }

    /// Apply all waiting versions.
    fn take_in_unjudged(&mut self) {
        for observed in self.queue.all() {
            self.last = self.last.max(observed.version.rv);
            self.cluster_state.apply(&observed, false);
        }
    }

    /// A version as it is stored. Notes first who writes the statuses.
    fn observe(&mut self, kind: &'static str, change: ChangeType, object: Value, at: u64) -> ObservedVersion {
        if kind == DEPLOYMENT {
            self.cluster_state.note_controllers(&object);
        }
        ObservedVersion::of(kind, change, object, at)
    }

    /// All kinds were listed for the first time.
    fn begin(&mut self, at: u64) {
        let mut first = std::mem::take(&mut self.first);
        if first.get(DEPLOYMENT).is_none_or(Vec::is_empty) {
            self.notes.push("there is no Deployment yet, so there is nothing to watch until one is created".to_owned());
        }
        for kind in KINDS {
            first.remove(kind).into_iter().flatten().for_each(|observed| self.cluster_state.add_existing(observed));
        }
        self.start(at);
    }

    /// A watch could not continue. What happened meanwhile is unknown, so everything starts over.
    fn listed_again(&mut self, kind: &'static str, objects: Vec<Value>, why: &str, at: u64) {
        self.counts.gaps += 1;
        self.notes.push(format!("{kind}s were not seen for a time, as the server could not go on: {why}"));
        let current: Vec<ObservedVersion> =
            objects.into_iter().map(|object| self.observe(kind, ChangeType::Modified, object, at)).collect();
        // First what is known, then what was deleted, then what exists.
        self.take_in_unjudged();
        let gone = self.cluster_state.as_deleted(kind, &current, at);
        for observed in gone.into_iter().chain(current) {
            self.cluster_state.apply(&observed, false);
        }
        let outputs = self.evidence.all(&self.cluster_state);
        self.notes.extend(outputs.iter().map(|_| "evidence ends at a gap".to_owned()));
        self.evidence.defer(outputs);
        self.cluster_state.trim(None);
        self.start(at);
    }

    /// The history before this time is unknown.
    fn start(&mut self, at: u64) {
        self.cluster_state.excuse_all(at);
        self.judge_from = self.judge_from.max(Some(at + self.terms.staleness));
    }

    fn breach(&mut self, candidate: BreachCandidate) -> Option<BreachReport> {
        let BreachCandidate { group: uid, invariant, detail, rv, at } = candidate;
        let group = self.cluster_state.groups.get(&uid)?;
        let (rule, statement) = invariant.map_or(model::STATUS, |one| (one.name(), one.description()));
        let key = (uid.clone(), rule);
        let is_repeated = self.last_reports.get(&key).is_some_and(|last| last + self.terms.keep > at);
        if !is_repeated {
            self.last_reports.insert(key, at);
        }
        self.counts.breach(&group.namespace, &group.name, rule);
        let evidence = Some(self.evidence.request_file(&uid, group, at).to_string());
        let time = evidence::time(&self.cluster_info, at);
        Some(BreachReport {
            time: to_rfc3339(time),
            cluster: self.cluster_info.cluster.clone(),
            namespace: group.namespace.clone(),
            deployment: group.name.clone(),
            uid,
            rule,
            statement,
            detail,
            resource_version: rv,
            evidence,
            is_repeated,
        })
    }
}

#[cfg(test)]
impl Monitor {
    /// Apply a version with a known author.
    fn take_by(&mut self, namespace: &str, author: observed::Author, version: lockstep_recording::ObjectVersion) {
        let earliest = version.at;
        self.queue.put(ObservedVersion { namespace: namespace.to_owned(), author, earliest, version });
    }
}

#[cfg(test)]
mod tests;
