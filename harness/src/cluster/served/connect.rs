//! Connect: over TLS on loopback, with tokens of its own.

use std::collections::BTreeMap;
use std::path::Path;

use kube_apiserver_sim::{NOT_BEFORE_PATH, UNSUPPORTED_PATH};

use super::server::SAID;
use crate::cluster::facts::Facts;
use crate::cluster::place::write_private;
use crate::cluster::{Access, ClusterError, Credential, DEFAULT_VERSION, SiteName, access, programs};
use crate::controllers::Controllers;
use crate::recording::Identity;

/// What the program has written, once it has.
pub(super) fn connect(dir: &Path) -> Option<Access> {
    serde_json::from_slice(&std::fs::read(dir.join(SAID)).ok()?).ok()
}

/// The harness's kubeconfig, for kubectl.
pub(super) fn write_kubeconfig(access: &Access, dir: &Path) -> Result<(), ClusterError> {
    let Credential::Token(token) = &access.admin else { unreachable!("it has tokens of its own") };
    let kubeconfig = access::kubeconfig(&access.server, &access.ca_pem, token);
    write_private(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())
}

pub(super) fn facts(access: Access, dir: &Path, without: &Controllers) -> Facts {
    Facts {
        identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
        access,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        without: without.clone(),
    }
}

/// The requests so far that the server does not support.
pub(in crate::cluster) async fn unsupported(client: &kube::Client) -> Result<Vec<String>, ClusterError> {
    let request = hyper::Request::get(UNSUPPORTED_PATH).body(Vec::new()).expect("a constant request is well-formed");
    let answer = client.request(request).await;
    answer.map_err(ClusterError::request("asking the simulated server what it does not support"))
}

/// From now on the server creates the objects of a namespace at this time or later.
pub(in crate::cluster) async fn create_not_before(
    client: &kube::Client,
    namespace: &str,
    time: jiff::Timestamp,
) -> Result<(), ClusterError> {
    let path = format!("{NOT_BEFORE_PATH}{namespace}/{}", time.as_second());
    let request = hyper::Request::put(path).body(Vec::new()).expect("names of namespaces are well-formed in a path");
    client.request(request).await.map_err(ClusterError::request("setting the simulated server's time"))
}
