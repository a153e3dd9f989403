//! `lockstep cluster up|down`: a control plane that stays, for kubectl and for runs that need not boot one.

use clap::Subcommand;

use super::CliError;
use super::stage::version;
use crate::cluster::{self, Plan, Standing};
use crate::outcome::Outcome;
use crate::runner::LabError;

/// A control plane of one's own.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Boot a control plane without a Deployment controller and leave it running.
    Up {
        /// Its Kubernetes version.
        #[arg(long, default_value = cluster::DEFAULT_VERSION, value_parser = version)]
        k8s_version: String,
    },
    /// End it; nothing of it is left.
    Down,
}

pub(super) async fn execute(arguments: Arguments) -> Result<Outcome, CliError> {
    let standing = Standing::of_user().map_err(LabError::from)?;
    match arguments.command {
        Command::Up { k8s_version } => {
            let raised = standing.up(&Plan::new(&k8s_version)).await.map_err(LabError::from)?;
            let cluster = raised.cluster;
            println!("export KUBECONFIG={}", cluster.admin_kubeconfig_path().display());
            let is = if raised.already { "was up already" } else { "is up" };
            eprintln!("{} {is}; `lockstep run` uses it; `lockstep cluster down` ends it", cluster.identity.version);
        }
        Command::Down => {
            let was = standing.down().await.map_err(LabError::from)?;
            eprintln!("{}", if was { "the control plane is down" } else { "no control plane was up" });
        }
    }
    Ok(Outcome::Conformant)
}
