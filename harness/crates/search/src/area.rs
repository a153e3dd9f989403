//! Areas of the case language to which a search can be limited.

use std::collections::BTreeSet;

use super::initial::{Focus, RolloutStrategy};
use super::op::{DeploymentWrite, Disruption, Op, ReplicaSetEdit};
use super::program::{CaseProgram, ProgramStep};

/// An area of the case language. New images, scaling and pods that become ready are part of every
/// program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Area {
    /// The strategy RollingUpdate and its bounds.
    Rolling,
    /// The strategy Recreate.
    Recreate,
    /// Pausing and resuming.
    Pause,
    /// Undo, and the annotation that requests it.
    Undo,
    /// Limits of the history.
    History,
    /// progressDeadlineSeconds.
    Deadline,
    /// Time, and minReadySeconds.
    Time,
    /// Annotations, restarts of a rollout, environment variables and other fields, long names.
    Template,
    /// Pods that fail or end, and quotas.
    Failures,
    /// ReplicaSets changed by others: scaled, deleted, relabelled, orphaned.
    Ownership,
    /// Two Deployments.
    Several,
    /// Two changes at once.
    Together,
    /// Changes that the controller sees late, or in the middle of a decision.
    During,
    /// Requests and watches that fail, and a controller that is killed.
    Faults,
    /// The ReplicaSet controller: which pods it makes, and which it deletes.
    Replicaset,
}

/// The areas that a search uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Areas(BTreeSet<Area>);

impl Areas {
    /// These areas; all areas if there are none.
    #[must_use]
    pub fn only(areas: &[Area]) -> Self {
        let all = <Area as clap::ValueEnum>::value_variants();
        Self(if areas.is_empty() { all } else { areas }.iter().copied().collect())
    }

    /// The focus of each program, in turn.
    #[must_use]
    pub(crate) fn focuses(&self) -> Vec<Focus> {
        let of_deployments = self.0.iter().any(|area| *area != Area::Replicaset);
        match (of_deployments, self.0.contains(&Area::Replicaset)) {
            (true, true) => {
                let sets = [Focus::Deployment, Focus::ReplicaSet];
                [sets, [Focus::Deployment, Focus::Both], sets].concat()
            }
            (false, true) => vec![Focus::ReplicaSet],
            _ => vec![Focus::Deployment],
        }
    }

    /// Whether a step uses these areas only.
    pub(super) fn allow(&self, step: &ProgramStep) -> bool {
        let disruption = match step.disruption {
            None => None,
            Some(Disruption::Withheld(..) | Disruption::Decision(..)) => Some(Area::During),
            Some(Disruption::Write(..) | Disruption::Watch(..)) => Some(Area::Faults),
        };
        disruption.is_none_or(|area| self.0.contains(&area))
            && area_of(&step.op).is_none_or(|area| self.0.contains(&area))
            && step.ops().flat_map(Op::parts).all(|op| area_of(op).is_none_or(|area| self.0.contains(&area)))
    }

    /// Whether a program uses these areas only.
    pub(super) fn allow_all(&self, program: &CaseProgram) -> bool {
        let has = |area| self.0.contains(&area);
        let given = program.deployments.iter().all(|it| {
            (program.focus == Focus::ReplicaSet || it.strategy != RolloutStrategy::Recreate || has(Area::Recreate))
                && (it.deadline.is_none() || has(Area::Deadline))
                && (it.history.is_none() || has(Area::History))
                && (it.min_ready == 0 || has(Area::Time) || has(Area::Replicaset))
        });
        given
            && (program.deployments.len() < 2 || program.focus == Focus::ReplicaSet || has(Area::Several))
            && (!program.long_names || has(Area::Template))
            && (!program.lingering || has(Area::Recreate) || has(Area::Replicaset))
            && program.steps.iter().all(|step| self.allow(step))
    }
}

/// The area of an operation; `None` for operations of every program.
fn area_of(op: &Op) -> Option<Area> {
    Some(match op {
        Op::Write(_, write) => match write {
            DeploymentWrite::Scale(_) | DeploymentWrite::Image(_) => return None,
            DeploymentWrite::Env(_)
            | DeploymentWrite::Label(_)
            | DeploymentWrite::Restart
            | DeploymentWrite::Annotate(_)
            | DeploymentWrite::Field(_) => Area::Template,
            DeploymentWrite::Undo(_) | DeploymentWrite::RollBack(_) => Area::Undo,
            DeploymentWrite::Pause | DeploymentWrite::Resume => Area::Pause,
            DeploymentWrite::Strategy(RolloutStrategy::Recreate) => Area::Recreate,
            DeploymentWrite::Strategy(_) => Area::Rolling,
            DeploymentWrite::MinReady(_) => Area::Time,
            DeploymentWrite::Deadline(_) => Area::Deadline,
            DeploymentWrite::History(_) => Area::History,
        },
        Op::Ready(..) | Op::ReadyAtOnce(_) | Op::Unready(..) | Op::Terminate(_) => return None,
        Op::Set(_, ReplicaSetEdit::Revision(_)) => Area::Template,
        Op::Set(..) | Op::Stray(..) | Op::Twin(..) | Op::Renew(..) => Area::Ownership,
        Op::Quota(_) | Op::Fail(..) | Op::Succeed(..) => Area::Failures,
        Op::Name(..) | Op::Pod(..) => Area::Replicaset,
        Op::Advance(_) => Area::Time,
        Op::Away(_) => Area::Faults,
        Op::Together(..) => Area::Together,
    })
}

#[cfg(test)]
mod tests {
    use kube_apimachinery::SeededRng;

    use super::*;
    use crate::corpus::Corpus;

    #[test]
    fn search_stays_in_its_areas() {
        let areas = Areas::only(&[Area::Rolling, Area::Pause]);
        let corpus = Corpus::new(Focus::Deployment, areas.clone());
        let mut chance = SeededRng::new(1);
        for _ in 0..50 {
            let program = corpus.next(&mut chance);
            assert!(areas.allow_all(&program), "{program:?}");
        }
    }

    #[test]
    fn judges_the_replica_set_controller_only_in_its_area() {
        assert_eq!(Areas::only(&[Area::Rolling]).focuses(), [Focus::Deployment]);
        assert!(Areas::only(&[]).focuses().contains(&Focus::Both));
    }
}
