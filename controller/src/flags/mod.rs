//! The command line: here the flags of the rollout controllers, in `restart` those of config
//! restarts.
//!
//! A flag that kube-controller-manager has keeps its name and default; the two bind addresses are
//! named as in programs made with controller-runtime, because they serve plain HTTP as those do.

mod checksum_key;
mod launch;
mod reloader;
mod restart;
mod serving;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, Parser, Subcommand, ValueEnum};
use rollout_controller::{
    Address, Compatibility, ControllerName, Election, KubernetesMinor, RestartSettings, Settings,
};

use self::checksum_key::{KeyFlags, NewKey};
use self::launch::{LEASE_NAMESPACE, duration, log_filter, namespace, rate_limit};
pub(crate) use self::launch::{Launch, LoggingFormat};
use self::restart::RestartFlags;
pub(crate) use self::serving::SecureMetrics;
use self::serving::ServingFlags;

/// Commands besides rolling out.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Restarts workloads whose ConfigMaps and Secrets have changed, in place of xing's
    /// deployment-restart-controller
    #[command(version = restart::VERSION)]
    ConfigRestart(Box<RestartFlags>),
    /// Prints a Secret with a new key for the checksums of Secrets
    ConfigRestartKey(NewKey),
}

/// Rolls Deployments out, and keeps ReplicaSets at their size, as kube-controller-manager's
/// controllers do.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Option<Command>,
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Controllers to run, comma separated: deployment, replicaset, * for both, -NAME for none of
    /// that name; config-restart too, which
    /// * leaves out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "deployment", allow_hyphen_values = true)]
    controllers: Vec<String>,
    /// The one namespace to manage [default: all]
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Deployments of one namespace reconciled at the same time; four times as many in all
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    concurrent_deployment_syncs: u16,
    /// ReplicaSets of one namespace reconciled at the same time; four times as many in all
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    concurrent_replicaset_syncs: u16,
    /// Whose behaviour to follow
    #[arg(long, value_enum, default_value = "upstream")]
    compatibility: CompatibilityFlag,
    /// The Kubernetes version whose controller's pod-template-hash names new ReplicaSets, whatever
    /// the server's is
    #[arg(long, value_name = "VERSION", default_value_t = KubernetesMinor::default())]
    pod_template_hash: KubernetesMinor,
    /// Requests a second to the API server in the long run, lists and watches left out; below zero:
    /// no limit
    #[arg(long, value_name = "N", default_value_t = 20.0, allow_negative_numbers = true)]
    kube_api_qps: f64,
    /// Requests that may be made at once
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_burst: u32,
    /// After how long at least everything is looked at again; at most twice that, drawn at random;
    /// 0s: never
    #[arg(long, value_name = "DURATION", default_value = "12h", value_parser = duration)]
    min_resync_period: Duration,
    #[command(flatten)]
    election: ElectionFlags,
    #[command(flatten)]
    keys: KeyFlags,
    /// Where to answer /metrics: IP:PORT, :PORT for all addresses, or 0 for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    metrics_bind_address: Address,
    /// Where to answer /healthz, /livez and /readyz; may be the same
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    health_probe_bind_address: Address,
    #[command(flatten)]
    serving: ServingFlags,
    /// How to write logs
    #[arg(long, value_enum, default_value = "text")]
    logging_format: LoggingFormat,
    /// Log more; twice: everything. RUST_LOG overrides it
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
}

/// Flags of the leader election.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct ElectionFlags {
    /// Whether to act only while holding a lease, so that of several replicas one acts
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    leader_elect: bool,
    /// How long the others wait, after the last renewal they saw, before they take over
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew before it gives up
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    leader_elect_renew_deadline: Duration,
    /// The pause between two tries
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    leader_elect_retry_period: Duration,
    /// Name of the lease
    #[arg(long, value_name = "NAME", default_value = "rollout-controller")]
    leader_elect_resource_name: String,
    /// Namespace of the lease [default: what --namespace says, else kube-system]
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    leader_elect_resource_namespace: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CompatibilityFlag {
    /// kube-controller-manager v1.36, its known defects included
    Upstream,
    /// The same, without the defects that leave a Deployment stuck, such as issue 102551
    Fixed,
}

impl Flags {
    /// Exits over flags that are inconsistent, as clap does over invalid ones.
    pub(crate) fn refuse(error: &anyhow::Error) -> ! {
        Self::command().error(ErrorKind::ValueValidation, format!("{error:#}")).exit()
    }

    /// The command to make a key, if it was given.
    pub(crate) fn new_key(&self) -> Option<&NewKey> {
        match &self.command {
            Some(Command::ConfigRestartKey(new)) => Some(new),
            _ => None,
        }
    }

