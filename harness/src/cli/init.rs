//! `lockstep init`: writes a folder whose cases judge the user's controller.
//!
//! Existing files are never overwritten. An existing README or .gitignore is kept; if an existing
//! case or workflow differs, nothing is written at all. The cases are in `own/`, because a folder
//! `cases/` would hide the embedded ones. GitHub reads workflows only at the root of a repository,
//! so that is where the workflow goes if the folder is inside of one.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use lockstep_runner::run::FileError;
use lockstep_subject::SubjectSpec;
use lockstep_support::collection;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize::quote;

use super::CliError;
use super::out::say;
use super::rerun_command::CommandLine;
use super::subject_parser::SubjectParser;

const CASE: &str = "own/first.yaml";
const WORKFLOW: &str = ".github/workflows/lockstep.yml";
/// The address of the project, from Cargo.toml.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The subject of a folder whose user did not name one: a program that is not there yet.
const PLACEHOLDER: &str = "command:./my-controller";

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder; it is created if it does not exist.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The controller that the workflow judges, as for `lockstep run`. Paths are from here.
    #[arg(long, value_parser = SubjectParser, hide_possible_values = true)]
    subject: Option<String>,
    /// Also write the embedded cases with their golden timelines, to `cases/`.
    #[arg(long)]
    embedded: bool,
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
    let Arguments { folder, subject, embedded } = arguments;
    let here = std::env::current_dir().map_err(|source| FileError::File { path: ".".into(), source })?;
    let target = absolute(&here, folder);
    let subject = match subject {
        Some(text) => Some(subject_from(&here, &target, text)?),
        None => None,
    };
    let root = target.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&target);
    let below = target.strip_prefix(root).unwrap_or(Path::new(""));
    let mut files = template_files(subject.as_deref(), below);
    let templates = files.len();
    if *embedded {
        files.extend(collection::embedded().map(|(path, bytes)| NewFile {
            path: path.to_owned(),
            bytes: bytes.into(),
            may_differ: false,
        }));
    }
    // The system finds no file by way of `..` in a folder that does not exist yet.
    let place = |file: &NewFile| absolute(&target, &file.path);
    let existing = files.iter().map(|file| compare_with_existing(&place(file), &file.bytes));
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
            write(&place(file), &file.bytes).map_err(|source| FileError::File { path: path.clone(), source })?;
        }
        if number < templates {
            // The workflow is at the root of the repository, above the folder.
            let whole = place(file);
            say!("{word} {}", whole.strip_prefix(&here).unwrap_or(&path).display());
        } else {
            collected += 1;
        }
    }
    if collected > 0 {
        say!(
            "wrote {} of the embedded collection below {}",
            pluralize(collected, "file"),
            folder.join(collection::FOLDER).display()
        );
        say!("\nIn this folder the program reads cases/, and no longer the cases inside of it.");
    }
    if REPOSITORY.contains("OWNER") {
        say!("\nIn the workflow put the account that has Lockstep in the place of OWNER.");
    }
    print_next_steps(typed, folder, subject.as_deref());
    Ok(RunOutcome::Conformant)
}

fn print_next_steps(typed: &CommandLine, folder: &Path, subject: Option<&str>) {
    let program = &typed.program;
    say!("\nnext:");
    if folder != Path::new(".") {
        say!("  cd {}", quote(&folder.display().to_string()));
    }
    match subject {
        Some(subject) => {
            let subject = quote(subject);
            say!("  {program} run own --subject {subject}             # the case in own/, by its rules");
            say!(
                "  {program} run cases/rolling --subject {subject}   # cases inside the program, by what upstream does"
            );
        }
        None => {
            say!("  {program} run own --subject ours   # Lockstep's own controller: how a green run looks");
            say!("  {program} run own cases/rolling --subject \"{PLACEHOLDER}\"   # yours");
        }
    }
    say!("  {program} explain own/first");
    if subject.is_none() {
        say!("\nThe workflow fails until its step `Build the controller` builds one.");
    }
}

/// The path as seen from the root, without `.` and `..`.
fn absolute(here: &Path, path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(all.pop()),
            part => all.push(part),
        }
    }
    all
}

/// The subject as it is written in the target folder: words that name a file here are given from
/// there.
fn subject_from(here: &Path, target: &Path, text: &str) -> Result<String, CliError> {
    text.parse::<SubjectSpec>()?;
    if text.chars().any(char::is_control) {
        return Err(CliError::Usage("--subject has a control character, which a workflow cannot quote".to_owned()));
    }
    // The other kinds of subjects name at most one file.
    let Some((kind, rest)) = text.split_once(':') else { return Ok(text.to_owned()) };
    let from_target = |word: &str| {
        let is_relative = Path::new(word).is_relative() && (word.contains('/') || here.join(word).exists());
        // What is only there is meant from there.
        let is_there = !here.join(word).exists() && target.join(word).exists();
        if is_relative && !is_there { relative(target, &absolute(here, Path::new(word))) } else { word.to_owned() }
    };
    if target == here {
        return Ok(text.to_owned());
    }
    if kind != "command" {
        return Ok(format!("{kind}:{}", if here.join(rest).exists() { from_target(rest) } else { rest.to_owned() }));
    }
    let words = shlex::split(rest).unwrap_or_default();
    // The program may not be built yet.
    let is_file = |number: usize, word: &str| number == 0 && word.contains('/') || here.join(word).exists();
    let words = words
        .iter()
        .enumerate()
        .map(|(number, word)| quote(&if is_file(number, word) { from_target(word) } else { word.to_owned() }));
    Ok(format!("{kind}:{}", words.collect::<Vec<_>>().join(" ")))
}

