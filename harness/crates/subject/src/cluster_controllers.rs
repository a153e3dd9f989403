//! The controllers of a simulated cluster that the subject does not bring.
//!
//! By default they are this project's: the other controllers of the controller's crate, and the
//! garbage collector of the simulated server. With `--cluster-controllers upstream` both are
//! upstream's: a second program in virtual time, beside the subject and on its clock, runs them as
//! kube-controller-manager does. Its requests go directly to the server, not through the
//! interceptor, so that no fault, hold or crash of a case affects them; latency and seed are the
//! simulation's.
//!
//! Of the controllers that kube-controller-manager runs on `control-plane`, those of namespaces,
//! service accounts and quotas stay in the server, because they run before the answer to a write
//! (`kube_apiserver_sim::ControllerMode`); the server does not serve the kinds that the StatefulSet
//! and DaemonSet controllers watch.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lockstep_case::RestartOptions;
use lockstep_cluster as cluster;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Blame, Identity, Trouble};

use crate::command::ENDED;
use crate::start::{RunningSubject, SubjectHandle};
use crate::virtual_time::{self, VirtualTime};
use crate::{SubjectError, SubjectSpec, ours};

/// Upstream's name for its garbage collector.
const GARBAGE_COLLECTOR: &str = "garbagecollector";
/// How long upstream's controllers run before a case starts. On a real cluster they have run for
/// long. They need time to read the cluster and to discover its resources. They forget what they
/// discovered every 30 s, and the first time races with their discovery. After the second time
/// every run is the same.
pub const HEAD_START: Duration = Duration::from_secs(35);

/// Which controllers a simulated cluster runs, as on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClusterControllers {
    /// `simulated`: this project's.
    #[default]
    Simulated,
    /// `upstream`, `upstream:v1.33.13` or `upstream:PATH`: kube-controller-manager's, in virtual
    /// time.
    Upstream(Option<String>),
}

impl ClusterControllers {
    /// Checks that they can run beside these subjects: they need virtual time.
    ///
    /// # Errors
    /// [`SubjectError::NotBuilt`], [`SubjectError::UnknownClusterControllers`],
    /// [`SubjectError::OnAnotherClock`].
    pub fn check(&self, subjects: &[SubjectSpec]) -> Result<(), SubjectError> {
        let Self::Upstream(which) = self else { return Ok(()) };
        if which.as_ref().is_some_and(|which| !which.contains('/') && !cluster::is_version(which)) {
            return Err(SubjectError::UnknownClusterControllers(self.to_string()));
        }
        virtual_time::available(which.as_deref())?;
        match subjects.iter().find(|subject| !subject.is_simulable()) {
            None => Ok(()),
            Some(subject) => Err(subject.not_built().unwrap_or(SubjectError::OnAnotherClock {
                subject: subject.to_string(),
                controllers: self.to_string(),
            })),
        }
    }

    /// Whether they are upstream's.
    pub fn are_upstream(&self) -> bool {
        matches!(self, Self::Upstream(_))
    }

    /// Starts the controllers that the subject does not bring; `None` if there are none.
    ///
    /// # Errors
    /// [`SubjectError::Client`], or why a program in virtual time cannot start.
    pub fn start(
        &self,
        client: kube::Client,
        under_test: &ControllerSet,
        virtual_time: Option<&VirtualTime>,
    ) -> Result<Option<RunningSubject>, SubjectError> {
        let rest = Controller::UPSTREAM.into_iter().filter(|one| !under_test.has(*one));
        match self {
            Self::Simulated => {
                let rest: ControllerSet = rest.collect();
                if rest.iter().next().is_none() {
                    return Ok(None);
                }
                let (task, version) = ours::run(client, &rest, false, &RestartOptions::default())?;
                Ok(Some(RunningSubject {
                    identity: Identity::new(self, version, ""),
                    handle: SubjectHandle::Task(task),
                    _turn: None,
                }))
            }
            Self::Upstream(which) => {
                let names: Vec<_> = rest.map(Controller::as_str).chain([GARBAGE_COLLECTOR]).collect();
                let (task, version) = virtual_time::start(which.as_deref(), Some(client), virtual_time, &names)?;
                let (program, version) = version.split_once(' ').unwrap_or((&version, ""));
                let identity = Identity::new(self, program, version);
                Ok(Some(RunningSubject { identity, handle: SubjectHandle::Virtual(task), _turn: None }))
            }
        }
    }
}

impl RunningSubject {
    /// Why the cluster's controllers have ended, if this is a handle on them: always a failure of
    /// the test environment.
    pub fn neighbours_ended(&self) -> Option<Trouble> {
        let why = self.exited()?.why;
        let why = why.strip_prefix(ENDED).map_or_else(|| why.clone(), |how| format!("they ended{how}"));
        Some(Trouble::new(Blame::Environment, format!("the cluster's controllers, {}: {why}", self.identity)))
    }

    /// Why the controller beside the subject has ended, if this is a handle on it: always a failure
    /// of the test environment.
    pub fn ended_beside(&self) -> Option<Trouble> {
        let why = self.exited()?.why;
        let how = why.strip_prefix(ENDED).map_or_else(|| format!(": {why}"), str::to_owned);
        let why = format!("the controller beside the subject, {}, ended{how}", self.identity);
        Some(Trouble::new(Blame::Environment, why))
    }
}

impl FromStr for ClusterControllers {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "simulated" => Ok(Self::Simulated),
            None if text == "upstream" => Ok(Self::Upstream(None)),
            Some(("upstream", which)) if !which.is_empty() => Ok(Self::Upstream(Some(which.to_owned()))),
            _ => Err(SubjectError::UnknownClusterControllers(text.to_owned())),
        }
    }
}

impl fmt::Display for ClusterControllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated => f.write_str("simulated"),
            Self::Upstream(None) => f.write_str("upstream"),
            Self::Upstream(Some(which)) => write!(f, "upstream:{which}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("simulated")]
    #[case("upstream")]
    #[case("upstream:v1.29.15")]
    #[case("upstream:./kube-controller-manager-virtual")]
    fn names_round_trip(#[case] text: &str) {
        assert_eq!(text.parse::<ClusterControllers>().unwrap().to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("ours")]
    #[case("upstream:")]
    #[case("simulated:v1.36.3")]
    fn unknown_names_are_refused(#[case] text: &str) {
        let error = text.parse::<ClusterControllers>().unwrap_err().to_string();
        assert!(error.contains("expected simulated, upstream or upstream:VERSION"), "{error}");
    }

    #[test]
    fn check_reports_what_cannot_run() {
        let check = |controllers: &str| {
            let controllers: ClusterControllers = controllers.parse().unwrap();
            controllers.check(&["ours:process".parse().unwrap()]).err().map(|error| error.to_string())
        };
        assert_eq!(check("simulated"), None);
        assert!(check("upstream:newest").is_some_and(|why| why.contains("unknown cluster controllers")));
        let not_built = check("upstream:v1.2.3").unwrap_or_default();
        assert!(not_built.contains("`scripts/fetch virtual v1.2.3` builds it"), "{not_built}");
    }
}
