//! Reloader's flags, under their names, for `--restart-profile=reloader`.

use anyhow::Context;
use rollout_controller::{ReloaderSettings, Webhook, WebhookFormat, WebhookUrl};

/// Reloader's flags; of meaning with --restart-profile=reloader only.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Flags of Reloader, for --restart-profile=reloader")]
pub(crate) struct ReloaderFlags {
    /// How a restart is triggered: env-vars or annotations
    #[arg(long, value_name = "STRATEGY")]
    reload_strategy: Option<String>,
    /// Restart workloads that say nothing for whatever they use
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    auto_reload_all: Option<String>,
    /// Whether a config that appears counts as changed
    #[arg(long, value_name = "BOOL")]
    reload_on_create: Option<String>,
    /// Whether a config that goes counts as changed
    #[arg(long, value_name = "BOOL")]
    reload_on_delete: Option<String>,
    /// With --reload-on-create: what is there at the start counts as changed
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    sync_after_restart: Option<String>,
    /// configmaps or secrets: these restart nothing
    #[arg(long, value_name = "KIND")]
    resources_to_ignore: Option<String>,
    /// jobs, cronjobs or both: these are not restarted
    #[arg(long, value_name = "KINDS")]
    ignored_workload_types: Vec<String>,
    /// Whether Rollouts of Argo Rollouts are restarted
    #[arg(long = "is-Argo-Rollouts", value_name = "BOOL")]
    rollouts: Option<String>,
    /// Namespaces whose configs are looked at [default: all]
    #[arg(long, value_name = "NAMES")]
    namespaces: Vec<String>,
    /// Namespaces whose configs are not looked at
    #[arg(long, value_name = "NAMES")]
    namespaces_to_ignore: Vec<String>,
    /// Labels of namespaces whose configs are looked at
    #[arg(long, value_name = "LABELS")]
    namespace_selector: Vec<String>,
    /// Labels of configs that are looked at
    #[arg(long, value_name = "LABELS")]
    resource_label_selector: Vec<String>,
    /// Receives a message for each config change; nothing is restarted then. Set it by the
    /// environment variable: its address may allow writing to a chat, and other processes can read
    /// flags
    #[arg(long, value_name = "URL", env = "RELOADER_WEBHOOK_URL", hide_env_values = true)]
    webhook_url: Option<String>,
    /// Name of the annotation that lists ConfigMaps
    #[arg(long, value_name = "NAME")]
    configmap_annotation: Option<String>,
    /// Name of the annotation that lists Secrets
    #[arg(long, value_name = "NAME")]
    secret_annotation: Option<String>,
    /// Name of the annotation auto
    #[arg(long, value_name = "NAME")]
    auto_annotation: Option<String>,
    /// Name of the annotation auto for ConfigMaps alone
    #[arg(long, value_name = "NAME")]
    configmap_auto_annotation: Option<String>,
    /// Name of the annotation auto for Secrets alone
    #[arg(long, value_name = "NAME")]
    secret_auto_annotation: Option<String>,
    /// Name of the annotation search
    #[arg(long, value_name = "NAME")]
    auto_search_annotation: Option<String>,
    /// Name of the annotation match
    #[arg(long, value_name = "NAME")]
    search_match_annotation: Option<String>,
    /// Name of the annotation ignore
    #[arg(long, value_name = "NAME")]
    ignore_annotation: Option<String>,
    /// Name of the annotation with a pause period
    #[arg(long, value_name = "NAME")]
    pause_deployment_annotation: Option<String>,
    /// Name of the annotation that says since when a Deployment is paused
    #[arg(long, value_name = "NAME")]
    pause_deployment_time_annotation: Option<String>,
}

