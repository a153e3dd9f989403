//! The controllers that a case can judge, and sets of them.
//!
//! Cases, subjects and clusters share these names: a case *judges* some controllers, a subject
//! *brings* some, and a cluster leaves out exactly those that the subject brings, because two of a
//! kind on one cluster would act on the same objects. The cluster runs upstream's controllers for
//! the rest. Pure.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A controller that a case can judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// Creates ReplicaSets for Deployments.
    Deployment,
    /// Creates pods for ReplicaSets.
    ReplicaSet,
    /// Restarts workloads whose ConfigMaps and Secrets have changed. No cluster runs one of its
    /// own.
    #[serde(rename = "config-restart")]
    ConfigRestart,
}

impl Controller {
    /// All controllers.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::ReplicaSet, Self::ConfigRestart];
    /// Those that upstream has: the cluster runs them if the subject does not bring them.
    pub const UPSTREAM: [Self; 2] = [Self::Deployment, Self::ReplicaSet];

    /// The name in upstream's `--controllers`, in cases and on command lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::ReplicaSet => "replicaset",
            Self::ConfigRestart => "config-restart",
        }
    }

    /// The name in a sentence: `Deployment controller`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment controller",
            Self::ReplicaSet => "ReplicaSet controller",
            Self::ConfigRestart => "config-restart controller",
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of controllers, in upstream's words: `deployment,replicaset`. The default is the
/// Deployment controller alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ControllerSet(BTreeSet<Controller>);

impl Default for ControllerSet {
    fn default() -> Self {
        Self(BTreeSet::from([Controller::Deployment]))
    }
}

impl ControllerSet {
    /// Whether this controller is in the set.
    pub fn has(&self, controller: Controller) -> bool {
        self.0.contains(&controller)
    }

    /// The first of the required controllers that is not in this set.
    pub fn first_missing(&self, required: &Self) -> Option<Controller> {
        required.0.difference(&self.0).next().copied()
    }

    /// All controllers in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = Controller> {
        self.0.iter().copied()
    }
}

impl FromIterator<Controller> for ControllerSet {
    fn from_iter<T: IntoIterator<Item = Controller>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl fmt::Display for ControllerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for ControllerSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = || Controller::ALL.map(Controller::as_str).join(", ");
        let one = |word: &str| {
            let found = Controller::ALL.into_iter().find(|controller| controller.as_str() == word.trim());
            found.ok_or_else(|| format!("unknown controller '{word}': expected {}", known()))
        };
        text.split(',').map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_round_trip() {
        for text in ["deployment", "replicaset", "deployment,replicaset", "config-restart"] {
            assert_eq!(text.parse::<ControllerSet>().unwrap().to_string(), text);
        }
        assert_eq!("replicaset, deployment".parse::<ControllerSet>().unwrap().to_string(), "deployment,replicaset");
        assert_eq!(ControllerSet::default().to_string(), "deployment");
    }

    #[test]
    fn refuses_unknown_controllers() {
        let error = "deployment,daemonset".parse::<ControllerSet>().unwrap_err();
        assert_eq!(error, "unknown controller 'daemonset': expected deployment, replicaset, config-restart");
        assert!("".parse::<ControllerSet>().is_err());
    }

    #[test]
    fn finds_first_missing_controller() {
        let both: ControllerSet = Controller::UPSTREAM.into_iter().collect();
        assert_eq!(both.first_missing(&ControllerSet::default()), None);
        assert_eq!(ControllerSet::default().first_missing(&both), Some(Controller::ReplicaSet));
    }
}
