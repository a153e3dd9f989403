//! The engine that makes the containers: it must be on this machine, as its ports are published on loopback.

use std::path::Path;

use super::ContainersError;
use crate::cluster::ClusterError;
use crate::cluster::engine::Engine;

/// The engine of this machine.
pub(super) async fn local_engine() -> Result<Engine, ClusterError> {
    let engine = Engine::find(Path::new("docker")).await?;
    // The context in use, or what `DOCKER_HOST` says instead of it.
    let host = engine.ask(["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]).await?;
    if host.starts_with("unix://") { Ok(engine) } else { Err(ContainersError::Remote { host }.into()) }
}
