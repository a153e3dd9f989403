//! The answer, as data and as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::from::Source;
use crate::settings::Profile;

/// One workload that is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// `deployment/default/web`.
    pub workload: String,
    /// Configs that restart it from now on: `configmap/settings`.
    pub configs: BTreeSet<String>,
    /// Annotations that it needs for that.
    pub annotations: BTreeMap<String, String>,
    /// What the other controller does and this one does not.
    pub lacks: Vec<String>,
}

/// What it means to take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The controller that looks after the workloads now.
    pub from: Source,
    /// The profile that will.
    pub to: Profile,
    /// The workloads.
    pub adopted: Vec<Adopted>,
    /// Those that would be restarted, and for what; there should be none.
    pub restarts: BTreeMap<String, String>,
    /// What could not be read.
    pub unread: Vec<String>,
}

impl fmt::Display for Migration {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = match self.from {
            Source::Xing => "xing's controller",
            Source::Reloader => "Reloader",
        };
        let profile = match self.to {
            Profile::Xing => "xing",
            Profile::Safe => "safe",
            Profile::Reloader => "reloader",
        };
        writeln!(to, "From {from} to profile {profile}: {}.", counted(self.adopted.len(), "workload"))?;
        for one in &self.adopted {
            writeln!(to, "\n{}", one.workload)?;
            let configs: Vec<&str> = one.configs.iter().map(String::as_str).collect();
            let configs = if configs.is_empty() { "nothing".to_owned() } else { configs.join(", ") };
            writeln!(to, "  restarted for   {configs}")?;
            for (name, value) in &one.annotations {
                writeln!(to, "  annotate        {name}={value}")?;
            }
            for lack in &one.lacks {
                writeln!(to, "  no equivalent   {lack}")?;
            }
        }
        writeln!(to)?;
        for unread in &self.unread {
            writeln!(to, "Not read: {unread}")?;
        }
        match self.restarts.is_empty() {
            true => writeln!(
                to,
                "Taking over restarts nothing: with these annotations the controller would change no pod template."
            ),
            false => {
                writeln!(to, "Taking over restarts {}:", counted(self.restarts.len(), "workload"))?;
                self.restarts.iter().try_for_each(|(workload, configs)| writeln!(to, "  {workload} for {configs}"))
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
