//! The table of compared commands.

use super::operations::{Command, Row};

const WEB: &[&str] = &["deploy web"];

fn row(name: &'static str, commands: impl IntoIterator<Item = Command>) -> Row {
    Row { name, commands: commands.into_iter().collect(), objects: WEB }
}

/// A Deployment with additions to its metadata, spec, pod spec and container; each text ends in a
/// comma.
fn more(metadata: &str, spec: &str, pod: &str, container: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{{metadata}name: web}}, spec: {{{spec}selector: {{matchLabels: {{app: web}}}}, \
         template: {{metadata: {{labels: {{app: web}}}}, spec: {{{pod}containers: [{{{container}name: app, image: 'app:1'}}]}}}}}}}}"
    )
}

/// A Deployment with an addition to its spec.
fn spec(spec: &str) -> String {
    more("", spec, "", "")
}

/// A Deployment with these containers.
fn containers(containers: &str) -> String {
    spec("").replace("{name: app, image: 'app:1'}", containers)
}

fn apply(manifest: String) -> Command {
    Command::Apply("", manifest)
}

fn server_side(manifest: String) -> Command {
    Command::Apply("--server-side", manifest)
}

fn run(line: &'static str, step: &str) -> Command {
    Command::Run(line, step.to_owned())
}

fn refused(line: &'static str, step: &str, message: &'static str) -> Command {
    Command::Refused(line, step.to_owned(), message)
}

fn raw_command(line: &'static str, input: &str) -> Command {
    Command::Both(line, input.to_owned())
}

pub(crate) fn all() -> Vec<Row> {
    [applied(), lists(), other_kinds(), server_side_applied(), set(), rollouts(), undone(), other_rows()]
        .into_iter()
        .flatten()
        .collect()
}

