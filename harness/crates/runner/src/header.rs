//! The header of a recording: which case, which subject, which cluster.

use lockstep_case::Case;
use lockstep_cluster::SiteName;
use lockstep_recording::{FORMAT, Header};
use lockstep_support::clock;

use super::Session;
use super::definitions::has_rules;

impl Session {
    /// The header for a run of this case in this namespace. In virtual time the caller adds the
    /// seed.
    pub(super) fn header(&self, case: &Case, namespace: &str, real_pods: bool) -> Header {
        Header {
            format: FORMAT,
            case: case.name.clone(),
            path: case.path.clone(),
            source: case.source.clone(),
            controllers: case.controllers.clone(),
            under_test: self.environment.under_test().clone(),
            namespace: namespace.to_owned(),
            subject: self.identity().clone(),
            kind: self.spec.kind(),
            cluster: self.environment.identity().clone(),
            cluster_controllers: self.cluster_controllers().cloned().map(Box::new),
            workload: self.environment.workload.clone().map(Box::new),
            real_pods,
            unevaluated: self.unevaluated(case),
            seed: None,
            started: clock::rfc3339(),
        }
    }

    /// The definitions of a case whose rules this cluster's server does not evaluate. A case whose
    /// definitions cannot be read fails before.
    fn unevaluated(&self, case: &Case) -> Vec<String> {
        let is_simulated = self.environment.identity().name == SiteName::Sim.as_str();
        let definitions = case.definitions().unwrap_or_default();
        let unevaluated = definitions.iter().filter(|definition| is_simulated && has_rules(definition));
        unevaluated.filter_map(|definition| Some(definition["metadata"]["name"].as_str()?.to_owned())).collect()
    }
}
