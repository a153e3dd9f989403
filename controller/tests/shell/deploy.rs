//! The manifests in `deploy/`: they give the rights that are used and no other, and fit together.

use std::process::Command;

use rstest::rstest;
use serde_yaml::Value;

use crate::rights::Rights;

const DEPLOYMENT: &str = include_str!("../../deploy/deployment.yaml");

/// What the controller asks of an API server: group, resource, verbs, and the one name that it is for.
///
/// `runtime/` makes all these requests; the right to `deployments/finalizers` is asked for by an admission plugin, on behalf of
/// `blockOwnerDeletion` in owner references.
const USED: [(&str, &str, &str, &str); 8] = [
    ("apps", "deployments", "get list watch update", ""),
    ("apps", "deployments/status", "update", ""),
    ("apps", "deployments/finalizers", "update", ""),
    ("apps", "replicasets", "list watch create update patch delete", ""),
    ("", "pods", "list watch", ""),
    ("", "events", "create patch", ""),
    ("coordination.k8s.io", "leases", "create", ""),
    ("coordination.k8s.io", "leases", "get update", "rollout-controller"),
];

/// What the ReplicaSet controller asks for, in the same form; it must do alone, too.
const USED_BY_REPLICA_SETS: [(&str, &str, &str, &str); 5] = [
    ("apps", "replicasets", "get list watch", ""),
    ("apps", "replicasets/status", "update", ""),
    ("apps", "replicasets/finalizers", "update", ""),
    ("", "pods", "list watch create patch delete", ""),
    ("", "events", "create patch", ""),
];

/// What the config-restart controller asks for (scenario 75).
const USED_BY_RESTARTS: [(&str, &str, &str, &str); 8] = [
    ("", "configmaps", "list watch", ""),
    ("", "secrets", "list watch", ""),
    ("apps", "deployments", "list watch patch", ""),
    ("apps", "statefulsets", "list watch patch", ""),
    ("apps", "daemonsets", "list watch patch", ""),
    ("", "events", "create patch", ""),
    ("coordination.k8s.io", "leases", "create", ""),
    ("coordination.k8s.io", "leases", "get update", "rollout-controller-config-restart"),
];

/// The documents of a manifest.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    text.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect()
}

fn deployment() -> Value {
    documents(DEPLOYMENT).remove(0)
}

fn container() -> Value {
    deployment()["spec"]["template"]["spec"]["containers"][0].clone()
}

/// As a kubelet passes them.
fn arguments() -> Vec<String> {
    let (container, deployment) = (container(), deployment());
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
    let arguments = container["args"].as_sequence().unwrap().iter();
    arguments.map(|value| value.as_str().unwrap().replace("$(POD_NAMESPACE)", namespace)).collect()
}

#[rstest]
#[case::deployments(Rights::default(), &USED)]
#[case::replica_sets(Rights::of_replica_sets(), &USED_BY_REPLICA_SETS)]
#[case::restarts(Rights::of_restarts(), &USED_BY_RESTARTS)]
fn gives_the_rights_that_are_used_and_no_other(#[case] given: Rights, #[case] used: &[(&str, &str, &str, &str)]) {
    let used = used.iter().flat_map(|(group, resource, verbs, name)| {
        let text = |text: &str| text.to_owned();
        verbs.split(' ').map(move |verb| (text(group), text(resource), text(verb), text(name)))
    });
    assert_eq!(given.0, used.collect());
}

/// What the component adds to the arguments is understood with the others.
#[test]
fn the_component_runs_both_controllers() {
    let component = &documents(include_str!("../../deploy/replicaset/kustomization.yaml"))[0];
    let patch: Value = serde_yaml::from_str(component["patches"][0]["patch"].as_str().unwrap()).unwrap();
    assert_eq!(patch[0]["path"], "/spec/template/spec/containers/0/args/-");
    let added = patch[0]["value"].as_str().unwrap().to_owned();
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.args(arguments()).arg(&added).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(added, "--controllers=deployment,replicaset");
}

