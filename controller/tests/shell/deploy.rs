//! The manifests in `deploy/`: they grant exactly the rights in use, and are consistent.

use std::process::Command;

use rstest::rstest;
use serde_yaml::Value;

use crate::rights::Rights;

const DEPLOYMENT: &str = include_str!("../../deploy/deployment.yaml");

/// The requests of the controller: group, resource, verbs, and the only allowed name, if any.
///
/// `runtime/` makes all of them, except that an admission plugin checks the right to
/// `deployments/finalizers` for `blockOwnerDeletion` in owner references.
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

/// The requests of the ReplicaSet controller. It must also work alone.
const USED_BY_REPLICA_SETS: [(&str, &str, &str, &str); 5] = [
    ("apps", "replicasets", "get list watch", ""),
    ("apps", "replicasets/status", "update", ""),
    ("apps", "replicasets/finalizers", "update", ""),
    ("", "pods", "list watch create patch delete", ""),
    ("", "events", "create patch", ""),
];

/// The requests of the config-restart controller (scenario 75).
const USED_BY_RESTARTS: [(&str, &str, &str, &str); 9] = [
    ("", "configmaps", "list watch", ""),
    ("", "secrets", "list watch", ""),
    ("", "namespaces", "list watch", ""),
    ("apps", "deployments", "list watch patch", ""),
    ("apps", "statefulsets", "list watch patch", ""),
    ("apps", "daemonsets", "list watch patch", ""),
    ("", "events", "create patch", ""),
    ("coordination.k8s.io", "leases", "create", ""),
    ("coordination.k8s.io", "leases", "get update", "rollout-controller-config-restart"),
];

/// The additional requests of profile `reloader` for Rollouts.
const USED_BY_ROLLOUTS: [(&str, &str, &str, &str); 1] = [("argoproj.io", "rollouts", "get list watch patch", "")];

/// The requests that check access to the metrics.
const USED_BY_METRICS: [(&str, &str, &str, &str); 2] = [
    ("authentication.k8s.io", "tokenreviews", "create", ""),
    ("authorization.k8s.io", "subjectaccessreviews", "create", ""),
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

/// The arguments, as a kubelet passes them.
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
#[case::rollouts(Rights::of_rollouts(), &USED_BY_ROLLOUTS)]
#[case::metrics(Rights::of_metrics_auth(), &USED_BY_METRICS)]
fn roles_grant_exactly_the_rights_in_use(#[case] given: Rights, #[case] used: &[(&str, &str, &str, &str)]) {
    let used = used.iter().flat_map(|(group, resource, verbs, name)| {
        let text = |text: &str| text.to_owned();
        verbs.split(' ').map(move |verb| (text(group), text(resource), text(verb), text(name)))
    });
    assert_eq!(given.0, used.collect());
}

/// The program accepts the component's arguments together with the others.
#[test]
fn replicaset_component_runs_both_controllers() {
    let component = &documents(include_str!("../../deploy/replicaset/kustomization.yaml"))[0];
    let patch: Value = serde_yaml::from_str(component["patches"][0]["patch"].as_str().unwrap()).unwrap();
    assert_eq!(patch[0]["path"], "/spec/template/spec/containers/0/args/-");
    let added = patch[0]["value"].as_str().unwrap().to_owned();
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.args(arguments()).arg(&added).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(added, "--controllers=deployment,replicaset");
}

/// The same checks for the config-restart controller's manifests.
#[test]
fn config_restart_manifests_fit_together() {
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
    // Two replicas, spread over nodes and zones; only one may be evicted at a time.
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert!(arguments.iter().any(|argument| argument == "--leader-elect"), "{arguments:?}");
    let spreads = pod["spec"]["topologySpreadConstraints"].as_sequence().unwrap();
    let keys: Vec<_> = spreads.iter().map(|spread| spread["topologyKey"].as_str().unwrap()).collect();
    assert_eq!(keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    let budget = documents(include_str!("../../deploy/config-restart/pod-disruption-budget.yaml")).remove(0);
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    for selector in spreads.iter().map(|spread| &spread["labelSelector"]).chain([&budget["spec"]["selector"]]) {
        assert_eq!(selector["matchLabels"], pod["metadata"]["labels"]);
    }
    // The key is mounted at the path in the arguments, and readable to the pod's user.
    let volume = &pod["spec"]["volumes"][0];
    let mount = &container["volumeMounts"][0];
    assert_eq!((&mount["name"], &mount["readOnly"]), (&volume["name"], &true.into()));
    let flag = format!("--secret-checksum-keys={}", mount["mountPath"].as_str().unwrap());
    assert!(arguments.contains(&flag), "{flag}");
    let secret = &volume["secret"];
    assert_eq!((&secret["secretName"], &secret["optional"]), (&"config-restart-key".into(), &true.into()));
    assert_eq!(pod["spec"]["securityContext"]["fsGroup"], pod["spec"]["securityContext"]["runAsGroup"]);
}

/// The program accepts the arguments of all components of profile `reloader` together.
#[test]
fn reloader_components_fit_together() {
    let added = [
        include_str!("../../deploy/config-restart/reloader/kustomization.yaml"),
        include_str!("../../deploy/config-restart/rollouts/kustomization.yaml"),
    ];
    let added = added.into_iter().flat_map(|component| {
        let component = documents(component).remove(0);
        let patch: Value = serde_yaml::from_str(component["patches"][0]["patch"].as_str().unwrap()).unwrap();
        patch.as_sequence().unwrap().clone()
    });
    let added: Vec<_> = added.map(|one| one["value"].as_str().unwrap().to_owned()).collect();
    assert_eq!(added.last().unwrap(), "--is-Argo-Rollouts=true");
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.arg("config-restart").args(&added).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The policy selects the pods and allows exactly the ports that they listen on.
#[rstest]
#[case(DEPLOYMENT, include_str!("../../deploy/network-policy.yaml"))]
#[case(
    include_str!("../../deploy/config-restart/deployment.yaml"),
    include_str!("../../deploy/config-restart/network-policy.yaml")
)]
fn network_policy_allows_exactly_the_ports_in_use(#[case] deployment: &str, #[case] policy: &str) {
    let (deployment, policy) = (documents(deployment).remove(0), documents(policy).remove(0));
    let (pod, spec) = (&deployment["spec"]["template"], &policy["spec"]);
    assert_eq!(spec["podSelector"]["matchLabels"], pod["metadata"]["labels"]);
    assert_eq!(policy["metadata"]["namespace"], deployment["metadata"]["namespace"]);
    let names = |ports: &Value, field: &str| -> Vec<String> {
        ports.as_sequence().unwrap().iter().map(|port| port[field].as_str().unwrap().to_owned()).collect()
    };
    let listens = names(&pod["spec"]["containers"][0]["ports"], "name");
    assert_eq!(spec["ingress"].as_sequence().unwrap().len(), 1);
    assert_eq!(names(&spec["ingress"][0]["ports"], "port"), listens);
    assert_eq!(spec["policyTypes"], serde_yaml::from_str::<Value>("[Ingress, Egress]").unwrap());
    let out = spec["egress"].as_sequence().unwrap().iter().flat_map(|rule| rule["ports"].as_sequence().unwrap());
    let out: Vec<_> = out.map(|port| port["port"].as_u64().unwrap()).collect();
    assert_eq!(out, [53, 53, 443, 6443, 8443]);
}

/// The program accepts the component's flag, and the roles are bound to the pods' service account.
#[rstest]
#[case("", DEPLOYMENT, include_str!("../../deploy/metrics-auth/kustomization.yaml"), include_str!("../../deploy/metrics-auth/cluster-role.yaml"))]
#[case(
    "config-restart",
    include_str!("../../deploy/config-restart/deployment.yaml"),
    include_str!("../../deploy/config-restart/metrics-auth/kustomization.yaml"),
    include_str!("../../deploy/config-restart/metrics-auth/cluster-role.yaml")
)]
fn metrics_auth_component_secures_the_metrics(
    #[case] command: &str,
    #[case] deployment: &str,
    #[case] component: &str,
    #[case] roles: &str,
) {
    let (deployment, component) = (documents(deployment).remove(0), documents(component).remove(0));
    let target = &component["patches"][0]["target"];
    assert_eq!((&target["kind"], &target["name"]), (&deployment["kind"], &deployment["metadata"]["name"]));
    let patch: Value = serde_yaml::from_str(component["patches"][0]["patch"].as_str().unwrap()).unwrap();
    assert_eq!(patch[0]["path"], "/spec/template/spec/containers/0/args/-");
    let pod = &deployment["spec"]["template"]["spec"];
    let arguments = pod["containers"][0]["args"].as_sequence().unwrap().iter().chain([&patch[0]["value"]]);
    let arguments: Vec<_> = arguments.map(|value| value.as_str().unwrap().replace("$(POD_NAMESPACE)", "ns")).collect();
    assert_eq!(arguments[0] == command, !command.is_empty());
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.args(&arguments).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [_, binding, reader] = &documents(roles)[..] else { panic!("{roles}") };
    assert_eq!(binding["subjects"][0]["name"], pod["serviceAccountName"]);
    assert_eq!(reader["rules"][0]["nonResourceURLs"][0], "/metrics");
    assert_eq!(reader["rules"][0]["verbs"][0], "get");
}

