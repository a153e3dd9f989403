//! Creates and starts containers with testcontainers. No other file uses the library.
//!
//! The library does not remove containers here. Its handles would remove a container with this
//! process, which may be a trial that only booted the cluster; and after SIGKILL they would not
//! remove it at all. The supervisor removes both, with the engine's command, so the library must
//! use the same engine.

use std::mem::ManuallyDrop;
use std::path::PathBuf;

use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{HostConfig, HostConfigLogConfig, PortBinding};
use testcontainers::core::IntoContainerPort;
use testcontainers::core::client::{ClientError, docker_client_instance};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt, TestcontainersError};

use super::ContainersError;
use super::names::{API_PORT, CONTAINER_DIR, ControlPlaneImages, split_image_name};
use crate::engine::Engine;

/// The container to start.
#[derive(Debug)]
pub(super) struct ContainerSpec<'a> {
    /// The program in the image's `/usr/local/bin`.
    pub(super) program: &'a str,
    pub(super) image: &'a str,
    pub(super) args: Vec<String>,
    /// The names of the container and of its network, which is created with the first container.
    pub(super) name: String,
    pub(super) network: &'a str,
    /// The value of the label `lockstep.folder`.
    pub(super) label: String,
    /// A folder that is copied to [`CONTAINER_DIR`], with the modes that it has.
    pub(super) files: PathBuf,
    /// Whether the API server's port is published.
    pub(super) publish_api_port: bool,
}

/// A started container. Dropping the handle does not remove it.
#[derive(Debug)]
pub(super) struct ProgramContainer(ManuallyDrop<ContainerAsync<GenericImage>>);

impl ProgramContainer {
    /// Creates the container, copies its files, and starts it.
    pub(super) async fn start(spec: ContainerSpec<'_>) -> Result<Self, ContainersError> {
        let (repository, tag) = split_image_name(spec.image);
        // The entry points of the images differ, and some do not name the program.
        let image = GenericImage::new(repository, tag).with_entrypoint(&format!("/usr/local/bin/{}", spec.program));
        let request = if spec.publish_api_port {
            image.with_exposed_port(API_PORT.tcp()).with_host_config_modifier(publish_api_port)
        } else {
            image.with_host_config_modifier(publish_nothing)
        };
        let request = request
            .with_cmd(spec.args)
            .with_container_name(spec.name)
            .with_network(spec.network)
            .with_label("lockstep.folder", spec.label)
            .with_copy_to(CONTAINER_DIR, spec.files);
        let started = request.start().await.map_err(|error| ContainersError::Start {
            program: spec.program.to_owned(),
            image: spec.image.to_owned(),
            why: error_message(&error),
        })?;
        Ok(Self(ManuallyDrop::new(started)))
    }

    /// The port on 127.0.0.1 that leads to the API server; 0 once the container has ended.
    pub(super) async fn port(&self) -> Result<u16, ContainersError> {
        match self.0.get_host_port_ipv4(API_PORT).await {
            Ok(port) => Ok(port),
            Err(_) if !self.0.is_running().await.unwrap_or_default() => Ok(0),
            Err(error) => Err(ContainersError::Library { why: error_message(&error) }),
        }
    }

    /// Its exit code, if it has exited.
    pub(super) async fn exit_code(&self) -> Option<i32> {
        self.0.exit_code().await.ok().flatten().and_then(|code| i32::try_from(code).ok())
    }

    /// Removes the container, so that another can have its name.
    pub(super) async fn remove(self) -> Result<(), ContainersError> {
        let removed = ManuallyDrop::into_inner(self.0).rm().await;
        removed.map_err(|error| ContainersError::Library { why: error_message(&error) })
    }
}

/// Checks that the library and the command use the same engine.
pub(super) async fn check_engine(engine: &Engine) -> Result<(), ContainersError> {
    let silent = |why: String| ContainersError::Library { why };
    let client = docker_client_instance().await.map_err(|error| silent(error.to_string()))?;
    let library = client.info().await.map_err(|error| silent(message(&error)))?.id;
    let command = engine.query(["info", "--format", "{{.ID}}"]).await.ok();
    if library.is_some() && library == command {
        return Ok(());
    }
    Err(ContainersError::TwoEngines { host: engine.host().to_owned() })
}

/// Pulls the images that the engine does not have.
pub(super) async fn pull_missing(images: &ControlPlaneImages) -> Result<(), ContainersError> {
    let client = docker_client_instance().await;
    let client = client.map_err(|error| ContainersError::Library { why: error.to_string() })?;
    for image in images.all() {
        match client.inspect_image(image).await {
            Ok(_) => {}
            Err(Error::DockerResponseServerError { status_code: 404, .. }) => pull(image).await?,
            Err(error) => return Err(ContainersError::Image { image: image.to_owned(), why: message(&error) }),
        }
    }
    Ok(())
}

async fn pull(image: &str) -> Result<(), ContainersError> {
    // Pull even if standard error is closed.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("pulling {image}, which is not here yet\n"));
    let (name, tag) = split_image_name(image);
    let pulled = GenericImage::new(name, tag).pull_image().await;
    pulled.map(drop).map_err(|error| ContainersError::Image { image: image.to_owned(), why: error_message(&error) })
}

/// The engine's message, if the error has one.
fn error_message(error: &TestcontainersError) -> String {
    use ClientError::{CreateContainer, CreateNetwork, PullImage, StartContainer, UploadToContainerError};
    match error {
        TestcontainersError::Client(
            PullImage { err, .. }
            | CreateContainer(err)
            | CreateNetwork(err)
            | StartContainer(err)
            | UploadToContainerError(err),
        ) => message(err),
        error => error.to_string(),
    }
}

fn message(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        error => error.to_string(),
    }
}

/// Publishes no port, and makes the log readable, whatever the engine's defaults are.
fn publish_nothing(host: &mut HostConfig) {
    host.publish_all_ports = Some(false);
    host.log_config = Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: None });
}

/// Publishes the API server's port, on any free port of loopback.
fn publish_api_port(host: &mut HostConfig) {
    publish_nothing(host);
    let anywhere = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(String::new()) };
    host.port_bindings = Some([(API_PORT.tcp().to_string(), Some(vec![anywhere]))].into());
}
