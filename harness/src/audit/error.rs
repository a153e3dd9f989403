//! Why an audit log is of no use.

/// Why a log is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// It cannot be read.
    #[error("the audit log could not be read: {0}")]
    Read(#[from] std::io::Error),
    /// A line is not what it should be.
    #[error("line {number} is no entry of an audit log: {why}")]
    Line {
        /// Which, from 1, over all files.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// It does not have what is needed.
    #[error(
        "the log has `{verb} {resource}` of {name} at level {level}; what the server answered is needed, which is in it at level \
         RequestResponse for create, update, patch, delete and deletecollection of deployments and replicasets (apps) and of pods and events"
    )]
    Level {
        /// Of a request.
        verb: String,
        /// Of a request.
        resource: String,
        /// The object's.
        name: String,
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
