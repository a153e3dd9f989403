//! The objects of a cluster that a migration evaluates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::config::HashedConfig;
use super::super::references::ConfigName;
use super::super::workload::WorkloadKind;

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
