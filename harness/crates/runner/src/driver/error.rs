//! Errors of the client as errors of an operation.

use lockstep_case::model::DriveError;

/// What a failed request means for the operation that made it.
pub(crate) fn drive_error(error: kube::Error) -> DriveError {
    match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) => DriveError::Refused(status.message.clone()),
        kube::Error::Api(status) if status.code == 501 => {
            DriveError::Environment(format!("{}; play this case on --cluster control-plane", status.message))
        }
        // The message alone, without the rest of the Status.
        kube::Error::Api(status) if !status.message.is_empty() => DriveError::Server(status.message.clone().into()),
        error => DriveError::Server(error.into()),
    }
}
