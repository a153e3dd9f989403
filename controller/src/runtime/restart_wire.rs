//! What restarts watch, as it comes over the wire: of configs checksums are kept, of workloads
//! facts.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::wire::Wire;
use crate::api::{Key, Resource};
use crate::model::{Meta, ModelError};
use crate::restart::{Config, ConfigKind, ConfigName, Described, Workload, WorkloadKind, WorkloadName};

/// A config or workload that came or changed, or (`None`) went.
pub(super) enum Seen {
    Config(ConfigName, Option<Config>),
    Workload(WorkloadName, Option<Box<Workload>>),
    /// A namespace and its metadata.
    Namespace(String, Option<Meta>),
}

macro_rules! config {
    ($name:ident, $resource:ident) => {
        #[derive(Clone)]
        pub(super) struct $name(Described);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Described::of(ConfigKind::$name, from).map(Self)
            }
        }

        impl Wire for $name {
            const RESOURCE: Resource = Resource::$resource;
            type Change = Seen;

            fn place(&self) -> (Key, String) {
                let meta = &self.0.meta;
                (Key::new(&meta.namespace, &meta.name), meta.resource_version.clone())
            }

            fn read(self) -> Result<Seen, ModelError> {
                let (key, _) = self.place();
                Ok(Seen::Config(config(ConfigKind::$name, key), Some(self.0.config)))
            }

            fn gone(key: Key) -> Seen {
                Seen::Config(config(ConfigKind::$name, key), None)
            }
        }
    };
}

macro_rules! workload {
    ($name:ident, $resource:ident) => {
        #[derive(Clone, Deserialize)]
        #[serde(transparent)]
        pub(super) struct $name(Value);

        impl Wire for $name {
            const RESOURCE: Resource = Resource::$resource;
            type Change = Seen;

            fn place(&self) -> (Key, String) {
                let text = |pointer| self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let key = Key::new(text("/metadata/namespace"), text("/metadata/name"));
                (key, text("/metadata/resourceVersion").to_owned())
            }

            fn read(self) -> Result<Seen, ModelError> {
                let (key, _) = self.place();
                let now = Workload::read(WorkloadKind::$name, &self.0)?;
                Ok(Seen::Workload(workload(WorkloadKind::$name, key), Some(Box::new(now))))
            }

            fn gone(key: Key) -> Seen {
                Seen::Workload(workload(WorkloadKind::$name, key), None)
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

/// A namespace.
#[derive(Clone, Deserialize)]
pub(super) struct Namespace {
    metadata: Meta,
}

impl Wire for Namespace {
    const RESOURCE: Resource = Resource::Namespaces;
    type Change = Seen;

    fn place(&self) -> (Key, String) {
        (Key::new("", &self.metadata.name), self.metadata.resource_version.clone())
    }

    fn read(self) -> Result<Seen, ModelError> {
        Ok(Seen::Namespace(self.metadata.name.clone(), Some(self.metadata)))
    }

    fn gone(key: Key) -> Seen {
        Seen::Namespace(key.name, None)
    }
}

fn config(kind: ConfigKind, key: Key) -> ConfigName {
    ConfigName { kind, namespace: key.namespace, name: key.name }
}

fn workload(kind: WorkloadKind, key: Key) -> WorkloadName {
    WorkloadName { kind, namespace: key.namespace, name: key.name }
}
