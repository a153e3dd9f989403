//! The values that the metrics show, computed when they are scraped.

/// The values at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestartGauges {
    /// Object versions seen.
    pub versions: u64,
    /// Configs that exist or are referenced.
    pub configs: usize,
    /// Workloads that have opted in.
    pub workloads: usize,
    /// Changes that were processed.
    pub processed: u64,
    /// Changes that wait.
    pub waiting: usize,
    /// Workloads whose last write failed.
    pub stuck: usize,
    /// Workloads whose budget is spent.
    pub throttled: usize,
    /// Workloads with a new template that replaces no pods yet.
    pub deferred: usize,
    /// Workloads whose restart is due and blocked.
    pub pending: usize,
    /// Those of them that wait because another workload's rollout has failed.
    pub stopped: usize,
}