/// The same of the config-restart controller's manifests, and that they fit together.
#[test]
fn the_manifests_for_restarts_are_understood() {
    let deployment = documents(include_str!("../../deploy/config-restart/deployment.yaml")).remove(0);
    let service = documents(include_str!("../../deploy/config-restart/service.yaml")).remove(0);
    let account = documents(include_str!("../../deploy/config-restart/service-account.yaml")).remove(0);
    let pod = &deployment["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let arguments = container["args"].as_sequence().unwrap().iter();
    let arguments: Vec<_> = arguments.map(|value| value.as_str().unwrap().replace("$(POD_NAMESPACE)", "ns")).collect();
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.args(&arguments).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(container["image"], format!("rollout-controller:{}", env!("CARGO_PKG_VERSION")).as_str());
    for port in container["ports"].as_sequence().unwrap() {
        let number = port["containerPort"].as_u64().unwrap();
        assert!(arguments.iter().any(|argument| argument.ends_with(&format!("-bind-address=:{number}"))), "{number}");
    }
    assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
    assert_eq!(pod["spec"]["serviceAccountName"], account["metadata"]["name"]);
    assert_eq!(pod["spec"]["securityContext"]["runAsNonRoot"], true);
}

/// `--version` comes last, so all others have been understood before it is answered.
#[test]
fn its_flags_are_flags() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.args(arguments()).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn runs_this_version() {
    assert_eq!(container()["image"], format!("rollout-controller:{}", env!("CARGO_PKG_VERSION")).as_str());
}

#[test]
fn listens_where_it_is_asked() {
    let container = container();
    for port in container["ports"].as_sequence().unwrap() {
        let number = port["containerPort"].as_u64().unwrap();
        let flag = match port["name"].as_str().unwrap() {
            "metrics" => "metrics-bind-address",
            "probes" => "health-probe-bind-address",
            other => panic!("nobody listens at {other}"),
        };
        assert!(arguments().contains(&format!("--{flag}=:{number}")), "{flag}");
    }
    for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        let get = &container[probe]["httpGet"];
        assert_eq!((&get["path"], &get["port"]), (&path.into(), &"probes".into()));
    }
}

#[test]
fn gives_the_program_no_more_than_it_needs() {
    let (pod, container) = (&deployment()["spec"]["template"]["spec"], &container()["securityContext"]);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"]["drop"][0], "ALL");
}

/// The old one goes only when another is ready, and what selects pods selects these.
#[test]
fn fits_together() {
    let deployment = deployment();
    let strategy = &deployment["spec"]["strategy"]["rollingUpdate"];
    assert_eq!((&strategy["maxSurge"], &strategy["maxUnavailable"]), (&1.into(), &0.into()));
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    let selected = |selector: &Value| assert_eq!(&selector["matchLabels"], labels);
    selected(&deployment["spec"]["selector"]);
    let pod = &deployment["spec"]["template"]["spec"];
    for spread in pod["topologySpreadConstraints"].as_sequence().unwrap() {
        selected(&spread["labelSelector"]);
    }
    selected(&documents(include_str!("../../deploy/pod-disruption-budget.yaml"))[0]["spec"]["selector"]);
    let account = &documents(include_str!("../../deploy/service-account.yaml"))[0]["metadata"];
    assert_eq!(pod["serviceAccountName"], account["name"]);
    let roles = [
        include_str!("../../deploy/cluster-role.yaml"),
        include_str!("../../deploy/leader-election-role.yaml"),
        include_str!("../../deploy/replicaset/cluster-role.yaml"),
    ];
    for binding in roles.into_iter().map(|role| documents(role).remove(1)) {
        let subject = &binding["subjects"][0];
        assert_eq!((&subject["name"], &subject["namespace"]), (&account["name"], &account["namespace"]));
    }
}

/// A file that nobody lists is applied by nobody.
#[rstest]
fn all_files_are_listed(#[files("deploy/*.yaml")] path: std::path::PathBuf) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let listed = documents(include_str!("../../deploy/kustomization.yaml")).remove(0);
    let listed = listed["resources"].as_sequence().unwrap();
    assert!(name == "kustomization.yaml" || listed.iter().any(|resource| resource == name), "{name}");
}
