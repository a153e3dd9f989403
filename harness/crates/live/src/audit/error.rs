//! Errors of reading audit logs.

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A value of a log, or the whole log, is too long.
    #[error(
        "{name}: the value that begins on line {number} is longer than {most} MiB; write one entry a line, as `jq -c '.items[]'` does"
    )]
    TooLong {
        /// The file.
        name: String,
        /// The line on which it begins.
        number: usize,
        /// The longest value that is read, in MiB.
        most: u64,
    },
    /// A file cannot be read.
    #[error("the audit log {name} could not be read: {why}")]
    Read {
        /// The file.
        name: String,
        /// The system's error.
        why: std::io::Error,
    },
    /// A file is compressed in an unsupported format.
    #[error("the audit log {name} is compressed as {form}; decompress it first (gzip is read as it is)")]
    Compressed {
        /// The file.
        name: String,
        /// The name of the format.
        form: &'static str,
    },
    /// A line is malformed.
    #[error("{name}: line {number} is not an entry of an audit log: {why}")]
    Line {
        /// The file.
        name: String,
        /// The number of the line, from 1.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// There are no entries at all.
    #[error(
        "there is no entry of an audit log: neither an Event of audit.k8s.io, alone or inside the records of CloudWatch or Azure \
         Monitor, nor a protoPayload of Google Cloud"
    )]
    NoEntries,
    /// The audit policy does not log what is needed.
    #[error(
        "the log has {request} at level {level}, without what the server answered; the audit policy must log create, update, patch, \
         delete and deletecollection of deployments and replicasets (apps), pods and events at level RequestResponse; where a cloud \
         provider sets the policy, use `lockstep capture`"
    )]
    Level {
        /// The request, such as "`patch pods/status` of web-1".
        request: String,
        /// The level of the log.
        level: String,
    },
    /// The log lacks the Deployment.
    #[error("the log has no write of {0}")]
    NoDeployment(String),
    /// The log has several Deployments.
    #[error("the log has several Deployments: name one of {0}")]
    Several(String),
    /// The log begins too late.
    #[error(
        "the log never has all that there is of deployment {0}: neither its creation, nor a moment at which each of its ReplicaSets \
         and pods had been written since the log begins; add the logs before it"
    )]
    Begins(String),
    /// No entry is left in the time range.
    #[error("the log has nothing of deployment {0} in that time")]
    Time(String),
}
