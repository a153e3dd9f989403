//! The simulated server with a socket: its address, its tokens and its controllers.

use std::path::Path;

use kube_apiserver_sim::{ApiServer, Listen, Listening};
use tokio::task::AbortHandle;

use crate::clock;
use crate::cluster::certificates::Authority;
use crate::cluster::place::{self, write_private};
use crate::cluster::{Access, ClusterError, Credential};

/// The name that its certificate is for.
const NAME: &str = "kube-apiserver";
/// Where a program says how to reach it.
pub(super) const SAID: &str = "access.json";

/// A simulated server that listens; the last that drops it ends it.
#[derive(Debug)]
pub struct SimulatedServer {
    access: Access,
    server: ApiServer,
    _listening: Listening,
    /// The cluster's own controllers.
    controllers: AbortHandle,
}

impl SimulatedServer {
    /// Listen on loopback, with tokens and a certificate of its own.
    ///
    /// # Errors
    /// No port, no random numbers, no certificate.
    pub fn start() -> Result<Self, ClusterError> {
        let authority = Authority::new("lockstep simulated server", clock::now())?;
        let tls = authority.server(NAME)?.server_config().map_err(|error| ClusterError::Tls(error.to_string()))?;
        let (admin, subject) = (place::token()?, place::token()?);
        // Fixed latency: in real time there are real delays, and random ones would cost time.
        let server =
            ApiServer::builder().controllers(kube_apiserver_sim::Controllers::Background).clock(clock::now).build();
        let how = Listen::loopback().token(&admin).token(&subject).tls(tls);
        let listening = server.listen(how).map_err(ClusterError::Port)?;
        let access = Access {
            server: listening.url(),
            server_name: None,
            ca_pem: authority.pem(),
            proxy: None,
            admin: Credential::Token(admin),
            subject_token: subject,
        };
        let controllers = tokio::spawn(server.run_controllers()).abort_handle();
        Ok(Self { access, server, _listening: listening, controllers })
    }

    /// Tell whoever started this program how to reach it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn say(&self, folder: &Path) -> Result<(), ClusterError> {
        write_private(&folder.join(SAID), &serde_json::to_vec(&self.access).expect("an access is plain data"))
    }

    /// How to reach it.
    #[cfg(test)]
    pub(in crate::cluster) fn access(&self) -> &Access {
        &self.access
    }

    /// A client in this process, past the socket.
    pub fn client(&self) -> kube::Client {
        self.server.client()
    }
}

impl Drop for SimulatedServer {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}
