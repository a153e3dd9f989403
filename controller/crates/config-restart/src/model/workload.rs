//! A workload, reduced to what the rules need.
//!
//! Cases: `config-restart/safe-and-xing/s03-opt-in-true@safe`,
//! `config-restart/safe/paused-template-and-config`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rollout_model::names::restart as names;
use rollout_model::{Meta, ModelError, beginning, canonical_template};
use serde_json::Value;

use crate::model::annotation_codec::{AppliedChecksums, read_checksums, read_pending, read_restarts};
use crate::model::annotations::{GroupMembership, PacingAnnotations};
use crate::model::key_selection::{KeySelection, MAX_LIST_BYTES};
use crate::model::references::{References, references};
use crate::model::reloader_facts::ReloaderFacts;
use crate::model::{key_selection, managed_fields};
use crate::names::{ConfigName, Deferral, WorkloadKind, WorkloadName};
use crate::pacing::rollout::RolloutStatus;
use crate::pacing::schedule::Schedule;

/// The longest trigger that is stored; those that this controller writes are shorter.
const MAX_TRIGGER_BYTES: usize = 253;

/// A workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadFacts {
    /// Its name.
    pub name: WorkloadName,
    /// Its metadata, without labels and annotations.
    pub meta: Meta,
    /// Whether it has opted in.
    pub enabled: bool,
    /// The checksums of the data that its pods are known to have. Those of Secrets have been
    /// converted to keyed ones.
    pub checksums: AppliedChecksums,
    /// Whether the annotation still has plain checksums of Secrets.
    pub has_unkeyed_checksums: bool,
    /// Configs, as the annotation names them, whose checksum was made with an unknown key.
    pub unknown_key: BTreeSet<String>,
    /// Why the checksums annotation cannot be read.
    pub problem: Option<String>,
    /// Its recent restarts.
    pub restarts: Vec<Timestamp>,
    /// The trigger in its template.
    pub trigger: Option<String>,
    /// The configs that its template references.
    pub references: References,
    /// Configs that do not restart it, as its annotation names them: `configmap/settings`.
    pub ignored_configs: BTreeSet<String>,
    /// The keys that restart it, where its annotation selects keys.
    pub keys: KeySelection,
    /// When it may be restarted, if its annotation says so.
    pub schedule: Option<Schedule>,
    /// Its pacing annotations.
    pub pacing: PacingAnnotations,
    /// Its group annotations.
    pub membership: GroupMembership,
    /// The progress of its rollout.
    pub rollout: RolloutStatus,
    /// Its annotation about a pending restart.
    pub pending: Option<String>,
    /// User annotations that cannot be read or are too large, with the problem of each.
    pub unreadable: BTreeMap<String, String>,
    /// A checksum of its whole template.
    pub template: String,
    /// Why a new template would replace no pods yet.
    pub deferral: Option<Deferral>,
    /// When its template was last written or it opted in, as far as `managedFields` says.
    pub template_written_at: Option<Timestamp>,
    /// What profile `reloader` needs; empty in the others.
    pub reloader: ReloaderFacts,
}

impl WorkloadFacts {
    /// Reads an API object.
    ///
    /// # Errors
    /// If its metadata is invalid.
    pub fn read(kind: WorkloadKind, raw: &Value) -> Result<Self, ModelError> {
        let mut meta = Meta::read(raw, kind.as_str())?;
        let annotations = std::mem::take(&mut meta.annotations);
        meta.labels.clear();
        let annotation = |key: &str| annotations.get(key).map(String::as_str);
        let template = match kind {
            WorkloadKind::CronJob => &raw["spec"]["jobTemplate"]["spec"]["template"],
            _ => &raw["spec"]["template"],
        };
        let (checksums, problem) = read_checksums(annotation(names::CHECKSUMS));
        let mut unreadable = BTreeMap::new();
        let ignored_configs = annotation(names::IGNORE).unwrap_or_default();
        if ignored_configs.len() > MAX_LIST_BYTES {
            unreadable.insert(names::IGNORE.to_owned(), format!("only its first {} KiB count", MAX_LIST_BYTES >> 10));
        }
        let ignored_configs = beginning(ignored_configs, MAX_LIST_BYTES).split(',').map(|name| name.trim().to_owned());
        let keys = key_selection::read(annotation(names::KEYS)).unwrap_or_else(|problem| {
            unreadable.insert(names::KEYS.to_owned(), problem);
            KeySelection::new()
        });
        let schedule = annotation(names::WINDOW).map(Schedule::read);
        let problem_of_schedule = schedule.as_ref().and_then(Schedule::problem).map(str::to_owned);
        unreadable.extend(problem_of_schedule.map(|problem| (names::WINDOW.to_owned(), problem)));
        let (pacing, membership) = (PacingAnnotations::read(&annotations), GroupMembership::read(&annotations));
        unreadable.extend(pacing.unreadable.iter().map(|(name, problem)| ((*name).to_owned(), problem.clone())));
        unreadable.extend(membership.unreadable.clone().map(|problem| (names::ORDER.to_owned(), problem)));
        let (deferral, trigger) = (deferral(kind, raw), &template["metadata"]["annotations"][names::TRIGGER]);
        Ok(Self {
            enabled: annotation(names::ENABLED) == Some("enabled"),
            checksums,
            has_unkeyed_checksums: false,
            unknown_key: BTreeSet::new(),
            problem,
            restarts: read_restarts(annotation(names::RESTARTS)),
            trigger: trigger.as_str().map(|text| beginning(text, MAX_TRIGGER_BYTES).to_owned()),
            references: references(template, &meta.namespace),
            ignored_configs: ignored_configs.filter(|name| !name.is_empty()).collect(),
            keys,
            schedule,
            pacing,
            membership,
            rollout: RolloutStatus::read(kind, raw, deferral),
            pending: annotation(names::PENDING).map(read_pending),
            unreadable,
            template: crate::model::checksum::text_checksum(&canonical_template(template).to_string()),
            deferral,
            template_written_at: managed_fields::template_written_at(&raw["metadata"]),
            reloader: ReloaderFacts::read(raw, template),
            name: WorkloadName { kind, namespace: meta.namespace.clone(), name: meta.name.clone() },
            meta,
        })
    }

    /// When its rollout began, as far as that is known: at the last write of its template.
    pub(crate) fn rollout_began_at(&self) -> Option<Timestamp> {
        self.restarts.last().copied().max(self.template_written_at)
    }

    /// Whether the workload or the config itself has opted out of restarts for this config.
    pub(crate) fn ignores(&self, config: &ConfigName, config_opts_out: bool) -> bool {
        config_opts_out || self.ignored_configs.contains(&format!("{}/{}", config.kind.as_str(), config.name))
    }

    /// The checksum of the data that its pods are known to have of a config. A checksum that was
    /// made with an unknown key cannot be compared, so it does not count.
    pub(crate) fn known_checksum(&self, config: &str) -> Option<&String> {
        self.checksums.get(config).filter(|_| !self.unknown_key.contains(config))
    }
}

/// Why a new template would replace no pods yet.
fn deferral(kind: WorkloadKind, raw: &Value) -> Option<Deferral> {
    let strategy = raw.pointer("/spec/updateStrategy/type");
    match kind {
        WorkloadKind::Deployment if raw["spec"]["paused"] == true => Some(Deferral::Paused),
        WorkloadKind::StatefulSet | WorkloadKind::DaemonSet if strategy.is_some_and(|of| of == "OnDelete") => {
            Some(Deferral::OnDelete)
        }
        _ => None,
    }
}
