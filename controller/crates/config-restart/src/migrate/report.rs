//! The report of a migration, as data and as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::settings::Profile;

/// The controller to migrate from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationSource {
    /// xing's kubernetes-deployment-restart-controller.
    Xing,
    /// Stakater's Reloader.
    Reloader,
}

/// A workload that is adopted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedWorkload {
    /// Its name: `deployment/default/web`.
    pub workload: String,
    /// The configs that restart it after the migration: `configmap/settings`.
    pub configs: BTreeSet<String>,
    /// The annotations that it needs for that.
    pub annotations: BTreeMap<String, String>,
    /// What the other controller does for it and this one does not.
    pub unsupported: Vec<String>,
}

/// What a migration changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The controller to migrate from.
    pub from: MigrationSource,
    /// The profile to migrate to.
    pub to: Profile,
    /// The workloads that are adopted.
    pub adopted: Vec<AdoptedWorkload>,
    /// The workloads that the migration would restart, and for what; there should be none.
    pub restarts: BTreeMap<String, String>,
    /// What could not be read.
    pub unread: Vec<String>,
}

impl fmt::Display for Migration {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = match self.from {
            MigrationSource::Xing => "xing's controller",
            MigrationSource::Reloader => "Reloader",
        };
        let profile = match self.to {
            Profile::Xing => "xing",
            Profile::Safe => "safe",
            Profile::Reloader => "reloader",
        };
        writeln!(to, "From {from} to profile {profile}: {}.", format_count(self.adopted.len(), "workload"))?;
        for workload in &self.adopted {
            writeln!(to, "\n{}", workload.workload)?;
            let configs: Vec<&str> = workload.configs.iter().map(String::as_str).collect();
            let configs = if configs.is_empty() { "nothing".to_owned() } else { configs.join(", ") };
            writeln!(to, "  restarted for   {configs}")?;
            for (name, value) in &workload.annotations {
                writeln!(to, "  annotate        {name}={value}")?;
            }
            for feature in &workload.unsupported {
                writeln!(to, "  no equivalent   {feature}")?;
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
                writeln!(to, "Taking over restarts {}:", format_count(self.restarts.len(), "workload"))?;
                self.restarts.iter().try_for_each(|(workload, configs)| writeln!(to, "  {workload} for {configs}"))
            }
        }
    }
}

fn format_count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
