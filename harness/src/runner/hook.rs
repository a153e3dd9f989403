//! What is called after each step that has settled, while a case is played.

use std::sync::Arc;

use crate::case::Case;
use crate::timeline::StepId;

/// Told of each step that has settled; nobody by default.
#[derive(Clone, Default)]
pub struct StepHook(Option<Arc<Tell>>);

type Tell = dyn Fn(&Case, StepId) + Send + Sync;

impl StepHook {
    /// This function.
    pub fn new(tell: impl Fn(&Case, StepId) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(super) fn settled(&self, case: &Case, step: StepId) {
        if let Some(tell) = &self.0 {
            tell(case, step);
        }
    }
}

impl std::fmt::Debug for StepHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StepHook({})", self.0.is_some())
    }
}
