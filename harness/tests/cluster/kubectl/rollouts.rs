//! `kubectl rollout`. No controller runs; the trials write what one would.

use super::KubectlResult;
use super::program::Kubectl;
use super::verbs::WEB;

/// Writes a status in which this many replicas are up to date.
fn complete(kubectl: &Kubectl, replicas: u32) -> KubectlResult {
    let generation = kubectl.field("deploy web", ".metadata.generation")?;
    kubectl.ok(&format!(
        r#"patch deploy web --subresource=status --type=merge -p '{{"status":{{"observedGeneration":{generation},"replicas":{replicas},"updatedReplicas":{replicas},"readyReplicas":{replicas},"availableReplicas":{replicas}}}}}'"#
    ))?;
    Ok(())
}

/// Creates the ReplicaSet of a revision of the Deployment.
fn replica_set(kubectl: &Kubectl, revision: u32) -> KubectlResult {
    let uid = kubectl.field("deploy web", ".metadata.uid")?;
    let set = format!(
        "apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-{revision}
  labels: {{app: web, pod-template-hash: '{revision}'}}
  annotations: {{deployment.kubernetes.io/revision: '{revision}', kubernetes.io/change-cause: 'image {revision}'}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {uid}, controller: true}}]
spec:
  replicas: 0
  selector: {{matchLabels: {{app: web, pod-template-hash: '{revision}'}}}}
  template:
    metadata: {{labels: {{app: web, pod-template-hash: '{revision}'}}}}
    spec: {{containers: [{{name: app, image: 'app:{revision}'}}]}}
"
    );
    kubectl.run_with_input("create -f -", &set)?;
    Ok(())
}

pub(crate) fn status(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.fails("rollout status deploy/web --timeout=1s", "", "Waiting for deployment")?;
    complete(kubectl, 2)?;
    kubectl.prints("rollout status deploy/web --timeout=20s", "successfully rolled out")
}

pub(crate) fn history_and_undo(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", &WEB.replace("app:1", "app:2"))?;
    kubectl.ok("annotate deploy web deployment.kubernetes.io/revision=2")?;
    replica_set(kubectl, 1)?;
    replica_set(kubectl, 2)?;
    kubectl.prints("rollout history deploy/web", "1         image 1")?;
    kubectl.prints("rollout history deploy/web --revision=2", "Image:\tapp:2")?;
    kubectl.prints("rollout undo deploy/web", "rolled back")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:1")?;
    kubectl.prints("rollout undo deploy/web --to-revision=2", "rolled back")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:2")?;
    kubectl.fails("rollout undo deploy/web --to-revision=7", "", "unable to find specified revision 7").map(drop)
}

pub(crate) fn pause_resume_restart(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("rollout pause deploy/web")?;
    kubectl.has("deploy web", ".spec.paused", "true")?;
    kubectl.fails("rollout restart deploy/web", "", "paused")?;
    kubectl.ok("rollout resume deploy/web")?;
    kubectl.has("deploy web", ".spec.paused", "")?;
    kubectl.ok("rollout restart deploy/web")?;
    let restarted = kubectl.field("deploy web", ".spec.template.metadata.annotations")?;
    if restarted.contains("restartedAt") { Ok(()) } else { Err(restarted.into()) }
}
