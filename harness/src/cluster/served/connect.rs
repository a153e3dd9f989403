//! Connect: over TLS on loopback, with tokens of its own; in this process also past the socket.

use std::collections::BTreeMap;
use std::path::Path;

use kube_apiserver_sim::{ApiServer, UNSUPPORTED_PATH};

use super::server::SAID;
use super::{At, Served};
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

    fn in_real_time(&self) -> Option<&ApiServer> {
        match &self.at {
            At::Here(here) => Some(here.0.server()),
            At::Program(_) => None,
        }
    }

    async fn unsupported(&self) -> Result<Vec<String>, ClusterError> {
        if let At::Here(here) = &self.at {
            return Ok(here.0.server().unsupported());
        }
        let request =
            hyper::Request::get(UNSUPPORTED_PATH).body(Vec::new()).expect("a constant request is well-formed");
        let answer = self.client().await?.request(request).await;
        answer.map_err(ClusterError::request("asking the simulated server what it does not support"))
    }
}
