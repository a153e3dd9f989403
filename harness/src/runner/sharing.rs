//! Which cases can be played while the same subject is at others.
//!
//! Cases have namespaces of their own, so a Deployment controller that does what it should does in
//! one what it would do without the other. A case must have the subject alone where it stops or
//! restarts it, holds or changes what passes between it and the server, or brings a kind that a
//! controller looks for when it starts.

use crate::case::model::{Case, Step};
use crate::controllers::Controller;

/// Whether others may be played beside it.
pub(super) fn can_share(case: &Case) -> bool {
    let config_restart = case.controllers.has(Controller::ConfigRestart);
    !config_restart && case.crds.is_empty() && case.given.iter().chain(&case.steps).all(leaves_subject_alone)
}

fn leaves_subject_alone(step: &Step) -> bool {
    let Step { operation, during, fault, .. } = step;
    let inner = operation.inner();
    during.is_none() && fault.is_none() && operation.life().is_none() && inner.iter().all(leaves_subject_alone)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::case;

    #[rstest]
    #[case("- scale: 2", true)]
    #[case("- together: [{scale: 2}, {pause: web}]", true)]
    #[case("- subject: stop\n  - subject: start", false)]
    #[case("- scale: 2\n    fault: {write: 1, of: replicasets, action: crash}", false)]
    #[case("- scale: 2\n    during: {held: replicasets, do: [{scale: 3}]}", false)]
    fn what_touches_the_subject_has_it_alone(#[case] steps: &str, #[case] shares: bool) {
        let given = "given: [{deployment: {name: web, replicas: 1, image: \"app:1\"}}]";
        let text = format!("description: x\n{given}\nsteps:\n  {steps}\n");
        let case = case::parse("x/x.yaml", "x/x", &text).unwrap();
        assert_eq!(can_share(&case), shares);
    }
}
