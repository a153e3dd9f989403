//! Names that pages use as code: options of both programs, and the controller's metrics.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use lockstep::cli::Cli;

use super::pages::Page;
use super::{console, root, sandbox};

/// Options of other programs that pages mention.
const OTHER_PROGRAMS: [&str; 5] = ["--kustomize", "--namespace", "--offline", "--reload-on-create", "--version"];
/// The prefixes of the controller's metrics.
const METRICS: [&str; 3] = ["rollout_controller_", "deployment_restart_controller_", "replicaset_controller_"];

/// The names that exist.
#[derive(Debug)]
pub(crate) struct Names {
    options: BTreeSet<String>,
    /// The controller's sources, in which metrics are strings.
    sources: String,
}

impl Names {
    /// Reads the names from both programs and the controller's sources.
    pub(crate) fn read() -> Self {
        let mut options: BTreeSet<String> = OTHER_PROGRAMS.map(str::to_owned).into();
        let mut commands = vec![Cli::definition()];
        while let Some(command) = commands.pop() {
            options.extend(command.get_arguments().filter_map(|it| Some(format!("--{}", it.get_long()?))));
            commands.extend(command.get_subcommands().cloned());
        }
        for command in [None, Some("config-restart"), Some("config-restart-key")] {
            options.extend(options_in(&help(command)));
        }
        let mut sources = String::new();
        for folder in ["controller/src", "controller/crates"] {
            read_all(&root().join(folder), &mut sources);
        }
        Self { options, sources }
    }

    /// The names on a page that do not exist.
    pub(crate) fn unknown(&self, page: &Page) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, line) in page.prose() {
            for code in line.split('`').skip(1).step_by(2) {
                let unknown_option = code.starts_with("--") && options_in(code).any(|it| !self.options.contains(&it));
                let is_metric = METRICS.iter().any(|begin| code.starts_with(begin)) && !code.ends_with('*');
                let base = code.trim_end_matches("_total").trim_end_matches("_info");
                let defined = |name: &str| self.sources.contains(&format!("\"{name}\""));
                if unknown_option || (is_metric && !defined(code) && !defined(base)) {
                    wrong.push(format!("{}:{number}: `{code}` does not exist", page.path));
                }
            }
        }
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            for line in console::joined(&block.text) {
                let Some((_, words)) = line.split_once("rollout-controller ") else { continue };
                if line.trim_start().starts_with("kubectl") {
                    continue;
                }
                let own = words.split(" | ").next().unwrap_or_default();
                let unknown = options_in(own).find(|option| !self.options.contains(option));
                wrong.extend(unknown.map(|option| format!("{}:{}: no option {option}", page.path, block.line)));
            }
        }
        wrong
    }
}

/// The controller's `--help`.
fn help(command: Option<&str>) -> String {
    let program = sandbox::built().join("rollout-controller");
    let output = Command::new(&program).args(command).arg("--help").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}; cargo build --workspace", program.display()));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The options in a text: `--controllers` of `--controllers=*,-deployment`.
fn options_in(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '-'));
    words.filter(|word| word.len() > 2 && word.starts_with("--")).map(str::to_owned)
}

fn read_all(folder: &Path, text: &mut String) {
    for entry in folder.read_dir().expect("the controller has sources").flatten() {
        if entry.path().is_dir() {
            read_all(&entry.path(), text);
        } else {
            *text += &std::fs::read_to_string(entry.path()).unwrap_or_default();
        }
    }
}
