//! What a webhook receives: that a workload was restarted, that its restart waits, or that it is
//! stopped. Names of configs and keys, as in Events; never a value, and never a checksum of a
//! Secret.
//!
//! Of profile `reloader` a restart alone is told, with that controller's words (its `ALERT_`
//! variables).
//!
//! Cases: `config-restart/webhook-restarted`, `config-restart/webhook-stopped`,
//! `config-restart/reloader-alert-of-each-kind`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::explain;
use super::obstacle::Obstacle;
use super::plan::Cause;
use super::references::{ConfigKind, ConfigName};
use super::reloader::Order;
use super::work::{Action, Outcome, Work};
use super::workload::WorkloadName;
use crate::model::{Event, whole_second};
use crate::settings::{Profile, RestartSettings, Webhook, WebhookFormat};

/// Configs, and keys of one, that are named; a Secret may have a thousand.
const NAMED: usize = 50;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Its body.
    pub(crate) body: String,
    /// What the body is.
    pub(crate) content_type: &'static str,
}

/// What a webhook receives about a piece of work and its outcome, if anything.
pub(crate) fn notice(
    work: &Work,
    outcome: Option<&Outcome>,
    settings: &RestartSettings,
    now: Timestamp,
) -> Option<Notice> {
    let webhook = settings.webhook.as_ref().filter(|_| !settings.dry_run && settings.profile != Profile::Xing)?;
    let is_done = matches!(outcome, Some(Outcome::Written(_) | Outcome::Made));
    let workload = &work.observed.workload.name;
    let told = match &work.action {
        Action::Write(write) if is_done => {
            let restart = write.restart.as_ref()?;
            let word = if restart.held.is_some() { "deferred" } else { "restarted" };
            Told::new(word, workload, &restart.causes, explain::restarted(restart, false))
        }
        Action::Shut(shut) => {
            let word = if matches!(shut.obstacle, Obstacle::Stopped(_)) { "stopped" } else { "pending" };
            let mut told = Told::new(word, workload, &shut.causes, explain::shut(shut));
            match &shut.obstacle {
                Obstacle::Turn(others) => {
                    told.fields["waitsFor"] = others.iter().take(NAMED).map(ToString::to_string).collect();
                }
                Obstacle::Stopped(failed) => told.fields["stoppedBy"] = failed.to_string().into(),
                Obstacle::Delay(until) | Obstacle::Window(until) => told.fields["until"] = until.to_string().into(),
                Obstacle::Unreadable(..) => {}
            }
            told
        }
        Action::Reload(Order::Restart(restart)) if is_done => Told::reloaded(workload, &restart.config),
        _ => return None,
    };
    Some(told.form(webhook, now))
}

/// What a webhook receives of a change that restarts nothing, as Reloader's `--webhook-url` has it:
/// it says neither what has changed nor where.
pub(crate) fn changed() -> Notice {
    Notice { body: json!({"webhook": "update successful"}).to_string(), content_type: "application/json" }
}

struct Told {
    author: &'static str,
    text: String,
    fields: Value,
}

impl Told {
    fn new(word: &str, workload: &WorkloadName, causes: &[Cause], event: Event) -> Self {
        let configs: Vec<Value> = causes.iter().take(NAMED).map(config).collect();
        let Event { message, .. } = event;
        let text = format!("{workload}: {message}");
        let fields = json!({"event": word, "workload": of(workload), "configs": configs, "message": message});
        Self { author: "rollout-controller", text, fields }
    }

    fn reloaded(workload: &WorkloadName, config: &ConfigName) -> Self {
        let kind = match config.kind {
            ConfigKind::ConfigMap => "CONFIGMAP",
            ConfigKind::Secret => "SECRET",
        };
        let (namespace, name) = (&workload.namespace, &workload.name);
        let text = format!(
            "Reloader detected changes in *{}* of type *{kind}* in namespace *{namespace}*. Hence reloaded *{name}* of \
             type *{}* in namespace *{namespace}*",
            config.name,
            workload.kind.as_str()
        );
        let cause = json!({"kind": config.kind.title(), "name": config.name});
        let fields = json!({"event": "restarted", "workload": of(workload), "configs": [cause], "message": text});
        Self { author: "Reloader", text, fields }
    }