fn applied() -> Vec<Row> {
    vec![
        row("apply-creates", [apply(spec("replicas: 2, "))]),
        row("apply-of-the-same-changes-nothing", [apply(spec("replicas: 2, ")), apply(spec("replicas: 2, "))]),
        row("apply-removes-replicas", [apply(spec("replicas: 4, minReadySeconds: 5, ")), apply(spec(""))]),
        row(
            "apply-keeps-scaled-replicas",
            [
                apply(spec("")),
                run("scale deploy web --replicas=5", "scale: 5"),
                apply(more("", "minReadySeconds: 1, ", "", "")),
            ],
        ),
        row(
            "apply-resets-scaled-replicas",
            [
                apply(spec("replicas: 2, ")),
                run("scale deploy web --replicas=5", "scale: 5"),
                apply(spec("replicas: 2, ")),
            ],
        ),
        row(
            "apply-changes-the-strategy",
            [
                apply(spec("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, ")),
                apply(spec("strategy: {type: Recreate}, ")),
            ],
        ),
        row(
            "apply-changes-the-strategy-back",
            [apply(spec("strategy: {type: Recreate}, ")), apply(spec("strategy: {rollingUpdate: {maxSurge: 30%}}, "))],
        ),
        row("apply-recreates-over-the-default", [apply(spec("")), apply(spec("strategy: {type: Recreate}, "))]),
        row(
            "apply-removes-the-strategy",
            [apply(spec("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 3}}, ")), apply(spec(""))],
        ),
        row(
            "apply-takes-null-for-absent",
            [apply(spec("replicas: null, paused: null, ")), apply(spec("replicas: null, "))],
        ),
        row(
            "apply-of-null-removes",
            [apply(spec("replicas: 3, minReadySeconds: 4, ")), apply(spec("replicas: 3, minReadySeconds: null, "))],
        ),
        row(
            "apply-of-null-removes-what-others-set",
            [apply(spec("")), run("scale deploy web --replicas=5", "scale: 5"), apply(spec("replicas: null, "))],
        ),
        row(
            "apply-removes-labels-and-annotations",
            [
                apply(more("labels: {a: '1', b: '2'}, annotations: {x: '1', z: '2'}, ", "", "", "")),
                apply(more("labels: {b: '3'}, annotations: {z: '2'}, ", "", "", "")),
            ],
        ),
        row("apply-removes-all-annotations", [apply(more("annotations: {x: '1'}, ", "", "", "")), apply(spec(""))]),
        row(
            "apply-keeps-annotations-of-others",
            [
                apply(more("annotations: {x: '1'}, ", "", "", "")),
                raw_command("annotate deploy web team=blue", ""),
                raw_command("label deploy web tier=front", ""),
                apply(more("labels: {a: '1'}, ", "", "", "")),
            ],
        ),
        row(
            "apply-changes-finalizers",
            [
                apply(more("finalizers: [a.example/x, b.example/y], ", "", "", "")),
                apply(more("finalizers: [b.example/y, c.example/z], ", "", "", "")),
            ],
        ),
        row("apply-escapes-as-go-does", [apply(more("annotations: {x: '<a & b> \"c\" é'}, ", "", "", ""))]),
        row(
            "apply-drops-an-old-configuration",
            [apply(more(
                "annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', x: '1'}, ",
                "",
                "",
                "",
            ))],
        ),
        row(
            "apply-over-created",
            [
                raw_command(
                    "create -f -",
                    &spec("replicas: 3, minReadySeconds: 7, ")
                        .replace("spec: {containers", "spec: {schedulerName: lockstep, containers"),
                ),
                apply(spec("replicas: 2, ")),
                apply(spec("")),
            ],
        ),
        row(
            "apply-over-a-patch",
            [
                apply(spec("replicas: 2, ")),
                run(
                    r#"patch deploy web -p '{"spec":{"replicas":7,"minReadySeconds":9}}'"#,
                    "patch: {target: deployment/web, patch: {spec: {replicas: 7, minReadySeconds: 9}}}",
                ),
                apply(spec("replicas: 2, progressDeadlineSeconds: 50, ")),
            ],
        ),
        row(
            "apply-over-set-image",
            [apply(spec("")), run("set image deploy/web app=app:9", "set: {image: 'app:9'}"), apply(spec(""))],
        ),
        row(
            "apply-of-an-equal-quantity",
            [
                apply(more("", "", "", "resources: {requests: {cpu: 1000m, memory: 1024Mi}}, ")),
                apply(more("", "", "", "resources: {requests: {cpu: 1000m}}, ")),
            ],
        ),
        row(
            "apply-of-another-selector-is-refused",
            [
                apply(spec("")),
                Command::ApplyRefused("", spec("").replace("app: web", "app: other"), "field is immutable"),
            ],
        ),
        row(
            "apply-of-an-unknown-field-is-refused",
            [
                apply(spec("replicas: 2, ")),
                Command::ApplyRefused("", spec("replicsa: 3, "), "unknown field \"spec.replicsa\""),
                Command::ApplyRefused(
                    "",
                    spec("strategy: {rollingUpdate: {maxSurg: 1}}, "),
                    "unknown field \"spec.strategy.rollingUpdate.maxSurg\"",
                ),
            ],
        ),
        row(
            "create-by-apply-of-an-unknown-field-is-refused",
            [Command::ApplyRefused(
                "",
                more("labls: {a: b}, ", "", "", "imagePullPolice: Always, "),
                "unknown field \"metadata.labls\"",
            )],
        ),
        row(
            "apply-of-an-invalid-value-is-refused",
            [Command::ApplyRefused("", spec("replicas: -1, "), "greater than or equal to 0")],
        ),
        row("apply-of-a-wrong-type-is-refused", [Command::ApplyRefused("", spec("replicas: two, "), "cannot")]),
        row(
            "short-form",
            [
                Command::ShortForm(
                    "deployment: {name: web, replicas: 4, image: 'app:1', minReadySeconds: 5, maxSurge: 2, maxUnavailable: 0, strategy: RollingUpdate, envFrom: [configmap/c]}",
                    more(
                        "",
                        "replicas: 4, minReadySeconds: 5, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}, ",
                        "",
                        "envFrom: [{configMapRef: {name: c}}], ",
                    ),
                ),
                Command::ShortForm("deployment: {name: web, image: 'app:2'}", spec("").replace("app:1", "app:2")),
            ],
        ),
        row(
            "short-form-keeps-scaled-replicas",
            [
                Command::ShortForm("deployment: {name: web, image: 'app:1'}", spec("")),
                run("scale deploy web --replicas=5", "scale: 5"),
                Command::ShortForm("deployment: {name: web, image: 'app:2'}", spec("").replace("app:1", "app:2")),
            ],
        ),
    ]
}

