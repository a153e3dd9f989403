//! Nothing outlives the harness, whatever happens to it.
//!
//! A test harness dies in many ways: a panic, Ctrl-C, a runner's time limit, SIGKILL. Destructors
//! run in few of them. So the programs that the harness needs are not its own children: they are
//! children of a *supervisor*, a second process of the same executable, which holds the read end of
//! a pipe whose write end only the harness has. However the harness ends, the kernel closes that
//! pipe; the supervisor then ends every program with its whole process group, removes the temporary
//! folder and is gone itself.
//!
//! * The supervisor is our own executable, started again with [`MARK`] in its environment, which
//!   names its role: every `main` that may start one calls [`main_if_asked`] first.
//! * It leads a process group of its own, so a Ctrl-C at the terminal does not reach it before the
//!   harness is gone, and it shrugs off SIGINT, SIGHUP and SIGQUIT; SIGTERM makes it clean up and
//!   end.
//! * Programs get exactly the environment that their [`Spec`] names, no standard input and a log
//!   file for the rest: none of the supervisor's pipes. One that speaks with the harness has a
//!   connection to a socket of the harness's as its standard input ([`Supervisor::spawn_on`]).
//! * A group is signalled only while its leader is not reaped yet, so never a stranger with a
//!   recycled number.
//! * A *detached* supervisor ([`Supervisor::detach`]) lives on without the process that started it,
//!   until a certain process is gone (the nextest run whose trials share a cluster) or SIGTERM
//!   arrives.
//! * What is no process of ours, such as a container, goes by a last program
//!   ([`Supervisor::finally`]).
//! * A program can be given a folder at a path that is not ours to write ([`mounted()`]).
//! * A signal asks the harness itself to end, which has two seconds to do so in order:
//!   [`interrupt`].
//! * Should the supervisor itself be killed, the harness sees its pipe close and ends the groups.
//!
//! Borders: this room knows processes, files and signals; nothing of clusters or controllers. The
//! two halves talk in JSON lines (`protocol`): `client` is the harness's, `server` the
//! supervisor's.

mod client;
mod error;
mod family;
pub mod interrupt;
mod mounted;
mod process;
mod protocol;
mod server;

pub use client::{Child, Supervisor};
pub(crate) use client::{own_environment, own_executable};
pub use error::SuperviseError;
pub use interrupt::Interrupt;
pub use mounted::{can_mount, mounted};
pub use process::ProcessId;
pub use protocol::{Exit, Spec, Until};
pub(crate) use server::run_role;
pub use server::{in_role, main_if_asked, role};

/// The environment variable that makes an executable of ours a supervisor, or the first moment of a
/// program that is [`mounted()`].
pub const MARK: &str = "LOCKSTEP_SUPERVISOR";

/// How long a program of [`Supervisor::finally`] may take.
pub const FAREWELL: std::time::Duration = std::time::Duration::from_secs(60);
