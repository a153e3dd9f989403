//! The commands that a report names, as they work where it is read.

use crate::quote::quoted;

/// The program's own name there, and the command that plays a case again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Again {
    /// `cargo lockstep`, `lockstep`, or a path.
    pub program: String,
    /// The whole command; nothing where there is none.
    pub repeat: String,
}

impl Again {
    /// The command that explains a case.
    pub(super) fn explain(&self, path: &str) -> String {
        format!("{} explain {}", self.program, quoted(path))
    }

    /// The command that blesses it.
    pub(super) fn bless(&self, path: &str) -> String {
        format!("{} bless {}", self.program, quoted(path))
    }
}
