//! Why an audit log is of no use.

/// Why a log is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A value of a log has no end, or the whole log is one.
    #[error(
        "{name}: the value that begins on line {number} is longer than {most} MiB; write one entry a line, as `jq -c '.items[]'` does"
    )]
    TooLong {
        /// The file.
        name: String,
        /// Where it begins.
        number: usize,
        /// What is read of one, in MiB.
        most: u64,
    },
    /// It cannot be read.
    #[error("the audit log {name} could not be read: {why}")]
    Read {
        /// The file.
        name: String,
        /// What the system says.
        why: std::io::Error,
    },
    /// It is compressed in a form that is not read.
    #[error("the audit log {name} is compressed as {form}; decompress it first (gzip is read as it is)")]
    Compressed {
        /// The file.
        name: String,
        /// What the form is called.
        form: &'static str,
    },
    /// A line is not what it should be.
    #[error("{name}: line {number} is no entry of an audit log: {why}")]
    Line {
        /// The file.
        name: String,
        /// Which, from 1.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// It has no entry at all.
    #[error(
        "there is no entry of an audit log: neither an Event of audit.k8s.io, alone or inside the records of CloudWatch or Azure \
         Monitor, nor a protoPayload of Google Cloud"
    )]
    NoEntries,
    /// The policy does not have what is needed.
    #[error(
        "the log has {request} at level {level}, without what the server answered; the audit policy must log create, update, patch, \
         delete and deletecollection of deployments and replicasets (apps), pods and events at level RequestResponse; where a cloud \
         provider sets the policy, use `lockstep capture`"
    )]
    Level {
        /// What was asked for, such as "`patch pods/status` of web-1".
        request: String,
        /// Which the log has.
        level: String,
    },
    /// There is no such Deployment in it.
    #[error("the log has no write of {0}")]
    NoDeployment(String),
    /// There are several.
    #[error("the log has several Deployments: name one of {0}")]
    Several(String),
    /// It begins too late.
    #[error(
        "the log never has all that there is of deployment {0}: neither its creation, nor a moment at which each of its ReplicaSets \
         and pods had been written since the log begins; add the logs before it"
    )]
    Begins(String),
    /// Nothing is left of it.
    #[error("the log has nothing of deployment {0} in that time")]
    Time(String),
}
