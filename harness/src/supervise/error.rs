use std::path::PathBuf;

/// Why a program is not under supervision.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SuperviseError {
    /// The supervisor's process could not be started or did not answer.
    #[error("the supervisor did not start: {0}; does `main` call supervise::main_if_asked first?")]
    Start(String),
    /// The supervisor is gone.
    #[error("the supervisor has ended, so {0} cannot be started; see supervisor.log in its folder")]
    Gone(String),
    /// There is no such program.
    #[error("{name} needs the program {}, which was not found: install it, or give its path", program.display())]
    Missing {
        /// What the program was wanted for.
        name: String,
        /// As it was asked for.
        program: PathBuf,
    },
    /// The program is there, but it did not start.
    #[error("{name} ({}) did not start: {why}", program.display())]
    Spawn {
        /// What the program was wanted for.
        name: String,
        /// As it was asked for.
        program: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A process may not mount anything for itself alone.
    #[error(
        "cannot mount a folder at {} for one process: {why}; run as root, allow user namespaces to other users \
         (user.max_user_namespaces, and kernel.apparmor_restrict_unprivileged_userns=0 where AppArmor restricts them), \
         or run the controller as pods: deployment:MANIFEST",
        at.display()
    )]
    Mount {
        /// Where.
        at: PathBuf,
        /// What the system says.
        why: String,
    },
}