fn lists() -> Vec<Row> {
    let one = "{name: app, image: 'app:1'}";
    vec![
        row(
            "apply-removes-a-container",
            [apply(containers(&format!("{one}, {{name: side, image: 'side:1'}}"))), apply(containers(one))],
        ),
        row(
            "apply-adds-a-container-in-front",
            [apply(containers(one)), apply(containers(&format!("{{name: first, image: 'first:1'}}, {one}")))],
        ),
        row(
            "apply-reorders-containers",
            [
                apply(containers(&format!("{one}, {{name: b, image: 'b:1'}}, {{name: c, image: 'c:1'}}"))),
                apply(containers(&format!("{{name: c, image: 'c:1'}}, {one}, {{name: b, image: 'b:2'}}"))),
            ],
        ),
        row(
            "apply-renames-a-container",
            [apply(containers(one)), apply(containers("{name: renamed, image: 'app:1'}"))],
        ),
        row(
            "apply-keeps-an-injected-container",
            [
                apply(containers(&format!("{one}, {{name: b, image: 'b:1'}}"))),
                run(
                    r#"patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"injected","image":"i:1"}]}}}}'"#,
                    "patch: {target: deployment/web, patch: {spec: {template: {spec: {containers: [{name: injected, image: 'i:1'}]}}}}}",
                ),
                apply(containers("{name: app, image: 'app:2'}")),
            ],
        ),
        row(
            "apply-of-a-container-without-a-name-is-refused",
            [
                apply(containers(one)),
                Command::ApplyRefused("", containers("{image: 'app:2'}"), "does not contain declared merge key: name"),
            ],
        ),
        row(
            "apply-changes-variables",
            [
                apply(more("", "", "", "env: [{name: A, value: '1'}, {name: B, value: '1'}, {name: C, value: '1'}], ")),
                run("set env deploy/web X=x", "set: {env: {X: x}}"),
                apply(more("", "", "", "env: [{name: C, value: '2'}, {name: A, value: '1'}], ")),
            ],
        ),
        row(
            "apply-changes-a-value-to-a-reference",
            [
                apply(more("", "", "", "env: [{name: A, value: '1'}], ")),
                apply(more("", "", "", "env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}], ")),
            ],
        ),
        row(
            "apply-of-one-variable-twice",
            [
                apply(more("", "", "", "env: [{name: A, value: '1'}, {name: A, value: '2'}], ")),
                apply(more("", "", "", "env: [{name: A, value: '2'}], ")),
            ],
        ),
        row(
            "apply-removes-all-variables",
            [apply(more("", "", "", "env: [{name: A, value: '1'}], ")), apply(spec(""))],
        ),
        row(
            "apply-of-one-port-in-two-protocols",
            [
                apply(more(
                    "",
                    "",
                    "",
                    "ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}], ",
                )),
                apply(more(
                    "",
                    "",
                    "",
                    "ports: [{containerPort: 80, protocol: TCP, name: web}, {containerPort: 80, protocol: UDP}], ",
                )),
            ],
        ),
        row(
            "apply-removes-a-port",
            [
                apply(more("", "", "", "ports: [{containerPort: 80}, {containerPort: 81}], ")),
                apply(more("", "", "", "ports: [{containerPort: 81, name: admin}], ")),
            ],
        ),
        row(
            "apply-changes-the-kind-of-a-volume",
            [
                apply(more(
                    "",
                    "",
                    "volumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}], ",
                    "volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}], ",
                )),
                apply(more(
                    "",
                    "",
                    "volumes: [{name: v, configMap: {name: c}}], ",
                    "volumeMounts: [{name: v, mountPath: /v}], ",
                )),
            ],
        ),
        row(
            "apply-replaces-lists-without-keys",
            [
                apply(more(
                    "",
                    "",
                    "tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists}], ",
                    "args: [a, b], command: [sh], ",
                )),
                apply(more("", "", "tolerations: [{key: b, operator: Exists}], ", "args: [b], ")),
            ],
        ),
        row(
            "apply-changes-other-merged-lists",
            [
                apply(more(
                    "",
                    "",
                    "imagePullSecrets: [{name: a}, {name: b}], hostAliases: [{ip: 10.0.0.1, hostnames: [a]}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}], ",
                    "",
                )),
                apply(more(
                    "",
                    "",
                    "imagePullSecrets: [{name: b}, {name: c}], hostAliases: [{ip: 10.0.0.1, hostnames: [b]}, {ip: 10.0.0.2, hostnames: [c]}], ",
                    "",
                )),
            ],
        ),
        row(
            "apply-removes-init-containers",
            [
                apply(more("", "", "initContainers: [{name: i, image: 'i:1'}, {name: j, image: 'j:1'}], ", "")),
                apply(more("", "", "initContainers: [{name: j, image: 'j:2'}], ", "")),
                apply(spec("")),
            ],
        ),
        row(
            "apply-removes-a-probe-and-resources",
            [
                apply(more(
                    "",
                    "",
                    "securityContext: {runAsUser: 1}, ",
                    "readinessProbe: {httpGet: {path: /, port: 80}}, resources: {limits: {cpu: 1, memory: 1Gi}}, ",
                )),
                apply(more("", "", "", "resources: {limits: {cpu: 2}}, ")),
            ],
        ),
    ]
}

