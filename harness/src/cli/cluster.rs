//! `lockstep cluster up|down`: a cluster that keeps running, for kubectl and for later runs.
//! `lockstep doctor`: which clusters can run on this machine, and what the others need.

use clap::Subcommand;
use lockstep_cluster::{
    self as cluster, Cluster, ClusterPlan, PersistentCluster, Site, SiteName, existing, kind, shared,
};
use lockstep_runner::EnvironmentError;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;

use super::CliError;
use super::cluster_args::ClusterArgs;
use super::out::{note, say};
use super::play_args::unless_interrupted;
use super::rerun_command::CommandLine;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Start a cluster without a Deployment controller and leave it running.
    Up(ClusterArgs),
    /// Stop the cluster and remove all of it.
    Down(ClusterArgs),
}

pub(super) async fn execute(arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let (ClusterCommand::Up(cluster_args) | ClusterCommand::Down(cluster_args)) = &arguments.command;
    cluster_args.check()?;
    match &arguments.command {
        ClusterCommand::Up(cluster_args) if cluster_args.cluster() == SiteName::Kubeconfig => {
            let (program, words) = (&typed.program, cluster_args.to_flags(SiteName::Sim));
            let why = format!("a cluster of your own needs no up; `{program} run{words}` uses it as it is");
            return Err(CliError::Usage(why));
        }
        ClusterCommand::Up(cluster_args) => {
            unless_interrupted(up(cluster_args, &typed.program)).await?;
        }
        ClusterCommand::Down(cluster_args) => unless_interrupted(async { Ok(down(cluster_args).await?) }).await?,
    }
    Ok(RunOutcome::Conformant)
}

/// Starts the cluster unless it is up; returns whether it was.
async fn start(cluster_args: &ClusterArgs, plan: &ClusterPlan) -> Result<(Cluster, bool), EnvironmentError> {
    Ok(match cluster_args.cluster() {
        SiteName::Sim | SiteName::ControlPlane | SiteName::Containers => {
            let started = PersistentCluster::for_user(cluster_args.cluster())?.up(plan).await?;
            (started.cluster, started.was_running)
        }
        SiteName::Kind | SiteName::Kubeconfig => (cluster::boot(plan).await?, false),
    })
}

async fn up(cluster_args: &ClusterArgs, program: &str) -> Result<(), CliError> {
    let plan = cluster_args.plan(true);
    let (cluster, already) = start(cluster_args, &plan).await?;
    let down = cluster_args.to_flags(SiteName::ControlPlane);
    if already && cluster.identity().version != plan.version {
        let (up, version) = (cluster.identity().title(), &plan.version);
        return Err(CliError::Usage(format!(
            "{up} is up already, not {version}; `{program} cluster down{down}` ends it"
        )));
    }
    say!("export KUBECONFIG={}", quote(&cluster.admin_kubeconfig_path().display().to_string()));
    let is = if already { "was up already" } else { "is up" };
    let run = cluster_args.to_flags(SiteName::Sim);
    note!("{} {is}; `{program} run{run}` uses it; `{program} cluster down{down}` ends it", cluster.identity().title());
    Ok(())
}

async fn down(cluster_args: &ClusterArgs) -> Result<(), EnvironmentError> {
    if let Site::Kubeconfig(options) = &cluster_args.plan(true).site {
        let swept = existing::down(options).await?;
        let what =
            if swept.is_empty() { "nothing of lockstep's was on it".to_owned() } else { format!("removed {swept}") };
        note!("{}: {what}", options.context);
        if let Some(left) = swept.foreign() {
            note!("{}: {left}", options.context);
        }
        return Ok(());
    }
    let was = match cluster_args.cluster() {
        SiteName::Sim | SiteName::ControlPlane | SiteName::Containers => {
            PersistentCluster::for_user(cluster_args.cluster())?.down().await?
        }
        SiteName::Kind | SiteName::Kubeconfig => kind::down(Some(&cluster_args.kind_name)).await?,
    };
    let cluster = cluster_args.cluster();
    note!("{}", if was { format!("the {cluster} cluster is down") } else { format!("no {cluster} cluster was up") });
    Ok(())
}

/// Print which clusters can run here, and what the others lack. Starts nothing.
pub(super) fn doctor() -> RunOutcome {
    use SiteName::{Containers, ControlPlane, Kind, Kubeconfig, Sim};
    for site in [Sim, ControlPlane, Containers, Kind, Kubeconfig] {
        say!("{}", availability_line(site, shared::availability(site)));
    }
    RunOutcome::Conformant
}

fn availability_line(site: SiteName, status: Result<&str, String>) -> String {
    let text = status.map_or_else(|why| format!("not here: {why}"), str::to_owned);
    format!("{:14} {text}", site.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_missing_requirement() {
        assert_eq!(availability_line(SiteName::Sim, Ok("ready; needs nothing")), "sim            ready; needs nothing");
        let missing = availability_line(SiteName::Kind, Err("no kind on PATH".to_owned()));
        assert_eq!(missing, "kind           not here: no kind on PATH");
    }
}
