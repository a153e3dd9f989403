//! Errors of requests, and what the server's Status says about them.

/// Why a request failed.
#[derive(Debug)]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum RequestError {
    /// The server refused the request, or could not be reached.
    Server { request: String, source: Box<kube::Error> },
    /// There was no answer in time.
    NoAnswer { request: String, seconds: u64 },
    /// The response has more bytes than the limit.
    TooLarge { request: String, limit: usize },
    /// A list has more pages than the limit.
    TooManyPages { request: String, limit: usize },
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

    /// Whether the response exceeded the limit.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    fn is(&self, code: u16, reason: &str) -> bool {
        self.status().is_some_and(|status| status.code == code && (status.reason == reason || status.reason.is_empty()))
    }

    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.is(404, "NotFound")
    }

    /// For a list or a watch: whether the server does not serve the kind. For an unknown path it
    /// answers with text, without a reason.
    pub fn is_not_served(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    /// Whether the object has changed since the version that the request names.
    pub fn is_conflict(&self) -> bool {
        self.is(409, "Conflict")
    }

    /// Whether another object has the name.
    pub fn is_already_exists(&self) -> bool {
        self.is(409, "AlreadyExists")
    }

    /// Whether the server found the object invalid.
    pub fn is_invalid(&self) -> bool {
        self.is(422, "Invalid")
    }

    /// Whether the server no longer has the requested version.
    pub(crate) fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| status.code == 410)
    }

    /// Whether the namespace is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        let details = self.status().and_then(|status| status.details.as_ref());
        details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == "NamespaceTerminating"))
    }

    /// Whether the credentials lack the right.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(|status| status.code == 403)
    }

    /// Whether there was a response; there is none if the connection is refused, breaks, or stays
    /// silent.
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

    /// How long the server asks to wait before a retry, in seconds.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let details = self.status()?.details.as_ref()?;
        Some(u64::from(details.retry_after_seconds)).filter(|seconds| *seconds > 0)
    }

    /// Whether the server refused the request, so that a retry is pointless.
    pub(crate) fn is_refusal(&self) -> bool {
        self.status().is_some()
    }

    /// The server's message verbatim; conditions and events quote it.
    pub fn message(&self) -> String {
        match self {
            Self::Server { source, .. } => match self.status() {
                Some(status) if !status.message.is_empty() => status.message.clone(),
                _ => source.to_string(),
            },
            Self::NoAnswer { request, seconds } => format!("no answer to {request} within {seconds} s"),
            Self::TooLarge { request, limit } => format!(
                "the answer to {request} has more than {} MiB without an end; check the API server and proxies before it",
                limit >> 20
            ),
            Self::TooManyPages { request, limit } => {
                format!(
                    "the answer to {request} has more than {limit} pages; check the API server and proxies before it"
                )
            }
        }
    }
}
