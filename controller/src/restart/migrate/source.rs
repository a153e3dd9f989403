//! The workloads that the other controller looks after, the configs that restart them, and what
//! this controller has of that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::super::references::ConfigName;
use super::super::reloader::{Change, Observed, Plan, plan};
use super::super::workload::{Workload, WorkloadKind, WorkloadName};
use super::cluster::Cluster;
use super::from::Source;
use super::report::Adopted;
use crate::model::names::restart as names;
use crate::settings::{Profile, ReloaderSettings, RestartSettings};

/// What becomes of a workload; `None`: that controller does not look after it.
pub(super) fn adopted(
    from: Source,
    mut workload: Workload,
    cluster: &Cluster,
    settings: &RestartSettings,
    now: Timestamp,
) -> Option<Adopted> {
    match from {
        Source::Xing => workload.enabled.then(|| of_xing(&workload, settings)),
        Source::Reloader => {
            workload.reloader.compile(&settings.reloader.annotations, None);
            let workload = Arc::new(workload);
            let restarted = restarted(&workload, cluster, &settings.reloader, now)?;
            let restarts_nothing = settings.reloader.webhook.is_some();
            Some(match settings.profile {
                Profile::Reloader if restarts_nothing => as_annotated(&workload.name, &BTreeSet::new(), Vec::new()),
                Profile::Reloader => as_annotated(&workload.name, &restarted, Vec::new()),
                Profile::Safe | Profile::Xing => of_reloader(&workload, &restarted, settings),
            })
        }
    }
}

/// Its annotations are this controller's.
fn of_xing(workload: &Workload, settings: &RestartSettings) -> Adopted {
    let mut lacks = Vec::new();
    lacks.extend(workload.problem.as_ref().map(|problem| format!("its checksums cannot be read: {problem}")));
    let (configs, unread) = followed(workload.references.keys().cloned().collect(), settings);
    lacks.extend(unread);
    as_annotated(&workload.name, &configs, lacks)
}

/// A workload that is restarted by the annotations that it has.
fn as_annotated(name: &WorkloadName, configs: &BTreeSet<ConfigName>, lacks: Vec<String>) -> Adopted {
    Adopted { workload: name.to_string(), configs: text(configs), annotations: BTreeMap::new(), lacks }
}

/// The configs that restart a workload by Reloader's annotations; `None`: it says nothing to
/// Reloader.
fn restarted(
    workload: &Arc<Workload>,
    cluster: &Cluster,
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
        // No checksum is empty, so the change is one that no variable holds already.
        let change = Change { config: (*config).clone(), checksum: String::new(), marks, is_gone: false };
        let observed = Observed { workload: workload.clone(), change, ends: true };
        plan(&observed, now, settings) != Plan::Leave
    };
    let restarted: BTreeSet<ConfigName> = candidates.into_iter().filter(restarts).cloned().collect();
    let names = &settings.annotations;
    let asks =
        [&names.auto, &names.config_maps_auto, &names.secrets_auto, &names.config_maps, &names.secrets, &names.search];
    let facts = &workload.reloader;
    let speaks =
        |name: &&String| facts.annotations.contains_key(*name) || facts.template_annotations.contains_key(*name);
    (!restarted.is_empty() || asks.iter().any(speaks)).then_some(restarted)
}

/// What profile `safe` needs so that the same configs restart the workload.
fn of_reloader(workload: &Workload, restarted: &BTreeSet<ConfigName>, settings: &RestartSettings) -> Adopted {
    let (mut lacks, mut annotations) = (Vec::new(), BTreeMap::new());
    if matches!(workload.name.kind, WorkloadKind::CronJob | WorkloadKind::Job | WorkloadKind::Rollout) {
        lacks.push(format!("a {} is not restarted", workload.name.kind.as_str()));
        return as_annotated(&workload.name, &BTreeSet::new(), lacks);
    }
    let used: BTreeSet<ConfigName> = workload.references.keys().cloned().collect();
    lacks.extend(
        restarted.difference(&used).map(|config| format!("{} is named, and the pods do not use it", short(config))),
    );
    if settings.reloader.webhook.is_some() {
        lacks.push("a webhook in place of restarts (--webhook-url): it is restarted from now on".to_owned());
    }
    if workload.reloader.annotations.contains_key(&settings.reloader.annotations.pause_period) {
        lacks.push(format!(
            "a pause period: changes are gathered before the restart instead, for {} s",
            settings.window.grace_period.as_secs()
        ));
    }
    let (configs, unread) = followed(restarted.intersection(&used).cloned().collect(), settings);
    lacks.extend(unread);
    if !configs.is_empty() {
        annotations.insert(names::ENABLED.to_owned(), "enabled".to_owned());
        let ignored: Vec<String> = used.difference(restarted).map(short).collect();
        if !ignored.is_empty() {
            annotations.insert(names::IGNORE.to_owned(), ignored.join(","));
        }
    }
    Adopted { annotations, ..as_annotated(&workload.name, &configs, lacks) }
}

/// Those that are followed, and what is to be said of the others.
fn followed(configs: BTreeSet<ConfigName>, settings: &RestartSettings) -> (BTreeSet<ConfigName>, Vec<String>) {
    let (followed, others): (BTreeSet<_>, BTreeSet<_>) =
        configs.into_iter().partition(|config| settings.follows(config.kind));
    let unread =
        others.iter().map(|config| format!("{}: no Secret is read without --secret-checksum-keys", short(config)));
    (followed, unread.collect())
}

/// As the annotation has it that lists configs: `configmap/settings`.
fn short(config: &ConfigName) -> String {
    format!("{}/{}", config.kind.as_str(), config.name)
}

fn text(configs: &BTreeSet<ConfigName>) -> BTreeSet<String> {
    configs.iter().map(short).collect()
}
