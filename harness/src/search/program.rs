//! A case as the search writes it.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::op::{Op, Words, Write};
use super::trouble::Trouble;
use crate::case::{Case, parse};
use crate::controllers::{Controller, Controllers};

/// A program: Deployments or a ReplicaSet whose pods are ready, and steps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Whose decisions are compared.
    pub about: About,
    /// Whether pods get nodes from the case alone: `bindings: held`.
    pub unbound: bool,
    /// Whether pods that are deleted stay until the case ends them: `terminations: held`.
    pub lingering: bool,
    /// `web`, and `api` where there are two. Of a ReplicaSet only replicas and minReadySeconds count.
    pub deployments: Vec<Deployment>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Whose decisions a program is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// The Deployment controller's.
    Deployment,
    /// The ReplicaSet controller's: there is a ReplicaSet and no Deployment.
    ReplicaSet,
    /// Those of both, together.
    Both,
}

/// A Deployment at the start.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deployment {
    /// `spec.replicas`.
    pub replicas: u32,
    /// `spec.strategy`.
    pub strategy: Strategy,
    /// `spec.minReadySeconds`, where it is not 0.
    pub min_ready: u32,
    /// `spec.progressDeadlineSeconds`, where it is set.
    pub deadline: Option<u32>,
    /// `spec.revisionHistoryLimit`, where it is set.
    pub history: Option<u32>,
}

/// `spec.strategy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// Recreate.
    Recreate,
    /// RollingUpdate with `maxSurge` and `maxUnavailable`.
    Rolling(Bound, Bound),
}

/// A number of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// So many.
    Number(u32),
    /// So many in a hundred.
    Percent(u32),
}

/// An operation, and what goes wrong meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// What goes wrong.
    pub trouble: Option<Trouble>,
}

impl From<Op> for Step {
    fn from(op: Op) -> Self {
        Self { op, trouble: None }
    }
}

/// The names of the Deployments.
pub(super) const NAMES: [&str; 2] = ["web", "api"];

impl About {
    /// The controllers that the subject brings.
    #[must_use]
    pub fn controllers(self) -> Controllers {
        match self {
            Self::Deployment => [Controller::Deployment].into_iter().collect(),
            Self::ReplicaSet => [Controller::ReplicaSet].into_iter().collect(),
            Self::Both => [Controller::Deployment, Controller::ReplicaSet].into_iter().collect(),
        }
    }
}

impl Program {
    /// The case's file.
    #[must_use]
    pub fn text(&self, description: &str) -> String {
        let mut text = format!("description: {description}\n");
        match self.about {
            About::Deployment => {}
            About::ReplicaSet => text += "controllers: [replicaset]\n",
            About::Both => text += "controllers: [deployment, replicaset]\n",
        }
        if self.unbound {
            text += "bindings: held\n";
        }
        if self.lingering {
            text += "terminations: held\n";
        }
        text += "given:\n";
        for (name, deployment) in NAMES.iter().zip(&self.deployments) {
            text += &match self.about {
                About::ReplicaSet => format!("  - replicaset: {{name: {name}, {}}}\n", deployment.of_set()),
                About::Deployment | About::Both => format!("  - deployment: {{name: {name}, {deployment}}}\n"),
            };
        }
        text += "  - ready: {pods: all}\nsteps:\n";
        let mut words = Words::new(self);
        for step in &self.steps {
            let (before, op, after) = words.lines(&step.op);
            before.iter().for_each(|line| text += &format!("  - {line}\n"));
            text += &format!("  - {op}\n");
            if let Some(trouble) = &step.trouble {
                text += &format!("    {}\n", trouble.text(&mut words));
            }
            after.iter().for_each(|line| text += &format!("  - {line}\n"));
        }
        text
    }

    /// The case, if it is one: no step may ask for what cannot be there, such as a pod of no replicas.
    #[must_use]
    pub fn case(&self) -> Option<Arc<Case>> {
        if !self.is_accepted() {
            return None;
        }
        parse("found/program.yaml", "found/program", &self.text("A random program.")).ok().map(Arc::new)
    }

    /// Whether kubectl and the API server would do all of it: what is paused cannot be paused, restarted
    /// or undone, only that can be resumed, and a deadline has to be later than minReadySeconds.
    fn is_accepted(&self) -> bool {
        let mut state = self.deployments.iter().map(|it| (false, it.deadline.unwrap_or(600), it.min_ready));
        let mut state: Vec<(bool, u32, u32)> = state.by_ref().collect();
        let in_time = |&(_, deadline, min_ready): &(bool, u32, u32)| deadline > min_ready;
        if !state.iter().all(in_time) {
            return false;
        }
        let ops = self.steps.iter().flat_map(Step::ops);
        ops.flat_map(Op::parts).all(|op| {
            let Op::Write(at, write) = op else { return true };
            let Some(state) = state.get_mut(*at) else { return false };
            match write {
                Write::Pause => !std::mem::replace(&mut state.0, true),
                Write::Resume => std::mem::replace(&mut state.0, false),
                Write::Restart | Write::Undo(_) => !state.0,
                Write::Deadline(seconds) => {
                    state.1 = *seconds;
                    in_time(state)
                }
                Write::MinReady(seconds) => {
                    state.2 = *seconds;
                    in_time(state)
                }
                _ => true,
            }
        })
    }

    /// The number of the case's step, from 1, for each of the program's own.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        let mut words = Words::new(self);
        let mut next = 1;
        let number = |step: &Step| {
            let (before, _, after) = words.lines(&step.op);
            let length = |lines: Vec<String>| u32::try_from(lines.len()).unwrap_or(u32::MAX);
            let own = next + length(before);
            next = own + 1 + length(after);
            own
        };
        self.steps.iter().map(number).collect()
    }

    /// How many operations it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.steps.iter().map(|step| usize::from(step.trouble.is_some()) + step.ops().count()).sum()
    }
}

impl Step {
    /// Its operation, and that in the middle of it.
    pub(super) fn ops(&self) -> impl Iterator<Item = &Op> {
        std::iter::once(&self.op).chain(self.trouble.as_ref().and_then(Trouble::op))
    }
}

impl Deployment {
    /// What a ReplicaSet has of it.
    fn of_set(&self) -> String {
        let min_ready =
            if self.min_ready > 0 { format!(", minReadySeconds: {}", self.min_ready) } else { String::new() };
        format!("replicas: {}, image: \"app:1\"{min_ready}", self.replicas)
    }
}

impl Display for Deployment {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "replicas: {}, image: \"app:1\"", self.replicas)?;
        match self.strategy {
            Strategy::Recreate => write!(f, ", strategy: Recreate")?,
            Strategy::Rolling(surge, unavailable) => write!(f, ", maxSurge: {surge}, maxUnavailable: {unavailable}")?,
        }
        if self.min_ready > 0 {
            write!(f, ", minReadySeconds: {}", self.min_ready)?;
        }
        if let Some(deadline) = self.deadline {
            write!(f, ", progressDeadlineSeconds: {deadline}")?;
        }
        if let Some(history) = self.history {
            write!(f, ", revisionHistoryLimit: {history}")?;
        }
        Ok(())
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
