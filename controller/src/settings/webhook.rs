//! Where restarts are reported to, besides Events: a webhook.

use std::fmt;

/// Where to, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its address.
    pub url: WebhookUrl,
    /// A proxy on the way there.
    pub proxy: Option<WebhookUrl>,
    /// What a message looks like.
    pub form: WebhookForm,
    /// What each text begins with, such as the name of a cluster.
    pub prefix: Option<String>,
}

impl Webhook {
    /// One at this address that takes JSON, with no proxy on the way.
    pub const fn plain(url: WebhookUrl) -> Self {
        Self { url, proxy: None, form: WebhookForm::Json, prefix: None }
    }
}

/// An address. Whoever knows that of a chat may write there, so it is not shown anywhere.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(pub String);

impl WebhookUrl {
    /// Whether it is a path of the API server, as in a simulation.
    pub(crate) fn is_path(&self) -> bool {
        self.0.starts_with('/')
    }
}

/// Omits the address.
impl fmt::Debug for WebhookUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("WebhookUrl(..)")
    }
}

/// What a message looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WebhookForm {
    /// A JSON object with fields for programs.
    #[default]
    Json,
    /// Plain text.
    Raw,
    /// As Slack takes it.
    Slack,
    /// As Microsoft Teams takes it.
    Teams,
    /// As Google Chat takes it.
    GoogleChat,
}