/// The path of `to` as seen from the folder `from`; both are absolute. It always has a `/`, so that
/// it is not looked up in PATH.
fn relative(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Path::new(".."));
    let down = to.components().skip(common).map(|part| Path::new(part.as_os_str()));
    let path: PathBuf = up.chain(down).collect();
    let text = path.display().to_string();
    if text.contains('/') { text } else { format!("./{text}") }
}

/// The files that every such folder gets; it is `below` the root of its repository.
fn template_files(subject: Option<&str>, below: &Path) -> Vec<NewFile> {
    let file = |path: PathBuf, text: String, may_differ| NewFile { path, bytes: text.into_bytes().into(), may_differ };
    let subject_or_placeholder = quote(subject.unwrap_or(PLACEHOLDER));
    let folder = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    // A JSON string is a YAML string.
    let in_yaml = |text: &str| serde_json::Value::from(text).to_string();
    let build = match subject {
        // Nothing may be judged in the place of the user's controller.
        None => in_yaml("echo 'write here what builds ./my-controller' >&2; exit 1"),
        Some(_) => in_yaml("echo 'write here what builds the controller, if it is not in the repository'"),
    };
    let workflow = include_str!("init/workflow.yml")
        .replace("OWN/", "own/")
        .replace("REPOSITORY", REPOSITORY)
        .replace("lockstep-VERSION", &format!("lockstep-{VERSION}"))
        .replace("working-directory: FOLDER", &format!("working-directory: {}", in_yaml(&folder.display().to_string())))
        .replace("FOLDER/", &if folder == Path::new(".") { String::new() } else { format!("{}/", folder.display()) })
        .replace("BUILD", &build)
        .replace("SUBJECT", &subject_or_placeholder);
    // From the folder up to the root of the repository.
    let workflow_path = below.components().map(|_| Path::new("..")).collect::<PathBuf>().join(WORKFLOW);
    let readme = include_str!("init/README.md")
        .replace("SUBJECT", &subject_or_placeholder)
        .replace("WORKFLOW", &format!("`{}`", workflow_path.display()));
    vec![
        file(CASE.into(), include_str!("init/first.yaml").to_owned(), false),
        file(workflow_path, workflow, false),
        file(".gitignore".into(), include_str!("init/gitignore").to_owned(), true),
        file("README.md".into(), readme, true),
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::program("command:./my-controller --fast", "mine", "command:../my-controller --fast")]
    #[case::deeper("command:bin/my-controller", "a/b", "command:../../bin/my-controller")]
    #[case::program_on_path("command:kube-thing -v", "mine", "command:kube-thing -v")]
    #[case::file_of_an_interpreter("command:python3 main.py x", "mine", "command:python3 ../main.py x")]
    #[case::words_with_blanks("command:'./my controller' 'a b'", "mine", "command:'../my controller' 'a b'")]
    #[case::absolute("command:/bin/true", "mine", "command:/bin/true")]
    #[case::only_in_the_folder("command:./inside", "mine", "command:./inside")]
    #[case::same_folder("command:./my-controller", ".", "command:./my-controller")]
    #[case::manifest("deployment:main.py", "mine", "deployment:../main.py")]
    #[case::no_path("upstream:v1.35.0", "mine", "upstream:v1.35.0")]
    #[case::name_alone("ours", "mine", "ours")]
    fn subject_is_given_from_the_new_folder(#[case] typed: &str, #[case] folder: &str, #[case] expected: &str) {
        let here = tempfile::tempdir().unwrap();
        std::fs::create_dir(here.path().join("mine")).unwrap();
        std::fs::write(here.path().join("mine/inside"), "").unwrap();
        std::fs::write(here.path().join("main.py"), "").unwrap();
        let target = absolute(here.path(), Path::new(folder));
        assert_eq!(subject_from(here.path(), &target, typed).unwrap(), expected);
    }

    #[test]
    fn workflow_of_a_folder_without_a_subject_cannot_be_green() {
        let files = template_files(None, Path::new(""));
        let text = String::from_utf8(files[1].bytes.to_vec()).unwrap();
        assert!(text.contains("exit 1\"") && text.contains("--subject command:./my-controller\n"), "{text}");
        let placeholders = ["FOLDER", "BUILD", "SUBJECT", "REPOSITORY", "VERSION", "OWN/"];
        assert_eq!(placeholders.map(|word| text.contains(word)), [false; 6], "{text}");
    }
}
