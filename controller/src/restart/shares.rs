//! How much of each namespace is looked at and written at the same time, in the safe profile.
//!
//! What is beyond its share stays due. So a namespace with thousands of workloads, or one whose
//! writes take long, holds up itself alone.

use std::collections::BTreeMap;

use super::window::Moment;
use super::workload::WorkloadName;
use super::workload_state::WorkloadState;

/// Writes of a namespace at the same time.
const WRITES: usize = 16;
/// Configs of workloads that are looked at before other namespaces are.
const CONFIGS: usize = 2000;

/// What namespaces have of their shares.
#[derive(Debug, Default)]
pub(super) struct Shares(BTreeMap<String, Share>);

#[derive(Debug, Default)]
struct Share {
    writes: usize,
    configs: usize,
}

impl Shares {
    /// What is under way.
    pub(super) fn of(states: &BTreeMap<WorkloadName, WorkloadState>) -> Self {
        let mut shares = Self::default();
        for (name, _) in states.iter().filter(|(_, state)| state.busy) {
            shares.share(&name.namespace).writes += 1;
        }
        shares
    }

    /// Whether one more of a namespace may be looked at.
    pub(super) fn admit(&self, namespace: &str) -> bool {
        self.0.get(namespace).is_none_or(|share| share.writes < WRITES && share.configs < CONFIGS)
    }

    /// One with so many configs is looked at.
    pub(super) fn spend(&mut self, namespace: &str, configs: usize, writes: bool) {
        let share = self.share(namespace);
        share.configs += 1 + configs;
        share.writes += usize::from(writes);
    }

    /// When there is something to look at of a namespace that has not all its writes under way.
    pub(super) fn next(&self, states: &BTreeMap<WorkloadName, WorkloadState>) -> Option<Moment> {
        let waits = states.iter().filter(|(name, state)| !state.busy && self.admit(&name.namespace));
        waits.filter_map(|(_, state)| state.due).min()
    }

    fn share(&mut self, namespace: &str) -> &mut Share {
        self.0.entry(namespace.to_owned()).or_default()
    }
}
