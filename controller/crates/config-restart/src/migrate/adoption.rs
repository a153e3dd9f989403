//! Finds the workloads that the other controller restarts, the configs that restart them, and which
//! of that this controller supports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::names::restart as names;
use serde_json::Value;

use crate::engines::reloader::{ConfigChange, ObservedChange, ReloadDecision, plan};
use crate::migrate::report::{AdoptedWorkload, MigrationSource};
use crate::model::config::HashedConfig;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigName, WorkloadKind, WorkloadName};
use crate::settings::{Profile, ReloaderSettings, RestartSettings};

/// The objects of a cluster that a migration report reads.
#[derive(Default)]
pub struct ClusterSnapshot {
    /// ConfigMaps and Secrets, as checksums.
    pub configs: BTreeMap<ConfigName, HashedConfig>,
    /// Workloads as API objects.
    pub workloads: Vec<(WorkloadKind, Value)>,
    /// Labels of namespaces, if a selector needs them.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Kinds that could not be read, and why.
    pub unread: Vec<String>,
}

/// How a workload is adopted; `None`: the other controller does not restart it.
pub(super) fn adopt(
    from: MigrationSource,
    mut workload: WorkloadFacts,
    cluster: &ClusterSnapshot,
    settings: &RestartSettings,
    now: Timestamp,
) -> Option<AdoptedWorkload> {
    match from {
        MigrationSource::Xing => workload.enabled.then(|| adopt_from_xing(&workload, settings)),
        MigrationSource::Reloader => {
            workload.reloader.compile(&settings.reloader.annotations, None);
            let workload = Arc::new(workload);
            let restarted = restarting_configs(&workload, cluster, &settings.reloader, now)?;
            let restarts_nothing = settings.reloader.webhook.is_some();
            Some(match settings.profile {
                Profile::Reloader if restarts_nothing => {
                    without_annotations(&workload.name, &BTreeSet::new(), Vec::new())
                }
                Profile::Reloader => without_annotations(&workload.name, &restarted, Vec::new()),
                Profile::Safe | Profile::Xing => adopt_from_reloader(&workload, &restarted, settings),
            })
        }
    }
}

/// xing's annotations are the same as this controller's.
fn adopt_from_xing(workload: &WorkloadFacts, settings: &RestartSettings) -> AdoptedWorkload {
    let mut unsupported = Vec::new();
    unsupported.extend(workload.problem.as_ref().map(|problem| format!("its checksums cannot be read: {problem}")));
    let (configs, unread) = split_followed(workload.references.keys().cloned().collect(), settings);
    unsupported.extend(unread);
    without_annotations(&workload.name, &configs, unsupported)
}

/// A workload that needs no further annotations.
fn without_annotations(
    name: &WorkloadName,
    configs: &BTreeSet<ConfigName>,
    unsupported: Vec<String>,
) -> AdoptedWorkload {
    AdoptedWorkload {
        workload: name.to_string(),
        configs: short_names(configs),
        annotations: BTreeMap::new(),
        unsupported,
    }
}

