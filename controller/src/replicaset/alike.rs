//! What holds of a pod's labels, asked once for pods in a row that share them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::Pod;

/// Labels, as pods in the cache share them.
type Labels = Arc<BTreeMap<String, String>>;

/// The last answer, and the labels that it is about.
#[derive(Default)]
pub(super) struct Alike(RefCell<Option<(Labels, bool)>>);

impl Alike {
    /// The answer for a pod: that for the pod before where both share their labels.
    ///
    /// # Errors
    /// The question's own.
    pub(super) fn ask<E>(&self, pod: &Pod, question: impl FnOnce() -> Result<bool, E>) -> Result<bool, E> {
        let labels = &pod.traits().labels;
        if let Some((_, answer)) = self.0.borrow().as_ref().filter(|(known, _)| Arc::ptr_eq(known, labels)) {
            return Ok(*answer);
        }
        let answer = question()?;
        *self.0.borrow_mut() = Some((labels.clone(), answer));
        Ok(answer)
    }

    /// The same for a question that always has an answer.
    pub(super) fn holds(&self, pod: &Pod, question: impl FnOnce() -> bool) -> bool {
        self.ask(pod, || Ok::<_, std::convert::Infallible>(question())).unwrap_or_else(|never| match never {})
    }
}
