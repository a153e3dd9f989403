//! The copy: each file of the controller as it is, or with switches where the bank names places in
//! it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bank;

/// The bank, seen from this crate.
pub(crate) const BANK: &str = "bank";
/// The controller, seen from this crate: a link to `../src`, so that a package has a copy.
pub(crate) const SOURCES: &str = "controller";

/// Writes `controller/` and `bank.rs` into the build's output folder.
///
/// # Errors
/// All that is wrong with the bank, or a file that cannot be read or written.
pub(crate) fn write() -> Result<(), Vec<String>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or_else(|| vec!["OUT_DIR is not set".to_owned()])?);
    let mutants = bank::read(Path::new(BANK)).map_err(|fault| vec![fault])?;
    let switched = bank::switched(&mutants, Path::new(SOURCES))?;
    let copied = out.join("controller");
    fs::remove_dir_all(&copied).ok();
    copy(Path::new(SOURCES), Path::new(""), &copied, &switched).map_err(|fault| vec![fault])?;
    let listed: String = mutants.iter().map(listed).collect();
    put(&out.join("bank.rs"), &format!("/// All of them.\npub const BANK: &[Mutant] = &[\n{listed}];\n"))
        .map_err(|fault| vec![fault])
}

fn listed(mutant: &bank::Mutant) -> String {
    let bank::Mutant { name, of, does, .. } = mutant;
    format!("    Mutant {{ name: {name:?}, of: ControllerName::{of}, does: {does:?} }},\n")
}

/// Copies a folder beneath `root`.
fn copy(root: &Path, folder: &Path, to: &Path, switched: &BTreeMap<String, String>) -> Result<(), String> {
    let from = root.join(folder);
    let failed = |error| format!("{}: {error}", from.display());
    fs::create_dir_all(to.join(folder)).map_err(failed)?;
    for entry in fs::read_dir(&from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            copy(root, &path, to, switched)?;
            continue;
        }
        let text = match switched.get(&*path.to_string_lossy()) {
            Some(text) => text.clone(),
            None => fs::read_to_string(entry.path()).map_err(failed)?,
        };
        put(&to.join(&path), &included(&path, text))?;
    }
    Ok(())
}

/// A file that is included may not begin with documentation of its own: `lib.rs` loses its essay.
fn included(path: &Path, text: String) -> String {
    if path != Path::new("lib.rs") {
        return text;
    }
    text.lines().filter(|line| !line.starts_with("//!")).flat_map(|line| [line, "\n"]).collect()
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