/// The configs that restart a workload by Reloader's annotations; `None`: it has none of these
/// annotations.
fn restarting_configs(
    workload: &Arc<WorkloadFacts>,
    cluster: &ClusterSnapshot,
    settings: &ReloaderSettings,
    now: Timestamp,
) -> Option<BTreeSet<ConfigName>> {
    let namespace = &workload.name.namespace;
    let here = cluster.configs.keys().filter(|config| config.namespace == *namespace);
    let candidates: BTreeSet<&ConfigName> = here.chain(workload.references.keys()).collect();
    let restarts = |config: &&ConfigName| {
        let traits = cluster.configs.get(*config).and_then(|config| config.reloader.as_ref());
        let is_selected =
            |labels| settings.resource_selector.as_ref().is_none_or(|of| of.matches(labels).unwrap_or_default());
        if !settings.includes_namespace(namespace) || traits.is_some_and(|traits| !is_selected(&traits.labels)) {
            return false;
        }
        if let Some(selector) = settings.namespace_labels() {
            let labels = cluster.namespaces.get(namespace);
            if !labels.is_some_and(|labels| selector.matches(labels).unwrap_or_default()) {
                return false;
            }
        }
        let marks = traits.map(|traits| traits.marks.clone()).unwrap_or_default();
        // No config has an empty checksum, so no variable has this value yet.
        let change = ConfigChange { config: (*config).clone(), checksum: String::new(), marks, is_deleted: false };
        let observed = ObservedChange { workload: workload.clone(), change, is_end_known: true };
        plan(&observed, now, settings) != ReloadDecision::Skip
    };
    let restarted: BTreeSet<ConfigName> = candidates.into_iter().filter(restarts).cloned().collect();
    let names = &settings.annotations;
    let triggers =
        [&names.auto, &names.config_maps_auto, &names.secrets_auto, &names.config_maps, &names.secrets, &names.search];
    let facts = &workload.reloader;
    let is_set =
        |name: &&String| facts.annotations.contains_key(*name) || facts.template_annotations.contains_key(*name);
    (!restarted.is_empty() || triggers.iter().any(is_set)).then_some(restarted)
}

/// The annotations that profile `safe` needs so that the same configs restart the workload.
fn adopt_from_reloader(
    workload: &WorkloadFacts,
    restarted: &BTreeSet<ConfigName>,
    settings: &RestartSettings,
) -> AdoptedWorkload {
    let (mut unsupported, mut annotations) = (Vec::new(), BTreeMap::new());
    if matches!(workload.name.kind, WorkloadKind::CronJob | WorkloadKind::Job | WorkloadKind::Rollout) {
        unsupported.push(format!("a {} is not restarted", workload.name.kind.as_str()));
        return without_annotations(&workload.name, &BTreeSet::new(), unsupported);
    }
    let used: BTreeSet<ConfigName> = workload.references.keys().cloned().collect();
    unsupported.extend(
        restarted
            .difference(&used)
            .map(|config| format!("{} is named, and the pods do not use it", short_name(config))),
    );
    if settings.reloader.webhook.is_some() {
        unsupported.push("a webhook in place of restarts (--webhook-url): it is restarted from now on".to_owned());
    }
    if workload.reloader.annotations.contains_key(&settings.reloader.annotations.pause_period) {
        unsupported.push(format!(
            "a pause period: changes are gathered before the restart instead, for {} s",
            settings.window.grace_period.as_secs()
        ));
    }
    let (configs, unread) = split_followed(restarted.intersection(&used).cloned().collect(), settings);
    unsupported.extend(unread);
    if !configs.is_empty() {
        annotations.insert(names::ENABLED.to_owned(), "enabled".to_owned());
        let ignored: Vec<String> = used.difference(restarted).map(short_name).collect();
        if !ignored.is_empty() {
            annotations.insert(names::IGNORE.to_owned(), ignored.join(","));
        }
    }
    AdoptedWorkload { annotations, ..without_annotations(&workload.name, &configs, unsupported) }
}

/// The configs that this controller follows, and messages about the others.
fn split_followed(configs: BTreeSet<ConfigName>, settings: &RestartSettings) -> (BTreeSet<ConfigName>, Vec<String>) {
    let (followed, others): (BTreeSet<_>, BTreeSet<_>) =
        configs.into_iter().partition(|config| settings.follows(config.kind));
    let unread =
        others.iter().map(|config| format!("{}: no Secret is read without --secret-checksum-keys", short_name(config)));
    (followed, unread.collect())
}

/// The config as annotations list it: `configmap/settings`.
fn short_name(config: &ConfigName) -> String {
    format!("{}/{}", config.kind.as_str(), config.name)
}

fn short_names(configs: &BTreeSet<ConfigName>) -> BTreeSet<String> {
    configs.iter().map(short_name).collect()
}
