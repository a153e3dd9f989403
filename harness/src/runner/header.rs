//! The header of a recording: which case, which subject, which cluster.

use super::Session;
use crate::case::Case;
use crate::clock;
use crate::recording::{FORMAT, Header};

impl Session<'_> {
    /// What a play of this case in this namespace begins with. Who plays in virtual time adds the seed.
    pub(super) fn header(&self, case: &Case, namespace: &str, real_pods: bool) -> Header {
        Header {
            format: FORMAT,
            case: case.name.clone(),
            path: case.path.clone(),
            source: case.source.clone(),
            judged: case.controllers.clone(),
            under_test: self.environment.under_test().clone(),
            namespace: namespace.to_owned(),
            subject: self.identity().clone(),
            kind: self.spec.kind(),
            cluster: self.environment.identity().clone(),
            cluster_controllers: self.cluster_controllers().cloned().map(Box::new),
            workload: self.environment.workload.clone().map(Box::new),
            real_pods,
            seed: None,
            started: clock::rfc3339(),
        }
    }
}
