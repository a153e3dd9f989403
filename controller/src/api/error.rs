//! Why a request failed, and what the server said about it.

/// Why one request failed.
#[derive(Debug)]
pub(crate) enum RequestError {
    Server {
        what: String,
        source: Box<kube::Error>,
    },
    NoAnswer {
        what: String,
        seconds: u64,
    },
    /// The answer has more bytes than are read.
    TooLarge {
        what: String,
        most: usize,
    },
    /// A list has more pages than are read.
    TooManyPages {
        what: String,
        most: usize,
    },
}

impl RequestError {
    fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Server { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::NoAnswer { .. } | Self::TooLarge { .. } | Self::TooManyPages { .. } => None,
        }
    }

    /// Whether there was more of an answer than is read.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    fn is(&self, code: u16, reason: &str) -> bool {
        self.status().is_some_and(|status| status.code == code && (status.reason == reason || status.reason.is_empty()))
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.is(404, "NotFound")
    }

    /// Of a list or a watch: whether the server does not have the kind. For a path that it does not
    /// know it answers a text, no reason.
    pub(crate) fn is_not_served(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    pub(crate) fn is_conflict(&self) -> bool {
        self.is(409, "Conflict")
    }

    pub(crate) fn is_already_exists(&self) -> bool {
        self.is(409, "AlreadyExists")
    }

    pub(crate) fn is_invalid(&self) -> bool {
        self.is(422, "Invalid")
    }

    /// Whether the server has forgotten the version that was asked for.
    pub(crate) fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| status.code == 410)
    }

    pub(crate) fn is_namespace_terminating(&self) -> bool {
        let details = self.status().and_then(|status| status.details.as_ref());
        details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == "NamespaceTerminating"))
    }

    /// Whether the credentials do not allow it.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.status().is_some_and(|status| status.code == 403)
    }

    /// Whether anything was said at all; a connection that is refused, breaks, or stays silent says
    /// nothing.
    pub(crate) fn is_answer(&self) -> bool {
        let source = match self {
            Self::Server { source, .. } => source,
            Self::NoAnswer { .. } => return false,
            Self::TooLarge { .. } | Self::TooManyPages { .. } => return true,
        };
        !matches!(
            source.as_ref(),
            kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) | kube::Error::Auth(_)
        )
    }

    /// How long the server wants to be left alone, in seconds.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        let details = self.status()?.details.as_ref()?;
        Some(u64::from(details.retry_after_seconds)).filter(|seconds| *seconds > 0)
    }

    /// Whether the server understood the request and refused it, so that asking again is no use.
    pub(crate) fn is_refusal(&self) -> bool {
        self.status().is_some()
    }

    /// What the server said, word for word; conditions and events quote it.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Server { source, .. } => match self.status() {
                Some(status) if !status.message.is_empty() => status.message.clone(),
                _ => source.to_string(),
            },
            Self::NoAnswer { what, seconds } => format!("no answer to {what} within {seconds} s"),
            Self::TooLarge { what, most } => format!(
                "the answer to {what} has more than {} MiB without an end; check the API server and proxies before it",
                most >> 20
            ),
            Self::TooManyPages { what, most } => {
                format!("the answer to {what} has more than {most} pages; check the API server and proxies before it")
            }
        }
    }
}
