//! Copies the controller's sources, and inserts switches at the places that the bank names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bank;

/// The bank, relative to this crate.
pub(crate) const BANK: &str = "bank";
/// The controller's sources, relative to this crate: a link to `../src`, so that a package contains
/// them.
pub(crate) const SOURCES: &str = "controller";

/// Writes `controller/` and `bank.rs` into the build's output folder.
///
/// # Errors
/// All problems of the bank, or a file that cannot be read or written.
pub(crate) fn write() -> Result<(), Vec<String>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or_else(|| vec!["OUT_DIR is not set".to_owned()])?);
    let mutants = bank::read(Path::new(BANK)).map_err(|fault| vec![fault])?;
    let changed = bank::insert_all_switches(&mutants, Path::new(SOURCES))?;
    let copied = out.join("controller");
    fs::remove_dir_all(&copied).ok();
    copy(Path::new(SOURCES), Path::new(""), &copied, &changed).map_err(|fault| vec![fault])?;
    let entries: String = mutants.iter().map(entry).collect();
    put(&out.join("bank.rs"), &format!("/// Every mutant of the bank.\npub const BANK: &[Mutant] = &[\n{entries}];\n"))
        .map_err(|fault| vec![fault])
}

fn entry(mutant: &bank::BankEntry) -> String {
    let bank::BankEntry { name, of, does, .. } = mutant;
    format!("    Mutant {{ name: {name:?}, of: ControllerName::{of}, does: {does:?} }},\n")
}

/// Copies a folder beneath `root`.
fn copy(root: &Path, folder: &Path, to: &Path, changed: &BTreeMap<String, String>) -> Result<(), String> {
    let from = root.join(folder);
    let failed = |error| format!("{}: {error}", from.display());
    fs::create_dir_all(to.join(folder)).map_err(failed)?;
    for entry in fs::read_dir(&from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            copy(root, &path, to, changed)?;
            continue;
        }
        let text = match changed.get(&*path.to_string_lossy()) {
            Some(text) => text.clone(),
            None => fs::read_to_string(entry.path()).map_err(failed)?,
        };
        put(&to.join(&path), &without_essay(&path, text))?;
    }
    Ok(())
}

/// Removes the documentation at the beginning of `lib.rs`, because an included file may not have
/// any.
fn without_essay(path: &Path, text: String) -> String {
    if path != Path::new("lib.rs") {
        return text;
    }
    text.lines().filter(|line| !line.starts_with("//!")).flat_map(|line| [line, "\n"]).collect()
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
