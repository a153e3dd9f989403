//! The smallest case on which a controller still differs in the same way.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::CliError;
use super::out::note;
use super::place::Place;
use super::preview::played;
use crate::case::Case;
use crate::infer::Inferred;
use crate::search::{Answer, differ};
use crate::subject::Spec;

/// Who plays.
pub(super) struct Minimising<'a> {
    /// Where.
    pub(super) place: &'a Place,
    /// Whose decisions are expected.
    pub(super) spec: &'a Spec,
    /// Whose decisions differ.
    pub(super) other: &'a Spec,
}

impl Minimising<'_> {
    /// The case without the steps that are not needed. The case itself where the two do not differ.
    pub(super) async fn smallest(&self, inferred: &Inferred) -> Result<Arc<Case>, CliError> {
        let all = inferred.steps();
        let mut kept: BTreeSet<usize> = (0..all).collect();
        let mut smallest = Arc::clone(&inferred.case);
        let Some(cause) = self.cause(&smallest).await? else {
            note!("not made smaller: {} does not differ on this case", self.other);
            return Ok(smallest);
        };
        // Without later steps the earlier ones are played sooner.
        for step in (0..all).rev() {
            kept.remove(&step);
            let without = if kept.is_empty() { None } else { inferred.only(&kept).ok() };
            match without {
                Some(case) if self.cause(&case).await?.as_ref() == Some(&cause) => smallest = case,
                _ => drop(kept.insert(step)),
            }
        }
        note!("{} of {all} steps are enough: {cause}", kept.len());
        Ok(smallest)
    }

    /// In which way the other differs on this case.
    async fn cause(&self, case: &Arc<Case>) -> Result<Option<String>, CliError> {
        let mut recordings = Vec::new();
        for spec in [self.spec, self.other] {
            let (_, recording) = played(self.place, spec, vec![Arc::clone(case)])
                .await?
                .pop()
                .expect("what is played is recorded, or an error");
            recordings.push(recording);
        }
        let [expected, actual] = recordings.as_slice() else { return Ok(None) };
        Ok(match differ(case, Some(expected), actual) {
            Answer::Differs(differing) => Some(differing.cause),
            Answer::Equal | Answer::Unknown(_) => None,
        })
    }
}
