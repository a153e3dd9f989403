//! Child processes that cannot outlive the harness.
//!
//! A test harness can end by a panic, Ctrl-C, a runner's time limit or SIGKILL, and destructors run
//! in few of these cases. So the programs that the harness needs are not its own children, but
//! those of a *supervisor*, a second process of the same executable. The supervisor reads a pipe
//! whose write end only the harness has. However the harness ends, the kernel closes that pipe; the
//! supervisor then ends every program with its process group, removes the temporary folder and
//! exits.
//!
//! * The supervisor is this executable, started again with [`ROLE_VARIABLE`] in its environment,
//!   which names its role: every `main` that may start one calls [`enter_role`] first.
//! * It leads its own process group, so a Ctrl-C at the terminal does not reach it before the
//!   harness has ended, and it ignores SIGINT, SIGHUP and SIGQUIT; on SIGTERM it cleans up and
//!   exits.
//! * Programs get exactly the environment of their [`ProcessSpec`], no standard input and a log
//!   file for their output: none of the supervisor's pipes. A program that communicates with the
//!   harness has a connection to a socket of the harness as its standard input
//!   ([`Supervisor::spawn_on`]).
//! * A group is signalled only while its leader is not reaped, so never another process with a
//!   reused id.
//! * A descendant that leaves its group (`setsid`) is ended where that was asked for
//!   ([`Supervisor::end_orphans`]), as for subjects: on Linux the kernel makes the supervisor its
//!   parent. On macOS, or if the supervisor itself is killed, such a process stays.
//! * A *detached* supervisor ([`Supervisor::detach`]) outlives the process that started it, until a
//!   certain process has ended (the nextest run whose trials share a cluster) or SIGTERM arrives.
//! * What is not a child process, such as a container, is removed by a last program
//!   ([`Supervisor::finally`]).
//! * A program can see a folder at a path that this user cannot write to ([`with_mount()`]).
//! * On a signal the harness itself ends in order, within two seconds: [`interrupt`].
//! * If the supervisor itself is killed, the harness sees its pipe close and kills the groups.
//!
//! Boundaries: this module knows processes, files and signals, not clusters or controllers. The two
//! sides exchange JSON lines (`protocol`): `client` is the harness's side, `server` the
//! supervisor's.

mod client;
pub mod interrupt;
mod mount;
mod orphans;
mod process;
mod protocol;
mod server;

pub(crate) use client::own_executable;
pub use client::{Child, SuperviseError, Supervisor, own_environment};
pub use interrupt::Interrupt;
pub use mount::{can_mount, with_mount};
pub use process::ProcessId;
pub use protocol::{DetachOptions, Exit, ProcessSpec};
pub(crate) use server::in_role;
pub use server::{enter_role, role, run_role};

/// The environment variable with the role of this executable: a supervisor, or the launcher of a
/// program [`with_mount()`].
pub const ROLE_VARIABLE: &str = "LOCKSTEP_SUPERVISOR";

/// The time limit of a program of [`Supervisor::finally`].
pub(crate) const FINALLY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
