//! The options of a session, with the callback for each step that has settled.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::model::PodKind;
use lockstep_case::{Case, RestartOptions, RestartProfile};
use lockstep_intercept::SentLog;
use lockstep_subject::SubjectSpec;
use lockstep_timeline::StepId;

use crate::Successor;

/// The environment of a subject that is a process, beyond what every controller needs.
#[derive(Debug, Clone, Default)]
pub struct SubjectOptions {
    /// Whether it gets what a pod gets: the variables and files of a service account.
    pub in_cluster: bool,
    /// The names of the variables of this process's environment that it inherits.
    pub variables: Vec<String>,
}

/// Limits and settings of a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The most time for one settling; a step that takes longer fails.
    pub budget: Duration,
    /// How pods run; `None`: as each case says.
    pub pods: Option<PodKind>,
    /// How a config-restart controller is configured until a case says otherwise.
    pub restart: RestartOptions,
    /// Whether the subject connects to the server directly, to measure the cost of the interceptor.
    /// No such run is conformant.
    pub bypass_interceptor: bool,
    /// The environment of a subject that is a process.
    pub process: SubjectOptions,
    /// How many cases may run at the same time, in real time.
    pub lanes: NonZeroUsize,
    /// Called after each step that has settled.
    pub steps: StepHook,
    /// Where every request of the subject is logged, with its body.
    pub sent: Option<SentLog>,
    /// The subject that takes over at a handover; without one a handover starts a new run of the
    /// same subject.
    pub successor: Option<Successor>,
    /// The controller that shares the subject's work, in real time.
    pub beside: Option<SubjectSpec>,
    /// The profile by which the first subject restarts workloads, if it is not the case's.
    pub profile: Option<RestartProfile>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(20),
            pods: None,
            restart: RestartOptions::default(),
            bypass_interceptor: false,
            process: SubjectOptions::default(),
            lanes: NonZeroUsize::MIN,
            steps: StepHook::default(),
            sent: None,
            successor: None,
            beside: None,
            profile: None,
        }
    }
}

/// Called for each step that has settled; does nothing by default.
#[derive(Clone, Default)]
pub struct StepHook(Option<Arc<Callback>>);

type Callback = dyn Fn(&Case, StepId) + Send + Sync;

impl StepHook {
    /// A hook that calls this function.
    pub fn new(callback: impl Fn(&Case, StepId) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    pub(crate) fn on_settled(&self, case: &Case, step: StepId) {
        if let Some(callback) = &self.0 {
            callback(case, step);
        }
    }
}

impl std::fmt::Debug for StepHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StepHook({})", self.0.is_some())
    }
}
