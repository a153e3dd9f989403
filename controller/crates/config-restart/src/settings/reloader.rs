//! Settings of profile `reloader`: the flags of Stakater's Reloader v1.4.21 under their names and
//! with their defaults, as far as this controller implements them.
//!
//! Cases: `config-restart/reloader/own-annotation-name`,
//! `config-restart/reloader/labels-selected-by-flag`.

use std::collections::BTreeSet;

use rollout_model::LabelSelector;
use thiserror::Error;

use crate::settings::webhook::WebhookUrl;

/// How a restart is triggered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReloadStrategy {
    /// By an environment variable of a container, with the checksum of the config.
    #[default]
    EnvVars,
    /// By an annotation of the pod template that names the config.
    Annotations,
}

/// The names of annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloaderAnnotations {
    /// On a workload: ConfigMaps that restart it, comma separated; each a regular expression.
    pub config_maps: String,
    /// On a workload: the same for Secrets.
    pub secrets: String,
    /// On a workload: any config that it uses restarts it.
    pub auto: String,
    /// On a workload: any ConfigMap that it uses restarts it.
    pub config_maps_auto: String,
    /// On a workload: any Secret that it uses restarts it.
    pub secrets_auto: String,
    /// On a workload: configs that it uses and that have the match annotation restart it.
    pub search: String,
    /// On a config: matches workloads with the search annotation.
    pub search_match: String,
    /// On a config: it restarts nothing.
    pub ignore: String,
    /// On a Deployment: for how long it is paused with the first restart.
    pub pause_period: String,
    /// On a Deployment: since when it is paused.
    pub paused_at: String,
}

impl Default for ReloaderAnnotations {
    fn default() -> Self {
        let name = |of: &str| format!("{of}.stakater.com");
        Self {
            config_maps: name("configmap.reloader") + "/reload",
            secrets: name("secret.reloader") + "/reload",
            auto: name("reloader") + "/auto",
            config_maps_auto: name("configmap.reloader") + "/auto",
            secrets_auto: name("secret.reloader") + "/auto",
            search: name("reloader") + "/search",
            search_match: name("reloader") + "/match",
            ignore: name("reloader") + "/ignore",
            pause_period: name("deployment.reloader") + "/pause-period",
            paused_at: name("deployment.reloader") + "/paused-at",
        }
    }
}

/// Settings of profile `reloader`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReloaderSettings {
    /// `--reload-strategy`.
    pub strategy: ReloadStrategy,
    /// `--auto-reload-all`: a workload without annotations is restarted for any config that it
    /// uses.
    pub all: bool,
    /// `--reload-on-create`: a config that appears counts as changed.
    pub on_create: bool,
    /// `--reload-on-delete`: a deleted config counts as changed.
    pub on_delete: bool,
    /// `--sync-after-restart`: with `on_create`, every config at the start counts as changed.
    pub after_start: bool,
    /// The names of annotations.
    pub annotations: ReloaderAnnotations,
    /// `--resources-to-ignore=configmaps`.
    pub ignores_config_maps: bool,
    /// `--resources-to-ignore=secrets`.
    pub ignores_secrets: bool,
    /// `--ignored-workload-types` with `jobs`.
    pub ignores_jobs: bool,
    /// `--ignored-workload-types` with `cronjobs`.
    pub ignores_cron_jobs: bool,
    /// `--is-Argo-Rollouts`: Rollouts of Argo Rollouts are restarted, too.
    pub rollouts: bool,
    /// `--namespaces`: the namespaces whose configs are watched; empty for all.
    pub namespaces: BTreeSet<String>,
    /// `--namespaces-to-ignore`: the namespaces whose configs are ignored.
    pub namespaces_to_ignore: BTreeSet<String>,
    /// `--namespace-selector`: labels of namespaces whose configs are watched.
    pub namespace_selector: Option<LabelSelector>,
    /// `--resource-label-selector`: labels of configs that are watched.
    pub resource_selector: Option<LabelSelector>,
    /// `--webhook-url`: where each change is reported instead of restarting workloads.
    pub webhook: Option<WebhookUrl>,
}

/// An invalid flag.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReloaderFlagError {
    /// Reloader has no such flag.
    #[error("unknown flag --{0}: Reloader v1.4.21 has none of that name")]
    Unknown(String),
    /// Reloader has the flag, but this controller does not implement it.
    #[error("--{flag} is not supported: {instead}")]
    Unsupported {
        /// The flag.
        flag: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// Its value is invalid.
    #[error("--{flag}={value}: expected {expected}")]
    Value {
        /// The flag.
        flag: String,
        /// Its value.
        value: String,
        /// The expected values.
        expected: &'static str,
    },
}

