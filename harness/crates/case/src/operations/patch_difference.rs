//! How `kubectl set` and `kubectl rollout` change a Deployment: they send the difference as a
//! strategic merge patch.

use kube_apiserver_sim::ApiType;
use serde_json::{Map, Value};

use crate::model::{Drive, DriveError, PatchKind, Target};

/// Patches the current Deployment to the changed one. Returns `false` if they do not differ; then
/// nothing is sent.
pub(super) async fn patch_difference(
    driver: &dyn Drive,
    current: &Value,
    changed: &Value,
    manager: &'static str,
) -> Result<bool, DriveError> {
    let of_deployment = ApiType::of("apps/v1", "Deployment").expect("the server has Deployments");
    let patch = of_deployment.difference(current, changed).map_err(DriveError::Refused)?;
    if patch.as_object().is_some_and(Map::is_empty) {
        return Ok(false);
    }
    let name = current["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let target = Target { kind: "deployment".to_owned(), name };
    driver.patch(&target, PatchKind::Strategic, &patch, manager).await?;
    Ok(true)
}
