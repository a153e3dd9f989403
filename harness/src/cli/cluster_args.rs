//! The arguments that name a cluster. The harness acts on an existing cluster of the user only if
//! they name its context.

use std::path::PathBuf;

use clap::Command;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lockstep_cluster::existing::{self, ContextError, KubeconfigOptions};
use lockstep_cluster::{self as cluster, ClusterPlan, Site, SiteName, containers, kind};
use lockstep_support::sanitize::quote;

use super::CliError;

/// The name of a kind cluster without `--kind-name`.
const KIND_NAME: &str = "lockstep";

/// The arguments that select and configure a cluster.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ClusterArgs {
    // `describe_cluster` adds the help, which depends on the command.
    #[arg(long, value_name = "CLUSTER", hide_possible_values = true, value_parser = cluster_parser())]
    cluster: Option<SiteName>,
    /// The cluster's Kubernetes version.
    #[arg(long, hide_short_help = true, default_value = cluster::DEFAULT_VERSION, value_name = "VERSION")]
    #[arg(value_parser = parse_version)]
    pub(super) k8s_version: String,
    /// kind: the name of the cluster.
    #[arg(long, hide_short_help = true, value_name = "NAME", default_value = KIND_NAME, value_parser = parse_name)]
    pub(super) kind_name: String,
    #[command(flatten)]
    kubeconfig_args: KubeconfigArgs,
}

impl ClusterArgs {
    /// The selected cluster.
    pub(super) fn cluster(&self) -> SiteName {
        self.cluster.unwrap_or(SiteName::ControlPlane)
    }

    /// The simulated cluster, for a command that takes no other.
    pub(super) fn simulated() -> Self {
        let kubeconfig_args = KubeconfigArgs { kubeconfig: None, yes_this_cluster: None, accept_unguarded_pods: false };
        Self {
            cluster: Some(SiteName::Sim),
            k8s_version: cluster::DEFAULT_VERSION.to_owned(),
            kind_name: KIND_NAME.to_owned(),
            kubeconfig_args,
        }
    }

    /// Select this cluster unless the arguments name one.
    pub(super) fn with_default(mut self, default: SiteName) -> Self {
        self.cluster.get_or_insert(default);
        self
    }

    /// Select this cluster, overriding the arguments.
    pub(super) fn with_cluster(mut self, cluster: SiteName) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Fails if the arguments contradict each other.
    pub(super) fn check(&self) -> Result<(), CliError> {
        self.kubeconfig_args.check(self.cluster())
    }

    /// The plan of the cluster to boot.
    pub(super) fn plan(&self, keep: bool) -> ClusterPlan {
        let site = match self.cluster() {
            SiteName::Sim => Site::Sim,
            SiteName::ControlPlane => Site::ControlPlane,
            SiteName::Containers => Site::Containers(containers::ImageOptions::from_env()),
            SiteName::Kind => {
                let options = kind::KindOptions::from_env();
                Site::Kind(kind::KindOptions { name: Some(self.kind_name.clone()), keep, ..options })
            }
            SiteName::Kubeconfig => Site::Kubeconfig(self.kubeconfig_args.options()),
        };
        ClusterPlan::new(&self.k8s_version).at(site)
    }

    /// The arguments as flags, for a command with this default cluster.
    pub(super) fn to_flags(&self, default: SiteName) -> String {
        let mut words = String::new();
        let mut add = |flag: &str, value: &str, default: &str| {
            if value != default {
                words += &format!(" {flag} {}", quote(value));
            }
        };
        add("--cluster", self.cluster().as_str(), default.as_str());
        add("--k8s-version", &self.k8s_version, cluster::DEFAULT_VERSION);
        if self.cluster() == SiteName::Kind {
            add("--kind-name", &self.kind_name, KIND_NAME);
        }
        words += &self.kubeconfig_args.to_flags();
        words
    }
}

/// The arguments for `--cluster kubeconfig`.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
struct KubeconfigArgs {
    /// kubeconfig: the file that names the cluster [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// kubeconfig: the context that lockstep may work on; required.
    ///
    /// Lockstep creates namespaces, nodes and roles there, and removes them.
    #[arg(long, hide_short_help = true, value_name = "CONTEXT")]
    yes_this_cluster: Option<String>,
    /// kubeconfig: run although pods of cases might reach your nodes; see docs/clusters.md.
    #[arg(long, hide_short_help = true)]
    accept_unguarded_pods: bool,
}

