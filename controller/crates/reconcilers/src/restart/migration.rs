//! Reads the objects for a migration report: lists each kind once, and watches nothing.

use controller_client::ClientSettings;
use controller_client::api::{ApiServer, ListPage, ListPager, RequestError, Resource};
use controller_client::metrics::Metrics;
use controller_client::runtime::{RunError, WireObject};
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wire::{ConfigMap, Namespace, RestartUpdate, Secret, workload_resource};
use crate::decisions::restarts::{
    ClusterSnapshot, ConfigKind, Migration, MigrationSource, RestartSettings, WorkloadKind, plan_migration,
};

/// Reports what taking over from another controller would change.
///
/// # Errors
/// [`RunError::Migration`] if an object could not be read.
pub async fn migrate(
    client: Client,
    requests: &ClientSettings,
    settings: &RestartSettings,
    from: MigrationSource,
) -> Result<Migration, RunError> {
    let api = ApiServer::with_settings(client, requests, &Metrics::default());
    let cluster = read_cluster(&api, settings, from).await.map_err(|error| RunError::Migration(error.message()))?;
    let migration = plan_migration(&cluster, from, settings, requests.clock.now());
    migration.map_err(|error| RunError::Migration(error.to_string()))
}

async fn read_cluster(
    api: &ApiServer,
    settings: &RestartSettings,
    from: MigrationSource,
) -> Result<ClusterSnapshot, RequestError> {
    let mut cluster = ClusterSnapshot::default();
    if settings.follows(ConfigKind::ConfigMap) {
        list_configs::<ConfigMap>(api, &mut cluster).await?;
    }
    if settings.follows(ConfigKind::Secret) {
        list_configs::<Secret>(api, &mut cluster).await?;
    }
    if settings.reloader.namespace_labels().is_some() {
        list_configs::<Namespace>(api, &mut cluster).await?;
    }
    let kinds = WorkloadKind::ALL;
    // xing's controller restarts the first two kinds only, and Reloader the last one only with a
    // flag.
    let kind_count = match from {
        MigrationSource::Xing => 2,
        MigrationSource::Reloader if settings.reloader.rollouts => kinds.len(),
        MigrationSource::Reloader => kinds.len() - 1,
    };
    for kind in kinds.into_iter().take(kind_count) {
        let found = list_all::<Value>(api, workload_resource(kind), &mut cluster.unread).await?;
        cluster.workloads.extend(found.into_iter().map(|raw| (kind, raw)));
    }
    Ok(cluster)
}

/// Lists a kind that the config-restart controller watches, in the form in which it keeps the
/// objects.
async fn list_configs<W: WireObject<Update = RestartUpdate>>(
    api: &ApiServer,
    cluster: &mut ClusterSnapshot,
) -> Result<(), RequestError> {
    for found in list_all::<W>(api, W::RESOURCE, &mut cluster.unread).await? {
        match found.into_update() {
            Ok(RestartUpdate::Config(name, Some(config))) => drop(cluster.configs.insert(name, config)),
            Ok(RestartUpdate::Namespace(name, now)) => {
                cluster.namespaces.insert(name, now.map(|now| now.labels).unwrap_or_default());
            }
            Ok(_) => {}
            Err(error) => cluster.unread.push(error.to_string()),
        }
    }
    Ok(())
}

/// All pages of a list. A kind that may not be listed or that the cluster does not serve is noted
/// in `unread`, and is empty.
async fn list_all<T: DeserializeOwned>(
    api: &ApiServer,
    resource: Resource,
    unread: &mut Vec<String>,
) -> Result<Vec<T>, RequestError> {
    let (mut found, mut pages) = (Vec::new(), ListPager::new(resource));
    loop {
        let list: ListPage<T> = match pages.next_page(api).await {
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
        if list.metadata.continue_token.is_empty() {
            return Ok(found);
        }
    }
}
