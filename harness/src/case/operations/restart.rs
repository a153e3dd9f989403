//! `restart: web`: a rollout to the same template with a new stamp.

use serde_json::Value;

use super::change::change;
use super::form::nothing;
use super::{Action, By, Change, Drive, DriveError, Form, Names, Operation, Performing, Written};
use crate::case::step::Reader;
use crate::case::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};
use crate::pointer::At;

const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

pub(super) static FORM: Form = Form {
    name: "restart",
    says: "`kubectl rollout restart`, which refuses a second restart within one second.",
    by: By::User,
    short: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- restart: web", "- restart: {deployment: web}"],
};

/// A Deployment is restarted.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Restart(pub(in crate::case) String);

fn read(reader: &mut Reader<'_>, written: &Written<'_>) -> Option<Operation> {
    let deployment = reader.one_deployment(written)?;
    reader.scope.retemplated |= !written.refused;
    Some(Operation::new(Restart(deployment)))
}

impl Action for Restart {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        format!("restart{}", names.deployment(&self.0))
    }

    fn change(&self) -> Change<'_> {
        Change::Template(&self.0)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(async move {
            let Self(deployment) = self;
            let found = driver.deployment(deployment).await?;
            if found.at("/spec/paused") == Some(&Value::Bool(true)) {
                let why = "can't restart paused deployment (run rollout resume first)";
                return Err(DriveError::Refused(format!("deployments.apps \"{deployment}\" {why}")));
            }
            let mut changed = found.clone();
            changed["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT] = driver.now().into();
            if change(driver, &found, &changed, "kubectl-rollout").await? {
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
    use crate::case::model::{Naming, PatchKind, PodOperation, Pods, Target};

    /// A server with one Deployment, at one moment.
    struct Moment(std::sync::Mutex<Value>);

    impl Drive for Moment {
        fn deployment<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, DriveError>> {
            Box::pin(async { Ok(self.0.lock().unwrap().clone()) })
        }

        fn patch<'a>(&'a self, _: &'a Target, _: PatchKind, patch: &'a Value, manager: &'static str) -> Performing<'a> {
            assert_eq!(manager, "kubectl-rollout");
            Box::pin(async move {
                json_patch::merge(&mut self.0.lock().unwrap(), patch);
                Ok(())
            })
        }

        fn now(&self) -> String {
            "2026-11-26T12:00:00Z".to_owned()
        }

        fn apply<'a>(&'a self, _: &'a Value, _: bool) -> Performing<'a> {
            panic!("a restart applies nothing")
        }

        fn delete<'a>(&'a self, _: &'a Target, _: crate::case::model::Cascade) -> Performing<'a> {
            panic!("a restart deletes nothing")
        }

        fn scale<'a>(&'a self, _: &'a Target, _: i32) -> Performing<'a> {
            panic!("a restart scales nothing")
        }

        fn replica_sets<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<Vec<Value>, DriveError>> {
            panic!("a restart looks for no ReplicaSets")
        }

        fn move_pods<'a>(&'a self, _: PodOperation, _: &'a Pods) -> Performing<'a> {
            panic!("a restart moves no pods")
        }

        fn name_pods<'a>(&'a self, _: &'a Naming) -> Performing<'a> {
            panic!("a restart names no pods")
        }

        fn wait<'a>(&'a self, _: Duration) -> Performing<'a> {
            panic!("a restart does not wait")
        }

        fn until(&self, _: Duration, _: &str) -> Result<Duration, DriveError> {
            panic!("a restart does not wait")
        }
    }

    #[tokio::test]
    async fn second_restart_within_a_second_is_refused() {
        let found =
            json!({"metadata": {"name": "web"}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}});
        let server = Moment(found.into());
        let restart = Restart("web".to_owned());
        restart.perform(&server).await.unwrap();
        let refusal = restart.perform(&server).await.unwrap_err();
        assert!(refusal.to_string().contains("already been triggered within the past second"), "{refusal}");
        let found = server.0.lock().unwrap().clone();
        assert_eq!(found["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT], "2026-11-26T12:00:00Z");
    }

    #[tokio::test]
    async fn what_changes_nothing_is_not_sent() {
        let found = json!({"metadata": {"name": "web"}, "spec": {}});
        let server = Moment(Value::Null.into());
        assert!(!change(&server, &found, &found, "kubectl-rollout").await.unwrap());
    }
}
