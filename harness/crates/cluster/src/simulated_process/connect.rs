//! Connect: over TLS on loopback, with its own tokens.

use std::collections::BTreeMap;
use std::path::Path;

use kube_apiserver_sim::{NOT_BEFORE_PATH, UNSUPPORTED_PATH};
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;

use super::server::ACCESS_FILE;
use crate::facts::ClusterFacts;
use crate::user_dir::write_private_file;
use crate::{ClusterAccess, ClusterError, Credential, DEFAULT_VERSION, SiteName, access, programs};

/// Reads the access that the program has written, once it has.
pub(super) fn connect(dir: &Path) -> Option<ClusterAccess> {
    serde_json::from_slice(&std::fs::read(dir.join(ACCESS_FILE)).ok()?).ok()
}

/// Writes the harness's kubeconfig, for kubectl.
pub(super) fn write_kubeconfig(access: &ClusterAccess, dir: &Path) -> Result<(), ClusterError> {
    let Credential::Token(token) = &access.admin else { unreachable!("it has tokens of its own") };
    let kubeconfig = access::kubeconfig(&access.server, &access.ca_pem, token);
    write_private_file(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())
}

pub(super) fn facts(access: ClusterAccess, dir: &Path, without: &ControllerSet) -> ClusterFacts {
    ClusterFacts {
        identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
        access,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        without: without.clone(),
    }
}

/// The requests so far that the server does not support.
pub(crate) async fn unsupported_requests(client: &kube::Client) -> Result<Vec<String>, ClusterError> {
    let request = hyper::Request::get(UNSUPPORTED_PATH).body(Vec::new()).expect("a constant request is well-formed");
    let answer = client.request(request).await;
    answer.map_err(ClusterError::request("asking the simulated server what it does not support"))
}

/// From now on gives objects of a namespace creation times not before `time`.
pub(crate) async fn create_not_before(
    client: &kube::Client,
    namespace: &str,
    time: jiff::Timestamp,
) -> Result<(), ClusterError> {
    let path = format!("{NOT_BEFORE_PATH}{namespace}/{}", time.as_second());
    let request = hyper::Request::put(path).body(Vec::new()).expect("names of namespaces are well-formed in a path");
    client.request(request).await.map_err(ClusterError::request("setting the simulated server's time"))
}
