//! The commands that reports name.

use lockstep_support::shell::quote;

/// How the user calls the program, and the command that repeats a play.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RerunCommands {
    /// `cargo lockstep`, `lockstep`, or a path.
    pub program: String,
    /// The command that repeats the play; empty if there is none.
    pub repeat: String,
}

impl RerunCommands {
    /// The command that explains a case.
    pub(super) fn explain(&self, path: &str) -> String {
        format!("{} explain {}", self.program, quote(path))
    }

    /// The command that blesses a case.
    pub(super) fn bless(&self, path: &str) -> String {
        format!("{} bless {}", self.program, quote(path))
    }
}
