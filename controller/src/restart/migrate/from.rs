//! The controllers that can be migrated from.

/// A controller whose workloads are taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// xing's kubernetes-deployment-restart-controller.
    Xing,
    /// Stakater's Reloader.
    Reloader,
}
