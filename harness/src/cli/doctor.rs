//! `lockstep doctor`: which clusters there can be here, and what the others lack.

use super::CliError;
use super::out::say;
use crate::cluster::{SiteName, shared};
use crate::outcome::Outcome;

/// Say which clusters can run here, and what the others lack; starts nothing.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn execute(_: &Arguments) -> Result<Outcome, CliError> {
    use SiteName::{Containers, ControlPlane, Kind, Kubeconfig, Sim};
    for site in [Sim, ControlPlane, Containers, Kind, Kubeconfig] {
        say!("{}", line(site, shared::found(site)));
    }
    Ok(Outcome::Conformant)
}

fn line(site: SiteName, found: Result<&str, String>) -> String {
    let says = found.map_or_else(|why| format!("not here: {why}"), str::to_owned);
    format!("{:14} {says}", site.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_said() {
        assert_eq!(line(SiteName::Sim, Ok("ready; needs nothing")), "sim            ready; needs nothing");
        let lacks = line(SiteName::Kind, Err("no kind on PATH".to_owned()));
        assert_eq!(lacks, "kind           not here: no kind on PATH");
    }
}
