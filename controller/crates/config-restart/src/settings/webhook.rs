//! The webhook to which restarts are reported besides Events.

use std::fmt;

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its address.
    pub url: WebhookUrl,
    /// The proxy to use.
    pub proxy: Option<WebhookUrl>,
    /// The format of messages.
    pub format: WebhookFormat,
    /// A prefix of each text, such as the name of a cluster.
    pub prefix: Option<String>,
}

impl Webhook {
    /// A webhook at this address that takes JSON, without a proxy.
    pub const fn plain(url: WebhookUrl) -> Self {
        Self { url, proxy: None, format: WebhookFormat::Json, prefix: None }
    }
}

/// A webhook's address. It is never shown, because anyone who knows a chat's address can post
/// there.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(pub String);

impl WebhookUrl {
    /// Whether it is a path of the API server, as in a simulation.
    pub fn is_path(&self) -> bool {
        self.0.starts_with('/')
    }
}

/// Omits the address.
impl fmt::Debug for WebhookUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("WebhookUrl(..)")
    }
}

/// The format of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WebhookFormat {
    /// A JSON object with fields for programs.
    #[default]
    Json,
    /// Plain text.
    Raw,
    /// For Slack.
    Slack,
    /// For Microsoft Teams.
    Teams,
    /// For Google Chat.
    GoogleChat,
}