impl ReloaderFlags {
    /// The settings that the flags choose; `None` without flags.
    pub(crate) fn read(&self) -> anyhow::Result<Option<ReloaderSettings>> {
        let one = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("--{name}={value}"));
        let all =
            |name: &str, values: &[String]| values.iter().map(|value| format!("--{name}={value}")).collect::<Vec<_>>();
        let given = [
            one("reload-strategy", &self.reload_strategy),
            one("auto-reload-all", &self.auto_reload_all),
            one("reload-on-create", &self.reload_on_create),
            one("reload-on-delete", &self.reload_on_delete),
            one("sync-after-restart", &self.sync_after_restart),
            one("resources-to-ignore", &self.resources_to_ignore),
            one("is-Argo-Rollouts", &self.rollouts),
            one("webhook-url", &self.webhook_url),
            one("configmap-annotation", &self.configmap_annotation),
            one("secret-annotation", &self.secret_annotation),
            one("auto-annotation", &self.auto_annotation),
            one("configmap-auto-annotation", &self.configmap_auto_annotation),
            one("secret-auto-annotation", &self.secret_auto_annotation),
            one("auto-search-annotation", &self.auto_search_annotation),
            one("search-match-annotation", &self.search_match_annotation),
            one("ignore-annotation", &self.ignore_annotation),
            one("pause-deployment-annotation", &self.pause_deployment_annotation),
            one("pause-deployment-time-annotation", &self.pause_deployment_time_annotation),
        ];
        let lists = [
            all("ignored-workload-types", &self.ignored_workload_types),
            all("namespaces", &self.namespaces),
            all("namespaces-to-ignore", &self.namespaces_to_ignore),
            all("namespace-selector", &self.namespace_selector),
            all("resource-label-selector", &self.resource_label_selector),
        ];
        let given: Vec<String> = given.into_iter().flatten().chain(lists.into_iter().flatten()).collect();
        if given.is_empty() {
            return Ok(None);
        }
        Ok(Some(ReloaderSettings::from_flags(given.iter().map(String::as_str))?))
    }
}

/// The webhook that Reloader's variables configure, if any: `ALERT_ON_RELOAD`, `ALERT_WEBHOOK_URL`,
/// `ALERT_SINK`, `ALERT_WEBHOOK_PROXY`, `ALERT_ADDITIONAL_INFO`.
pub(crate) fn alerts(lookup: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Webhook>> {
    if lookup("ALERT_ON_RELOAD").as_deref() != Some("true") {
        return Ok(None);
    }
    let trimmed = |name: &str| lookup(name).map(|text| text.trim().to_owned());
    let url = trimmed("ALERT_WEBHOOK_URL");
    let url = url.context("ALERT_ON_RELOAD=true without ALERT_WEBHOOK_URL: set it, or leave out ALERT_ON_RELOAD")?;
    let format = match trimmed("ALERT_SINK").unwrap_or_default().to_lowercase().as_str() {
        "slack" => WebhookFormat::Slack,
        "teams" => WebhookFormat::Teams,
        "gchat" => WebhookFormat::GoogleChat,
        // As Reloader treats any other word.
        _ => WebhookFormat::Raw,
    };
    let proxy = trimmed("ALERT_WEBHOOK_PROXY").filter(|proxy| !proxy.is_empty()).map(WebhookUrl);
    Ok(Some(Webhook { url: WebhookUrl(url), proxy, format, prefix: trimmed("ALERT_ADDITIONAL_INFO") }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn read(of: &[(&str, &str)]) -> anyhow::Result<Option<Webhook>> {
        let of: Vec<(String, String)> =
            of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        alerts(|name| of.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone()))
    }

    #[rstest]
    #[case("slack", WebhookFormat::Slack)]
    #[case(" Teams ", WebhookFormat::Teams)]
    #[case("GCHAT", WebhookFormat::GoogleChat)]
    #[case("raw", WebhookFormat::Raw)]
    #[case("other", WebhookFormat::Raw)]
    #[case("", WebhookFormat::Raw)]
    fn alert_sink_selects_the_format(#[case] sink: &str, #[case] format: WebhookFormat) {
        let all = [("ALERT_ON_RELOAD", "true"), ("ALERT_WEBHOOK_URL", " http://x "), ("ALERT_SINK", sink)];
        let webhook = read(&all).unwrap().unwrap();
        assert_eq!((webhook.format, webhook.url.0.as_str(), webhook.prefix), (format, "http://x", None));
    }

    #[test]
    fn alerts_need_to_be_enabled_and_have_an_address() {
        assert_eq!(read(&[("ALERT_WEBHOOK_URL", "http://x")]).unwrap(), None);
        assert_eq!(read(&[("ALERT_ON_RELOAD", "True"), ("ALERT_WEBHOOK_URL", "http://x")]).unwrap(), None);
        assert!(read(&[("ALERT_ON_RELOAD", "true")]).unwrap_err().to_string().contains("without ALERT_WEBHOOK_URL"));
    }
}
