//! The value of `--subject`: any text, of which shells complete the beginnings. Each command parses
//! it later, so that the error is one of the command.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// What a subject may begin with, and what that is.
const BEGINNINGS: [(&str, &str); 10] = [
    ("ours", "Lockstep's own controller"),
    ("ours:fixed", "with fixes of upstream's defects"),
    ("ours:process", "as a process of its own"),
    ("upstream", "kube-controller-manager"),
    ("upstream:process", "always as a process"),
    ("command:", "any program"),
    ("deployment:", "pods of the kind cluster, from a manifest"),
    ("virtual:", "a program in Go, in virtual time"),
    ("xing:", "a config-restart controller of another project"),
    ("reloader:", "a config-restart controller of another project"),
];

/// Accepts any text and offers the known beginnings for completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubjectParser;

impl TypedValueParser for SubjectParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(BEGINNINGS.iter().map(|(value, help)| PossibleValue::new(*value).help(*help))))
    }
}

#[cfg(test)]
mod tests {
    use lockstep_subject::SubjectSpec;
    use rstest::rstest;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_beginning_is_a_subject() {
        for (beginning, _) in BEGINNINGS {
            let text = if beginning.ends_with(':') { format!("{beginning}./x") } else { beginning.to_owned() };
            assert!(text.parse::<SubjectSpec>().is_ok(), "{text}");
        }
    }

    #[rstest]
    #[case(clap_complete::Shell::Bash)]
    #[case(clap_complete::Shell::Zsh)]
    #[case(clap_complete::Shell::Fish)]
    fn shells_complete_subjects(#[case] shell: clap_complete::Shell) {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Cli::definition(), "lockstep", &mut text);
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("ours") && text.contains("upstream") && text.contains("deployment"), "{shell}");
    }
}
