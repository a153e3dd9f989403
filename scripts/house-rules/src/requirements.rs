//! Requirements and rules: each requirement names the file that implements it, and a rule file of
//! the Deployment or ReplicaSet controller begins with the API field or the term that it is about.

use std::collections::BTreeMap;

use regex::Regex;

use crate::repository::{Breach, Repository};

const PATH: &str = "cases/requirements.yaml";
/// The folders whose files begin with an API field or a term.
const RULES: [&str; 2] = ["controller/crates/rules/src/deployment/", "controller/crates/rules/src/replicaset/"];

/// Files that requirements name, and the first lines of rule files among them.
pub(crate) fn check(repository: &Repository) -> Vec<Breach> {
    let Some(table) = repository.texts.get(PATH) else { return Vec::new() };
    let code = Regex::new(r"^  code: (\S+)").expect("it compiles");
    let mut breaches = Vec::new();
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, line) in table.lines().enumerate() {
        let Some(file) = code.captures(line).and_then(|found| found.get(1)) else { continue };
        if repository.texts.contains_key(file.as_str()) {
            files.entry(file.as_str()).or_insert(index + 1);
        } else {
            breaches.push(Breach::new(PATH, index + 1, format!("{} does not exist", file.as_str())));
        }
    }
    // `spec.paused`: …, or: rank: …
    let subject = Regex::new(r"^//! (?:`[^`]+`|[A-Za-z][A-Za-z ]*: )").expect("it compiles");
    for file in files.into_keys().filter(|file| RULES.iter().any(|folder| file.starts_with(folder))) {
        if !repository.texts[file].lines().next().is_some_and(|line| subject.is_match(line)) {
            breaches.push(Breach::new(
                file,
                1,
                "a rule file begins with the API field or the term that it is about: //! `spec.paused`: what the rule does",
            ));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_missing_rule_files_and_first_lines_without_a_subject() {
        let texts = [
            (
                PATH,
                "- id: a\n  code: controller/crates/rules/src/deployment/pause.rs\n- id: b\n  code: controller/crates/rules/src/deployment/gone.rs\n\
                - id: c\n  code: controller/crates/rules/src/replicaset/rank.rs\n- id: d\n  code: controller/crates/rules/src/replicaset/plain.rs\n\
                - id: e\n  code: harness/src/undo.rs\n",
            ),
            ("controller/crates/rules/src/deployment/pause.rs", "//! `spec.paused`: reports a pause.\n"),
            ("controller/crates/rules/src/replicaset/rank.rs", "//! rank: counts pods on a node.\n"),
            ("controller/crates/rules/src/replicaset/plain.rs", "//! Decides something.\n"),
            ("harness/src/undo.rs", "use std::fmt;\n"),
        ];
        let repository = Repository::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        let found: Vec<String> = check(&repository).iter().map(|it| format!("{}:{}", it.path, it.line)).collect();
        assert_eq!(found, ["cases/requirements.yaml:4", "controller/crates/rules/src/replicaset/plain.rs:1"]);
    }
}
