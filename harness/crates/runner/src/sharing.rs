//! Which cases can run while the same subject runs others.
//!
//! Each case has its own namespace, so a correct Deployment controller behaves in one namespace as
//! it would without the others. A case needs the subject for itself if it stops or restarts the
//! subject, changes or delays its requests and watches, or brings a kind that a controller looks
//! for when it starts.

use lockstep_case::model::{Case, Step};
use lockstep_recording::controllers::Controller;

/// Whether the case can run while others do.
pub(super) fn can_share(case: &Case) -> bool {
    let config_restart = case.controllers.has(Controller::ConfigRestart);
    !config_restart && case.crds.is_empty() && case.given.iter().chain(&case.steps).all(leaves_subject_alone)
}

fn leaves_subject_alone(step: &Step) -> bool {
    let Step { operation, during, fault, .. } = step;
    let inner = operation.nested_steps();
    during.is_none()
        && fault.is_none()
        && operation.process_action().is_none()
        && inner.iter().all(leaves_subject_alone)
}

#[cfg(test)]
mod tests {
    use lockstep_case as case;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("- scale: 2", true)]
    #[case("- together: [{scale: 2}, {pause: web}]", true)]
    #[case("- subject: stop\n  - subject: start", false)]
    #[case("- scale: 2\n    fault: {write: 1, of: replicasets, action: crash}", false)]
    #[case("- scale: 2\n    during: {held: replicasets, do: [{scale: 3}]}", false)]
    fn cases_that_affect_the_subject_run_alone(#[case] steps: &str, #[case] shares: bool) {
        let given = "given: [{deployment: {name: web, replicas: 1, image: \"app:1\"}}]";
        let text = format!("description: x\n{given}\nsteps:\n  {steps}\n");
        let case = case::parse("x/x.yaml", "x/x", &text).unwrap();
        assert_eq!(can_share(&case), shares);
    }
}
