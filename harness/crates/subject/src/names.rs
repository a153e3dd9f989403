//! Parses and formats subjects as on the command line.

use std::str::FromStr;

use super::{Reference, SubjectError, SubjectSpec};

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
            (name, which) => match Reference::ALL.into_iter().find(|one| one.as_str() == name) {
                Some(one) => Ok(Self::Reference(one, which.map(str::to_owned))),
                None => Err(unknown()),
            },
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
            Self::Reference(one, None) => f.write_str(one.as_str()),
            Self::Reference(one, Some(which)) => write!(f, "{}:{which}", one.as_str()),
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
    #[case("xing")]
    #[case("reloader:process")]
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
    #[case("xing:")]
    fn unknown_names_are_refused(#[case] text: &str) {
        let error = text.parse::<SubjectSpec>().unwrap_err().to_string();
        assert!(error.contains("expected ours"), "{error}");
    }
}
