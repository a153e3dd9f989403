//! What goes wrong with containers, each with what to do about it.

#[cfg(feature = "containers")]
use crate::cluster::engine::Engine;

/// Why there is no cluster in containers.
#[derive(Debug, thiserror::Error)]
pub enum ContainersError {
    /// The feature is off.
    #[error(
        "this lockstep was built without the feature `containers`; build it with cargo's default features, \
         or use --cluster control-plane"
    )]
    NotBuilt,
    /// The engine is somewhere else, and so would be the published port.
    #[error(
        "the container engine at {host} runs on another machine, so its ports are not on 127.0.0.1; unset DOCKER_HOST, or choose a local engine with `docker context use`"
    )]
    Remote {
        /// Its address.
        host: String,
    },
    /// The library that makes containers gets no answer.
    #[error(
        "the container engine does not answer testcontainers: {why}; set DOCKER_HOST to unix:// and the path of its socket"
    )]
    Library {
        /// What it says.
        why: String,
    },
    /// What would make the containers is not what would remove them.
    #[error(
        "the docker command uses the engine at {host}, and testcontainers another one; set DOCKER_HOST={host} to use the former"
    )]
    TwoEngines {
        /// Where the command's engine listens.
        host: String,
    },
    /// An image is not here and cannot be pulled.
    #[error(
        "image {image} is not available: {why}; load it into the engine, or name another with --etcd-image (LOCKSTEP_ETCD_IMAGE), \
         --image-registry (LOCKSTEP_IMAGE_REGISTRY) or --k8s-version"
    )]
    Image {
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
    /// A container cannot be made or started.
    #[error("{program} from image {image} did not start: {why}")]
    Start {
        /// The program.
        program: String,
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
}

#[cfg(feature = "containers")]
impl ContainersError {
    /// Refuse an engine on another machine.
    pub(super) fn unless_local(engine: &Engine) -> Result<(), Self> {
        if engine.host().starts_with("unix://") {
            return Ok(());
        }
        Err(Self::Remote { host: engine.host().to_owned() })
    }
}
