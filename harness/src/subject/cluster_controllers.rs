//! The controllers of a simulated cluster that the subject does not bring: its neighbours.
//!
//! As a rule they are this project's own: the controller's crate with the rest of its controllers,
//! and the garbage collector of the simulated server. With `--cluster-controllers upstream` both
//! are upstream's: a second program in virtual time, beside the subject and on its clock, runs them
//! as kube-controller-manager does. Its requests go straight to the server, past the interceptor,
//! so that no fault, hold or crash of a case concerns them; latency and seed are the simulation's.
//!
//! Of the controllers that kube-controller-manager runs on `control-plane` those of namespaces,
//! service accounts and quotas stay the server's, as they come before the answer to a write
//! (`kube_apiserver_sim::Controllers`); the server does not serve what the StatefulSet and
//! DaemonSet controllers watch.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::virtual_time::{self, Virtual};
use super::{ENDED, Life, Running, Spec, SubjectError, ours};
use crate::case::RestartOptions;
use crate::cluster;
use crate::controllers::{Controller, Controllers};
use crate::recording::{Blame, Identity, Trouble};

/// Upstream's name for its garbage collector.
const GARBAGE_COLLECTOR: &str = "garbagecollector";
/// How long upstream's controllers run before anything happens on their cluster. On a real one they
/// have run for long. They need a moment to read it and to find out which resources there are; what
/// they have found out they forget every 30 s, for the first time at once, just before they look or
/// just after. After the second time it is the same in each play.
pub const HEAD_START: Duration = Duration::from_secs(35);

/// Whose the controllers of a simulated cluster are, as on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClusterControllers {
    /// `simulated`: this project's own.
    #[default]
    Simulated,
    /// `upstream`, `upstream:v1.33.13` or `upstream:PATH`: kube-controller-manager's, in virtual
    /// time.
    Upstream(Option<String>),
}

impl ClusterControllers {
    /// Whether they can run beside these subjects: theirs is virtual time.
    ///
    /// # Errors
    /// [`SubjectError::NotBuilt`], [`SubjectError::UnknownClusterControllers`], [`SubjectError::OnAnotherClock`].
    pub fn check(&self, subjects: &[Spec]) -> Result<(), SubjectError> {
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

    /// Start those that the subject does not bring; `None` where none are left.
    ///
    /// # Errors
    /// [`SubjectError::Client`]; what keeps a program in virtual time from starting.
    pub fn start(
        &self,
        client: kube::Client,
        under_test: &Controllers,
        virtual_time: Option<&Virtual>,
    ) -> Result<Option<Running>, SubjectError> {
        let rest = Controller::UPSTREAM.into_iter().filter(|one| !under_test.has(*one));
        match self {
            Self::Simulated => {
                let rest: Controllers = rest.collect();
                if rest.iter().next().is_none() {
                    return Ok(None);
                }
                let (task, version) = ours::run(client, &rest, false, &RestartOptions::default())?;
                Ok(Some(Running { identity: Identity::new(self, version, ""), life: Life::Task(task), _turn: None }))
            }
            Self::Upstream(which) => {
                let names: Vec<_> = rest.map(Controller::as_str).chain([GARBAGE_COLLECTOR]).collect();
                let (task, version) = virtual_time::start(which.as_deref(), Some(client), virtual_time, &names)?;
                let (program, version) = version.split_once(' ').unwrap_or((&version, ""));
                let identity = Identity::new(self, program, version);
                Ok(Some(Running { identity, life: Life::Virtual(task), _turn: None }))
            }
        }
    }
}

impl Running {
    /// Why the cluster's controllers no longer run, if these are they: the test environment's
    /// failure, whatever ended them.
    pub(crate) fn neighbours_ended(&self) -> Option<Trouble> {
        let why = self.exited()?.why;
        let why = why.strip_prefix(ENDED).map_or_else(|| why.clone(), |how| format!("they ended{how}"));
        Some(Trouble::new(Blame::Environment, format!("the cluster's controllers, {}: {why}", self.identity)))
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
    fn others_are_refused(#[case] text: &str) {
        let error = text.parse::<ClusterControllers>().unwrap_err().to_string();
        assert!(error.contains("expected simulated, upstream or upstream:VERSION"), "{error}");
    }

    #[test]
    fn what_cannot_run_is_said_before_anything_runs() {
        let said = |controllers: &str| {
            let controllers: ClusterControllers = controllers.parse().unwrap();
            controllers.check(&["ours:process".parse().unwrap()]).err().map(|error| error.to_string())
        };
        assert_eq!(said("simulated"), None);
        assert!(said("upstream:newest").is_some_and(|why| why.contains("unknown cluster controllers")));
        let not_built = said("upstream:v1.2.3").unwrap_or_default();
        assert!(not_built.contains("`scripts/upstream-virtual v1.2.3` builds it"), "{not_built}");
    }
}
