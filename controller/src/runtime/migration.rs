//! Reads what taking over from another controller is decided on: each kind once, and nothing is
//! watched.

use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::RunError;
use super::restart_wire::{ConfigMap, Namespace, Secret, Seen};
use super::wire::Wire;
use crate::api::{ApiServer, List, Pages, RequestError, Resource};
use crate::metrics::Metrics;
use crate::restart::{Cluster, ConfigKind, Migration, Source, WorkloadKind, migration};
use crate::settings::Settings;

/// Says what it means to take over from another controller.
pub(crate) async fn migrate(client: Client, settings: &Settings, from: Source) -> Result<Migration, RunError> {
    let api = ApiServer::chosen(client, settings, &Metrics::default());
    let cluster = read(&api, settings, from).await.map_err(|error| RunError::Migration(error.message()))?;
    let migration = migration(&cluster, from, &settings.restart, settings.clock.now());
    migration.map_err(|error| RunError::Migration(error.to_string()))
}

async fn read(api: &ApiServer, settings: &Settings, from: Source) -> Result<Cluster, RequestError> {
    let mut cluster = Cluster::default();
    if settings.restart.follows(ConfigKind::ConfigMap) {
        configs::<ConfigMap>(api, &mut cluster).await?;
    }
    if settings.restart.follows(ConfigKind::Secret) {
        configs::<Secret>(api, &mut cluster).await?;
    }
    if settings.restart.reloader.namespace_labels().is_some() {
        configs::<Namespace>(api, &mut cluster).await?;
    }
    let kinds = [
        (Resource::Deployments, WorkloadKind::Deployment),
        (Resource::StatefulSets, WorkloadKind::StatefulSet),
        (Resource::DaemonSets, WorkloadKind::DaemonSet),
        (Resource::CronJobs, WorkloadKind::CronJob),
        (Resource::Jobs, WorkloadKind::Job),
        (Resource::Rollouts, WorkloadKind::Rollout),
    ];
    // xing's controller knows the first two kinds only, and Reloader the last with a flag only.
    let known = match from {
        Source::Xing => 2,
        Source::Reloader if settings.restart.reloader.rollouts => kinds.len(),
        Source::Reloader => kinds.len() - 1,
    };
    for (resource, kind) in kinds.into_iter().take(known) {
        let found = all::<Value>(api, resource, &mut cluster.unread).await?;
        cluster.workloads.extend(found.into_iter().map(|raw| (kind, raw)));
    }
    Ok(cluster)
}

/// Everything of a kind that the restarts themselves watch, brought into the form in which they
/// keep it.
async fn configs<W: Wire<Change = Seen>>(api: &ApiServer, cluster: &mut Cluster) -> Result<(), RequestError> {
    for found in all::<W>(api, W::RESOURCE, &mut cluster.unread).await? {
        match found.read() {
            Ok(Seen::Config(name, Some(config))) => drop(cluster.configs.insert(name, config)),
            Ok(Seen::Namespace(name, now)) => {
                cluster.namespaces.insert(name, now.map(|now| now.labels).unwrap_or_default());
            }
            Ok(_) => {}
            Err(error) => cluster.unread.push(error.to_string()),
        }
    }
    Ok(())
}

/// All pages of a list; one that is forbidden is noted, as is a kind that the cluster does not
/// have, and has nothing.
async fn all<T: DeserializeOwned>(
    api: &ApiServer,
    resource: Resource,
    unread: &mut Vec<String>,
) -> Result<Vec<T>, RequestError> {
    let (mut found, mut pages) = (Vec::new(), Pages::new(resource));
    loop {
        let list: List<T> = match pages.read(api).await {
            Ok(list) => list,
            Err(error) if error.is_forbidden() => {
                unread.push(format!("{}, which may not be listed", resource.plural()));
                return Ok(found);
            }
            Err(error) if error.is_not_served() => {
                unread.push(format!("{}, which the cluster does not have", resource.plural()));
                return Ok(found);
            }
            Err(error) => return Err(error),
        };
        found.extend(list.items);
        if list.metadata.next.is_empty() {
            return Ok(found);
        }
    }
}