/// Flags that are ignored here: logging, and the profiler's endpoint.
const IGNORED_FLAGS: [&str; 4] = ["log-format", "log-level", "enable-pprof", "pprof-addr"];

impl ReloaderSettings {
    /// Parses flags in Reloader's syntax: `--reload-strategy=annotations`.
    ///
    /// # Errors
    /// [`ReloaderFlagError`] for the first invalid flag.
    pub fn from_flags<'a>(flags: impl IntoIterator<Item = &'a str>) -> Result<Self, ReloaderFlagError> {
        let mut settings = Self::default();
        let (mut of_namespaces, mut of_resources) = (Vec::new(), Vec::new());
        for flag in flags {
            let flag = flag.trim_start_matches('-');
            let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
            match name {
                "namespace-selector" => of_namespaces.extend(items(value)),
                "resource-label-selector" => of_resources.extend(items(value)),
                _ => settings.set(name, value)?,
            }
        }
        settings.namespace_selector = selector("namespace-selector", &of_namespaces)?;
        settings.resource_selector = selector("resource-label-selector", &of_resources)?;
        Ok(settings)
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<(), ReloaderFlagError> {
        let wrong =
            |expected| Err(ReloaderFlagError::Value { flag: flag.to_owned(), value: value.to_owned(), expected });
        if let Some(name) = self.annotations.name_set_by(flag) {
            value.clone_into(name);
            return Ok(());
        }
        match flag {
            "reload-strategy" => match value {
                "env-vars" => self.strategy = ReloadStrategy::EnvVars,
                "annotations" => self.strategy = ReloadStrategy::Annotations,
                _ => return wrong("env-vars or annotations"),
            },
            "auto-reload-all" => self.all = parse_go_bool(value),
            // In Reloader these three are strings, and only "true" is true.
            "is-Argo-Rollouts" => self.rollouts = value == "true",
            "reload-on-create" => self.on_create = value == "true",
            "reload-on-delete" => self.on_delete = value == "true",
            "sync-after-restart" => self.after_start = parse_go_bool(value),
            "resources-to-ignore" => match value.to_lowercase().as_str() {
                "configmaps" => self.ignores_config_maps = true,
                "secrets" => self.ignores_secrets = true,
                "" => {}
                _ => return wrong("configmaps or secrets"),
            },
            "ignored-workload-types" => {
                for kind in items(value) {
                    match kind.as_str() {
                        "jobs" => self.ignores_jobs = true,
                        "cronjobs" => self.ignores_cron_jobs = true,
                        _ => return wrong("jobs, cronjobs or both"),
                    }
                }
            }
            "namespaces" => self.namespaces.extend(items(value)),
            "namespaces-to-ignore" => self.namespaces_to_ignore.extend(items(value)),
            "enable-ha" if parse_go_bool(value) => return unsupported(flag, "use --leader-elect"),
            "webhook-url" => self.webhook = (!value.is_empty()).then(|| WebhookUrl(value.to_owned())),
            "enable-csi-integration" if parse_go_bool(value) => {
                return unsupported(flag, "SecretProviderClasses are not looked at");
            }
            "enable-ha" | "enable-csi-integration" => {}
            _ if IGNORED_FLAGS.contains(&flag) => {}
            _ => return Err(ReloaderFlagError::Unknown(flag.to_owned())),
        }
        Ok(())
    }

    /// Whether configs of a namespace are watched, as far as its name decides.
    pub(crate) fn includes_namespace(&self, namespace: &str) -> bool {
        match self.namespaces.is_empty() {
            true => !self.namespaces_to_ignore.contains(namespace),
            // Listed namespaces are watched even if they are to be ignored.
            false => self.namespaces.contains(namespace),
        }
    }

    /// The label selector of namespaces, unless namespaces are listed by name.
    pub fn namespace_labels(&self) -> Option<&LabelSelector> {
        self.namespace_selector.as_ref().filter(|_| self.namespaces.is_empty())
    }
}

