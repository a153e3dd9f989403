//! `lockstep init`: a folder that judges a controller of one's own.
//!
//! Nothing that exists is overwritten. A README or .gitignore that is there stays as it is; where a
//! case or the workflow is there and says something else, nothing at all is written.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::CliError;
use super::again::Typed;
use super::out::say;
use crate::collection;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::run::FileError;
use crate::subject::Spec;

const CASE: &str = "cases/first.yaml";
/// Where the project lives, from Cargo.toml; its action has the same address.
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
struct New {
    /// In the folder.
    path: PathBuf,
    bytes: Cow<'static, [u8]>,
    /// Whether another one of this name is left alone rather than in the way.
    yields: bool,
}

/// What there is already where a file is to be written.
enum There {
    Nothing,
    TheSame,
    Another,
}

pub(super) fn execute(arguments: &Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    let Arguments { folder, subject, cases } = arguments;
    subject.parse::<Spec>()?;
    if subject.chars().any(char::is_control) {
        return Err(CliError::Usage("--subject has a control character, which a workflow cannot quote".to_owned()));
    }
    let mut files = own(subject);
    let own = files.len();
    if *cases {
        let embedded = collection::embedded();
        files.extend(embedded.map(|(path, bytes)| New { path: path.to_owned(), bytes: bytes.into(), yields: false }));
    }
    let there = files.iter().map(|file| there(&folder.join(&file.path), &file.bytes));
    let there = there.collect::<Result<Vec<_>, CliError>>()?;
    let taken = files.iter().zip(&there).filter(|(file, there)| matches!(there, There::Another) && !file.yields);
    let taken: Vec<_> = taken.map(|(file, _)| folder.join(&file.path).display().to_string()).collect();
    if let Some(first) = taken.first() {
        let more = if taken.len() > 1 { format!(" and {} more exist", taken.len() - 1) } else { " exists".to_owned() };
        let why = format!("{first}{more}; nothing was written; name another folder, or move what is there away");
        return Err(CliError::Usage(why));
    }
    let mut collected = 0;
    for (number, (file, there)) in files.iter().zip(&there).enumerate() {
        let path = folder.join(&file.path);
        let word = match there {
            There::Nothing => "wrote",
            There::TheSame | There::Another => "kept ",
        };
        if matches!(there, There::Nothing) {
            write(&path, &file.bytes).map_err(|source| FileError::File { path: path.clone(), source })?;
        }
        if number < own {
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
        say!("  cd {}", quoted(&folder.display().to_string()));
    }
    let program = &typed.program;
    say!("  {program} run --subject {}", quoted(subject));
    say!("  {program} explain {CASE}");
    Ok(Outcome::Conformant)
}

/// The files that every such folder has.
fn own(subject: &str) -> Vec<New> {
    let text = |path: &str, text: &str, yields| New {
        path: path.into(),
        bytes: text.replace("SUBJECT", &quoted(subject)).into_bytes().into(),
        yields,
    };
    let action = format!("{}@v{VERSION}", REPOSITORY.trim_start_matches("https://github.com/"));
    // A string of JSON is one of YAML.
    let subject_in_yaml = serde_json::Value::from(subject).to_string();
    let workflow = include_str!("init/workflow.yml").replace("ACTION", &action).replace("SUBJECT", &subject_in_yaml);
    vec![
        text(CASE, include_str!("init/first.yaml"), false),
        text(".github/workflows/lockstep.yml", &workflow, false),
        text(".gitignore", include_str!("init/gitignore"), true),
        text("README.md", include_str!("init/README.md"), true),
    ]
}

fn there(path: &Path, bytes: &[u8]) -> Result<There, CliError> {
    match std::fs::read(path) {
        Ok(already) if already == bytes => Ok(There::TheSame),
        Ok(_) => Ok(There::Another),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(There::Nothing),
        Err(source) => Err(FileError::File { path: path.to_owned(), source }.into()),
    }
}

/// Write a file that is not there, and the folders above it.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(path)?.write_all(bytes)
}
