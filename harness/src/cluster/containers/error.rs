//! What goes wrong with containers, each with what to do about it.

/// Why there is no cluster in containers.
#[derive(Debug, thiserror::Error)]
pub enum ContainersError {
    /// The feature is off.
    #[error(
        "this lockstep was built without containers; build it with `--features containers`, which is on by default, \
         or use --cluster control-plane"
    )]
    NotBuilt,
    /// The engine is somewhere else, and so would be the published port.
    #[error(
        "the container engine at {host} is not on this machine, and its ports on 127.0.0.1 neither; unset DOCKER_HOST"
    )]
    Remote {
        /// Its address.
        host: String,
    },
    /// The library that makes containers does not reach the engine.
    #[error("the container engine's socket does not answer: {why}; set DOCKER_HOST to unix:// and its path")]
    Socket {
        /// What it says.
        why: String,
    },
    /// What would make the containers is not what would remove them.
    #[error(
        "the command docker talks to another engine ({command}) than its socket does ({socket}); \
         set DOCKER_HOST to the address of the one to use (`docker context ls` shows them)"
    )]
    TwoEngines {
        /// The id of the engine that the command talks to.
        command: String,
        /// The id of the engine behind the socket.
        socket: String,
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