fn other_kinds() -> Vec<Row> {
    let config = |data: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, {data}}}");
    let secret = |data: &str| format!("{{apiVersion: v1, kind: Secret, metadata: {{name: token}}, {data}}}");
    let widget =
        |spec: &str| format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {{{spec}}}}}");
    let daemon = |pod: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: agent}}, spec: {{selector: {{matchLabels: {{app: agent}}}}, \
             template: {{metadata: {{labels: {{app: agent}}}}, spec: {{{pod}containers: [{{name: app, image: 'app:1'}}]}}}}}}}}"
        )
    };
    let definition = || {
        raw_command(
            "create -f -",
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, \
             scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}, versions: [{name: v1, served: true, \
             storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}}",
        )
    };
    let of = |objects: &'static [&'static str], row: Row| Row { objects, ..row };
    vec![
        of(&["cm settings"], row("apply-removes-a-key-of-a-config-map", [
            apply(config("data: {a: '1', b: '2'}")),
            apply(config("data: {b: '3'}")),
            apply(config("data: null")),
        ])),
        of(&["secret token"], row("apply-of-a-secret-in-plain-text", [
            apply(secret("stringData: {a: one, b: two}")),
            apply(secret("stringData: {b: three}")),
            apply(secret("data: {b: Yg==}")),
        ])),
        of(&["ds agent"], row("apply-of-a-daemon-set", [
            apply(daemon("nodeSelector: {a: b, c: d}, ")),
            apply(daemon("nodeSelector: {c: d}, hostNetwork: true, ")),
        ])),
        of(&["widgets w"], row("apply-of-a-custom-resource", [
            definition(),
            raw_command("wait --for=condition=Established crd/widgets.example.com --timeout=20s", ""),
            apply(widget("size: 3, colours: [red, blue], nested: {a: 1, b: {c: 2}}, none: null")),
            apply(widget("size: 3, colours: [red, blue], nested: {a: 1, b: {c: 2}}, none: null")),
            raw_command(r#"patch widget w --type=merge -p '{"spec":{"none":5,"theirs":6,"nested":{"theirs":7}}}'"#, ""),
            apply(widget("colours: [blue], nested: {b: {}}, none: null, more: {x: null, y: 1}")),
            apply(widget("theirs: null, empty: {}")),
        ])),
        of(&["widgets w"], row("apply-of-a-custom-resource-with-an-unknown-field-is-refused", [
            definition(),
            raw_command("wait --for=condition=Established crd/widgets.example.com --timeout=20s", ""),
            apply(widget("size: 3")),
            Command::ApplyRefused(
                "",
                widget("size: 4").replace("spec:", "spce: 1, spec:"),
                "unknown field \"spce\"",
            ),
        ])),
        of(&["pdb web"], row("apply-of-a-disruption-budget", [
            apply("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web, a: b}}}}".to_owned()),
            apply("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}".to_owned()),
        ])),
        of(&["cj job"], row("apply-of-a-cron-job", ["1", "2"].map(|image| apply(format!(
            "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: job}}, spec: {{schedule: '* * * * *', jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: app, image: 'app:{image}'}}]}}}}}}}}}}}}"
        ))))),
    ]
}

