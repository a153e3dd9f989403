//! The verbs that read and write objects.

use std::io::{BufRead, BufReader};

use super::KubectlResult;
use super::program::Kubectl;

/// A Deployment.
pub(crate) const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: 'app:1', ports: [{containerPort: 80}]}
";

fn lines(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

fn check(holds: bool, text: &str) -> KubectlResult {
    if holds { Ok(()) } else { Err(format!("not as expected:\n{text}").into()) }
}

pub(crate) fn get(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    let text = kubectl.ok("get deploy")?;
    let rows = lines(&text);
    check(
        rows[0] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"] && rows[1][..4] == ["web", "0/2", "0", "0"],
        &text,
    )?;
    // By singular name, full name, category and label.
    kubectl.prints("get deployment web -o name", "deployment.apps/web")?;
    kubectl.prints("get deployments.v1.apps web", "web")?;
    kubectl.prints("get all -A", "deployment.apps/web")?;
    kubectl.prints("get deploy -l app=web --show-labels", "app=web")?;
    kubectl
        .prints("get deploy -o custom-columns=N:.metadata.name,I:.spec.template.spec.containers[*].image", "app:1")?;
    kubectl.prints("get ns --sort-by=.metadata.name", "kube-system")?;
    kubectl.prints("get --raw /version", "v1.36")?;
    kubectl.fails("get deploy nothing", "", "deployments.apps \"nothing\" not found").map(drop)
}

pub(crate) fn get_wide(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    let text = kubectl.ok("get deploy -o wide")?;
    let rows = lines(&text);
    check(rows[0][5..] == ["CONTAINERS", "IMAGES", "SELECTOR"] && rows[1][5..] == ["app", "app:1", "app=web"], &text)
}

pub(crate) fn get_yaml(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    let text = kubectl.ok("get deploy web -o yaml")?;
    check(text.contains("containerPort: 80") && text.contains("strategy:\n    rollingUpdate:"), &text)?;
    // Its output can be applied.
    kubectl.run_with_input("replace -f -", &text).map(drop)
}

pub(crate) fn get_watch(kubectl: &Kubectl) -> KubectlResult {
    kubectl.ok("create configmap one")?;
    let mut watch = kubectl.start("get configmaps -w")?;
    let mut out = BufReader::new(watch.stdout.take().ok_or("it has an output")?).lines();
    let mut until = |what: &str| -> KubectlResult {
        for line in out.by_ref() {
            if line?.starts_with(what) {
                return Ok(());
            }
        }
        Err(format!("the watch ended without {what}").into())
    };
    let result = until("NAME").and_then(|()| until("one")).and_then(|()| {
        kubectl.ok("create configmap two")?;
        until("two")?;
        // No second header line.
        kubectl.ok("patch configmap two -p '{\"data\":{\"a\":\"1\"}}'")?;
        until("two    1")
    });
    watch.kill()?;
    watch.wait()?;
    result
}

pub(crate) fn describe(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.prints("describe deploy web", "StrategyType:           RollingUpdate")?;
    kubectl.run_with_input("create -f -", &pod("p"))?;
    kubectl.prints("describe pod p", "Image:        app:1")?;
    kubectl.ok("create configmap settings --from-literal=colour=red")?;
    kubectl.prints("describe cm settings", "colour:\n----\nred")?;
    kubectl.ok("create quota few --hard=pods=3")?;
    kubectl.prints("describe quota few", "pods")
}

/// A pod without a service account.
fn pod(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers: [{{name: app, image: 'app:1'}}]\n"
    )
}

