//! Formats errors with their causes: the outermost alone says only that a request or a file failed.

use kube::client::AuthError;
use lockstep_support::output;
use tower::BoxError;

/// The error and its causes, outermost first.
pub fn chain(error: &dyn std::error::Error) -> String {
    error_messages(error).join(": ")
}

/// Like [`chain`], without causes that the message before already contains, as in the layers of a
/// client.
pub fn chain_once(error: &dyn std::error::Error) -> String {
    let mut messages = error_messages(error);
    messages.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    messages.join(": ")
}

fn error_messages(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        // An error may repeat its cause's text, so check the cause first.
        if let Some(failure) = error.source().and_then(exec_failure) {
            causes.push(failure);
            break;
        }
        causes.push(error.to_string());
    }
    causes
}

/// Why an exec plugin of a kubeconfig failed. The client's own message would quote the plugin's
/// standard output, which contains credentials.
fn exec_failure(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        AuthError::AuthExecRun { out, .. } => {
            let why = output::reason(&out.stderr);
            Some(format!("the exec plugin of the kubeconfig failed ({}): {why}", out.status))
        }
        AuthError::AuthExecParse(_) => {
            Some("the exec plugin of the kubeconfig printed no ExecCredential; run it to see what it prints".to_owned())
        }
        _ => None,
    }
}

/// An error of a request, without the output of an exec plugin.
pub(crate) fn without_output(error: BoxError) -> BoxError {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(cause) = next {
        if let Some(failure) = exec_failure(cause) {
            return failure.into();
        }
        next = cause.source();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Layer {
        message: &'static str,
        source: Option<Box<Layer>>,
    }

    #[test]
    fn causes_follow_the_error_and_repeats_can_be_left_out() {
        let layers = ["refused", "connect: refused", "request failed"];
        let error = layers.into_iter().fold(None, |source, message| Some(Box::new(Layer { message, source }))).unwrap();
        assert_eq!(chain(&*error), "request failed: connect: refused: refused");
        assert_eq!(chain_once(&*error), "request failed: connect: refused");
    }

    #[test]
    fn reports_why_an_exec_plugin_failed() {
        use std::os::unix::process::ExitStatusExt;
        let out = std::process::Output {
            status: std::process::ExitStatus::from_raw(3 << 8),
            stdout: Vec::new(),
            stderr: b"level=info msg=starting\nerror: token expired, run login\n".to_vec(),
        };
        let error = AuthError::AuthExecRun { cmd: "login".to_owned(), out: Box::new(out) };
        let message = "the exec plugin of the kubeconfig failed (exit status: 3): error: token expired, run login";
        let error = kube::Error::Auth(error);
        assert_eq!([chain(&error), chain_once(&error)], [message, message]);
        assert_eq!(without_output(Box::new(error)).to_string(), message);
    }

    #[test]
    fn output_of_an_exec_plugin_is_not_quoted() {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw(1 << 8);
        let out = std::process::Output {
            status,
            stdout: b"{\"status\": {\"token\": \"s3cret\"}}".to_vec(),
            stderr: Vec::new(),
        };
        let failed = AuthError::AuthExecRun { cmd: "login".to_owned(), out: Box::new(out) };
        let parsed = serde_saphyr::from_str::<u8>("s3cret").unwrap_err();
        for error in [failed, AuthError::AuthExecParse(Box::new(parsed))] {
            let error = kube::Error::Auth(error);
            let texts = format!("{} {}", chain(&error), without_output(Box::new(error)));
            assert!(texts.contains("exec plugin") && !texts.contains("s3cret"), "{texts}");
        }
    }
}
