//! Limits in the safe profile how many workloads of each namespace are planned and written at the
//! same time.
//!
//! What exceeds the limits stays due. So a namespace with thousands of workloads, or one with slow
//! writes, delays only itself.

use std::collections::BTreeMap;

use crate::engines::safe::workload_state::WorkloadState;
use crate::names::WorkloadName;
use crate::pacing::window::Uptime;

/// Concurrent writes per namespace.
const MAX_WRITES: usize = 16;
/// How many configs of a namespace's workloads one round evaluates before it gives way to other
/// namespaces.
const MAX_CONFIGS: usize = 2000;

/// What each namespace uses of its limits.
#[derive(Debug, Default)]
pub(crate) struct NamespaceShares(BTreeMap<String, NamespaceShare>);

#[derive(Debug, Default)]
struct NamespaceShare {
    writes: usize,
    configs: usize,
}

impl NamespaceShares {
    /// Counts the writes in flight.
    pub(crate) fn from_states(states: &BTreeMap<WorkloadName, WorkloadState>) -> Self {
        let mut shares = Self::default();
        for (name, _) in states.iter().filter(|(_, state)| state.is_writing) {
            shares.share(&name.namespace).writes += 1;
        }
        shares
    }

    /// Whether another workload of the namespace may be planned.
    pub(crate) fn admits(&self, namespace: &str) -> bool {
        self.0.get(namespace).is_none_or(|share| share.writes < MAX_WRITES && share.configs < MAX_CONFIGS)
    }

    /// Counts a planned workload that has this many configs.
    pub(crate) fn spend(&mut self, namespace: &str, configs: usize, writes: bool) {
        let share = self.share(namespace);
        share.configs += 1 + configs;
        share.writes += usize::from(writes);
    }

    /// When the next workload is due in a namespace that is below its limits.
    pub(crate) fn next_due(&self, states: &BTreeMap<WorkloadName, WorkloadState>) -> Option<Uptime> {
        let waiting = states.iter().filter(|(name, state)| !state.is_writing && self.admits(&name.namespace));
        waiting.filter_map(|(_, state)| state.due).min()
    }

    fn share(&mut self, namespace: &str) -> &mut NamespaceShare {
        self.0.entry(namespace.to_owned()).or_default()
    }
}
