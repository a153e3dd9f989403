//! The last result of a test on pod labels, reused for following pods that share the labels.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rollout_model::Pod;

/// A label map that pods in the cache share.
type SharedLabels = Arc<BTreeMap<String, String>>;

/// The labels that were tested last, and the result.
#[derive(Default)]
pub(super) struct LabelMatchCache(RefCell<Option<(SharedLabels, bool)>>);

impl LabelMatchCache {
    /// Tests a pod, or returns the previous result if the previous pod shares its labels.
    ///
    /// # Errors
    /// The error of the test.
    pub(super) fn try_get_or_insert_with<E>(
        &self,
        pod: &Pod,
        predicate: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let labels = &pod.traits().labels;
        if let Some((_, answer)) = self.0.borrow().as_ref().filter(|(tested, _)| Arc::ptr_eq(tested, labels)) {
            return Ok(*answer);
        }
        let answer = predicate()?;
        *self.0.borrow_mut() = Some((labels.clone(), answer));
        Ok(answer)
    }

    /// Like `try_get_or_insert_with`, for a test that cannot fail.
    pub(super) fn get_or_insert_with(&self, pod: &Pod, predicate: impl FnOnce() -> bool) -> bool {
        self.try_get_or_insert_with(pod, || Ok::<_, std::convert::Infallible>(predicate()))
            .unwrap_or_else(|never| match never {})
    }
}
