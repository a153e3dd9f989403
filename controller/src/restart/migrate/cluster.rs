//! What was read of a cluster.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::config::Config;
use super::super::references::ConfigName;
use super::super::workload::WorkloadKind;

/// What was read.
#[derive(Default)]
pub(crate) struct Cluster {
    /// ConfigMaps and Secrets, as checksums.
    pub(crate) configs: BTreeMap<ConfigName, Config>,
    /// Workloads, as they are.
    pub(crate) workloads: Vec<(WorkloadKind, Value)>,
    /// Labels of namespaces, where they count.
    pub(crate) namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Kinds that could not be read, and why.
    pub(crate) unread: Vec<String>,
}
