//! Reads the mutant bank: the mutants, and where the rules of each differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::switches::{Replacement, Switch, insert_switches};

/// The files of the bank, each with the controller whose rules its mutants change.
const FILES: [(&str, &str); 3] =
    [("deployment.yaml", "Deployment"), ("replica-set.yaml", "ReplicaSet"), ("config-restart.yaml", "ConfigRestart")];

/// A controller with one rule changed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BankEntry {
    pub(crate) name: String,
    /// The variant of `MutatedController` whose rule it changes.
    #[serde(skip)]
    pub(crate) of: &'static str,
    /// Its behaviour, as the rest of a sentence that begins with "it".
    pub(crate) does: String,
    /// The expressions that it replaces, all of them.
    places: Vec<Replacement>,
}

/// Reads the bank.
///
/// # Errors
/// If a file does not exist or does not contain a list of mutants.
pub(crate) fn read(folder: &Path) -> Result<Vec<BankEntry>, String> {
    let mut all = Vec::new();
    for (file, of) in FILES {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mutants: Vec<BankEntry> =
            serde_saphyr::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        all.extend(mutants.into_iter().map(|mutant| BankEntry { of, ..mutant }));
    }
    Ok(all)
}

/// The source files that mutants change, by path, with the switches inserted.
///
/// # Errors
/// All problems: a name that occurs twice, a mutant without a place, a file that does not exist,
/// and places that do not match their file.
pub(crate) fn insert_all_switches(
    mutants: &[BankEntry],
    sources: &Path,
) -> Result<BTreeMap<String, String>, Vec<String>> {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    let mut files: BTreeMap<&str, Vec<Switch<'_>>> = BTreeMap::new();
    for mutant in mutants {
        if !names.insert(&mutant.name) {
            faults.push(format!("mutant {}: the bank has two of this name", mutant.name));
        }
        if mutant.places.is_empty() {
            faults.push(format!("mutant {}: it has no place", mutant.name));
        }
        for place in &mutant.places {
            files.entry(&place.file).or_default().push(Switch { mutant: &mutant.name, place });
        }
    }
    let mut texts = BTreeMap::new();
    for (file, switches) in files {
        match fs::read_to_string(sources.join(file)) {
            Ok(source) => match insert_switches(&source, &switches) {
                Ok(text) => drop(texts.insert(file.to_owned(), text)),
                Err(wrong) => faults.extend(wrong),
            },
            Err(error) => {
                let why = |switch: &Switch<'_>| format!("mutant {}: {file}: {error}", switch.mutant);
                faults.extend(switches.iter().map(why));
            }
        }
    }
    if faults.is_empty() { Ok(texts) } else { Err(faults) }
}
