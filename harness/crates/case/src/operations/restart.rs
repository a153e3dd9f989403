//! `restart: web`: starts a rollout of the same template with a new timestamp.

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::patch::patch_difference;
use super::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};
use crate::model::{DeclaredChange, Drive, DriveError, LabelStyle, Operation, PerformFuture, StepAction};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};

const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "restart",
    description: "`kubectl rollout restart`, which refuses a second restart within one second.",
    actor: Actor::User,
    shorthand: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &["- restart: web", "- restart: {deployment: web}"],
};

/// Restarts a Deployment.
#[derive(Debug, PartialEq)]
pub(crate) struct RestartStep(pub(crate) String);

fn read(reader: &mut StepReader<'_>, node: &OperationNode<'_>) -> Option<Operation> {
    let deployment = reader.read_deployment_name(node)?;
    reader.scope.has_template_change |= !node.refused;
    Some(Operation::new(RestartStep(deployment)))
}

impl StepAction for RestartStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        format!("restart{}", names.deployment(&self.0))
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::NewTemplate(&self.0)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(async move {
            let Self(deployment) = self;
            let found = driver.deployment(deployment).await?;
            if found.at("/spec/paused") == Some(&Value::Bool(true)) {
                let why = "can't restart paused deployment (run rollout resume first)";
                return Err(DriveError::Refused(format!("deployments.apps \"{deployment}\" {why}")));
            }
            let mut changed = found.clone();
            changed["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT] = driver.now().into();
            if patch_difference(driver, &found, &changed, "kubectl-rollout").await? {
                return Ok(());
            }
            Err(DriveError::Refused(format!(
                "failed to create patch for {deployment}: if restart has already been triggered within the past second, \
                 please wait before attempting to trigger another"
            )))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::model::{PatchKind, PodNaming, PodOperation, PodSelection, Target};

    /// A server with one Deployment and a fixed time.
    struct FixedServer(std::sync::Mutex<Value>);

    impl Drive for FixedServer {
        fn deployment<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, DriveError>> {
            Box::pin(async { Ok(self.0.lock().unwrap().clone()) })
        }

        fn patch<'a>(
            &'a self,
            _: &'a Target,
            _: PatchKind,
            patch: &'a Value,
            manager: &'static str,
        ) -> PerformFuture<'a> {
            assert_eq!(manager, "kubectl-rollout");
            Box::pin(async move {
                json_patch::merge(&mut self.0.lock().unwrap(), patch);
                Ok(())
            })
        }

        fn now(&self) -> String {
            "2026-11-26T12:00:00Z".to_owned()
        }

        fn apply<'a>(&'a self, _: &'a Value, _: bool) -> PerformFuture<'a> {
            panic!("a restart applies nothing")
        }

        fn delete<'a>(&'a self, _: &'a Target, _: crate::model::Cascade) -> PerformFuture<'a> {
            panic!("a restart deletes nothing")
        }

        fn scale<'a>(&'a self, _: &'a Target, _: i32) -> PerformFuture<'a> {
            panic!("a restart scales nothing")
        }

        fn replica_sets<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<Vec<Value>, DriveError>> {
            panic!("a restart looks for no ReplicaSets")
        }

        fn move_pods<'a>(&'a self, _: PodOperation, _: &'a PodSelection) -> PerformFuture<'a> {
            panic!("a restart moves no pods")
        }

        fn name_pods<'a>(&'a self, _: &'a PodNaming) -> PerformFuture<'a> {
            panic!("a restart names no pods")
        }

        fn wait<'a>(&'a self, _: Duration) -> PerformFuture<'a> {
            panic!("a restart does not wait")
        }

        fn time_until(&self, _: Duration, _: &str) -> Result<Duration, DriveError> {
            panic!("a restart does not wait")
        }
    }

    #[tokio::test]
    async fn second_restart_within_a_second_is_refused() {
        let found =
            json!({"metadata": {"name": "web"}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}});
        let server = FixedServer(found.into());
        let restart = RestartStep("web".to_owned());
        restart.perform(&server).await.unwrap();
        let refusal = restart.perform(&server).await.unwrap_err();
        assert!(refusal.to_string().contains("already been triggered within the past second"), "{refusal}");
        let found = server.0.lock().unwrap().clone();
        assert_eq!(found["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT], "2026-11-26T12:00:00Z");
    }

    #[tokio::test]
    async fn sends_no_patch_without_change() {
        let found = json!({"metadata": {"name": "web"}, "spec": {}});
        let server = FixedServer(Value::Null.into());
        assert!(!patch_difference(&server, &found, &found, "kubectl-rollout").await.unwrap());
    }
}
