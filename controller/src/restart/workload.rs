//! A workload, as far as the rules look at it.
//!
//! Cases: `config-restart/s03-opt-in-true@safe`, `config-restart/paused-template-and-config`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use super::evidence;
use super::pace::{Pace, Place};
use super::references::{References, references};
use super::reloader::Facts;
use super::rollout::Rollout;
use super::schedule::Schedule;
use super::selection::{self, LONGEST_LIST, Selection};
use super::state::{Applied, read_applied, read_pending, read_restarts};
pub use super::workload_kind::{Held, WorkloadKind};
use crate::model::names::restart as names;
use crate::model::{Meta, ModelError, beginning, canonical_template};

/// Bytes that are kept of what a template was last restarted by; what this controller writes is
/// shorter.
const LONGEST_TRIGGER: usize = 253;

/// Which one; as text `deployment/default/web`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadName {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            WorkloadKind::Deployment => "deployment",
            WorkloadKind::StatefulSet => "statefulset",
            WorkloadKind::DaemonSet => "daemonset",
            WorkloadKind::CronJob => "cronjob",
            WorkloadKind::Job => "job",
            WorkloadKind::Rollout => "rollout",
        };
        write!(to, "{kind}/{}/{}", self.namespace, self.name)
    }
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Which.
    pub name: WorkloadName,
    /// Its metadata, without labels and annotations.
    pub meta: Meta,
    /// Whether it wants to be restarted.
    pub enabled: bool,
    /// The checksums that its pods are known to have.
    pub applied: Applied,
    /// Whether plain checksums of Secrets were among them when they were read. Here they are keyed;
    /// the annotation still has them.
    pub rekeyed: bool,
    /// Configs, as the annotation names them, whose checksum was made with a key that is not here.
    pub unknown_key: BTreeSet<String>,
    /// What is wrong with the annotation that tells them.
    pub problem: Option<String>,
    /// When it was restarted of late.
    pub restarts: Vec<Timestamp>,
    /// What its template was last restarted by.
    pub trigger: Option<String>,
    /// What its template refers to.
    pub references: References,
    /// Configs that do not restart it, as its annotation names them: `configmap/settings`.
    pub ignores: BTreeSet<String>,
    /// Keys that restart it, where its annotation selects them.
    pub keys: Selection,
    /// When it may be restarted, where its annotation says.
    pub schedule: Option<Schedule>,
    /// How fast its restarts follow changes and those of others, where its annotations say.
    pub pace: Pace,
    /// Where it stands among others.
    pub place: Place,
    /// How far its rollout is.
    pub rollout: Rollout,
    /// What its annotation shows of a restart that waits.
    pub pending: Option<String>,
    /// Annotations of users that make no sense or are too large, and what is wrong with each.
    pub unreadable: BTreeMap<String, String>,
    /// A checksum of its whole template.
    pub template: String,
    /// Why a new template would replace no pods yet.
    pub held: Option<Held>,
    /// When somebody last wrote its template or opted in, as far as the server says.
    pub written: Option<Timestamp>,
    /// What profile `reloader` looks at; no other keeps it.
    pub reloader: Facts,
}

impl Workload {
    /// Reads one.
    ///
    /// # Errors
    /// If its metadata makes no sense.
    pub fn read(kind: WorkloadKind, raw: &Value) -> Result<Self, ModelError> {
        let mut meta = Meta::read(raw, kind.as_str())?;
        let annotations = std::mem::take(&mut meta.annotations);
        meta.labels.clear();
        let annotation = |key: &str| annotations.get(key).map(String::as_str);
        let template = match kind {
            WorkloadKind::CronJob => &raw["spec"]["jobTemplate"]["spec"]["template"],
            _ => &raw["spec"]["template"],
        };
        let (applied, problem) = read_applied(annotation(names::CHECKSUMS));
        let mut unreadable = BTreeMap::new();
        let ignores = annotation(names::IGNORE).unwrap_or_default();
        if ignores.len() > LONGEST_LIST {
            unreadable.insert(names::IGNORE.to_owned(), format!("only its first {} KiB count", LONGEST_LIST >> 10));
        }
        let ignores = beginning(ignores, LONGEST_LIST).split(',').map(|name| name.trim().to_owned());
        let keys = selection::read(annotation(names::KEYS)).unwrap_or_else(|problem| {
            unreadable.insert(names::KEYS.to_owned(), problem);
            Selection::new()
        });
        let schedule = annotation(names::WINDOW).map(Schedule::read);
        let problem_of_schedule = schedule.as_ref().and_then(Schedule::problem).map(str::to_owned);
        unreadable.extend(problem_of_schedule.map(|problem| (names::WINDOW.to_owned(), problem)));
        let (pace, place) = (Pace::read(&annotations), Place::read(&annotations));
        unreadable.extend(pace.unreadable.iter().map(|(name, problem)| ((*name).to_owned(), problem.clone())));
        unreadable.extend(place.unreadable.clone().map(|problem| (names::ORDER.to_owned(), problem)));
        let (held, trigger) = (held(kind, raw), &template["metadata"]["annotations"][names::TRIGGER]);
        Ok(Self {
            enabled: annotation(names::ENABLED) == Some("enabled"),
            applied,
            rekeyed: false,
            unknown_key: BTreeSet::new(),
            problem,
            restarts: read_restarts(annotation(names::RESTARTS)),
            trigger: trigger.as_str().map(|text| beginning(text, LONGEST_TRIGGER).to_owned()),
            references: references(template, &meta.namespace),
            ignores: ignores.filter(|name| !name.is_empty()).collect(),
            keys,
            schedule,
            pace,
            place,
            rollout: Rollout::read(kind, raw, held),
            pending: annotation(names::PENDING).map(read_pending),
            unreadable,
            template: super::checksum::text(&canonical_template(template).to_string()),
            held,
            written: evidence::template_written(&raw["metadata"]),
            reloader: Facts::read(raw, template),
            name: WorkloadName { kind, namespace: meta.namespace.clone(), name: meta.name.clone() },
            meta,
        })
    }

    /// When its rollout began, as far as is known: with the last write of its template.
    pub(super) fn rolls_since(&self) -> Option<Timestamp> {
        self.restarts.last().copied().max(self.written)
    }

    /// What its pods are known to have of a config: a checksum of an unknown key does not tell.
    pub(super) fn known(&self, config: &str) -> Option<&String> {
        self.applied.get(config).filter(|_| !self.unknown_key.contains(config))
    }
}

/// Why a new template would replace no pods yet.
fn held(kind: WorkloadKind, raw: &Value) -> Option<Held> {
    let strategy = raw.pointer("/spec/updateStrategy/type");
    match kind {
        WorkloadKind::Deployment if raw["spec"]["paused"] == true => Some(Held::Paused),
        WorkloadKind::StatefulSet | WorkloadKind::DaemonSet if strategy.is_some_and(|of| of == "OnDelete") => {
            Some(Held::OnDelete)
        }
        _ => None,
    }
}
