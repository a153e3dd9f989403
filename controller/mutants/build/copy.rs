//! Copies the sources of the rules and of the config restarts, and inserts switches at the places
//! that the bank names.
//!
//! A copied crate becomes a module, so its paths get the name of that module.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bank;

/// The bank, relative to this crate.
pub(crate) const BANK: &str = "bank";
/// The sources, relative to this crate: links, so that a package contains them.
pub(crate) const SOURCES: &str = "sources";
/// The crates that are copied, by their folders in [`SOURCES`], and the module of each. None knows
/// the other.
const CRATES: [(&str, &str); 2] = [("rules", "rollout_rules"), ("config-restart", "config_restart")];

/// Writes a folder for each crate, and `bank.rs`, into the build's output folder.
///
/// # Errors
/// All problems of the bank, or a file that cannot be read or written.
pub(crate) fn write() -> Result<(), Vec<String>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or_else(|| vec!["OUT_DIR is not set".to_owned()])?);
    let mutants = bank::read(Path::new(BANK)).map_err(|fault| vec![fault])?;
    let changed = bank::insert_all_switches(&mutants, Path::new(SOURCES))?;
    for (folder, module) in CRATES {
        let to = out.join(module);
        fs::remove_dir_all(&to).ok();
        CrateCopy { folder, module, to: &to, changed: &changed }.copy(Path::new("")).map_err(|fault| vec![fault])?;
    }
    let entries: String = mutants.iter().map(entry).collect();
    let modules = "pub mod config_restart;\npub mod rollout_rules;\n";
    let text = format!("{modules}\n/// Every mutant of the bank.\npub const BANK: &[Mutant] = &[\n{entries}];\n");
    put(&out.join("bank.rs"), &text).map_err(|fault| vec![fault])
}

fn entry(mutant: &bank::BankEntry) -> String {
    let bank::BankEntry { name, of, does, .. } = mutant;
    format!("    Mutant {{ name: {name:?}, of: MutatedController::{of}, does: {does:?} }},\n")
}

/// One crate, and where it is copied to.
struct CrateCopy<'a> {
    folder: &'a str,
    module: &'a str,
    to: &'a Path,
    /// The files with switches, by path beneath [`SOURCES`].
    changed: &'a BTreeMap<String, String>,
}

impl CrateCopy<'_> {
    /// Copies a folder of the crate.
    fn copy(&self, folder: &Path) -> Result<(), String> {
        let beneath = Path::new(self.folder).join(folder);
        let from = Path::new(SOURCES).join(&beneath);
        let failed = |error| format!("{}: {error}", from.display());
        fs::create_dir_all(self.to.join(folder)).map_err(failed)?;
        for entry in fs::read_dir(&from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                self.copy(&path)?;
                continue;
            }
            let text = match self.changed.get(&*beneath.join(entry.file_name()).to_string_lossy()) {
                Some(text) => text.clone(),
                None => fs::read_to_string(entry.path()).map_err(failed)?,
            };
            let name = if path == Path::new("lib.rs") { "mod.rs".into() } else { path };
            put(&self.to.join(name), &self.with_module_paths(&text))?;
        }
        Ok(())
    }

    /// Makes paths of the copied crate paths of its module.
    fn with_module_paths(&self, text: &str) -> String {
        let own = replace_path(text, "crate::", &format!("crate::{}::", self.module));
        own.replace(&format!("crate::{}::switch::", self.module), "crate::switch::")
    }
}

/// Replaces the beginning of paths; what stands within a longer path stays.
fn replace_path(text: &str, begin: &str, instead: &str) -> String {
    let mut parts = text.split(begin);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_within = replaced.ends_with(|sign: char| sign.is_alphanumeric() || matches!(sign, '_' | ':' | '$'));
        replaced.push_str(if is_within { begin } else { instead });
        replaced.push_str(part);
    }
    replaced
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
