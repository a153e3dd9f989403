//! How much there is and how much waits, counted when the metrics are asked for.

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Versions of objects seen.
    pub(crate) versions: u64,
    /// Configs, there or only referred to.
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
    /// Workloads whose restart is due and waits.
    pub(crate) pending: usize,
    /// Those of them that wait because another has failed.
    pub(crate) stopped: usize,
}
