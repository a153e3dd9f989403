//! Programs, written as cases: each one that is played, where that is asked for, and the small ones
//! that differ.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::again::Typed;
use super::super::{CliError, reporter};
use crate::quote::quoted;
use crate::recording::FileName;
use crate::report;
use crate::search::{Look, Program};
use crate::subject::Spec;
use crate::timeline::Timeline;

/// Writes cases.
pub(super) struct Writer<'a> {
    pub(super) typed: &'a Typed,
    /// The controller to compare with, if any, and the subject.
    pub(super) specs: &'a [Spec],
    /// The folder.
    pub(super) out: &'a Path,
}

/// Write a program as it was played; `number` is its place in the search, from 1.
pub(super) fn write_program(folder: &Path, program: &Program, number: usize, made_by: &str) -> Result<(), CliError> {
    let text = described(program, &format!("A random program: {made_by}."));
    Ok(reporter::write(&folder.join(format!("program-{number:05}.yaml")), &text)?)
}

/// The text of a program as a case. A JSON string is a YAML string.
fn described(program: &Program, description: &str) -> String {
    program.text(&Value::from(description).to_string())
}

impl Writer<'_> {
    /// The case, with what both did as comments; its file.
    pub(super) fn write(&self, small: &Look, made_by: &str) -> Result<PathBuf, CliError> {
        let path = self.out.join(FileName::of(&small.file_name()).with_ending(".yaml"));
        let mut text = described(&small.played.program, &format!("Found by a search: {}.", small.cause()));
        text += &format!("# {made_by}\n# {}\n", self.again(&path).repeat);
        for (spec, recording) in self.specs.iter().zip(&small.played.sides) {
            let Some(recording) = recording else { continue };
            text += &format!("#\n# What {spec} did:\n#\n");
            for line in Timeline::from_recording(recording).to_string().lines() {
                text += &format!("#   {}\n", line.trim_end());
            }
        }
        reporter::write(&path, &text)?;
        Ok(path)
    }

    /// The command that plays a found case on both again.
    pub(super) fn again(&self, path: &Path) -> report::Again {
        let file = quoted(&path.display().to_string());
        let subjects: Vec<String> =
            self.specs.iter().map(|spec| format!(" --subject {}", quoted(&spec.to_string()))).collect();
        let verb = if subjects.len() == 2 { "compare" } else { "run" };
        let program = self.typed.program.clone();
        report::Again { repeat: format!("{program} {verb} {file}{}", subjects.concat()), program }
    }
}
