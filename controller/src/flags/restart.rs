//! `rollout-controller config-restart`: the flags and the environment of xing's controller, and
//! additional flags.
//!
//! Flags take precedence over the environment. Those of xing's controller keep their names and
//! defaults; only a check period of 0, which crashes that controller, is refused.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgAction, ValueEnum};
use rollout_controller::connect::WebhookClient;
use rollout_controller::restart::MigrationSource;
use rollout_controller::{
    Address, Budget, ControllerName, Election, GroupSettings, Limit, Profile, ReloaderSettings, RestartSettings,
    SecretChecksums, Settings, Webhook, WebhookFormat, WebhookUrl, Window,
};

use super::checksum_key::KeyFlags;
use super::launch::{LEASE_NAMESPACE, Launch, LoggingFormat, duration, log_filter, namespace, rate_limit};
use super::reloader::{ReloaderFlags, alerts};
use super::serving::ServingFlags;

/// The output of `--version`, as xing's controller prints it: name, version, system.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("TARGET_PLATFORM"));
/// Where xing's controller serves `/metrics`.
const METRICS: &str = "0.0.0.0:10254";
/// Environment variable with errors to ignore, separated by `;`.
const IGNORED_ERRORS: &str = "IGNORED_ERRORS";

/// Restarts workloads whose ConfigMaps and Secrets have changed.
#[derive(Debug, clap::Args)]
pub(crate) struct RestartFlags {
    /// Milliseconds between two looks at what has changed
    #[arg(short = 'c', long, value_name = "MS", env = "RESTART_CHECK_PERIOD", default_value_t = 500,
        value_parser = clap::value_parser!(u64).range(1..))]
    restart_check_period: u64,
    /// Seconds for which changes are gathered before a workload is restarted
    #[arg(short = 'r', long, value_name = "S", env = "RESTART_GRACE_PERIOD", default_value_t = 5)]
    restart_grace_period: u32,
    /// Parts of errors that do not stop the controller (xing) or are only logged as warnings
    /// (safe); may be repeated [env: IGNORED_ERRORS=A;B]
    #[arg(long, value_name = "TEXT")]
    ignored_errors: Vec<String>,
    /// The verbosity of the log
    #[arg(short, long, value_name = "N", env = "VERBOSE", default_value_t = 0)]
    verbose: u8,
    /// Whose choices to follow
    #[arg(long, value_enum, value_name = "PROFILE", default_value = "safe")]
    restart_profile: ProfileFlag,
    /// Profiles xing and reloader write plain checksums of Secrets into workloads, as those
    /// controllers do: accept that a user who can read workloads can find out the content of a
    /// Secret by guessing it
    #[arg(long)]
    allow_unkeyed_secret_checksums: bool,
    #[command(flatten)]
    keys: KeyFlags,
    /// How long at most changes are gathered while more come; safe profile only
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    restart_max_wait: Duration,
    /// Restarts that one workload may have within the budget's period, 0 for any number; safe
    /// profile only
    #[arg(long, value_name = "N", default_value_t = 10)]
    restart_budget: u32,
    /// The budget's period
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    restart_budget_period: Duration,
    /// How long a restart waits after the change where no annotation says; safe profile only
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    restart_delay: Duration,
    /// How many workloads of a group may be unavailable where no annotation says: a number or a
    /// percentage; safe profile only [default: any number]
    #[arg(long, value_name = "N")]
    restart_max_unavailable: Option<Limit>,
    /// After how long a rollout counts as failed that has no deadline of its own: of a StatefulSet,
    /// of a DaemonSet
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    restart_deadline: Duration,
    /// Receives a message for each restart, by POST. Set it by the environment variable: its
    /// address may allow writing to a chat
    #[arg(long, value_name = "URL", env = "RESTART_WEBHOOK_URL", hide_env_values = true)]
    restart_webhook_url: Option<String>,
    /// What is sent there
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
    restart_webhook_format: WebhookFormatFlag,
    /// Write no workload, and report what would be restarted
    #[arg(long)]
    dry_run: bool,
    /// Say what it means to take over from this controller, and end: who is restarted for what,
    /// what has no equivalent, and whether anything restarts for it; with --dry-run
    #[arg(long, value_enum, value_name = "CONTROLLER", requires = "dry_run")]
    migrate_from: Option<MigrationSourceFlag>,
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The one namespace to manage [default: all]
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Requests a second to the API server in the long run, lists and watches left out; below zero:
    /// no limit
    #[arg(long, value_name = "N", default_value_t = 20.0, allow_negative_numbers = true)]
    kube_api_qps: f64,
    /// Requests that may be made at once
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_burst: u32,
    /// Act only while holding a lease; two that act cause no second rollout, only more requests
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    leader_elect: bool,
    /// Name of the lease
    #[arg(long, value_name = "NAME", default_value = "rollout-controller-config-restart")]
    leader_elect_resource_name: String,
    /// Namespace of the lease [default: what --namespace says, else kube-system]
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    leader_elect_resource_namespace: Option<String>,
    /// Where to answer /metrics: IP:PORT, :PORT for all addresses, or 0 for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = METRICS)]
    metrics_bind_address: Address,
    /// Where to answer /healthz, /livez and /readyz; may be the same
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    health_probe_bind_address: Address,
    #[command(flatten)]
    serving: ServingFlags,
    #[command(flatten)]
    reloader: ReloaderFlags,
    /// How logs are written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    logging_format: LoggingFormat,
    /// Ignored, as xing's controller does
    #[arg(hide = true)]
    strays: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileFlag {
    /// Those of xing's controller v1.3.0, its defects included
    Xing,
    /// No restart is missed, and adopting a workload does not roll it out
    Safe,
    /// Those of Stakater's Reloader v1.4.21, by its annotations
    Reloader,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MigrationSourceFlag {
    /// xing's kubernetes-deployment-restart-controller
    Xing,
    /// Stakater's Reloader
    Reloader,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WebhookFormatFlag {
    /// A JSON object with fields for programs
    Json,
    /// Plain text
    Raw,
    /// For Slack
    Slack,
    /// For Microsoft Teams
    Teams,
    /// For Google Chat
    Gchat,
}

impl RestartFlags {
    /// The launch options; `environment` is the value of IGNORED_ERRORS, if it is set.
    pub(crate) fn launch(
        &self,
        identity: impl FnOnce() -> String,
        environment: Option<&str>,
    ) -> anyhow::Result<Launch> {
        let settings = Settings {
            controllers: [ControllerName::ConfigRestart].into(),
            namespace: self.namespace.clone(),
            rate_limit: rate_limit(self.kube_api_qps, self.kube_api_burst)?,
            restart: self.restart(environment)?,
            ..Settings::default()
        };
        Ok(Launch {
            kubeconfig: self.kubeconfig.clone(),
            metrics: self.metrics_bind_address,
            probes: self.health_probe_bind_address,
            secure: self.serving.secure(self.metrics_bind_address, self.health_probe_bind_address)?,
            format: self.logging_format,
            filter: log_filter(self.verbose.saturating_sub(1)),
            settings,
            migrate_from: self.migrate_from.map(|from| match from {
                MigrationSourceFlag::Xing => MigrationSource::Xing,
                MigrationSourceFlag::Reloader => MigrationSource::Reloader,
            }),
            election: self.election(identity)?,
        })
    }

    /// How checksums of Secrets are computed. The profiles of xing's controller and of Reloader
    /// have no key, so they must be allowed explicitly.
    fn secrets(&self, reloader: &ReloaderSettings) -> anyhow::Result<SecretChecksums> {
        match (self.restart_profile, self.allow_unkeyed_secret_checksums) {
            (ProfileFlag::Safe, false) => self.keys.read(),
            (ProfileFlag::Safe, true) => bail!(
                "--allow-unkeyed-secret-checksums is for --restart-profile=xing and reloader; profile safe has keyed ones \
                 (--secret-checksum-keys)"
            ),
            (ProfileFlag::Xing | ProfileFlag::Reloader, true) => Ok(SecretChecksums::Unkeyed),
            (ProfileFlag::Reloader, false) if reloader.ignores_secrets => Ok(SecretChecksums::None),
            // No workload is written.
            (ProfileFlag::Reloader, false) if reloader.webhook.is_some() => Ok(SecretChecksums::Unkeyed),
            (ProfileFlag::Reloader, false) => bail!(
                "--restart-profile=reloader writes plain checksums of Secrets into workloads: users who can read \
                 workloads can find out the content of a Secret by guessing it. Add --allow-unkeyed-secret-checksums to \
                 accept that, or --resources-to-ignore=secrets, or use --restart-profile=safe with --secret-checksum-keys"
            ),
            (ProfileFlag::Xing, false) => bail!(
                "--restart-profile=xing writes plain checksums of Secrets into annotations: users who can read \
                 workloads can find out the content of a Secret by guessing it. Add --allow-unkeyed-secret-checksums to \
                 accept that, or use --restart-profile=safe with --secret-checksum-keys"
            ),
        }
    }

    fn restart(&self, environment: Option<&str>) -> anyhow::Result<RestartSettings> {
        let profile = match self.restart_profile {
            ProfileFlag::Xing => Profile::Xing,
            ProfileFlag::Safe => Profile::Safe,
            ProfileFlag::Reloader => Profile::Reloader,
        };
        let reloader = self.reloader()?;
        let mut ignored_errors = self.ignored_errors.clone();
        if ignored_errors.is_empty() {
            ignored_errors = environment.into_iter().flat_map(|text| text.split(';')).map(str::to_owned).collect();
        }
        // An empty part matches every error, and then all are ignored (X7).
        if profile == Profile::Safe {
            ignored_errors.retain(|part| !part.is_empty());
        }
        Ok(RestartSettings {
            profile,
            secrets: self.secrets(&reloader)?,
            window: Window {
                check_period: Duration::from_millis(self.restart_check_period),
                grace_period: Duration::from_secs(self.restart_grace_period.into()),
                longest: self.restart_max_wait,
            },
            budget: Budget { restarts: self.restart_budget, period: self.restart_budget_period },
            delay: self.restart_delay,
            turns: GroupSettings { limit: self.restart_max_unavailable, deadline: self.restart_deadline },
            webhook: self.webhook(&reloader)?,
            ignored_errors,
            reloader,
            dry_run: self.dry_run,
        })
    }

    /// Reloader's flags. With another profile they would have no effect, and giving them is an
    /// error.
    fn reloader(&self) -> anyhow::Result<ReloaderSettings> {
        let Some(settings) = self.reloader.read()? else { return Ok(ReloaderSettings::default()) };
        if self.restart_profile != ProfileFlag::Reloader && self.migrate_from != Some(MigrationSourceFlag::Reloader) {
            bail!("flags of Reloader are for --restart-profile=reloader, or with --migrate-from=reloader");
        }
        if self.namespace.is_some() && settings.namespace_selector.is_some() {
            bail!("--namespace names the one namespace; leave out --namespace-selector");
        }
        Ok(settings)
    }

    /// The webhook for restarts: by this program's flags, or in profile `reloader` by Reloader's
    /// variables. With Reloader's own flag there are no restarts to report, and changes are
    /// reported instead.
    fn webhook(&self, reloader: &ReloaderSettings) -> anyhow::Result<Option<Webhook>> {
        let format = match self.restart_webhook_format {
            WebhookFormatFlag::Json => WebhookFormat::Json,
            WebhookFormatFlag::Raw => WebhookFormat::Raw,
            WebhookFormatFlag::Slack => WebhookFormat::Slack,
            WebhookFormatFlag::Teams => WebhookFormat::Teams,
            WebhookFormatFlag::Gchat => WebhookFormat::GoogleChat,
        };
        let instead = reloader.webhook.as_ref().filter(|_| self.restart_profile == ProfileFlag::Reloader);
        let webhook = match &self.restart_webhook_url {
            Some(_) if instead.is_some() => bail!(
                "--webhook-url restarts nothing, so --restart-webhook-url has nothing to report; leave out one of them"
            ),
            None if instead.is_some() => instead.cloned().map(Webhook::plain),
            Some(_) if self.restart_profile == ProfileFlag::Xing => {
                bail!(
                    "--restart-webhook-url is for --restart-profile=safe and reloader; xing's controller has no webhook"
                )
            }
            Some(url) => Some(Webhook { format, ..Webhook::plain(WebhookUrl(url.clone())) }),
            None if self.restart_profile == ProfileFlag::Reloader => alerts(|name| std::env::var(name).ok())?,
            None => None,
        };
        if let Some(webhook) = &webhook {
            WebhookClient::new(&webhook.url.0, webhook.proxy.as_ref().map(|proxy| proxy.0.as_str()))?;
        }
        Ok(webhook)
    }

    fn election(&self, identity: impl FnOnce() -> String) -> anyhow::Result<Option<Election>> {
        if !self.leader_elect {
            return Ok(None);
        }
        let namespace = self.leader_elect_resource_namespace.as_ref().or(self.namespace.as_ref());
        let namespace = namespace.map_or(LEASE_NAMESPACE, String::as_str);
        let election = Election::new(namespace, &self.leader_elect_resource_name, identity());
        election.check().context("this election cannot go well")?;
        Ok(Some(election))
    }
}

/// The environment's errors to ignore.
pub(crate) fn ignored_errors() -> Option<String> {
    std::env::var(IGNORED_ERRORS).ok()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        flags: RestartFlags,
    }

    fn launch(arguments: &[&str], environment: Option<&str>) -> Launch {
        let program = Program::try_parse_from([&["rollout-controller"], arguments].concat()).unwrap();
        program.flags.launch(|| "me".to_owned(), environment).unwrap()
    }

    /// Scenario 71.
    #[test]
    fn defaults_are_xings() {
        let launch = launch(&["stray"], None);
        assert_eq!(launch.settings.restart, RestartSettings::default());
        assert_eq!(launch.settings.restart.window.check_period, Duration::from_millis(500));
        assert_eq!(launch.settings.restart.window.grace_period, Duration::from_secs(5));
        assert_eq!(launch.metrics.to_string(), METRICS);
        assert!(launch.election.is_none());
    }

    #[test]
    fn flags_set_the_settings() {
        let arguments = ["-c", "100", "-r", "0", "--ignored-errors=a", "--ignored-errors=b;c"];
        let arguments = [&arguments[..], &["--restart-profile=xing", "--allow-unkeyed-secret-checksums"]].concat();
        let restart = launch(&arguments, Some("d")).settings.restart;
        assert_eq!(restart.window.check_period, Duration::from_millis(100));
        assert_eq!(restart.window.grace_period, Duration::ZERO);
        assert_eq!((restart.profile, restart.ignored_errors), (Profile::Xing, vec!["a".to_owned(), "b;c".to_owned()]));
    }

    /// As kube-controller-manager's boolean flags.
    #[rstest]
    #[case::bare("--leader-elect", true)]
    #[case::yes("--leader-elect=true", true)]
    #[case::no("--leader-elect=false", false)]
    fn leader_elect_flag_enables_the_election(#[case] argument: &str, #[case] takes_part: bool) {
        assert_eq!(launch(&[argument, "--leader-elect-resource-namespace=n"], None).election.is_some(), takes_part);
    }

    /// Scenario 62.
    #[rstest]
    #[case::two("safe", "a;b", &["a", "b"])]
    #[case::a_trailing_one("safe", "a;", &["a"])]
    #[case::empty("safe", "", &[])]
    #[case::empty_as_xings("xing", "", &[""])]
    fn environment_sets_ignored_errors(#[case] profile: &str, #[case] text: &str, #[case] expected: &[&str]) {
        let accepted: &[&str] = if profile == "xing" { &["--allow-unkeyed-secret-checksums"] } else { &[] };
        let restart = launch(&[&["--restart-profile", profile], accepted].concat(), Some(text)).settings.restart;
        assert_eq!(restart.ignored_errors, expected);
    }

    /// Plain checksums of Secrets must be requested explicitly.
    #[rstest]
    #[case::xing(&["--restart-profile=xing"], "Add --allow-unkeyed-secret-checksums")]
    #[case::safe(&["--allow-unkeyed-secret-checksums"], "is for --restart-profile=xing")]
    #[case::reloader(&["--restart-profile=reloader"], "or --resources-to-ignore=secrets")]
    #[case::of_another_profile(&["--reload-strategy=annotations"], "are for --restart-profile=reloader")]
    #[case::nothing_to_report(&["--restart-profile=reloader", "--webhook-url=http://x", "--restart-webhook-url=http://x"], "leave out one of them")]
    #[case::no_address(&["--restart-profile=reloader", "--webhook-url=/x"], "the address of the webhook is not a URL")]
    #[case::no_folder(&["--secret-checksum-keys=/nowhere/at-all"], "is not a folder")]
    fn inconsistent_flags_are_refused(#[case] arguments: &[&str], #[case] expected: &str) {
        let program = Program::try_parse_from([&["rollout-controller"], arguments].concat()).unwrap();
        let error = program.flags.launch(|| "me".to_owned(), None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    /// `--migrate-from` writes nothing, and requires `--dry-run` to say so.
    #[test]
    fn migration_report_requires_dry_run() {
        let arguments = ["rollout-controller", "--migrate-from=reloader"];
        assert!(Program::try_parse_from(arguments).unwrap_err().to_string().contains("--dry-run"));
        let shown = launch(&["--migrate-from=reloader", "--dry-run", "--auto-reload-all"], None);
        assert_eq!((shown.migrate_from, shown.settings.restart.reloader.all), (Some(MigrationSource::Reloader), true));
    }

    #[test]
    fn reloaders_flags_set_the_settings() {
        let arguments = ["--restart-profile=reloader", "--resources-to-ignore=secrets", "--auto-reload-all"];
        let restart = launch(&[&arguments[..], &["--reload-strategy", "annotations"]].concat(), None).settings.restart;
        assert_eq!((restart.profile, restart.secrets), (Profile::Reloader, SecretChecksums::None));
        assert!(restart.reloader.all && restart.reloader.ignores_secrets);
        let restart = launch(&["--restart-profile=reloader", "--webhook-url=http://x"], None).settings.restart;
        assert_eq!(restart.webhook, Some(Webhook::plain(WebhookUrl("http://x".to_owned()))));
        assert_eq!(restart.secrets, SecretChecksums::Unkeyed);
        // With a migration the flag describes Reloader's configuration.
        let flags = ["--migrate-from=reloader", "--dry-run", "--webhook-url=http://x"];
        let restart = launch(&flags, None).settings.restart;
        assert!(restart.reloader.webhook.is_some() && restart.webhook.is_none());
    }

    #[test]
    fn secrets_restart_nothing_without_a_key() {
        assert_eq!(launch(&[], None).settings.restart.secrets, SecretChecksums::None);
        let xing = launch(&["--restart-profile=xing", "--allow-unkeyed-secret-checksums"], None).settings.restart;
        assert_eq!(xing.secrets, SecretChecksums::Unkeyed);
    }

    #[rstest]
    #[case("--restart-check-period=0")]
    #[case("--restart-check-period=5s")]
    #[case("--restart-grace-period=5s")]
    #[case("--restart-grace-period=-1")]
    #[case("--restart-profile=wild")]
    #[case("--restart-budget=-1")]
    #[case("--restart-max-wait=60")]
    #[case("--verbose=much")]
    fn error_names_the_flag_of_a_bad_value(#[case] argument: &str) {
        let error = Program::try_parse_from(["rollout-controller", argument]).unwrap_err().to_string();
        assert!(error.contains(argument.split_once('=').unwrap().0), "{error}");
    }
}
