//! `lockstep cluster up|down`: a cluster that stays, for kubectl and for runs that need not boot
//! one.

use clap::Subcommand;

use super::CliError;
use super::again::Typed;
use super::out::{note, say};
use super::place::unless_interrupted;
use super::site::SiteArguments;
use crate::cluster::{self, Site, SiteName, Standing, kind, own};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::runner::EnvironmentError;

/// A cluster of one's own.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster without a Deployment controller and leave it running.
    Up(SiteArguments),
    /// Stop the cluster and remove all of it.
    Down(SiteArguments),
}

pub(super) async fn execute(arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    let (Command::Up(site) | Command::Down(site)) = &arguments.command;
    site.check()?;
    match &arguments.command {
        Command::Up(site) if site.cluster() == SiteName::Kubeconfig => {
            let (program, words) = (&typed.program, site.words(SiteName::Sim));
            let why = format!("a cluster of your own needs no up; `{program} run{words}` uses it as it is");
            return Err(CliError::Usage(why));
        }
        Command::Up(site) => unless_interrupted(async { Ok(up(site, &typed.program).await?) }).await?,
        Command::Down(site) => unless_interrupted(async { Ok(down(site).await?) }).await?,
    }
    Ok(Outcome::Conformant)
}

async fn up(site: &SiteArguments, program: &str) -> Result<(), EnvironmentError> {
    let plan = site.plan(true);
    let (cluster, already) = match site.cluster() {
        SiteName::Sim | SiteName::ControlPlane | SiteName::Containers => {
            let raised = Standing::of_user(site.cluster())?.up(&plan).await?;
            (raised.cluster, raised.already)
        }
        SiteName::Kind | SiteName::Kubeconfig => (cluster::boot(&plan).await?, false),
    };
    say!("export KUBECONFIG={}", quoted(&cluster.admin_kubeconfig_path().display().to_string()));
    let is = if already { "was up already" } else { "is up" };
    let (run, down) = (site.words(SiteName::Sim), site.words(SiteName::ControlPlane));
    note!("{} {is}; `{program} run{run}` uses it; `{program} cluster down{down}` ends it", cluster.identity().title());
    Ok(())
}

async fn down(site: &SiteArguments) -> Result<(), EnvironmentError> {
    if let Site::Kubeconfig(wish) = &site.plan(true).site {
        let swept = own::down(wish).await?;
        let what =
            if swept.is_empty() { "nothing of lockstep's was on it".to_owned() } else { format!("removed {swept}") };
        note!("{}: {what}", wish.context);
        if let Some(left) = swept.left() {
            note!("{}: {left}", wish.context);
        }
        return Ok(());
    }
    let was = match site.cluster() {
        SiteName::Sim | SiteName::ControlPlane | SiteName::Containers => {
            Standing::of_user(site.cluster())?.down().await?
        }
        SiteName::Kind | SiteName::Kubeconfig => kind::down(Some(&site.kind_name)).await?,
    };
    let cluster = site.cluster();
    note!("{}", if was { format!("the {cluster} cluster is down") } else { format!("no {cluster} cluster was up") });
    Ok(())
}