fn server_side_applied() -> Vec<Row> {
    vec![
        row(
            "server-side-apply",
            [server_side(spec("replicas: 2, minReadySeconds: 5, ")), server_side(spec("replicas: 3, "))],
        ),
        row(
            "server-side-apply-of-what-another-has-is-refused",
            [
                server_side(spec("replicas: 2, ")),
                run("scale deploy web --replicas=5", "scale: 5"),
                raw_command(
                    "apply --server-side --field-manager=other --force-conflicts -f -",
                    &spec("minReadySeconds: 3, "),
                ),
                Command::ApplyRefused("--server-side", spec("replicas: 2, minReadySeconds: 4, "), "conflict"),
            ],
        ),
        row(
            "server-side-apply-takes-over-client-side-apply",
            [
                apply(more(
                    "labels: {a: '1'}, ",
                    "replicas: 2, minReadySeconds: 5, ",
                    "",
                    "env: [{name: A, value: '1'}], ",
                )),
                server_side(spec("replicas: 3, ")),
                server_side(spec("")),
            ],
        ),
        row(
            "client-side-apply-after-server-side-apply",
            [server_side(spec("replicas: 2, minReadySeconds: 5, ")), apply(spec("replicas: 3, "))],
        ),
        row(
            "server-side-apply-of-an-unknown-field-is-refused",
            [Command::ApplyRefused("--server-side", spec("replicsa: 2, "), "replicsa")],
        ),
    ]
}

