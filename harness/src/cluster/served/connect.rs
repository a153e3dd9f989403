//! Connect: over TLS on loopback, with tokens of its own.

use std::collections::BTreeMap;
use std::path::Path;

use kube_apiserver_sim::{NOT_BEFORE_PATH, UNSUPPORTED_PATH};

use super::Served;
use super::server::SAID;
use crate::cluster::facts::Facts;
use crate::cluster::place::write_private;
use crate::cluster::questions::Connect;
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

impl Connect for Served {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn unsupported(&self) -> Result<Vec<String>, ClusterError> {
        let request =
            hyper::Request::get(UNSUPPORTED_PATH).body(Vec::new()).expect("a constant request is well-formed");
        let answer = self.client().await?.request(request).await;
        answer.map_err(ClusterError::request("asking the simulated server what it does not support"))
    }

    async fn creates_not_before(&self, namespace: &str, time: jiff::Timestamp) -> Result<bool, ClusterError> {
        let path = format!("{NOT_BEFORE_PATH}{namespace}/{}", time.as_second());
        let request =
            hyper::Request::put(path).body(Vec::new()).expect("names of namespaces are well-formed in a path");
        let answer: Result<(), kube::Error> = self.client().await?.request(request).await;
        answer.map_err(ClusterError::request("setting the simulated server's time")).map(|()| true)
    }
}
