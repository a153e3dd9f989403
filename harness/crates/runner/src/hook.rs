//! A callback for each step that has settled while a case runs.

use std::sync::Arc;

use lockstep_case::Case;
use lockstep_timeline::StepId;

/// Called for each step that has settled; does nothing by default.
#[derive(Clone, Default)]
pub struct StepHook(Option<Arc<Callback>>);

type Callback = dyn Fn(&Case, StepId) + Send + Sync;

impl StepHook {
    /// A hook that calls this function.
    pub fn new(callback: impl Fn(&Case, StepId) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    pub(super) fn on_settled(&self, case: &Case, step: StepId) {
        if let Some(callback) = &self.0 {
            callback(case, step);
        }
    }
}

impl std::fmt::Debug for StepHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StepHook({})", self.0.is_some())
    }
}
