//! The arguments that name an existing cluster of the user. The harness acts on it only if the
//! arguments name its context.

use std::path::PathBuf;

use lockstep_cluster::SiteName;
use lockstep_cluster::existing::{self, ContextError, KubeconfigOptions};
use lockstep_support::shell::quote;

use super::CliError;

/// The arguments for `--cluster kubeconfig`.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct KubeconfigArgs {
    /// kubeconfig: the file that names the cluster [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// kubeconfig: the context that lockstep may work on; required.
    ///
    /// Lockstep creates namespaces, nodes and roles there, and removes them.
    #[arg(long, value_name = "CONTEXT")]
    yes_this_cluster: Option<String>,
    /// kubeconfig: run although pods of cases might reach your nodes; see docs/clusters.md.
    #[arg(long)]
    accept_unguarded_pods: bool,
}

impl KubeconfigArgs {
    /// Fails unless the arguments fit together and the kubeconfig has the cluster that they name.
    pub(super) fn check(&self, site: SiteName) -> Result<(), CliError> {
        let usage = |why: String| CliError::Usage(why);
        if site != SiteName::Kubeconfig {
            let words = [
                ("--kubeconfig", self.kubeconfig.is_some()),
                ("--yes-this-cluster", self.yes_this_cluster.is_some()),
                ("--accept-unguarded-pods", self.accept_unguarded_pods),
            ];
            return match words.iter().find(|(_, there)| *there) {
                Some((word, _)) => Err(usage(format!("{word} is for --cluster kubeconfig, not {site}"))),
                None => Ok(()),
            };
        }
        let checked = || -> Result<(), ContextError> {
            existing::check(&existing::read(&self.files()?)?, self.yes_this_cluster.as_deref())
        };
        checked().map_err(|error| usage(error.to_string()))
    }

    /// The options, for arguments that have been checked.
    pub(super) fn options(&self) -> KubeconfigOptions {
        KubeconfigOptions {
            files: self.files().unwrap_or_default(),
            context: self.yes_this_cluster.clone().unwrap_or_default(),
            accept_unguarded_pods: self.accept_unguarded_pods,
        }
    }

    /// The arguments as flags, for a rerun command.
    pub(super) fn to_flags(&self) -> String {
        let file = self.kubeconfig.as_ref().map(|path| format!(" --kubeconfig {}", quote(&path.display().to_string())));
        let context = self.yes_this_cluster.as_ref().map(|name| format!(" --yes-this-cluster {}", quote(name)));
        let accept_unguarded_pods = if self.accept_unguarded_pods { " --accept-unguarded-pods" } else { "" };
        file.unwrap_or_default() + &context.unwrap_or_default() + accept_unguarded_pods
    }

    fn files(&self) -> Result<Vec<PathBuf>, ContextError> {
        let home = std::env::home_dir();
        existing::files(self.kubeconfig.as_deref(), std::env::var_os("KUBECONFIG").as_deref(), home.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct TestCommand {
        #[command(flatten)]
        args: KubeconfigArgs,
    }

    /// FILE stands for a kubeconfig with the contexts `a`, which is current, and `b`.
    fn parsed(words: &str) -> (KubeconfigArgs, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let clusters = "clusters: [{name: k, cluster: {server: 'https://a', certificate-authority-data: UEVN}}]";
        let contexts = "contexts: [{name: a, context: {cluster: k}}, {name: b, context: {cluster: none}}]";
        std::fs::write(file.path(), format!("{clusters}\n{contexts}\ncurrent-context: a\n")).unwrap();
        let words = words.replace("FILE", file.path().to_str().unwrap());
        let line = TestCommand::try_parse_from(std::iter::once("lockstep").chain(words.split_whitespace())).unwrap();
        (line.args, file)
    }

    #[rstest]
    #[case("--kubeconfig FILE", "the current context is `a` (https://a); type --yes-this-cluster a")]
    #[case("--kubeconfig FILE --yes-this-cluster c", "the kubeconfig has no context `c`; it has a, b")]
    #[case("--kubeconfig FILE --yes-this-cluster b", "its cluster `none` is not in the kubeconfig")]
    #[case("--kubeconfig none/here --yes-this-cluster a", "none/here does not exist; name one with --kubeconfig FILE")]
    #[case("--kubeconfig Cargo.toml --yes-this-cluster a", "Cargo.toml: ")]
    fn invalid_arguments_are_bad_usage(#[case] words: &str, #[case] message: &str) {
        let (args, _file) = parsed(words);
        let error = args.check(SiteName::Kubeconfig).unwrap_err();
        assert!(matches!(&error, CliError::Usage(why) if why.contains(message)), "{error}");
    }

    #[rstest]
    #[case("--kubeconfig FILE", "--kubeconfig is for --cluster kubeconfig, not kind")]
    #[case("--yes-this-cluster a", "--yes-this-cluster is for --cluster kubeconfig, not kind")]
    #[case("--accept-unguarded-pods", "--accept-unguarded-pods is for --cluster kubeconfig, not kind")]
    fn arguments_are_only_for_kubeconfig_cluster(#[case] words: &str, #[case] message: &str) {
        assert_eq!(parsed(words).0.check(SiteName::Kind).unwrap_err().to_string(), message);
    }

    #[test]
    fn checked_arguments_become_options_and_flags() {
        for (accept_unguarded_pods, more) in [(false, ""), (true, " --accept-unguarded-pods")] {
            let (args, file) = parsed(&format!("--kubeconfig FILE --yes-this-cluster a{more}"));
            args.check(SiteName::Kubeconfig).unwrap();
            let (files, context) = (vec![file.path().to_owned()], "a".to_owned());
            assert_eq!(args.options(), KubeconfigOptions { files, context, accept_unguarded_pods });
            assert_eq!(args.to_flags(), format!(" --kubeconfig {} --yes-this-cluster a{more}", file.path().display()));
        }
        parsed("").0.check(SiteName::ControlPlane).unwrap();
    }
}
