//! A subject as on the command line: what it is, parsed and formatted.

use std::path::PathBuf;
use std::str::FromStr;

use lockstep_recording::SubjectKind;

use crate::{Reference, SubjectError};

/// The controller to judge, as on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectSpec {
    /// `ours`: this project's controller, as a task of this process.
    Ours,
    /// `ours:fixed`: the same, without the upstream defects that leave a Deployment stuck.
    OursFixed,
    /// `ours:process` or `ours:PATH`: the controller's binary as a child process.
    OursProcess(Option<PathBuf>),
    /// `upstream`, `upstream:v1.36.3` or `upstream:PATH`: kube-controller-manager with only the
    /// controllers under test; on the simulated cluster in virtual time, if its program is built.
    Upstream(Option<String>),
    /// `upstream:process` or `upstream:process:v1.36.3`: always as a process.
    UpstreamProcess(Option<String>),
    /// `xing:PROGRAM` or `reloader:PROGRAM`: another project's config-restart controller, by the
    /// path of the project's own program or its name on `PATH`.
    Reference(Reference, String),
    /// `command:PROGRAM ARGUMENTS…`, quoted as in a shell: any program that reads KUBECONFIG or
    /// `$HOME/.kube/config`.
    Command(Vec<String>),
    /// `virtual:PROGRAM`: a controller whose clock and network are the simulation's, through the
    /// turn protocol.
    Virtual(PathBuf),
    /// `deployment:MANIFEST`: a controller that runs as pods of the cluster, from a file of YAML
    /// documents or a kustomize folder.
    Deployment(PathBuf),
}

impl SubjectSpec {
    /// Whether it runs as pods of the cluster, not as a process of this machine.
    pub fn is_inside(&self) -> bool {
        matches!(self, Self::Deployment(_))
    }

    /// The other project's controller, if it is one.
    pub fn reference(&self) -> Option<Reference> {
        if let Self::Reference(one, _) = self { Some(*one) } else { None }
    }

    /// Whether it is a user's program: only its user knows which controllers it brings.
    pub fn is_strange(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Virtual(_) | Self::Deployment(_))
    }

    /// Whether it may manage another kind than Deployments, which its user names with `--workload`.
    pub fn may_have_a_workload(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Deployment(_))
    }

    /// Whether it is written in Go and can run in virtual time: two runs of it may diverge by the
    /// order of a map.
    pub fn is_in_go(&self) -> bool {
        matches!(self, Self::Upstream(_) | Self::Virtual(_))
    }

    /// Whether it accepts restart options; any other subject decides restarts by its own settings.
    pub fn takes_restart_options(&self) -> bool {
        matches!(self, Self::Ours | Self::OursFixed | Self::Reference(..))
    }

    /// The kind of subject.
    pub fn kind(&self) -> SubjectKind {
        match self {
            Self::Ours | Self::OursFixed | Self::OursProcess(_) => SubjectKind::Ours,
            Self::Upstream(_) | Self::UpstreamProcess(_) => SubjectKind::Upstream,
            Self::Reference(..) => SubjectKind::Reference,
            Self::Command(_) | Self::Virtual(_) => SubjectKind::Command,
            Self::Deployment(_) => SubjectKind::Deployment,
        }
    }
}

impl FromStr for SubjectSpec {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || SubjectError::Unknown(text.to_owned());
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        match (name, rest) {
            (_, Some("")) => Err(unknown()),
            ("ours", None) => Ok(Self::Ours),
            ("ours", Some("fixed")) => Ok(Self::OursFixed),
            ("ours", Some("process")) => Ok(Self::OursProcess(None)),
            ("ours", Some(path)) => Ok(Self::OursProcess(Some(path.into()))),
            ("upstream", Some("process")) => Ok(Self::UpstreamProcess(None)),
            ("upstream", Some("process:")) => Err(unknown()),
            ("upstream", version) => match version.and_then(|version| version.strip_prefix("process:")) {
                Some(version) => Ok(Self::UpstreamProcess(Some(version.to_owned()))),
                None => Ok(Self::Upstream(version.map(str::to_owned))),
            },
            ("command", Some(words)) => match shlex::split(words) {
                None => Err(SubjectError::Quotes(text.to_owned())),
                Some(words) if words.is_empty() => Err(unknown()),
                Some(words) => Ok(Self::Command(words)),
            },
            ("virtual", Some(path)) => Ok(Self::Virtual(path.into())),
            ("deployment", Some(path)) => Ok(Self::Deployment(path.into())),
            (name, Some(program)) => match Reference::ALL.into_iter().find(|one| one.as_str() == name) {
                Some(one) => Ok(Self::Reference(one, program.to_owned())),
                None => Err(unknown()),
            },
            (_, None) => Err(unknown()),
        }
    }
}

impl std::fmt::Display for SubjectSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ours => write!(f, "ours"),
            Self::OursFixed => write!(f, "ours:fixed"),
            Self::OursProcess(None) => write!(f, "ours:process"),
            Self::OursProcess(Some(path)) => write!(f, "ours:{}", path.display()),
            Self::Upstream(None) => write!(f, "upstream"),
            Self::Upstream(Some(version)) => write!(f, "upstream:{version}"),
            Self::UpstreamProcess(None) => write!(f, "upstream:process"),
            Self::UpstreamProcess(Some(version)) => write!(f, "upstream:process:{version}"),
            Self::Reference(one, program) => write!(f, "{}:{program}", one.as_str()),
            Self::Command(words) => write!(f, "command:{}", join_words(words)),
            Self::Virtual(path) => write!(f, "virtual:{}", path.display()),
            Self::Deployment(path) => write!(f, "deployment:{}", path.display()),
        }
    }
}

/// Quotes words for a shell. A program's argument cannot contain a NUL byte, so joining does not
/// fail.
fn join_words(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ours")]
    #[case("ours:fixed")]
    #[case("ours:process")]
    #[case("upstream")]
    #[case("upstream:v1.33.13")]
    #[case("upstream:process")]
    #[case("upstream:process:v1.33.13")]
    #[case("command:sleep 1000")]
    #[case("command:python3 'my controller.py' --name \"it's\" ''")]
    #[case("deployment:controller/deploy")]
    #[case("virtual:./my-controller-virtual")]
    #[case("reloader:reloader")]
    #[case("xing:./kubernetes-deployment-restart-controller")]
    fn names_round_trip(#[case] text: &str) {
        assert_eq!(text.parse::<SubjectSpec>().unwrap().to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("theirs")]
    #[case("command:")]
    #[case("command: ")]
    #[case("upstream:")]
    #[case("upstream:process:")]
    #[case("deployment:")]
    #[case("deployment")]
    #[case("virtual:")]
    #[case("xing")]
    #[case("xing:")]
    fn unknown_names_are_refused(#[case] text: &str) {
        let error = text.parse::<SubjectSpec>().unwrap_err().to_string();
        assert!(error.contains("expected ours"), "{error}");
    }

    #[rstest]
    #[case("xing", "unknown subject 'xing' (give the path of its program: xing:PATH): expected ours")]
    #[case("reloader:", "unknown subject 'reloader:' (give the path of its program: reloader:PATH): expected ours")]
    fn reference_without_a_program_is_refused(#[case] text: &str, #[case] expected: &str) {
        let error = text.parse::<SubjectSpec>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