    /// The launch options.
    pub(crate) fn launch(&self, identity: impl FnOnce() -> String) -> anyhow::Result<Launch> {
        if let Some(Command::ConfigRestart(flags)) = &self.command {
            return flags.launch(identity, restart::ignored_errors().as_deref());
        }
        Ok(Launch {
            kubeconfig: self.kubeconfig.clone(),
            metrics: self.metrics_bind_address,
            probes: self.health_probe_bind_address,
            secure: self.serving.secure(self.metrics_bind_address, self.health_probe_bind_address)?,
            format: self.logging_format,
            filter: log_filter(self.verbose),
            settings: self.settings()?,
            migrate_from: None,
            election: self.election(identity)?,
        })
    }

    /// The controller's settings.
    fn settings(&self) -> anyhow::Result<Settings> {
        let compatibility = match self.compatibility {
            CompatibilityFlag::Upstream => Compatibility::Upstream,
            CompatibilityFlag::Fixed => Compatibility::Fixed,
        };
        Ok(Settings {
            controllers: controllers(&self.controllers).context("--controllers makes no sense")?,
            concurrent_replicaset_syncs: self.concurrent_replicaset_syncs.into(),
            concurrent_deployment_syncs: self.concurrent_deployment_syncs.into(),
            compatibility,
            hash: self.pod_template_hash,
            namespace: self.namespace.clone(),
            rate_limit: rate_limit(self.kube_api_qps, self.kube_api_burst)?,
            restart: RestartSettings { secrets: self.keys.read()?, ..RestartSettings::default() },
            resync_period: Some(self.min_resync_period).filter(|period| !period.is_zero()),
            ..Settings::default()
        })
    }

    /// The leader election, if it is enabled.
    fn election(&self, identity: impl FnOnce() -> String) -> anyhow::Result<Option<Election>> {
        let flags = &self.election;
        if !flags.leader_elect {
            return Ok(None);
        }
        let namespace = flags.leader_elect_resource_namespace.as_ref().or(self.namespace.as_ref());
        let election = Election {
            namespace: namespace.map_or(LEASE_NAMESPACE, String::as_str).to_owned(),
            name: flags.leader_elect_resource_name.clone(),
            identity: identity(),
            lease_duration: flags.leader_elect_lease_duration,
            renew_deadline: flags.leader_elect_renew_deadline,
            retry_period: flags.leader_elect_retry_period,
        };
        election.check().context("this election cannot go well")?;
        Ok(Some(election))
    }
}

