//! Writes programs as cases: on request each program that is played, and the shrunk programs on
//! which the controllers differ.

use std::path::{Path, PathBuf};

use lockstep_recording::FileName;
use lockstep_report as report;
use lockstep_search::{CaseProgram, SearchFinding};
use lockstep_subject::SubjectSpec;
use lockstep_support::shell::quote;
use lockstep_timeline::Timeline;
use serde_json::Value;

use super::super::rerun_command::CommandLine;
use super::super::{CliError, output_paths};

/// Writes cases for findings.
pub(super) struct CaseWriter<'a> {
    pub(super) typed: &'a CommandLine,
    /// The reference controller, if any, and the subject.
    pub(super) specs: &'a [SubjectSpec],
    /// The folder of the cases.
    pub(super) out: &'a Path,
}

/// Write a program as a case. `number` is its position in the search, from 1.
pub(super) fn write_program(folder: &Path, program: &CaseProgram, number: usize, origin: &str) -> Result<(), CliError> {
    let text = case_text(program, &format!("A random program: {origin}."));
    Ok(output_paths::write(&folder.join(format!("program-{number:05}.yaml")), &text)?)
}

/// The text of a program as a case. A JSON string is a YAML string.
fn case_text(program: &CaseProgram, description: &str) -> String {
    program.text(&Value::from(description).to_string())
}

impl CaseWriter<'_> {
    /// Write the case, with the timelines of both controllers as comments. Returns its path.
    pub(super) fn write(&self, small: &SearchFinding, origin: &str) -> Result<PathBuf, CliError> {
        let path = self.out.join(FileName::of(&small.file_name()).with_ending(".yaml"));
        let mut text = case_text(&small.run.program, &format!("Found by a search: {}.", small.cause()));
        text += &format!("# {origin}\n# {}\n", self.rerun(&path).repeat);
        for (spec, recording) in self.specs.iter().zip(&small.run.sides) {
            let Some(recording) = recording else { continue };
            text += &format!("#\n# What {spec} did:\n#\n");
            for line in Timeline::from_recording(recording).to_string().lines() {
                text += &format!("#   {}\n", line.trim_end());
            }
        }
        output_paths::write(&path, &text)?;
        Ok(path)
    }

    /// The command that plays the case on both controllers.
    pub(super) fn rerun(&self, path: &Path) -> report::RerunCommands {
        let file = quote(&path.display().to_string());
        let subjects: Vec<String> =
            self.specs.iter().map(|spec| format!(" --subject {}", quote(&spec.to_string()))).collect();
        let verb = if subjects.len() == 2 { "compare" } else { "run" };
        let program = self.typed.program.clone();
        report::RerunCommands { repeat: format!("{program} {verb} {file}{}", subjects.concat()), program }
    }
}
