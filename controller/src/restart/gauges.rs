//! The values that the metrics show, computed when they are scraped.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RestartGauges {
    /// Object versions seen.
    pub(crate) versions: u64,
    /// Configs that exist or are referenced.
    pub(crate) configs: usize,
    /// Workloads that have opted in.
    pub(crate) workloads: usize,
    /// Changes that were processed.
    pub(crate) processed: u64,
    /// Changes that wait.
    pub(crate) waiting: usize,
    /// Workloads whose last write failed.
    pub(crate) stuck: usize,
    /// Workloads whose budget is spent.
    pub(crate) throttled: usize,
    /// Workloads with a new template that replaces no pods yet.
    pub(crate) deferred: usize,
    /// Workloads whose restart is due and blocked.
    pub(crate) pending: usize,
    /// Those of them that wait because another workload's rollout has failed.
    pub(crate) stopped: usize,
}