fn set() -> Vec<Row> {
    let several = || {
        apply(containers("{name: app, image: 'app:1', env: [{name: A, value: a}, {name: B, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}, {name: side, image: 'side:1'}")
            .replace("spec: {containers", "spec: {initContainers: [{name: migrate, image: 'migrate:1'}], containers"))
    };
    vec![
        row("set-image", [several(), run("set image deploy/web app=app:2", "set: {image: 'app:2'}")]),
        row(
            "set-image-of-a-container",
            [several(), run("set image deploy/web side=side:2", "set: {container: side, image: 'side:2'}")],
        ),
        row(
            "set-image-of-an-init-container",
            [several(), run("set image deploy/web migrate=migrate:2", "set: {container: migrate, image: 'migrate:2'}")],
        ),
        row(
            "set-image-of-all",
            [several(), run("set image deploy/web '*=app:3'", "set: {container: '*', image: 'app:3'}")],
        ),
        row("set-image-that-is-there", [several(), run("set image deploy/web app=app:1", "set: {image: 'app:1'}")]),
        row(
            "set-image-of-an-unknown-container-is-refused",
            [
                several(),
                refused(
                    "set image deploy/web nope=app:2",
                    "set: {container: nope, image: 'app:2'}",
                    "unable to find container named \"nope\"",
                ),
            ],
        ),
        row("set-env-of-all", [several(), run("set env deploy/web LEVEL=debug", "set: {env: {LEVEL: debug}}")]),
        row(
            "set-env-of-a-container",
            [several(), run("set env deploy/web -c side A=1 Z=2", "set: {container: side, env: {A: '1', Z: '2'}}")],
        ),
        row(
            "set-env-of-an-init-container",
            [several(), run("set env deploy/web -c migrate A=1", "set: {container: migrate, env: {A: '1'}}")],
        ),
        row(
            "set-env-replaces-a-reference",
            [
                several(),
                run("set env deploy/web -c app B=b C=c", "set: {container: app, env: {B: b, C: c}}"),
                run("set env deploy/web -c app A=z", "set: {container: app, env: {A: z}}"),
            ],
        ),
        row(
            "set-env-that-is-there",
            [several(), run("set env deploy/web -c app A=a", "set: {container: app, env: {A: a}}")],
        ),
        row(
            "set-env-of-an-unknown-container-is-refused",
            [
                several(),
                refused(
                    "set env deploy/web -c nope A=1",
                    "set: {container: nope, env: {A: '1'}}",
                    "does not have any containers matching \"nope\"",
                ),
            ],
        ),
    ]
}

fn rollouts() -> Vec<Row> {
    vec![
        row("scale", [apply(spec("")), run("scale deploy web --replicas=7", "scale: 7")]),
        row("scale-to-what-is-there", [apply(spec("replicas: 2, ")), run("scale deploy web --replicas=2", "scale: 2")]),
        row("pause", [apply(spec("")), run("rollout pause deploy/web", "pause: web")]),
        row(
            "pause-and-resume",
            [
                apply(spec("")),
                run("rollout pause deploy/web", "pause: web"),
                refused("rollout pause deploy/web", "pause: web", "deployments.apps \"web\" is already paused"),
                refused(
                    "rollout restart deploy/web",
                    "restart: web",
                    "deployments.apps \"web\" can't restart paused deployment (run rollout resume first)",
                ),
                run("rollout resume deploy/web", "resume: web"),
                refused("rollout resume deploy/web", "resume: web", "deployments.apps \"web\" is not paused"),
            ],
        ),
        row("restart", [apply(spec("")), run("rollout restart deploy/web", "restart: web")]),
        row(
            "restart-with-annotations",
            [
                apply(
                    spec("").replace(
                        "metadata: {labels: {app: web}}",
                        "metadata: {labels: {app: web}, annotations: {a: b}}",
                    ),
                ),
                run("rollout restart deploy/web", "restart: web"),
                apply(spec("")),
            ],
        ),
    ]
}

/// Creates the ReplicaSet of a revision as a controller does.
fn replica_set(name: &str, revision: &str, image: &str) -> Command {
    raw_command(
        "create -f -",
        &format!(
            "{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: {name}, labels: {{app: web, pod-template-hash: {name}}}, annotations: {{{revision}team: {name}}}, \
             ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: $UID, controller: true}}]}}, spec: {{replicas: 0, \
             selector: {{matchLabels: {{app: web, pod-template-hash: {name}}}}}, template: {{metadata: {{labels: {{app: web, pod-template-hash: {name}}}}}, \
             spec: {{schedulerName: lockstep, containers: [{{name: app, image: '{image}'}}]}}}}}}}}"
        ),
    )
}

fn revision(number: &str) -> String {
    format!("deployment.kubernetes.io/revision: '{number}', ")
}

