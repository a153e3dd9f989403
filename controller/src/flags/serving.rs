//! Flags of both commands for securing the metrics, named as in programs made with kubebuilder.

use std::path::PathBuf;

use anyhow::ensure;
use clap::ArgAction;
use rollout_controller::Address;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct ServingFlags {
    /// Serve /metrics over TLS, and only to clients with the right to get that path (TokenReview,
    /// SubjectAccessReview)
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    metrics_secure: bool,
    /// Folder with tls.crt and tls.key for --metrics-secure [default: a self-signed certificate]
    #[arg(long, value_name = "FOLDER", requires = "metrics_secure")]
    metrics_cert_path: Option<PathBuf>,
}

/// Secure the metrics with the certificate in this folder; `None` for a self-signed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecureMetrics(pub(crate) Option<PathBuf>);

impl ServingFlags {
    /// Checks the flags against the two bind addresses.
    pub(crate) fn secure(&self, metrics: Address, probes: Address) -> anyhow::Result<Option<SecureMetrics>> {
        if !self.metrics_secure {
            return Ok(None);
        }
        ensure!(metrics != Address::default(), "--metrics-secure needs --metrics-bind-address");
        ensure!(
            metrics != probes,
            "--metrics-secure needs a --metrics-bind-address other than --health-probe-bind-address: a kubelet sends no token"
        );
        Ok(Some(SecureMetrics(self.metrics_cert_path.clone())))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        flags: ServingFlags,
    }

    #[rstest]
    #[case::plain(&[], ":1", ":2", Ok(None))]
    #[case::made(&["--metrics-secure"], ":1", ":2", Ok(Some(None)))]
    #[case::off(&["--metrics-secure=false"], ":1", ":2", Ok(None))]
    #[case::read(&["--metrics-secure", "--metrics-cert-path=/certs"], ":1", "0", Ok(Some(Some("/certs"))))]
    #[case::nowhere(&["--metrics-secure"], "0", ":2", Err("--metrics-bind-address"))]
    #[case::with_the_probes(&["--metrics-secure"], ":1", ":1", Err("other than --health-probe-bind-address"))]
    fn flags_select_the_certificate(
        #[case] arguments: &[&str],
        #[case] metrics: &str,
        #[case] probes: &str,
        #[case] expected: Result<Option<Option<&str>>, &str>,
    ) {
        let program = Program::try_parse_from([&["p"], arguments].concat()).unwrap();
        match (program.flags.secure(metrics.parse().unwrap(), probes.parse().unwrap()), expected) {
            (Ok(secure), Ok(expected)) => {
                assert_eq!(secure, expected.map(|path| SecureMetrics(path.map(PathBuf::from))));
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (secure, _) => panic!("{secure:?}"),
        }
    }
}
