//! The messages that a webhook receives: a workload was restarted, its restart waits, or its
//! restart is stopped. Like Events they contain names of configs and keys, but never a value and
//! never a checksum of a Secret.
//!
//! Profile `reloader` reports restarts only, with Reloader's wording (its `ALERT_` variables).
//!
//! Cases: `config-restart/safe/webhook-restarted`, `config-restart/safe/webhook-stopped`,
//! `config-restart/reloader/alert-of-each-kind`.

use jiff::Timestamp;
use rollout_model::{Event, whole_second};
use serde_json::{Value, json};

use crate::engines::reloader::queue::ReloadAction;
use crate::engines::work::{WorkAction, WorkItem, WriteOutcome};
use crate::model::pending::BlockReason;
use crate::model::plan::RestartCause;
use crate::names::{ConfigKind, ConfigName, WorkloadName};
use crate::report::event_messages;
use crate::settings::{Profile, RestartSettings, Webhook, WebhookFormat};

/// The most configs to name, and the most keys of each; a Secret may have a thousand.
const MAX_NAMES: usize = 50;

/// A message to the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookPayload {
    /// The body.
    pub body: String,
    /// Its media type.
    pub content_type: &'static str,
}

/// The message about a work item and its outcome, if there is one.
pub fn payload_for(
    work: &WorkItem,
    outcome: Option<&WriteOutcome>,
    settings: &RestartSettings,
    now: Timestamp,
) -> Option<WebhookPayload> {
    let webhook = settings.webhook.as_ref().filter(|_| !settings.dry_run && settings.profile != Profile::Xing)?;
    let is_done = matches!(outcome, Some(WriteOutcome::Updated(_) | WriteOutcome::Done));
    let workload = &work.observed.workload.name;
    let report = match &work.action {
        WorkAction::Write(write) if is_done => {
            let restart = write.restart.as_ref()?;
            let word = if restart.deferral.is_some() { "deferred" } else { "restarted" };
            RestartMessage::new(word, workload, &restart.causes, event_messages::restart_event(restart, false))
        }
        WorkAction::ReportBlocked(blocked) => {
            let word = if matches!(blocked.reason, BlockReason::Stopped(_)) { "stopped" } else { "pending" };
            let mut report =
                RestartMessage::new(word, workload, &blocked.causes, event_messages::blocked_event(blocked));
            match &blocked.reason {
                BlockReason::Group(others) => {
                    report.fields["waitsFor"] = others.iter().take(MAX_NAMES).map(ToString::to_string).collect();
                }
                BlockReason::Stopped(failed) => report.fields["stoppedBy"] = failed.to_string().into(),
                BlockReason::Delay(until) | BlockReason::Window(until) => {
                    report.fields["until"] = until.to_string().into();
                }
                BlockReason::Unreadable(..) => {}
            }
            report
        }
        WorkAction::Reload(ReloadAction::Restart(restart)) if is_done => {
            RestartMessage::of_reload(workload, &restart.config)
        }
        _ => return None,
    };
    Some(report.into_payload(webhook, now))
}

/// The message about a change that restarts nothing, as Reloader's `--webhook-url` sends it. It
/// says neither what has changed nor where.
pub fn change_payload() -> WebhookPayload {
    WebhookPayload { body: json!({"webhook": "update successful"}).to_string(), content_type: "application/json" }
}

struct RestartMessage {
    author: &'static str,
    text: String,
    fields: Value,
}

impl RestartMessage {
    fn new(word: &str, workload: &WorkloadName, causes: &[RestartCause], event: Event) -> Self {
        let configs: Vec<Value> = causes.iter().take(MAX_NAMES).map(cause_json).collect();
        let Event { message, .. } = event;
        let text = format!("{workload}: {message}");
        let fields =
            json!({"event": word, "workload": workload_json(workload), "configs": configs, "message": message});
        Self { author: "rollout-controller", text, fields }
    }

    fn of_reload(workload: &WorkloadName, config: &ConfigName) -> Self {
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
        let cause = json!({"kind": config.kind.kind_name(), "name": config.name});
        let fields =
            json!({"event": "restarted", "workload": workload_json(workload), "configs": [cause], "message": text});
        Self { author: "Reloader", text, fields }
    }

    fn into_payload(self, webhook: &Webhook, now: Timestamp) -> WebhookPayload {
        let Self { author, text, mut fields } = self;
        let text = webhook.prefix.iter().map(|prefix| format!("{prefix} : ")).collect::<String>() + &text;
        let body = match webhook.format {
            // Like Reloader, without the marks of bold text.
            WebhookFormat::Raw => return WebhookPayload { body: text.replace('*', ""), content_type: "text/plain" },
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
        WebhookPayload { body: body.to_string(), content_type: "application/json" }
    }
}

fn workload_json(workload: &WorkloadName) -> Value {
    json!({"kind": workload.kind.as_str(), "namespace": workload.namespace, "name": workload.name})
}

fn cause_json(cause: &RestartCause) -> Value {
    let keys: Vec<&String> = cause.keys.iter().take(MAX_NAMES).collect();
    json!({"kind": cause.config.kind.kind_name(), "name": cause.config.name, "keys": keys})
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::names::WorkloadKind;
    use crate::settings::WebhookUrl;

    /// Captured from Reloader v1.4.21 with `--webhook-url`.
    #[test]
    fn change_message_equals_reloaders() {
        let WebhookPayload { body, content_type } = change_payload();
        assert_eq!((content_type, body.as_str()), ("application/json", r#"{"webhook":"update successful"}"#));
    }

    /// Captured from Reloader v1.4.21 with `ALERT_ADDITIONAL_INFO="cluster one"`.
    #[rstest]
    #[case(
        WebhookFormat::Raw,
        "text/plain",
        "cluster one : Reloader detected changes in c of type CONFIGMAP in namespace default. Hence reloaded web of type Deployment in namespace default"
    )]
    #[case(WebhookFormat::Slack, "application/json", r#"{"attachments":[{"author_name":"Reloader","color":"good","text":"cluster one : Reloader detected changes in *c* of type *CONFIGMAP* in namespace *default*. Hence reloaded *web* of type *Deployment* in namespace *default*"}]}"#)]
    #[case(WebhookFormat::Teams, "application/json", r#"{"text":"cluster one : Reloader detected changes in *c* of type *CONFIGMAP* in namespace *default*. Hence reloaded *web* of type *Deployment* in namespace *default*"}"#)]
    #[case(WebhookFormat::GoogleChat, "application/json", r#"{"text":"cluster one : Reloader detected changes in *c* of type *CONFIGMAP* in namespace *default*. Hence reloaded *web* of type *Deployment* in namespace *default*"}"#)]
    fn alerts_equal_reloaders(#[case] format: WebhookFormat, #[case] content_type: &str, #[case] body: &str) {
        let namespace = "default".to_owned();
        let config = ConfigName { kind: ConfigKind::ConfigMap, namespace: namespace.clone(), name: "c".to_owned() };
        let workload = WorkloadName { kind: WorkloadKind::Deployment, namespace, name: "web".to_owned() };
        let prefix = Some("cluster one".to_owned());
        let webhook = Webhook { url: WebhookUrl(String::new()), proxy: None, format, prefix };
        let payload = RestartMessage::of_reload(&workload, &config).into_payload(&webhook, Timestamp::UNIX_EPOCH);
        assert_eq!((payload.content_type, payload.body.as_str()), (content_type, body));
    }
}
