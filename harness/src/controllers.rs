//! The controllers that can be judged, and sets of them.
//!
//! One word in three places, so it has a file of its own: a case *judges* some, a subject *brings*
//! some, and a cluster leaves out exactly what the subject brings, because two of a kind on one
//! cluster would act on each other's objects. What the subject does not bring is the cluster's,
//! from upstream. Pure.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A controller that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// Makes ReplicaSets for Deployments.
    Deployment,
    /// Makes pods for ReplicaSets.
    ReplicaSet,
    /// Restarts workloads whose ConfigMaps and Secrets have changed. No cluster has one of its own.
    #[serde(rename = "config-restart")]
    ConfigRestart,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::ReplicaSet, Self::ConfigRestart];
    /// Those that upstream has, so that a cluster has what a subject does not bring.
    pub const UPSTREAM: [Self; 2] = [Self::Deployment, Self::ReplicaSet];

    /// As upstream's `--controllers` has it, and cases and command lines too.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::ReplicaSet => "replicaset",
            Self::ConfigRestart => "config-restart",
        }
    }

    /// As a sentence has it: `Deployment controller`.
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

/// Some controllers, in upstream's words: `deployment,replicaset`. The default is the Deployment
/// controller alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Controllers(BTreeSet<Controller>);

impl Default for Controllers {
    fn default() -> Self {
        Self(BTreeSet::from([Controller::Deployment]))
    }
}

impl Controllers {
    /// Whether this one is among them.
    pub fn has(&self, controller: Controller) -> bool {
        self.0.contains(&controller)
    }

    /// The first of the others that is not among these.
    pub fn lacks(&self, others: &Self) -> Option<Controller> {
        others.0.difference(&self.0).next().copied()
    }

    /// Each, in one order.
    pub fn iter(&self) -> impl Iterator<Item = Controller> {
        self.0.iter().copied()
    }
}

impl FromIterator<Controller> for Controllers {
    fn from_iter<T: IntoIterator<Item = Controller>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl fmt::Display for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Controllers {
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
            assert_eq!(text.parse::<Controllers>().unwrap().to_string(), text);
        }
        assert_eq!("replicaset, deployment".parse::<Controllers>().unwrap().to_string(), "deployment,replicaset");
        assert_eq!(Controllers::default().to_string(), "deployment");
    }

    #[test]
    fn others_are_refused() {
        let error = "deployment,daemonset".parse::<Controllers>().unwrap_err();
        assert_eq!(error, "unknown controller 'daemonset': expected deployment, replicaset, config-restart");
        assert!("".parse::<Controllers>().is_err());
    }

    #[test]
    fn what_is_lacking() {
        let both: Controllers = Controller::UPSTREAM.into_iter().collect();
        assert_eq!(both.lacks(&Controllers::default()), None);
        assert_eq!(Controllers::default().lacks(&both), Some(Controller::ReplicaSet));
    }
}
