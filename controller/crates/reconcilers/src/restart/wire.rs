//! The objects that the config-restart controller watches, as they are parsed: configs become
//! checksums, workloads the facts that rules use.

use controller_client::api::{NamespacedName, Resource};
use controller_client::runtime::WireObject;
use rollout_model::{Meta, ModelError};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::decisions::restarts::{
    ConfigKind, ConfigName, ConfigObject, HashedConfig, WorkloadFacts, WorkloadKind, WorkloadName,
};

/// A config, workload or namespace that was added, changed or (`None`) deleted.
pub(super) enum RestartUpdate {
    Config(ConfigName, Option<HashedConfig>),
    Workload(WorkloadName, Option<Box<WorkloadFacts>>),
    /// Name and metadata of a namespace.
    Namespace(String, Option<Meta>),
}

macro_rules! config {
    ($name:ident, $resource:ident) => {
        #[derive(Clone)]
        pub(super) struct $name(ConfigObject);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                ConfigObject::deserialize_as(ConfigKind::$name, from).map(Self)
            }
        }

        impl WireObject for $name {
            const RESOURCE: Resource = Resource::$resource;
            type Update = RestartUpdate;

            fn key_and_version(&self) -> (NamespacedName, String) {
                let meta = &self.0.meta;
                (NamespacedName::new(&meta.namespace, &meta.name), meta.resource_version.clone())
            }

            fn into_update(self) -> Result<RestartUpdate, ModelError> {
                let (key, _) = self.key_and_version();
                Ok(RestartUpdate::Config(config(ConfigKind::$name, key), Some(self.0.config)))
            }

            fn deletion(key: NamespacedName) -> RestartUpdate {
                RestartUpdate::Config(config(ConfigKind::$name, key), None)
            }
        }
    };
}

macro_rules! workload {
    ($name:ident, $resource:ident) => {
        #[derive(Clone, Deserialize)]
        #[serde(transparent)]
        pub(super) struct $name(Value);

        impl WireObject for $name {
            const RESOURCE: Resource = Resource::$resource;
            type Update = RestartUpdate;

            fn key_and_version(&self) -> (NamespacedName, String) {
                let text = |pointer| self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let key = NamespacedName::new(text("/metadata/namespace"), text("/metadata/name"));
                (key, text("/metadata/resourceVersion").to_owned())
            }

            fn into_update(self) -> Result<RestartUpdate, ModelError> {
                let (key, _) = self.key_and_version();
                let now = WorkloadFacts::read(WorkloadKind::$name, &self.0)?;
                Ok(RestartUpdate::Workload(workload(WorkloadKind::$name, key), Some(Box::new(now))))
            }

            fn deletion(key: NamespacedName) -> RestartUpdate {
                RestartUpdate::Workload(workload(WorkloadKind::$name, key), None)
            }
        }
    };
}

config!(ConfigMap, ConfigMaps);
config!(Secret, Secrets);
workload!(Deployment, Deployments);
workload!(StatefulSet, StatefulSets);
workload!(DaemonSet, DaemonSets);
workload!(CronJob, CronJobs);
workload!(Job, Jobs);
workload!(Rollout, Rollouts);

#[derive(Clone, Deserialize)]
pub(super) struct Namespace {
    metadata: Meta,
}

impl WireObject for Namespace {
    const RESOURCE: Resource = Resource::Namespaces;
    type Update = RestartUpdate;

    fn key_and_version(&self) -> (NamespacedName, String) {
        (NamespacedName::new("", &self.metadata.name), self.metadata.resource_version.clone())
    }

    fn into_update(self) -> Result<RestartUpdate, ModelError> {
        Ok(RestartUpdate::Namespace(self.metadata.name.clone(), Some(self.metadata)))
    }

    fn deletion(key: NamespacedName) -> RestartUpdate {
        RestartUpdate::Namespace(key.name, None)
    }
}

/// Where the API has configs of a kind.
pub(super) fn config_resource(kind: ConfigKind) -> Resource {
    match kind {
        ConfigKind::ConfigMap => Resource::ConfigMaps,
        ConfigKind::Secret => Resource::Secrets,
    }
}

/// Where the API has workloads of a kind.
pub(super) fn workload_resource(kind: WorkloadKind) -> Resource {
    match kind {
        WorkloadKind::Deployment => Resource::Deployments,
        WorkloadKind::StatefulSet => Resource::StatefulSets,
        WorkloadKind::DaemonSet => Resource::DaemonSets,
        WorkloadKind::CronJob => Resource::CronJobs,
        WorkloadKind::Job => Resource::Jobs,
        WorkloadKind::Rollout => Resource::Rollouts,
    }
}

fn config(kind: ConfigKind, key: NamespacedName) -> ConfigName {
    ConfigName { kind, namespace: key.namespace, name: key.name }
}

fn workload(kind: WorkloadKind, key: NamespacedName) -> WorkloadName {
    WorkloadName { kind, namespace: key.namespace, name: key.name }
}
