//! The containers, made and started by testcontainers: the one file that names the library.
//!
//! The library ends nothing here. Its handles would remove a container with this process, which may
//! be a trial that only booted the cluster; and after SIGKILL they would not remove it at all. Both
//! are the supervisor's to do, by the engine's command, so the library must use the same engine.

use std::mem::ManuallyDrop;
use std::path::PathBuf;

use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{HostConfig, HostConfigLogConfig, PortBinding};
use testcontainers::core::IntoContainerPort;
use testcontainers::core::client::{ClientError, docker_client_instance};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt, TestcontainersError};

use super::ContainersError;
use super::images::{Images, split};
use super::names::{API_PORT, INSIDE};
use crate::cluster::engine::Engine;

/// What to start.
#[derive(Debug)]
pub(super) struct ContainerSpec<'a> {
    /// The program in the image's `/usr/local/bin`.
    pub(super) program: &'a str,
    pub(super) image: &'a str,
    pub(super) args: Vec<String>,
    /// The container's name, and that of its network, which is created with the first container.
    pub(super) name: String,
    pub(super) network: &'a str,
    /// The value of the label `lockstep.folder`.
    pub(super) label: String,
    /// A folder that is copied to [`INSIDE`], with the modes that it has.
    pub(super) files: PathBuf,
    /// Whether the API server's port is published.
    pub(super) published: bool,
}

/// A container that was started. Dropping it does not remove it.
#[derive(Debug)]
pub(super) struct Container(ManuallyDrop<ContainerAsync<GenericImage>>);

impl Container {
    /// Create it, copy its files, and start it.
    pub(super) async fn start(spec: ContainerSpec<'_>) -> Result<Self, ContainersError> {
        let (repository, tag) = split(spec.image);
        // The images' own entry points differ, and not all of them name the program.
        let image = GenericImage::new(repository, tag).with_entrypoint(&format!("/usr/local/bin/{}", spec.program));
        let request = if spec.published {
            image.with_exposed_port(API_PORT.tcp()).with_host_config_modifier(published)
        } else {
            image.with_host_config_modifier(unpublished)
        };
        let request = request
            .with_cmd(spec.args)
            .with_container_name(spec.name)
            .with_network(spec.network)
            .with_label("lockstep.folder", spec.label)
            .with_copy_to(INSIDE, spec.files);
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

    /// How it ended.
    pub(super) async fn exit_code(&self) -> Option<i32> {
        self.0.exit_code().await.ok().flatten().and_then(|code| i32::try_from(code).ok())
    }

    /// Remove it, because another is to have its name.
    pub(super) async fn remove(self) -> Result<(), ContainersError> {
        let removed = ManuallyDrop::into_inner(self.0).rm().await;
        removed.map_err(|error| ContainersError::Library { why: error_message(&error) })
    }
}

/// Check that the library uses the engine that the command uses.
pub(super) async fn check_engine(engine: &Engine) -> Result<(), ContainersError> {
    let silent = |why: String| ContainersError::Library { why };
    let client = docker_client_instance().await.map_err(|error| silent(error.to_string()))?;
    let library = client.info().await.map_err(|error| silent(message(&error)))?.id;
    let command = engine.ask(["info", "--format", "{{.ID}}"]).await.ok();
    if library.is_some() && library == command {
        return Ok(());
    }
    Err(ContainersError::TwoEngines { host: engine.host().to_owned() })
}

/// Pull the images that are not here.
pub(super) async fn pull_missing(images: &Images) -> Result<(), ContainersError> {
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
    // A closed standard error is no reason not to.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("pulling {image}, which is not here yet\n"));
    let (name, tag) = split(image);
    let pulled = GenericImage::new(name, tag).pull_image().await;
    pulled.map(drop).map_err(|error| ContainersError::Image { image: image.to_owned(), why: error_message(&error) })
}

/// The engine's own words, where an error has them.
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

/// Nothing is published, and the log can be read, whatever the engine does by default.
fn unpublished(host: &mut HostConfig) {
    host.publish_all_ports = Some(false);
    host.log_config = Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: None });
}

/// The API server's port is published, on loopback alone and wherever there is room.
fn published(host: &mut HostConfig) {
    unpublished(host);
    let anywhere = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(String::new()) };
    host.port_bindings = Some([(API_PORT.tcp().to_string(), Some(vec![anywhere]))].into());
}
