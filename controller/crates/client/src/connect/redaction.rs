//! Redacts errors that quote kubeconfigs or the output of exec plugins, which may contain
//! credentials.

use std::error::Error;

use kube::client::AuthError;
use kube::config::KubeconfigError;
use tower::BoxError;

/// An error's message, redacted.
pub(super) fn redact(error: &(dyn Error + 'static)) -> String {
    redacted_message(error).unwrap_or_else(|| error.to_string())
}

/// An error of a request, without an exec plugin's output.
pub(super) fn redact_plugin_output(error: BoxError) -> BoxError {
    redacted_message(&*error).map_or(error, Into::into)
}

/// The redacted message of an error that contains such a quotation.
fn redacted_message(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(KubeconfigError::Parse(error)) = error.downcast_ref() {
        let place = error.location().map(|at| format!(" in line {}, column {}", at.line(), at.column()));
        return Some(format!("it is not the YAML of a kubeconfig{}", place.unwrap_or_default()));
    }
    match error.downcast_ref() {
        Some(AuthError::AuthExecRun { out, .. }) => {
            let said = String::from_utf8_lossy(&out.stderr);
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it reported no error");
            Some(format!("the exec plugin of the kubeconfig failed ({}): {last}", out.status))
        }
        Some(AuthError::AuthExecParse(_)) => {
            Some("the exec plugin of the kubeconfig printed no ExecCredential".to_owned())
        }
        _ => error.source().and_then(redacted_message),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{ExitStatus, Output};

    use kube::config::Kubeconfig;

    use super::*;

    #[test]
    fn omits_the_output_of_an_exec_plugin() {
        let (stdout, stderr) = (b"{\"token\": \"s3cret\"}".to_vec(), b"starting\nlogin expired\n".to_vec());
        let out = Box::new(Output { status: ExitStatus::from_raw(1 << 8), stdout, stderr });
        let error = kube::Error::Auth(AuthError::AuthExecRun { cmd: "login".to_owned(), out });
        let expected = "the exec plugin of the kubeconfig failed (exit status: 1): login expired";
        assert_eq!(redact(&error), expected);
        assert_eq!(redact_plugin_output(Box::new(error)).to_string(), expected);
        let other = kube::Error::LinesCodecMaxLineLengthExceeded;
        assert_eq!(redact(&other), other.to_string());
    }

    #[test]
    fn omits_the_content_of_a_kubeconfig() {
        for text in
            ["users: [{name: u, user: s3cret}]", "users:\n- {name: u, user: {token: 's3cret\n  x: [\n", "s3cret"]
        {
            let error = Kubeconfig::from_yaml(text).unwrap_err();
            let text = redact(&error);
            assert!(text.contains("not the YAML of a kubeconfig") && !text.contains("s3cret"), "{text}");
        }
    }
}
