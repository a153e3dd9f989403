//! The engine's socket, as testcontainers talks to it: that it is the engine that the command talks to, and has the images.

use std::path::Path;

use testcontainers::bollard::errors::Error;
use testcontainers::core::client::{ClientError, docker_client_instance};
use testcontainers::runners::AsyncRunner;
use testcontainers::{GenericImage, TestcontainersError};

use super::ContainersError;
use super::images::{Images, split};
use crate::cluster::ClusterError;
use crate::cluster::engine::Engine;

/// The engine of this machine: what removes containers removes them where they are made, and their ports are here.
pub(super) async fn local_engine() -> Result<Engine, ClusterError> {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    if !host.is_empty() && !host.starts_with("unix://") {
        return Err(ContainersError::Remote { host }.into());
    }
    let engine = Engine::find(Path::new("docker")).await?;
    let silent = |why: String| ContainersError::Socket { why };
    let client = docker_client_instance().await.map_err(|error| silent(error.to_string()))?;
    let socket = client.info().await.map_err(|error| silent(error.to_string()))?.id.unwrap_or_default();
    let command = engine.ask(["info", "--format", "{{.ID}}"]).await?;
    if command == socket { Ok(engine) } else { Err(ContainersError::TwoEngines { command, socket }.into()) }
}

/// Pull the images that are not here.
pub(super) async fn pull_missing(images: &Images) -> Result<(), ContainersError> {
    let client = docker_client_instance().await;
    let client = client.map_err(|error| ContainersError::Socket { why: error.to_string() })?;
    for image in images.all() {
        match client.inspect_image(image).await {
            Ok(_) => {}
            Err(Error::DockerResponseServerError { status_code: 404, .. }) => pull(image).await?,
            Err(error) => return Err(no_image(image, &error)),
        }
    }
    Ok(())
}

async fn pull(image: &str) -> Result<(), ContainersError> {
    // A closed standard error is no reason not to.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("pulling {image}, which is not here yet\n"));
    let (name, tag) = split(image);
    match GenericImage::new(name, tag).pull_image().await {
        Ok(_) => Ok(()),
        Err(TestcontainersError::Client(ClientError::PullImage { err, .. })) => Err(no_image(image, &err)),
        Err(error) => Err(ContainersError::Socket { why: error.to_string() }),
    }
}

fn no_image(image: &str, error: &Error) -> ContainersError {
    let why = match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        error => error.to_string(),
    };
    ContainersError::Image { image: image.to_owned(), why }
}