/// `--version` comes last, so the program has parsed all other arguments before it.
#[test]
fn program_accepts_the_arguments_of_the_manifest() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.args(arguments()).arg("--version").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn manifest_runs_this_version() {
    assert_eq!(container()["image"], format!("rollout-controller:{}", env!("CARGO_PKG_VERSION")).as_str());
}

#[test]
fn ports_match_the_bind_address_flags() {
    let container = container();
    for port in container["ports"].as_sequence().unwrap() {
        let number = port["containerPort"].as_u64().unwrap();
        let flag = match port["name"].as_str().unwrap() {
            "metrics" => "metrics-bind-address",
            "probes" => "health-probe-bind-address",
            other => panic!("no server listens on {other}"),
        };
        assert!(arguments().contains(&format!("--{flag}=:{number}")), "{flag}");
    }
    for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        let get = &container[probe]["httpGet"];
        assert_eq!((&get["path"], &get["port"]), (&path.into(), &"probes".into()));
    }
}

#[test]
fn pod_runs_with_a_restricted_security_context() {
    let (pod, container) = (&deployment()["spec"]["template"]["spec"], &container()["securityContext"]);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"]["drop"][0], "ALL");
}

/// The old pod is deleted only when a new one is ready, and every selector matches the pods.
#[test]
fn manifests_fit_together() {
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

/// A file that no kustomization lists would never be applied.
#[rstest]
fn every_manifest_is_listed_in_its_kustomization(
    #[files("deploy/*.yaml")]
    #[files("deploy/*/*.yaml")]
    #[files("deploy/*/metrics-auth/*.yaml")]
    path: std::path::PathBuf,
) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let listed = std::fs::read_to_string(path.with_file_name("kustomization.yaml")).unwrap();
    let listed = documents(&listed).remove(0);
    let listed = listed["resources"].as_sequence().unwrap();
    assert!(name == "kustomization.yaml" || listed.iter().any(|resource| resource == name), "{name}");
}