/// The controllers that these words select, as in kube-controller-manager (upstream:
/// `IsControllerEnabled`): the first word that names a controller decides about it, and `*` about
/// those of kube-controller-manager's that no word names.
fn controllers(words: &[String]) -> anyhow::Result<BTreeSet<ControllerName>> {
    let mut named = BTreeMap::new();
    for word in words.iter().filter(|word| *word != "*") {
        let name: ControllerName = word.strip_prefix('-').unwrap_or(word).parse()?;
        named.entry(name).or_insert(!word.starts_with('-'));
    }
    let all = words.iter().any(|word| word == "*");
    let runs =
        |name: &ControllerName| named.get(name).copied().unwrap_or(all && *name != ControllerName::ConfigRestart);
    let chosen: BTreeSet<_> = ControllerName::ALL.into_iter().filter(runs).collect();
    ensure!(!chosen.is_empty(), "no controller is left to run");
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use rollout_controller::{MIN_RESYNC_PERIOD, RateLimit};
    use rstest::rstest;

    use super::*;

    fn flags(arguments: &[&str]) -> Flags {
        Flags::try_parse_from([&["rollout-controller"], arguments].concat()).unwrap()
    }

    fn election(arguments: &[&str]) -> Option<Election> {
        flags(arguments).election(|| "me".to_owned()).unwrap()
    }

    #[test]
    fn defaults_are_upstreams() {
        let settings = flags(&[]).settings().unwrap();
        assert_eq!((settings.concurrent_deployment_syncs, settings.concurrent_replicaset_syncs), (5, 5));
        assert_eq!(settings.rate_limit, Some(RateLimit { qps: 20.0, burst: 30 }));
        assert_eq!(settings.namespace, None);
        assert_eq!(settings.resync_period, Some(MIN_RESYNC_PERIOD));
        assert_eq!(settings.compatibility, Compatibility::Upstream);
        assert_eq!(settings.hash, KubernetesMinor::default());
        assert_eq!(election(&[]), Some(Election::new("kube-system", "rollout-controller", "me")));
    }

    #[test]
    fn compatibility_and_hash_follow_their_flags() {
        let settings = flags(&["--compatibility=fixed", "--pod-template-hash=v1.33.13"]).settings().unwrap();
        assert_eq!(settings.compatibility, Compatibility::Fixed);
        assert_eq!(settings.hash.to_string(), "1.33");
        let error = Flags::try_parse_from(["rollout-controller", "--pod-template-hash=1.7"]).unwrap_err();
        assert!(error.to_string().contains("choose from 1."), "{error}");
    }

    #[rstest]
    #[case(&[], Ok("deployment"))]
    #[case(&["--controllers=replicaset"], Ok("replicaset"))]
    #[case(&["--controllers=deployment,replicaset"], Ok("deployment replicaset"))]
    #[case(&["--controllers=replicaset-controller", "--controllers=deployment-controller"], Ok("deployment replicaset"))]
    #[case(&["--controllers=*"], Ok("deployment replicaset"))]
    #[case(&["--controllers=*,-deployment-controller"], Ok("replicaset"))]
    #[case(&["--controllers=-replicaset,*"], Ok("deployment"))]
    #[case(&["--controllers", "-replicaset,*"], Ok("deployment"))]
    #[case::the_first_word_counts(&["--controllers=replicaset,-replicaset,-deployment,*"], Ok("replicaset"))]
    #[case::none_is_on_by_itself(&["--controllers=-deployment"], Err("no controller is left to run"))]
    #[case::none_left(&["--controllers=*,-deployment,-replicaset"], Err("no controller is left to run"))]
    #[case(&["--controllers=cronjob"], Err("\"cronjob\" is not in the list of known controllers"))]
    #[case(&["--controllers="], Err("\"\" is not in the list of known controllers"))]
    fn controllers_flag_selects(#[case] arguments: &[&str], #[case] expected: Result<&str, &str>) {
        match (flags(arguments).settings(), expected) {
            (Ok(settings), Ok(expected)) => {
                let names: Vec<_> = settings.controllers.iter().map(|name| name.as_str()).collect();
                assert_eq!(names.join(" "), expected);
            }
            (Err(error), Err(expected)) => assert!(format!("{error:#}").contains(expected), "{error:#}"),
            (settings, _) => panic!("{settings:?}"),
        }
    }

    #[rstest]
    #[case(&[], true)]
    #[case(&["--leader-elect"], true)]
    #[case(&["--leader-elect=true"], true)]
    #[case(&["--leader-elect=false"], false)]
    fn leader_elect_flag_enables_the_election(#[case] arguments: &[&str], #[case] expected: bool) {
        assert_eq!(election(arguments).is_some(), expected);
    }

    #[rstest]
    #[case(&[], "kube-system")]
    #[case(&["--namespace=shop"], "shop")]
    #[case(&["--namespace=shop", "--leader-elect-resource-namespace=locks"], "locks")]
    fn lease_namespace_follows_the_flags(#[case] arguments: &[&str], #[case] namespace: &str) {
        assert_eq!(election(arguments).unwrap().namespace, namespace);
    }

    #[rstest]
    #[case("-1", Ok(None))]
    #[case("0.5", Ok(Some(0.5)))]
    #[case("0", Err("would stop everything"))]
    #[case("inf", Err("would stop everything"))]
    #[case("NaN", Err("would stop everything"))]
    fn qps_flag_sets_the_rate_limit(#[case] qps: &str, #[case] expected: Result<Option<f64>, &str>) {
        match (flags(&[&format!("--kube-api-qps={qps}")]).settings(), expected) {
            (Ok(settings), Ok(expected)) => assert_eq!(settings.rate_limit.map(|limit| limit.qps), expected),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (settings, _) => panic!("{settings:?}"),
        }
    }

    #[test]
    fn resync_period_zero_disables_resyncs() {
        let period = |text: &str| flags(&[&format!("--min-resync-period={text}")]).settings().unwrap().resync_period;
        assert_eq!(period("90m"), Some(Duration::from_secs(5400)));
        assert_eq!(period("0s"), None);
    }

    #[rstest]
    #[case("15s", 15_000)]
    #[case("1m30s", 90_000)]
    #[case("500ms", 500)]
    #[case("0s", 0)]
    #[case("1h0m0s", 3_600_000)]
    fn durations_are_parsed(#[case] text: &str, #[case] milliseconds: u64) {
        assert_eq!(duration(text).unwrap(), Duration::from_millis(milliseconds));
    }

    #[rstest]
    #[case("-15s")]
    #[case("15")]
    #[case("soon")]
    fn invalid_durations_are_refused(#[case] text: &str) {
        duration(text).unwrap_err();
    }

    #[rstest]
    #[case(&["--leader-elect-lease-duration=5s"], "--leader-elect-lease-duration")]
    #[case(&["--leader-elect-renew-deadline=1s"], "--leader-elect-renew-deadline")]
    fn inconsistent_election_is_refused(#[case] arguments: &[&str], #[case] remedy: &str) {
        let error = flags(arguments).election(|| "me".to_owned()).unwrap_err();
        assert!(format!("{error:#}").contains(remedy), "{error:#}");
    }

    #[test]
    fn command_line_is_consistent() {
        Flags::command().debug_assert();
    }
}
