//! What a session is taken with.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::StepHook;
use crate::case::RestartOptions;
use crate::case::model::PodKind;
use crate::intercept::SentLog;

/// The sub-steps that a step with `all` or `every` may have, unless something else is asked for.
pub const MOST_SUB_STEPS: u32 = 100_000;

/// What a subject that is a process finds, besides what every controller needs.
#[derive(Debug, Clone, Default)]
pub struct ProcessOptions {
    /// Whether it finds what a pod does: the variables and files of a service account.
    pub in_cluster: bool,
    /// The variables of this process's environment that it gets, by name.
    pub variables: Vec<String>,
}

/// How long to be patient.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// For one settling: a step that takes longer is somebody's failure.
    pub budget: Duration,
    /// For one step with `all` or `every`: pods that are still left after so many sub-steps are the
    /// subject's failure.
    pub most_sub_steps: u32,
    /// Who runs the pods; `None`: as each case says.
    pub pods: Option<PodKind>,
    /// How a config-restart controller is to run until a case says otherwise.
    pub restart: RestartOptions,
    /// Whether the subject goes straight to the server, to measure what its interceptor costs; no
    /// run of it is conformant.
    pub bypass_interceptor: bool,
    /// What a subject that is a process finds.
    pub process: ProcessOptions,
    /// How many cases may be played at the same time, in real time.
    pub lanes: NonZeroUsize,
    /// Called after each step that has settled.
    pub steps: StepHook,
    /// Where every request of the subject's is kept, with its body.
    pub sent: Option<SentLog>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(20),
            most_sub_steps: MOST_SUB_STEPS,
            pods: None,
            restart: RestartOptions::default(),
            bypass_interceptor: false,
            process: ProcessOptions::default(),
            lanes: NonZeroUsize::MIN,
            steps: StepHook::default(),
            sent: None,
        }
    }
}
