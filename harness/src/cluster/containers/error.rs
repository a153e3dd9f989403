//! What goes wrong with containers, each with what to do about it.

/// Why there is no cluster in containers.
#[derive(Debug, thiserror::Error)]
pub enum ContainersError {
    /// The engine is somewhere else, and so would be the published port.
    #[error(
        "the container engine at {host} is not on this machine, and its ports on 127.0.0.1 neither; unset DOCKER_HOST, or \
         choose an engine of this machine with `docker context use`"
    )]
    Remote {
        /// Its address.
        host: String,
    },
    /// An image is not here and cannot be pulled.
    #[error(
        "no image {image}: {why}; load it into the engine, or name another with --etcd-image (LOCKSTEP_ETCD_IMAGE), \
         --image-registry (LOCKSTEP_IMAGE_REGISTRY) or --k8s-version"
    )]
    Image {
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
    /// A container cannot be made or started.
    #[error("{program} of image {image} does not start: {why}")]
    Start {
        /// The program.
        program: String,
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
}