impl KubeconfigArgs {
    /// Fails unless the arguments fit together and the kubeconfig has the cluster that they name.
    fn check(&self, site: SiteName) -> Result<(), CliError> {
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
    fn options(&self) -> KubeconfigOptions {
        KubeconfigOptions {
            files: self.files().unwrap_or_default(),
            context: self.yes_this_cluster.clone().unwrap_or_default(),
            accept_unguarded_pods: self.accept_unguarded_pods,
        }
    }

    /// The arguments as flags, for a rerun command.
    fn to_flags(&self) -> String {
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

/// The cluster of a command without `--cluster`.
pub(super) fn default_cluster(command: &str) -> SiteName {
    match command {
        "run" | "faults" | "handover" | "replay" => SiteName::Sim,
        _ => SiteName::ControlPlane,
    }
}

/// A command whose option `--cluster`, if it has one, says what that command takes.
pub(super) fn describe_cluster(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let describe = |command: Command| {
        if command.get_arguments().all(|argument| argument.get_id() != "cluster") {
            return command;
        }
        command.mut_arg("cluster", |argument| {
            let short = cluster_help(&name);
            let long = if name == "bless" { short.clone() } else { format!("{short}.\n\n{CLUSTERS}") };
            argument.help(short).long_help(long)
        })
    };
    describe(command).mut_subcommands(describe)
}

fn cluster_help(command: &str) -> String {
    match command {
        "bless" => "Where to record: control-plane, or sim with --preview and for config-restart cases".to_owned(),
        "cluster" => {
            let which = "sim, control-plane, containers or kind; `down` also cleans up on kubeconfig";
            format!("Which cluster: {which} [default: {}]", default_cluster(command))
        }
        _ => format!(
            "Where to play: sim, control-plane, containers, kind or kubeconfig [default: {}]",
            default_cluster(command)
        ),
    }
}

/// What each cluster is.
const CLUSTERS: &str = "\
    `sim`: simulated in this process, in virtual time for `ours` and `upstream`. `control-plane`: etcd, \
    kube-apiserver and kube-controller-manager as local processes. `containers`: the same from upstream's official \
    images, or those of $LOCKSTEP_IMAGE_REGISTRY and $LOCKSTEP_ETCD_IMAGE. `kind`: a kind cluster, of the node image \
    $LOCKSTEP_NODE_IMAGE and the configuration $LOCKSTEP_KIND_CONFIG, where these are set. `kubeconfig`: a cluster of \
    your own whose Deployment controller is off";

/// Parses the name of a cluster; shells complete the names.
fn cluster_parser() -> impl TypedValueParser<Value = SiteName> {
    PossibleValuesParser::new(SiteName::ALL.map(SiteName::as_str)).try_map(|name| name.parse())
}

/// Parses a version such as v1.36.3.
fn parse_version(text: &str) -> Result<String, String> {
    if cluster::is_version(text) { Ok(text.to_owned()) } else { Err("use a version such as v1.36.3".to_owned()) }
}

/// Parses a name that kind accepts.
fn parse_name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let starts_well = text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    if starts_well && text.len() <= 50 && text.bytes().all(fits) {
        return Ok(text.to_owned());
    }
    Err("at most 50 lower-case letters, digits, dots and dashes, a letter or digit first".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct TestCommand {
        #[command(flatten)]
        cluster_args: ClusterArgs,
    }

    fn words(line: &str, default: SiteName) -> String {
        let line = shlex::split(line).unwrap();
        TestCommand::try_parse_from(["lockstep".to_owned()].into_iter().chain(line))
            .unwrap()
            .cluster_args
            .to_flags(default)
    }

    #[test]
    fn default_cluster_is_omitted_from_flags() {
        assert_eq!(words("--cluster sim", SiteName::ControlPlane), " --cluster sim");
        assert_eq!(words("--cluster sim", SiteName::Sim), "");
        assert_eq!(words("", SiteName::Sim), " --cluster control-plane");
        assert_eq!(words("", SiteName::ControlPlane), "");
        let kind = " --cluster kind --kind-name mine";
        assert_eq!(words(kind, SiteName::ControlPlane), kind);
    }

    /// FILE stands for a kubeconfig with the contexts `a`, which is current, and `b`.
    fn parsed(words: &str) -> (KubeconfigArgs, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let clusters = "clusters: [{name: k, cluster: {server: 'https://a', certificate-authority-data: UEVN}}]";
        let contexts = "contexts: [{name: a, context: {cluster: k}}, {name: b, context: {cluster: none}}]";
        std::fs::write(file.path(), format!("{clusters}\n{contexts}\ncurrent-context: a\n")).unwrap();
        let words = words.replace("FILE", file.path().to_str().unwrap());
        let line = TestCommand::try_parse_from(std::iter::once("lockstep").chain(words.split_whitespace())).unwrap();
        (line.cluster_args.kubeconfig_args, file)
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
