//! Parts of the language of cases: a search can be confined to some of them.

use std::collections::BTreeSet;

use super::given::{About, Strategy};
use super::op::{Op, ToSet, Write};
use super::program::{Program, Step};
use super::trouble::Trouble;

/// A part of the language. New images, scaling and pods that become ready belong to every program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Area {
    /// The strategy RollingUpdate and its bounds.
    Rolling,
    /// The strategy Recreate.
    Recreate,
    /// Pausing and resuming.
    Pause,
    /// Undo, and the annotation that asks for it.
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
    /// Changes that the controller learns late, or in the middle of a decision.
    During,
    /// Requests and watches that fail, and a controller that is killed.
    Faults,
    /// The ReplicaSet controller: which pods it makes, and which it deletes.
    Replicaset,
}

/// The parts that a search draws from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Areas(BTreeSet<Area>);

impl Areas {
    /// These; all, if there are none.
    #[must_use]
    pub fn only(areas: &[Area]) -> Self {
        let all = <Area as clap::ValueEnum>::value_variants();
        Self(if areas.is_empty() { all } else { areas }.iter().copied().collect())
    }

    /// What programs are about, in the order in which it takes turns.
    #[must_use]
    pub fn abouts(&self) -> Vec<About> {
        let of_deployments = self.0.iter().any(|area| *area != Area::Replicaset);
        match (of_deployments, self.0.contains(&Area::Replicaset)) {
            (true, true) => {
                let sets = [About::Deployment, About::ReplicaSet];
                [sets, [About::Deployment, About::Both], sets].concat()
            }
            (false, true) => vec![About::ReplicaSet],
            _ => vec![About::Deployment],
        }
    }

    /// Whether a step belongs to them.
    pub(super) fn allow(&self, step: &Step) -> bool {
        let trouble = match step.trouble {
            None => None,
            Some(Trouble::Held(..) | Trouble::Decision(..)) => Some(Area::During),
            Some(Trouble::Write(..) | Trouble::Watch(..)) => Some(Area::Faults),
        };
        trouble.is_none_or(|area| self.0.contains(&area))
            && of(&step.op).is_none_or(|area| self.0.contains(&area))
            && step.ops().flat_map(Op::parts).all(|op| of(op).is_none_or(|area| self.0.contains(&area)))
    }

    /// Whether a program belongs to them.
    pub(super) fn allow_all(&self, program: &Program) -> bool {
        let has = |area| self.0.contains(&area);
        let given = program.deployments.iter().all(|it| {
            (program.about == About::ReplicaSet || it.strategy != Strategy::Recreate || has(Area::Recreate))
                && (it.deadline.is_none() || has(Area::Deadline))
                && (it.history.is_none() || has(Area::History))
                && (it.min_ready == 0 || has(Area::Time) || has(Area::Replicaset))
        });
        given
            && (program.deployments.len() < 2 || program.about == About::ReplicaSet || has(Area::Several))
            && (!program.long_names || has(Area::Template))
            && (!program.lingering || has(Area::Recreate) || has(Area::Replicaset))
            && program.steps.iter().all(|step| self.allow(step))
    }
}

/// The part that an operation belongs to; `None` for those of every program.
fn of(op: &Op) -> Option<Area> {
    Some(match op {
        Op::Write(_, write) => match write {
            Write::Scale(_) | Write::Image(_) => return None,
            Write::Env(_) | Write::Label(_) | Write::Restart | Write::Annotate(_) | Write::Field(_) => Area::Template,
            Write::Undo(_) | Write::RollBack(_) => Area::Undo,
            Write::Pause | Write::Resume => Area::Pause,
            Write::Strategy(Strategy::Recreate) => Area::Recreate,
            Write::Strategy(_) => Area::Rolling,
            Write::MinReady(_) => Area::Time,
            Write::Deadline(_) => Area::Deadline,
            Write::History(_) => Area::History,
        },
        Op::Ready(..) | Op::ReadyAtOnce(_) | Op::Unready(..) | Op::Terminate(_) => return None,
        Op::Set(_, ToSet::Revision(_)) => Area::Template,
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
    use kube_apiserver_sim::Chance;

    use super::*;
    use crate::search::Corpus;

    #[test]
    fn a_search_stays_in_its_areas() {
        let areas = Areas::only(&[Area::Rolling, Area::Pause]);
        let corpus = Corpus::new(About::Deployment, areas.clone());
        let mut chance = Chance::new(1);
        for _ in 0..50 {
            let program = corpus.next(&mut chance);
            assert!(areas.allow_all(&program), "{program:?}");
        }
    }

    #[test]
    fn without_the_replica_set_controller_it_is_not_judged() {
        assert_eq!(Areas::only(&[Area::Rolling]).abouts(), [About::Deployment]);
        assert!(Areas::only(&[]).abouts().contains(&About::Both));
    }
}