impl ReloaderAnnotations {
    /// Whether an annotation of this name has a meaning on a workload.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        let Self {
            config_maps, secrets, auto, config_maps_auto, secrets_auto, search, pause_period, paused_at, ..
        } = self;
        let all = [config_maps, secrets, auto, config_maps_auto, secrets_auto, search, pause_period, paused_at];
        all.iter().any(|known| *known == name)
    }

    fn name_set_by(&mut self, flag: &str) -> Option<&mut String> {
        Some(match flag {
            "configmap-annotation" => &mut self.config_maps,
            "secret-annotation" => &mut self.secrets,
            "auto-annotation" => &mut self.auto,
            "configmap-auto-annotation" => &mut self.config_maps_auto,
            "secret-auto-annotation" => &mut self.secrets_auto,
            "auto-search-annotation" => &mut self.search,
            "search-match-annotation" => &mut self.search_match,
            "ignore-annotation" => &mut self.ignore,
            "pause-deployment-annotation" => &mut self.pause_period,
            "pause-deployment-time-annotation" => &mut self.paused_at,
            _ => return None,
        })
    }
}

fn unsupported(flag: &str, instead: &'static str) -> Result<(), ReloaderFlagError> {
    Err(ReloaderFlagError::Unsupported { flag: flag.to_owned(), instead })
}

/// Parses a boolean as Go does; an invalid one is false.
pub(crate) fn parse_go_bool(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn items(list: &str) -> impl Iterator<Item = String> {
    list.split(',').filter(|item| !item.is_empty()).map(str::to_owned)
}

/// Parses a selector from its parts: `key=value`, `key:value`, `key:*` for any value, and kubectl's
/// syntax.
fn selector(flag: &str, parts: &[String]) -> Result<Option<LabelSelector>, ReloaderFlagError> {
    let plain = |part: &String| {
        let part = part.split_once(':').map_or_else(|| part.clone(), |(key, value)| format!("{key}={value}"));
        part.strip_suffix("=*").map_or_else(|| part.clone(), str::to_owned)
    };
    let text = parts.iter().map(plain).collect::<Vec<_>>().join(",");
    let wrong = || ReloaderFlagError::Value {
        flag: flag.to_owned(),
        value: text.clone(),
        expected: "labels such as app=web,tier:*,!old",
    };
    let selector = LabelSelector::parse(&text).ok_or_else(wrong)?;
    Ok(Some(selector).filter(|selector| !selector.is_empty()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn parses_reloaders_flags() {
        let flags = ["--reload-strategy=annotations", "--auto-reload-all", "--namespaces-to-ignore=a,b"];
        let settings = ReloaderSettings::from_flags(flags).unwrap();
        assert_eq!((settings.strategy, settings.all), (ReloadStrategy::Annotations, true));
        assert!(settings.includes_namespace("c") && !settings.includes_namespace("b"));
        let settings = ReloaderSettings::from_flags(["--namespaces=b", "--namespaces-to-ignore=b"]).unwrap();
        assert!(settings.includes_namespace("b") && !settings.includes_namespace("c"));
        let webhook = |flag| ReloaderSettings::from_flags([flag]).unwrap().webhook.map(|url| url.0);
        assert_eq!(webhook("--webhook-url=http://x").as_deref(), Some("http://x"));
        assert_eq!(webhook("--webhook-url="), None);
        let rollouts = |flag| ReloaderSettings::from_flags([flag]).unwrap().rollouts;
        assert_eq!(["--is-Argo-Rollouts=true", "--is-Argo-Rollouts=True"].map(rollouts), [true, false]);
    }

    #[rstest]
    #[case::of_no_name("--reload", "Reloader v1.4.21 has none")]
    #[case::strategy("--reload-strategy=x", "expected env-vars or annotations")]
    #[case::both("--resources-to-ignore=configmaps,secrets", "expected configmaps or secrets")]
    #[case::kinds("--ignored-workload-types=pods", "expected jobs, cronjobs or both")]
    #[case::election("--enable-ha", "use --leader-elect")]
    #[case::classes("--enable-csi-integration=true", "SecretProviderClasses are not looked at")]
    #[case::labels("--resource-label-selector=a b", "expected labels")]
    fn invalid_flags_are_refused(#[case] flag: &str, #[case] expected: &str) {
        let error = ReloaderSettings::from_flags([flag]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[rstest]
    #[case("a=b", &[("a", "b")], true)]
    #[case("a:b", &[("a", "b")], true)]
    #[case("a:b", &[("a", "c")], false)]
    #[case("a:*", &[("a", "c")], true)]
    #[case("a=*,!c", &[("a", "c"), ("c", "1")], false)]
    fn resource_selector_matches_labels(#[case] text: &str, #[case] labels: &[(&str, &str)], #[case] expected: bool) {
        let settings = ReloaderSettings::from_flags([format!("--resource-label-selector={text}").as_str()]).unwrap();
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(settings.resource_selector.unwrap().matches(&labels), Ok(expected));
    }
}
