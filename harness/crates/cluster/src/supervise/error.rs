use std::path::PathBuf;

/// Why a program could not be supervised.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SuperviseError {
    /// The supervisor's process could not be started or did not answer.
    #[error("the supervisor did not start: {0}; does `main` call supervise::enter_role first?")]
    Start(String),
    /// The supervisor has ended.
    #[error("the supervisor has ended, so {0} cannot be started; see supervisor.log in its folder")]
    Ended(String),
    /// The program does not exist.
    #[error("{name} needs the program {}, which was not found: install it, or give its path", program.display())]
    Missing {
        /// The purpose of the program.
        name: String,
        /// The requested program.
        program: PathBuf,
    },
    /// The program exists, but did not start.
    #[error("{name} ({}) did not start: {why}", program.display())]
    Spawn {
        /// The purpose of the program.
        name: String,
        /// The requested program.
        program: PathBuf,
        /// The system's error.
        why: String,
    },
    /// The system refuses a private mount.
    #[error(
        "cannot mount a folder at {} for one process: {why}; run as root, allow user namespaces to other users \
         (user.max_user_namespaces, and kernel.apparmor_restrict_unprivileged_userns=0 where AppArmor restricts them), \
         or run the controller as pods: deployment:MANIFEST",
        at.display()
    )]
    Mount {
        /// The mount point.
        at: PathBuf,
        /// The system's error.
        why: String,
    },
}
