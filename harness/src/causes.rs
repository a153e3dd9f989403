//! Errors with what caused them: the outermost alone says only that a request or a file failed.

use kube::client::AuthError;

use crate::output;

/// The error and its causes, the outermost first.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    all(error).join(": ")
}

/// The same without those that the one before says too, as the layers of a client do.
pub(crate) fn chain_once(error: &dyn std::error::Error) -> String {
    let mut said = all(error);
    said.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    said.join(": ")
}

fn all(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        // An error repeats its cause's text, so the cause is looked at first.
        if let Some(failure) = error.source().and_then(exec_failure) {
            causes.push(failure);
            break;
        }
        causes.push(error.to_string());
    }
    causes
}

/// Why an exec plugin of a kubeconfig failed: the client prints its whole output as Rust's `Debug`.
fn exec_failure(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let AuthError::AuthExecRun { out, .. } = error.downcast_ref()? else { return None };
    let said = if out.stderr.is_empty() { &out.stdout } else { &out.stderr };
    Some(format!("the exec plugin of the kubeconfig failed ({}): {}", out.status, output::reason(said)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{said}")]
    struct Layer {
        said: &'static str,
        source: Option<Box<Layer>>,
    }

    #[test]
    fn causes_follow_the_error_and_repeats_can_be_left_out() {
        let layers = ["refused", "connect: refused", "request failed"];
        let error = layers.into_iter().fold(None, |source, said| Some(Box::new(Layer { said, source }))).unwrap();
        assert_eq!(chain(&*error), "request failed: connect: refused: refused");
        assert_eq!(chain_once(&*error), "request failed: connect: refused");
    }

    #[test]
    fn exec_plugin_that_fails_says_why() {
        use std::os::unix::process::ExitStatusExt;
        let out = std::process::Output {
            status: std::process::ExitStatus::from_raw(3 << 8),
            stdout: Vec::new(),
            stderr: b"level=info msg=starting\nerror: token expired, run login\n".to_vec(),
        };
        let error = AuthError::AuthExecRun { cmd: "login".to_owned(), out: Box::new(out) };
        let said = "the exec plugin of the kubeconfig failed (exit status: 3): error: token expired, run login";
        let error = kube::Error::Auth(error);
        assert_eq!([chain(&error), chain_once(&error)], [said, said]);
    }
}
