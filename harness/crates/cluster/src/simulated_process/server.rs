//! The simulated server on a socket: its address, tokens and controllers.

use std::path::Path;

use kube_apiserver_sim::{ApiServer, ListenHandle, ListenOptions};
use lockstep_support::clock;
use tokio::task::AbortHandle;

use crate::certificates::Authority;
use crate::user_dir::{self, write_private_file};
use crate::{ClusterAccess, ClusterError, Credential};

/// The name in its certificate.
const NAME: &str = "kube-apiserver";
/// The file into which the program writes its address and tokens.
pub(super) const ACCESS_FILE: &str = "access.json";

/// A simulated server that listens until it is dropped.
#[derive(Debug)]
pub struct SimulatedServer {
    access: ClusterAccess,
    server: ApiServer,
    _listening: ListenHandle,
    /// The cluster's controllers.
    controllers: AbortHandle,
}

impl SimulatedServer {
    /// Listens on loopback, with its own tokens and certificate.
    ///
    /// # Errors
    /// When there is no port, no random number or no certificate.
    pub fn start() -> Result<Self, ClusterError> {
        let authority = Authority::new("lockstep simulated server", clock::now())?;
        let tls = authority.server(NAME)?.server_config().map_err(|error| ClusterError::Tls(error.to_string()))?;
        let (admin, subject) = (user_dir::random_token()?, user_dir::random_token()?);
        // Fixed latency: real time has real delays, and random ones would slow the case down.
        let server =
            ApiServer::builder().controllers(kube_apiserver_sim::ControllerMode::Background).clock(clock::now).build();
        let how = ListenOptions::loopback().token(&admin).token(&subject).tls(tls);
        let listening = server.listen(how).map_err(ClusterError::Port)?;
        let access = ClusterAccess {
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

    /// Writes the access for the process that started this program.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_access(&self, folder: &Path) -> Result<(), ClusterError> {
        write_private_file(
            &folder.join(ACCESS_FILE),
            &serde_json::to_vec(&self.access).expect("an access is plain data"),
        )
    }

    /// Its address and tokens.
    #[cfg(test)]
    pub(crate) fn access(&self) -> &ClusterAccess {
        &self.access
    }

    /// A client in this process, without the socket.
    pub fn client(&self) -> kube::Client {
        self.server.client()
    }
}

impl Drop for SimulatedServer {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}