    fn form(self, webhook: &Webhook, now: Timestamp) -> Notice {
        let Self { author, text, mut fields } = self;
        let text = webhook.prefix.iter().map(|prefix| format!("{prefix} : ")).collect::<String>() + &text;
        let body = match webhook.format {
            // Without the marks of bold print, as Reloader does.
            WebhookFormat::Raw => return Notice { body: text.replace('*', ""), content_type: "text/plain" },
            WebhookFormat::Json => {
                fields["time"] = whole_second(now).to_string().into();
                if let Some(prefix) = &webhook.prefix {
                    fields["info"] = prefix.clone().into();
                }
                fields
            }
            WebhookFormat::Slack => {
                json!({"attachments": [{"author_name": author, "color": "good", "text": text}]})
            }
            WebhookFormat::Teams | WebhookFormat::GoogleChat => json!({"text": text}),
        };
        Notice { body: body.to_string(), content_type: "application/json" }
    }
}

fn of(workload: &WorkloadName) -> Value {
    json!({"kind": workload.kind.as_str(), "namespace": workload.namespace, "name": workload.name})
}

fn config(cause: &Cause) -> Value {
    let keys: Vec<&String> = cause.keys.iter().take(NAMED).collect();
    json!({"kind": cause.config.kind.title(), "name": cause.config.name, "keys": keys})
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::workload::WorkloadKind;
    use super::*;
    use crate::settings::WebhookUrl;

    /// What Reloader v1.4.21 sent to a listener, with `--webhook-url`.
    #[test]
    fn reloaders_message_in_place_of_restarts() {
        let Notice { body, content_type } = changed();
        assert_eq!((content_type, body.as_str()), ("application/json", r#"{"webhook":"update successful"}"#));
    }

    /// What Reloader v1.4.21 sent to a listener, with `ALERT_ADDITIONAL_INFO="cluster one"`.
    #[rstest]
    #[case(
        WebhookFormat::Raw,
        "text/plain",
        "cluster one : Reloader detected changes in c of type CONFIGMAP in namespace default. Hence reloaded web of type Deployment in namespace default"
    )]
    #[case(WebhookFormat::Slack, "application/json", r#"{"attachments":[{"author_name":"Reloader","color":"good","text":"cluster one : Reloader detected changes in *c* of type *CONFIGMAP* in namespace *default*. Hence reloaded *web* of type *Deployment* in namespace *default*"}]}"#)]
    #[case(WebhookFormat::Teams, "application/json", r#"{"text":"cluster one : Reloader detected changes in *c* of type *CONFIGMAP* in namespace *default*. Hence reloaded *web* of type *Deployment* in namespace *default*"}"#)]
    #[case(WebhookFormat::GoogleChat, "application/json", r#"{"text":"cluster one : Reloader detected changes in *c* of type *CONFIGMAP* in namespace *default*. Hence reloaded *web* of type *Deployment* in namespace *default*"}"#)]
    fn reloaders_alerts(#[case] format: WebhookFormat, #[case] content_type: &str, #[case] body: &str) {
        let namespace = "default".to_owned();
        let config = ConfigName { kind: ConfigKind::ConfigMap, namespace: namespace.clone(), name: "c".to_owned() };
        let workload = WorkloadName { kind: WorkloadKind::Deployment, namespace, name: "web".to_owned() };
        let prefix = Some("cluster one".to_owned());
        let webhook = Webhook { url: WebhookUrl(String::new()), proxy: None, format, prefix };
        let notice = Told::reloaded(&workload, &config).form(&webhook, Timestamp::UNIX_EPOCH);
        assert_eq!((notice.content_type, notice.body.as_str()), (content_type, body));
    }
}
