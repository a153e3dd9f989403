//! The errors of containers, each with a remedy.

#[cfg(feature = "containers")]
use crate::engine::Engine;

/// Why a cluster in containers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ContainersError {
    /// The feature is not enabled.
    #[error(
        "this lockstep was built without the feature `containers`; build it with cargo's default features \
         (`cargo run --package lockstep -- …`), \
         or use --cluster control-plane"
    )]
    NotBuilt,
    /// The engine runs on another machine, and so do its published ports.
    #[error(
        "the container engine at {host} runs on another machine, so its ports are not on 127.0.0.1; unset DOCKER_HOST, or choose a local engine with `docker context use`"
    )]
    Remote {
        /// Its address.
        host: String,
    },
    /// The engine does not answer the library that creates containers.
    #[error(
        "the container engine does not answer testcontainers: {why}; set DOCKER_HOST to unix:// and the path of its socket"
    )]
    Library {
        /// The library's message.
        why: String,
    },
    /// The library and the command use different engines, so the command could not remove the
    /// containers.
    #[error(
        "the docker command uses the engine at {host}, and testcontainers another one; set DOCKER_HOST={host} to use the former"
    )]
    TwoEngines {
        /// The address of the command's engine.
        host: String,
    },
    /// An image is neither available nor can it be pulled.
    #[error(
        "image {image} is not available: {why}; load it into the engine, or name another with LOCKSTEP_ETCD_IMAGE, \
         LOCKSTEP_IMAGE_REGISTRY or --k8s-version"
    )]
    Image {
        /// The image.
        image: String,
        /// The engine's message.
        why: String,
    },
    /// A container cannot be created or started.
    #[error("{program} from image {image} did not start: {why}")]
    Start {
        /// The program.
        program: String,
        /// The image.
        image: String,
        /// The engine's message.
        why: String,
    },
}

#[cfg(feature = "containers")]
impl ContainersError {
    /// Refuses an engine on another machine.
    pub(super) fn check_local(engine: &Engine) -> Result<(), Self> {
        if engine.host().starts_with("unix://") {
            return Ok(());
        }
        Err(Self::Remote { host: engine.host().to_owned() })
    }
}