pub(crate) fn apply_client_side(kubectl: &Kubectl) -> KubectlResult {
    check(kubectl.run_with_input("apply -f -", WEB)?.contains("web created"), "created")?;
    check(kubectl.run_with_input("apply -f -", WEB)?.contains("web unchanged"), "unchanged")?;
    let changed = WEB.replace("app:1", "app:2");
    check(kubectl.run_with_input("apply -f -", &changed)?.contains("web configured"), "configured")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:2")?;
    kubectl.prints("apply view-last-applied deploy/web", "app:2")?;
    // kubectl or the server rejects unknown fields.
    kubectl.fails("apply -f -", &WEB.replace("replicas: 2", "replica: 2"), "unknown field \"spec.replica\"")?;
    let pruned = format!("{WEB}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: two, labels: {{app: web}}}}\n");
    let prune = "apply -f - --prune -l app=web --prune-allowlist=core/v1/ConfigMap";
    kubectl.run_with_input(prune, &pruned)?;
    check(kubectl.run_with_input(prune, WEB)?.contains("configmap/two pruned"), "pruned")
}

pub(crate) fn apply_server_side(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("apply --server-side -f -", WEB)?;
    kubectl.fails("apply --server-side --field-manager=other -f -", &WEB.replace("app:1", "app:2"), "conflict")?;
    kubectl.run_with_input(
        "apply --server-side --field-manager=other --force-conflicts -f -",
        &WEB.replace("app:1", "app:2"),
    )?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:2")?;
    kubectl.prints("get deploy web -o yaml --show-managed-fields", "manager: other")
}

pub(crate) fn create(kubectl: &Kubectl) -> KubectlResult {
    kubectl.ok("create deployment web --image=app:1 --replicas=3")?;
    kubectl.has("deploy web", ".spec.replicas", "3")?;
    kubectl.ok("create namespace team")?;
    kubectl.ok("create configmap settings --from-literal=colour=red -n team")?;
    kubectl.ok("create secret generic password --from-literal=a=b")?;
    kubectl.has("secret password", ".data.a", "Yg==")?;
    kubectl.ok("create serviceaccount robot")?;
    kubectl.ok("create quota few --hard=pods=3")?;
    kubectl.fails("create configmap settings -n team", "", "already exists")?;
    kubectl.fails("create -f -", &WEB.replace("replicas: 2", "replicas: two"), "expected numeric").or_else(|_| {
        kubectl.fails("create -f -", &WEB.replace("replicas: 2", "replicas: two"), "cannot unmarshal string")
    })?;
    kubectl.ok("run p --image=app:1").map(drop)
}

pub(crate) fn edit(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    let said = kubectl.edits("edit deploy web", "sed -i s/app:1/app:9/")?;
    check(said.contains("web edited"), &said)?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:9")
}

pub(crate) fn replace(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.run_with_input("replace -f -", &WEB.replace("replicas: 2", "replicas: 5"))?;
    kubectl.has("deploy web", ".spec.replicas", "5")?;
    kubectl.run_with_input("replace --force -f -", WEB)?;
    kubectl.has("deploy web", ".metadata.generation", "1")
}

