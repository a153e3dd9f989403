//! A case as the search writes it.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use crate::case::{Case, parse};

/// A program: Deployments whose pods are ready, and steps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// `web`, and `api` where there are two.
    pub deployments: Vec<Deployment>,
    /// What happens.
    pub steps: Vec<Step>,
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
    /// The kind, as a plural, whose events are held back from the controller during the step, and
    /// what else happens before it learns of it. Not two writes of the events that are held back: how
    /// many of them a controller reads at once is up to its caches.
    pub held: Option<(&'static str, Option<Box<Op>>)>,
}

/// An operation on the Deployment of this number, or on its pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// `spec.replicas`.
    Scale(usize, u32),
    /// A new image, by its number.
    Image(usize, u32),
    /// A rollout of the same template.
    Restart(usize),
    /// The template before.
    Undo(usize),
    /// `spec.paused`.
    Pause(usize),
    /// The same, taken back.
    Resume(usize),
    /// Another strategy.
    Strategy(usize, Strategy),
    /// `spec.minReadySeconds`.
    MinReady(usize, u32),
    /// `spec.revisionHistoryLimit`.
    History(usize, u32),
    /// `spec.replicas` of the nth ReplicaSet, by hand.
    ScaleSet(u32, u32),
    /// The nth ReplicaSet is deleted.
    DeleteSet(u32),
    /// So many pods become ready; `None`: all, until none is left.
    Ready(usize, Option<u32>),
    /// So many ready pods become unready.
    Unready(usize, u32),
    /// So many pods fail.
    Fail(usize, u32),
    /// Time passes, in seconds.
    Advance(u32),
    /// Two operations before the controller hears of either.
    Together(Box<Op>, Box<Op>),
}

/// The names of the Deployments.
const NAMES: [&str; 2] = ["web", "api"];

impl Program {
    /// The case's file.
    #[must_use]
    pub fn text(&self, description: &str) -> String {
        let mut text = format!("description: {description}\ngiven:\n");
        for (name, deployment) in NAMES.iter().zip(&self.deployments) {
            text += &format!("  - deployment: {{name: {name}, {deployment}}}\n");
        }
        text += "  - ready: {pods: all}\nsteps:\n";
        let several = self.deployments.len() > 1;
        for step in &self.steps {
            text += &format!("  - {}\n", step.op.text(several));
            match &step.held {
                None => {}
                Some((kind, None)) => text += &format!("    during: {{held: {kind}, do: []}}\n"),
                Some((kind, Some(op))) => {
                    text += &format!("    during: {{held: {kind}, do: [{{{}}}]}}\n", op.text(several));
                }
            }
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

    /// Whether kubectl would do all of it: what is paused cannot be paused, restarted or undone, and
    /// only that can be resumed.
    fn is_accepted(&self) -> bool {
        let mut paused = [false; 2];
        let mut accepts = |op: &Op| match op {
            Op::Pause(at) => !std::mem::replace(&mut paused[(*at).min(1)], true),
            Op::Resume(at) => std::mem::replace(&mut paused[(*at).min(1)], false),
            Op::Restart(at) | Op::Undo(at) => !paused[(*at).min(1)],
            _ => true,
        };
        let held = |step: &'_ Step| step.held.clone().and_then(|(_, op)| op);
        self.steps.iter().all(|step| {
            let own = match &step.op {
                Op::Together(one, two) => accepts(one) && accepts(two),
                op => accepts(op),
            };
            own && held(step).is_none_or(|op| accepts(&op))
        })
    }

    /// How many operations it has.
    #[must_use]
    pub fn size(&self) -> usize {
        let held =
            |step: &Step| usize::from(step.held.is_some()) + usize::from(matches!(step.held, Some((_, Some(_)))));
        self.steps.iter().map(|step| 1 + held(step)).sum()
    }
}

impl Op {
    fn text(&self, several: bool) -> String {
        let of = |deployment: usize| NAMES[deployment.min(1)];
        let named =
            |deployment: usize| if several { format!("deployment: {}, ", of(deployment)) } else { String::new() };
        let whose = |deployment: usize| {
            if several { format!("of: {{deployment: {}}}, ", of(deployment)) } else { String::new() }
        };
        let patch = |deployment: usize, spec: &str| {
            format!("patch: {{target: deployment/{}, patch: {{spec: {{{spec}}}}}}}", of(deployment))
        };
        match self {
            Self::Scale(at, replicas) => format!("scale: {{{}replicas: {replicas}}}", named(*at)),
            Self::Image(at, image) => format!("set: {{{}image: \"app:{image}\"}}", named(*at)),
            Self::Restart(at) => format!("restart: {}", of(*at)),
            Self::Undo(at) => format!("undo: {}", of(*at)),
            Self::Pause(at) => format!("pause: {}", of(*at)),
            Self::Resume(at) => format!("resume: {}", of(*at)),
            Self::Strategy(at, Strategy::Recreate) => patch(*at, "strategy: {type: Recreate, rollingUpdate: null}"),
            Self::Strategy(at, Strategy::Rolling(surge, unavailable)) => patch(
                *at,
                &format!(
                    "strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {unavailable}}}}}"
                ),
            ),
            Self::MinReady(at, seconds) => patch(*at, &format!("minReadySeconds: {seconds}")),
            Self::History(at, limit) => patch(*at, &format!("revisionHistoryLimit: {limit}")),
            Self::ScaleSet(set, replicas) => format!("scale: {{replicaset: rs{set}, replicas: {replicas}}}"),
            Self::DeleteSet(set) => format!("delete: {{target: replicaset/rs{set}}}"),
            Self::Ready(at, None) => format!("ready: {{{}pods: all}}", whose(*at)),
            Self::Ready(at, Some(pods)) => format!("ready: {{{}pods: {pods}}}", whose(*at)),
            Self::Unready(at, pods) => format!("unready: {{{}pods: {pods}}}", whose(*at)),
            Self::Fail(at, pods) => format!("fail: {{{}pods: {pods}}}", whose(*at)),
            Self::Advance(seconds) => format!("advance: {seconds}s"),
            Self::Together(one, two) => {
                format!("together: [{{{}}}, {{{}}}]", one.text(several), two.text(several))
            }
        }
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
