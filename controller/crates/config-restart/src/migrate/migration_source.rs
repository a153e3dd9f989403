//! The controllers that can be migrated from.

/// The controller to migrate from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationSource {
    /// xing's kubernetes-deployment-restart-controller.
    Xing,
    /// Stakater's Reloader.
    Reloader,
}