pub(crate) fn patch(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    let container =
        r#"patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}'"#;
    kubectl.ok(container)?;
    kubectl.has("deploy web", ".spec.template.spec.containers[*].name", "side app")?;
    kubectl.ok(r#"patch deploy web --type=merge -p '{"spec":{"paused":true}}'"#)?;
    kubectl.ok(r#"patch deploy web --type=json -p '[{"op":"remove","path":"/spec/paused"}]'"#)?;
    kubectl.has("deploy web", ".spec.paused", "")?;
    kubectl.ok(r#"patch deploy web --subresource=status --type=merge -p '{"status":{"replicas":1}}'"#)?;
    kubectl.ok(r#"patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":4}}'"#)?;
    kubectl.has("deploy web", ".spec.replicas", "4")
}

pub(crate) fn scale(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("scale deploy/web --replicas=7")?;
    kubectl.has("deploy web", ".spec.replicas", "7")?;
    kubectl.prints("get deploy web --subresource=scale", "web")?;
    kubectl
        .fails("scale deploy/web --current-replicas=1 --replicas=2", "", "Expected replicas to be 1, was 7")
        .map(drop)
}

pub(crate) fn set(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("set image deploy/web app=app:3")?;
    kubectl.ok("set env deploy/web COLOUR=red")?;
    kubectl.ok("set resources deploy/web --limits=cpu=1")?;
    kubectl.ok("set serviceaccount deploy/web robot")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:3")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].env[0].value", "red")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].resources.limits.cpu", "1")?;
    kubectl.has("deploy web", ".spec.template.spec.serviceAccountName", "robot")
}

pub(crate) fn label_and_annotate(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("label deploy web tier=front")?;
    kubectl.fails("label deploy web tier=back", "", "already has a value")?;
    kubectl.ok("label deploy web tier=back --overwrite")?;
    kubectl.has("deploy web", ".metadata.labels.tier", "back")?;
    kubectl.ok("label deploy web tier-")?;
    kubectl.ok("annotate deploy web note=hello")?;
    kubectl.has("deploy web", ".metadata.annotations.note", "hello")
}

pub(crate) fn delete(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.prints("delete deploy web", "deleted")?;
    kubectl.fails("delete deploy web", "", "not found")?;
    kubectl.ok("delete deploy web --ignore-not-found")?;
    kubectl.ok("create configmap a")?;
    kubectl.ok("create configmap b")?;
    kubectl.ok("delete configmaps --all")?;
    kubectl.ok("create namespace team")?;
    kubectl.ok("create configmap a -n team")?;
    kubectl.ok("delete namespace team --timeout=20s")?;
    kubectl.fails("get namespace team", "", "not found")?;
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("delete deploy web --cascade=orphan")?;
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("delete deploy web --cascade=foreground --timeout=20s").map(drop)
}

pub(crate) fn wait(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    let condition = r#"[{"type":"Available","status":"True","lastUpdateTime":"2030-01-01T00:00:00Z","lastTransitionTime":"2030-01-01T00:00:00Z"}]"#;
    kubectl.fails("wait --for=condition=Available deploy/web --timeout=1s", "", "timed out")?;
    kubectl.ok(&format!(
        r#"patch deploy web --subresource=status --type=merge -p '{{"status":{{"conditions":{condition}}}}}'"#
    ))?;
    kubectl.prints("wait --for=condition=Available deploy/web --timeout=20s", "condition met")?;
    kubectl.prints("wait '--for=jsonpath={.spec.replicas}=2' deploy/web --timeout=20s", "condition met")?;
    let mut gone = kubectl.start("wait --for=delete deploy/web --timeout=20s")?;
    kubectl.ok("delete deploy web")?;
    check(gone.wait()?.success(), "it waits for the deletion")
}

pub(crate) fn diff(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("apply -f -", WEB)?;
    kubectl.run_with_input("diff -f -", WEB)?;
    let text = kubectl.fails("diff -f -", &WEB.replace("app:1", "app:2"), "image: app:2")?;
    check(text.contains("generation: 2"), &text)?;
    kubectl.fails("diff --server-side --force-conflicts -f -", &WEB.replace("app:1", "app:2"), "image: app:2")?;
    kubectl.has("deploy web", ".spec.template.spec.containers[0].image", "app:1")
}

pub(crate) fn auth_can_i(kubectl: &Kubectl) -> KubectlResult {
    kubectl.prints("auth can-i create deployments.apps", "yes")?;
    kubectl.prints("auth can-i get /healthz", "yes")?;
    kubectl.prints("auth can-i '*' '*' --all-namespaces", "yes")?;
    kubectl.prints("auth can-i --list", "*.*")
}

pub(crate) fn api_resources(kubectl: &Kubectl) -> KubectlResult {
    let text = kubectl.ok("api-resources --no-headers")?;
    let rows = lines(&text);
    check(rows.iter().any(|row| row[..] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]), &text)?;
    kubectl.prints("api-resources --categories=all -o name", "statefulsets.apps")?;
    kubectl.prints("api-resources --api-group=coordination.k8s.io -o wide", "create,delete,deletecollection,get")?;
    kubectl.prints("api-versions", "authorization.k8s.io/v1")
}

pub(crate) fn explain(kubectl: &Kubectl) -> KubectlResult {
    kubectl.prints("explain deploy", "KIND:       Deployment")?;
    kubectl.prints("explain deployment.spec", "selector\t<LabelSelector> -required-")?;
    kubectl.prints("explain pod.spec.containers.ports.protocol", "FIELD: protocol <string>")?;
    kubectl.prints("explain sts --recursive", "volumeClaimTemplates")?;
    kubectl.fails("explain deployment.spec.nothing", "", "does not exist").map(drop)
}

pub(crate) fn autoscale(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create -f -", WEB)?;
    // Before v1.34 the flag had another name.
    let cpu = if kubectl.ok("autoscale --help")?.contains("--cpu=") { "--cpu=50%" } else { "--cpu-percent=50" };
    kubectl.ok(&format!("autoscale deploy web --min=1 --max=3 {cpu}"))?;
    let text = kubectl.ok("get hpa")?;
    let rows = lines(&text);
    check(rows[0][..4] == ["NAME", "REFERENCE", "TARGETS", "MINPODS"] && rows[1][1] == "Deployment/web", &text)?;
    check(text.contains("cpu: <unknown>/50%"), &text)?;
    // The same object in the other version.
    let first = "horizontalpodautoscalers.v1.autoscaling";
    kubectl.prints(&format!("get {first} web -o jsonpath={{.spec.targetCPUUtilizationPercentage}}"), "50")?;
    kubectl.prints(&format!("get {first}"), "cpu: <unknown>/50%")?;
    kubectl.ok(&format!("patch {first} web -p '{{\"spec\":{{\"targetCPUUtilizationPercentage\":70}}}}'"))?;
    kubectl.prints("get hpa web -o jsonpath={.spec.metrics[0].resource.target.averageUtilization}", "70")?;
    kubectl.prints("explain hpa.spec --api-version=autoscaling/v1", "targetCPUUtilizationPercentage")?;
    kubectl.prints("explain hpa.spec.behavior", "scaleDown")?;
    kubectl.prints("describe hpa web", "Deployment/web")
}

pub(crate) fn dry_run(kubectl: &Kubectl) -> KubectlResult {
    kubectl.run_with_input("create --dry-run=server -f -", WEB)?;
    kubectl.fails("get deploy web", "", "not found")?;
    kubectl.run_with_input("apply --dry-run=server -f -", WEB)?;
    kubectl.run_with_input("apply --dry-run=client -f -", WEB)?;
    kubectl.run_with_input("create -f -", WEB)?;
    kubectl.ok("scale deploy/web --replicas=9 --dry-run=server")?;
    kubectl.ok("label deploy web a=b --dry-run=server")?;
    kubectl.ok("set image deploy/web app=app:9 --dry-run=server")?;
    kubectl.ok(r#"patch deploy web --type=merge -p '{"spec":{"replicas":9}}' --dry-run=server"#)?;
    kubectl.run_with_input("replace --dry-run=server -f -", &WEB.replace("replicas: 2", "replicas: 9"))?;
    kubectl.ok("delete deploy web --dry-run=server")?;
    kubectl.ok("delete deploy --all --dry-run=server")?;
    kubectl.has("deploy web", ".spec.replicas", "2")?;
    kubectl.has("deploy web", ".metadata.generation", "1")
}

pub(crate) fn custom_resources(kubectl: &Kubectl) -> KubectlResult {
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
";
    kubectl.run_with_input("apply -f -", definition)?;
    kubectl.ok("wait --for=condition=Established crd/widgets.example.com --timeout=20s")?;
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
    kubectl.run_with_input("apply -f -", widget)?;
    kubectl.run_with_input("apply --server-side --force-conflicts -f -", widget)?;
    let text = kubectl.ok("get wd")?;
    check(lines(&text)[..2] == [vec!["NAME", "SIZE"], vec!["w", "3"]], &text)?;
    kubectl.prints("explain widget.spec.size", "FIELD: size <integer>")
}
