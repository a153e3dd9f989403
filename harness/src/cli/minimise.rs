//! Removes the steps of a case that a controller does not need to differ in the same way.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_search::infer::Inferred;
use lockstep_search::{SideComparison, compare};
use lockstep_subject::SubjectSpec;

use super::CliError;
use super::out::note;
use super::play_args::PlayArgs;

/// Minimises an inferred case.
pub(super) struct Minimizer<'a> {
    /// Where to play.
    pub(super) play_args: &'a PlayArgs,
    /// The controller whose decisions are expected.
    pub(super) spec: &'a SubjectSpec,
    /// The controller whose decisions differ.
    pub(super) differing: &'a SubjectSpec,
}

impl Minimizer<'_> {
    /// The case without unnecessary steps, or the whole case if the controllers do not differ.
    pub(super) async fn smallest(&self, inferred: &Inferred) -> Result<Arc<Case>, CliError> {
        let all = inferred.steps();
        let mut needed: BTreeSet<usize> = (0..all).collect();
        let mut smallest = Arc::clone(&inferred.case);
        let Some(cause) = self.cause(&smallest).await? else {
            note!("not made smaller: {} does not differ on this case", self.differing);
            return Ok(smallest);
        };
        // Remove later steps first, which shortens the plays of the rest.
        for step in (0..all).rev() {
            needed.remove(&step);
            let without = if needed.is_empty() { None } else { inferred.with_steps(&needed).ok() };
            match without {
                Some(case) if self.cause(&case).await?.as_ref() == Some(&cause) => smallest = case,
                _ => drop(needed.insert(step)),
            }
        }
        note!("{} of {all} steps are enough: {cause}", needed.len());
        Ok(smallest)
    }

    /// The cause of the difference on this case.
    async fn cause(&self, case: &Arc<Case>) -> Result<Option<String>, CliError> {
        let mut recordings = Vec::new();
        for spec in [self.spec, self.differing] {
            let (_, recording) = self
                .play_args
                .record_once(spec, vec![Arc::clone(case)])
                .await?
                .pop()
                .expect("what is played is recorded, or an error");
            recordings.push(recording);
        }
        let [expected, actual] = recordings.as_slice() else { return Ok(None) };
        Ok(match compare(case, Some(expected), actual) {
            SideComparison::Differs(differing) => Some(differing.cause),
            SideComparison::Equal | SideComparison::Unknown(_) => None,
        })
    }
}
