//! `lockstep init`: writes a folder whose cases judge the user's controller.
//!
//! Existing files are never overwritten. An existing README or .gitignore is kept; if an existing
//! case or workflow differs, nothing is written at all.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use lockstep_runner::run::FileError;
use lockstep_subject::SubjectSpec;
use lockstep_support::collection;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;

use super::CliError;
use super::out::say;
use super::rerun_command::CommandLine;

const CASE: &str = "cases/first.yaml";
/// The address of the project, from Cargo.toml. Its action has the same address.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Write a folder whose cases judge a controller of your own: a first case and a workflow.
///
/// Existing files are never overwritten.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder; it is created if it does not exist.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The controller that the workflow judges, as for `lockstep run`.
    #[arg(long, default_value = "ours")]
    subject: String,
    /// Also write the embedded cases with their golden timelines.
    #[arg(long)]
    cases: bool,
}

/// A file to write.
struct NewFile {
    /// The path below the folder.
    path: PathBuf,
    bytes: Cow<'static, [u8]>,
    /// Whether a different existing file is kept, rather than an error.
    may_differ: bool,
}

/// The state of a file before it is written.
enum ExistingFile {
    Absent,
    Identical,
    Different,
}

pub(super) fn execute(arguments: &Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let Arguments { folder, subject, cases } = arguments;
    subject.parse::<SubjectSpec>()?;
    if subject.chars().any(char::is_control) {
        return Err(CliError::Usage("--subject has a control character, which a workflow cannot quote".to_owned()));
    }
    let mut files = template_files(subject);
    let templates = files.len();
    if *cases {
        let embedded = collection::embedded();
        files.extend(embedded.map(|(path, bytes)| NewFile {
            path: path.to_owned(),
            bytes: bytes.into(),
            may_differ: false,
        }));
    }
    let existing = files.iter().map(|file| compare_with_existing(&folder.join(&file.path), &file.bytes));
    let existing = existing.collect::<Result<Vec<_>, CliError>>()?;
    let conflicting = files
        .iter()
        .zip(&existing)
        .filter(|(file, existing)| matches!(existing, ExistingFile::Different) && !file.may_differ);
    let conflicting: Vec<_> = conflicting.map(|(file, _)| folder.join(&file.path).display().to_string()).collect();
    if let Some(first) = conflicting.first() {
        let more = if conflicting.len() > 1 {
            format!(" and {} more exist", conflicting.len() - 1)
        } else {
            " exists".to_owned()
        };
        let why = format!("{first}{more}; nothing was written; name another folder, or move what is there away");
        return Err(CliError::Usage(why));
    }
    let mut collected = 0;
    for (number, (file, existing)) in files.iter().zip(&existing).enumerate() {
        let path = folder.join(&file.path);
        let word = match existing {
            ExistingFile::Absent => "wrote",
            ExistingFile::Identical | ExistingFile::Different => "kept ",
        };
        if matches!(existing, ExistingFile::Absent) {
            write(&path, &file.bytes).map_err(|source| FileError::File { path: path.clone(), source })?;
        }
        if number < templates {
            say!("{word} {}", path.display());
        } else {
            collected += 1;
        }
    }
    if collected > 0 {
        say!("wrote {collected} files of the embedded collection below {}", folder.join(collection::FOLDER).display());
    }
    if subject == "ours" {
        say!(
            "\nThis folder judges `ours`, Lockstep's own controller; --subject \"command:./my-controller\" judges yours."
        );
    }
    if !*cases {
        say!("\nIt has one case, and its folder cases/ hides those inside the program; --cases writes them beside it.");
    }
    if REPOSITORY.contains("OWNER") {
        say!("\nIn .github/workflows/lockstep.yml put the account that has Lockstep in the place of OWNER.");
    }
    say!("\nnext:");
    if folder != Path::new(".") {
        say!("  cd {}", quote(&folder.display().to_string()));
    }
    let program = &typed.program;
    say!("  {program} run --subject {}", quote(subject));
    say!("  {program} explain {CASE}");
    Ok(RunOutcome::Conformant)
}

/// The files that every such folder gets.
fn template_files(subject: &str) -> Vec<NewFile> {
    let text = |path: &str, text: &str, may_differ| NewFile {
        path: path.into(),
        bytes: text.replace("SUBJECT", &quote(subject)).into_bytes().into(),
        may_differ,
    };
    let action = format!("{}@v{VERSION}", REPOSITORY.trim_start_matches("https://github.com/"));
    // A JSON string is a YAML string.
    let subject_in_yaml = serde_json::Value::from(subject).to_string();
    let workflow = include_str!("init/workflow.yml").replace("ACTION", &action).replace("SUBJECT", &subject_in_yaml);
    vec![
        text(CASE, include_str!("init/first.yaml"), false),
        text(".github/workflows/lockstep.yml", &workflow, false),
        text(".gitignore", include_str!("init/gitignore"), true),
        text("README.md", include_str!("init/README.md"), true),
    ]
}

fn compare_with_existing(path: &Path, bytes: &[u8]) -> Result<ExistingFile, CliError> {
    match std::fs::read(path) {
        Ok(already) if already == bytes => Ok(ExistingFile::Identical),
        Ok(_) => Ok(ExistingFile::Different),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(ExistingFile::Absent),
        Err(source) => Err(FileError::File { path: path.to_owned(), source }.into()),
    }
}

/// Create a file and the folders above it.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(path)?.write_all(bytes)
}
