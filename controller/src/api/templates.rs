//! The templates of everything that is cached, each text once.
//!
//! A Deployment and its newest ReplicaSet have the same one, and so have Deployments that were made
//! alike. Who goes into the cache joins, who leaves it leaves; a text that nobody has left goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Template, TemplateText};

/// Texts, and how many have each.
#[derive(Debug, Default)]
pub(super) struct Templates(BTreeMap<Arc<TemplateText>, usize>);

impl Templates {
    /// One more has a text; from now on it shares that of the others. `None`: one without a
    /// template.
    pub(super) fn join(&mut self, template: Option<&mut Template>) {
        let Some(template) = template else { return };
        if let Some((known, _)) = self.0.get_key_value(template.text()) {
            template.share(known.clone());
        }
        *self.0.entry(template.text().clone()).or_default() += 1;
    }

    /// One has it no more.
    pub(super) fn leave(&mut self, template: &Template) {
        if let Some(count) = self.0.get_mut(template.text()) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(template.text());
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
