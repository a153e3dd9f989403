//! From whom.

/// The controller that is taken over from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// xing's kubernetes-deployment-restart-controller.
    Xing,
    /// Stakater's Reloader.
    Reloader,
}