fn undone() -> Vec<Row> {
    let undo = || run("rollout undo deploy/web", "undo: web");
    let two = |rest: Vec<Command>| {
        let first = [
            apply(more("annotations: {note: mine}, ", "", "", "")),
            replica_set("old", &revision("9"), "app:0"),
            replica_set("new", &revision("10"), "app:1"),
        ];
        first.into_iter().chain(rest).collect::<Vec<_>>()
    };
    vec![
        row("undo", two(vec![undo()])),
        row("undo-to-a-revision", two(vec![run("rollout undo deploy/web --to-revision=9", "undo: {toRevision: 9}")])),
        row(
            "undo-of-a-replica-set-without-revision",
            [apply(spec("")), replica_set("a", "", "app:0"), replica_set("b", &revision("1"), "app:1"), undo()],
        ),
        row(
            "undo-with-one-revision-twice-is-skipped",
            [
                apply(spec("")),
                replica_set("a", &revision("2"), "app:1"),
                replica_set("b", &revision("2"), "app:0"),
                refused(
                    "rollout undo deploy/web",
                    "undo: web",
                    "skipped rollback (current template already matches revision 0)",
                ),
            ],
        ),
        row(
            "undo-with-an-unreadable-revision",
            [
                apply(spec("")),
                replica_set("a", &revision("x"), "app:0"),
                replica_set("b", &revision("1"), "app:1"),
                refused("rollout undo deploy/web", "undo: web", "no rollout history found for deployment \"web\""),
            ],
        ),
        row(
            "undo-without-history-is-refused",
            [
                apply(spec("")),
                refused("rollout undo deploy/web", "undo: web", "no rollout history found for deployment \"web\""),
            ],
        ),
        row(
            "undo-to-the-present-is-skipped",
            two(vec![refused(
                "rollout undo deploy/web --to-revision=10",
                "undo: {toRevision: 10}",
                "skipped rollback (current template already matches revision 10)",
            )]),
        ),
        row(
            "undo-to-a-missing-revision-is-refused",
            two(vec![refused(
                "rollout undo deploy/web --to-revision=99",
                "undo: {toRevision: 99}",
                "unable to find specified revision 99 in history",
            )]),
        ),
        row(
            "undo-of-a-paused-deployment-is-refused",
            two(vec![
                run("rollout pause deploy/web", "pause: web"),
                refused(
                    "rollout undo deploy/web",
                    "undo: web",
                    "you cannot rollback a paused deployment; resume it first",
                ),
                refused(
                    "rollout undo deploy/web --to-revision=99",
                    "undo: {toRevision: 99}",
                    "unable to find specified revision 99",
                ),
            ]),
        ),
    ]
}

fn other_rows() -> Vec<Row> {
    vec![
        row(
            "patch-with-a-directive",
            [
                apply(containers("{name: app, image: 'app:1'}, {name: b, image: 'b:1'}")),
                run(
                    r#"patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"b","$patch":"delete"}]}}}}'"#,
                    "patch: {target: deployment/web, patch: {spec: {template: {spec: {containers: [{name: b, $patch: delete}]}}}}}",
                ),
            ],
        ),
        row(
            "patch-by-merge",
            [
                apply(spec("")),
                run(
                    r#"patch deploy web --type=merge -p '{"spec":{"replicas":null,"paused":true}}'"#,
                    "patch: {target: deployment/web, type: merge, patch: {spec: {replicas: null, paused: true}}}",
                ),
            ],
        ),
        row(
            "patch-by-json",
            [
                apply(spec("")),
                run(
                    r#"patch deploy web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":4}]'"#,
                    "patch: {target: deployment/web, type: json, patch: [{op: replace, path: /spec/replicas, value: 4}]}",
                ),
            ],
        ),
        row("delete", [apply(spec("")), run("delete deploy web", "delete: deployment/web")]),
        Row {
            objects: &["deploy web", "rs old"],
            ..row(
                "delete-and-orphan",
                [
                    apply(spec("")),
                    replica_set("old", &revision("1"), "app:1"),
                    run("delete deploy web --cascade=orphan", "delete: {target: deployment/web, cascade: orphan}"),
                ],
            )
        },
    ]
}
