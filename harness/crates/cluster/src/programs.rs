//! The flags of a control plane's programs, on every backend. No I/O.
//!
//! They are flags that every minor from 1.29 on supports, and short names of controllers.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use lockstep_recording::controllers::{Controller, ControllerSet};

/// The API server's program on every cluster that is not simulated.
pub(super) const APISERVER: &str = "kube-apiserver";
/// The test environment's controllers that cannot be judged: all others that a case may need.
const ENVIRONMENT_CONTROLLERS: [&str; 6] =
    ["statefulset", "daemonset", "garbagecollector", "namespace", "serviceaccount", "resourcequota"];

/// The paths and addresses of a control plane's programs.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The folder of certificates and keys, as [`super::certificates`] writes it.
    pub(super) pki: PathBuf,
    /// The API server's token file.
    pub(super) tokens: PathBuf,
    /// The kubeconfig of the test environment's controllers.
    pub(super) kubeconfig: PathBuf,
    /// etcd's data.
    pub(super) data: PathBuf,
    /// The listen address of etcd and the API server: loopback, or every address of a network of
    /// their own.
    pub(super) listen: Ipv4Addr,
    /// etcd's host name, in its certificate and for the API server.
    pub(super) etcd_host: String,
    /// etcd's port for clients.
    pub(super) etcd: u16,
    /// etcd's port for peers, of which there are none; always on loopback.
    pub(super) peer: u16,
    /// The port of the API server.
    pub(super) api: u16,
}

impl Layout {
    /// The path of a certificate or key.
    fn pki(&self, file: &str) -> String {
        self.pki.join(file).display().to_string()
    }

    /// etcd's URL for clients.
    fn etcd_url(&self) -> String {
        format!("https://{}:{}", self.etcd_host, self.etcd)
    }
}

/// The path of the harness's kubeconfig in a cluster's folder.
pub(super) fn admin_kubeconfig(dir: &Path) -> PathBuf {
    dir.join("admin.kubeconfig")
}

/// The path of a program's log in a cluster's folder.
pub(super) fn log(dir: &Path, program: &str) -> PathBuf {
    dir.join(format!("{program}.log"))
}

/// The flags of a single etcd member without fsync: its data need not survive a restart of the
/// machine.
pub(super) fn etcd(layout: &Layout) -> Vec<String> {
    let pki = |file| layout.pki(file);
    let peer = format!("https://127.0.0.1:{}", layout.peer);
    vec![
        "--name=lockstep".to_owned(),
        format!("--data-dir={}", layout.data.display()),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
        format!("--listen-client-urls=https://{}:{}", layout.listen, layout.etcd),
        format!("--advertise-client-urls={}", layout.etcd_url()),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=lockstep={peer}"),
        format!("--cert-file={}", pki("etcd.crt")),
        format!("--key-file={}", pki("etcd.key")),
        format!("--trusted-ca-file={}", pki("ca.crt")),
        "--client-cert-auth".to_owned(),
        format!("--peer-cert-file={}", pki("etcd.crt")),
        format!("--peer-key-file={}", pki("etcd.key")),
        format!("--peer-trusted-ca-file={}", pki("ca.crt")),
        "--peer-client-cert-auth".to_owned(),
    ]
}

/// The flags of an API server with a token file, RBAC and no anonymous access.
///
/// * It publishes no endpoints (`none`): a loopback address is not valid there.
/// * It does not limit or queue requests: that matters for large clusters, and would distort the
///   subject's behaviour.
pub(super) fn kube_apiserver(layout: &Layout) -> Vec<String> {
    let pki = |file| layout.pki(file);
    vec![
        format!("--etcd-servers={}", layout.etcd_url()),
        format!("--etcd-cafile={}", pki("ca.crt")),
        format!("--etcd-certfile={}", pki("etcd-client.crt")),
        format!("--etcd-keyfile={}", pki("etcd-client.key")),
        format!("--bind-address={}", layout.listen),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", layout.api),
        format!("--tls-cert-file={}", pki("kube-apiserver.crt")),
        format!("--tls-private-key-file={}", pki("kube-apiserver.key")),
        format!("--token-auth-file={}", layout.tokens.display()),
        "--anonymous-auth=false".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", pki("service-account.pub")),
        format!("--service-account-signing-key-file={}", pki("service-account.key")),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--enable-priority-and-fairness=false".to_owned(),
        "--max-requests-inflight=0".to_owned(),
        "--max-mutating-requests-inflight=0".to_owned(),
    ]
}

/// The flags of the test environment's controllers, without those that the subject brings.
///
/// The client limits are far above upstream's 20 requests a second with a burst of 30: with
/// upstream's, the test environment would be the slowest part of every case, and a late ReplicaSet
/// status would look like a decision.
pub(super) fn kube_controller_manager(layout: &Layout, without: &ControllerSet) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", layout.kubeconfig.display()),
        format!("--controllers={}", controllers(without)),
        "--leader-elect=false".to_owned(),
        "--kube-api-qps=2000".to_owned(),
        "--kube-api-burst=4000".to_owned(),
        "--secure-port=0".to_owned(),
    ]
}

/// The value of the `--controllers` flag.
fn controllers(without: &ControllerSet) -> String {
    let remaining = Controller::UPSTREAM.into_iter().filter(|one| !without.has(*one)).map(Controller::as_str);
    remaining.chain(ENVIRONMENT_CONTROLLERS).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("deployment", "replicaset,")]
    #[case("replicaset", "deployment,")]
    #[case("deployment,replicaset", "")]
    fn the_environment_runs_what_the_subject_does_not_bring(#[case] without: &str, #[case] expected: &str) {
        let always = "statefulset,daemonset,garbagecollector,namespace,serviceaccount,resourcequota";
        assert_eq!(controllers(&without.parse().unwrap()), format!("{expected}{always}"));
    }

    fn layout(listen: Ipv4Addr, etcd_host: &str) -> Layout {
        Layout {
            pki: "/plane/pki".into(),
            tokens: "/plane/tokens.csv".into(),
            kubeconfig: "/plane/environment.kubeconfig".into(),
            data: "/plane/etcd".into(),
            listen,
            etcd_host: etcd_host.to_owned(),
            etcd: 2,
            peer: 3,
            api: 1,
        }
    }

    #[test]
    fn local_programs_listen_on_loopback() {
        let layout = layout(Ipv4Addr::LOCALHOST, "127.0.0.1");
        for argument in etcd(&layout).into_iter().chain(kube_apiserver(&layout)) {
            if argument.contains("listen-") || argument.contains("bind-address") || argument.contains("servers") {
                assert!(argument.contains("127.0.0.1"), "{argument}");
            }
        }
    }

    #[test]
    fn programs_on_a_network_use_host_names() {
        let layout = layout(Ipv4Addr::UNSPECIFIED, "plane-etcd");
        let (etcd, server) = (etcd(&layout), kube_apiserver(&layout));
        for (arguments, expected) in [
            (&etcd, "--listen-client-urls=https://0.0.0.0:2"),
            (&etcd, "--advertise-client-urls=https://plane-etcd:2"),
            (&etcd, "--listen-peer-urls=https://127.0.0.1:3"),
            (&etcd, "--client-cert-auth"),
            (&server, "--etcd-servers=https://plane-etcd:2"),
            (&server, "--bind-address=0.0.0.0"),
            (&server, "--tls-cert-file=/plane/pki/kube-apiserver.crt"),
        ] {
            assert!(arguments.iter().any(|argument| argument == expected), "{expected} is not in {arguments:?}");
        }
    }
}
