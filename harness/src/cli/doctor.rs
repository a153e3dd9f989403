//! `lockstep doctor`: which clusters can run on this machine, and what the others need.

use lockstep_cluster::{SiteName, shared};
use lockstep_support::outcome::RunOutcome;

use super::CliError;
use super::out::say;

/// Say which clusters can run here, and what the others lack; starts nothing.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn execute(_: &Arguments) -> Result<RunOutcome, CliError> {
    use SiteName::{Containers, ControlPlane, Kind, Kubeconfig, Sim};
    for site in [Sim, ControlPlane, Containers, Kind, Kubeconfig] {
        say!("{}", line(site, shared::availability(site)));
    }
    Ok(RunOutcome::Conformant)
}

fn line(site: SiteName, status: Result<&str, String>) -> String {
    let text = status.map_or_else(|why| format!("not here: {why}"), str::to_owned);
    format!("{:14} {text}", site.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_missing_requirement() {
        assert_eq!(line(SiteName::Sim, Ok("ready; needs nothing")), "sim            ready; needs nothing");
        let missing = line(SiteName::Kind, Err("no kind on PATH".to_owned()));
        assert_eq!(missing, "kind           not here: no kind on PATH");
    }
}
