//! Rules and cases: a rule of the controller names the cases that pin it, and they exist; a
//! timeline has a case.

use std::collections::BTreeSet;

use regex::Regex;

use crate::repository::{Breach, Repository};

/// Rules, cases and timelines.
pub(crate) fn check(repository: &Repository) -> Vec<Breach> {
    let mut breaches = rules_without_a_case(repository);
    breaches.extend(cases_that_do_not_exist(repository));
    for (path, _) in repository.below("cases/", ".timeline") {
        let mut case = path.trim_end_matches(".timeline");
        for part in [".or-", ".on-v1.", ".by-v1.", "@"] {
            case = case.split_once(part).map_or(case, |(case, _)| case);
        }
        if !repository.texts.contains_key(&format!("{case}.yaml")) {
            breaches.push(Breach::new(path, 1, format!("a timeline without a case: {case}.yaml does not exist")));
        }
    }
    breaches
}

/// Files that have a mutant, and name no case in their first comment.
fn rules_without_a_case(repository: &Repository) -> Vec<Breach> {
    let file = Regex::new(r"^ +(?:- )?file: ((?:rules|config-restart)/\S+)").expect("it compiles");
    let case = Regex::new(r"^//! .*Cases?: `").expect("it compiles");
    let mutated: BTreeSet<&str> = repository
        .below("controller/mutants/bank/", ".yaml")
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| Some(file.captures(line)?.get(1)?.as_str()))
        .collect();
    let mut breaches = Vec::new();
    for (folder, file) in mutated.into_iter().filter_map(|file| file.split_once('/')) {
        let path = format!("controller/crates/{folder}/src/{file}");
        let Some(text) = repository.texts.get(&path) else { continue };
        if !text.lines().any(|line| case.is_match(line)) {
            breaches.push(Breach::new(
                &path,
                1,
                "has a mutant and names no case in its first comment (Case: `area/name`)",
            ));
        }
    }
    breaches
}

/// Cases that comments of the controller name and that are not there.
fn cases_that_do_not_exist(repository: &Repository) -> Vec<Breach> {
    let areas: BTreeSet<&str> =
        repository.below("cases/", ".yaml").filter_map(|(path, _)| path.split('/').nth(1)).collect();
    let case = Regex::new("`([a-z0-9-]+)/([a-z0-9/-]+)(?:@([a-z]+))?`").expect("it compiles");
    let mut breaches = Vec::new();
    for source in repository.sources.iter().filter(|source| source.path.starts_with("controller/")) {
        for comment in &source.comments {
            for named in case.captures_iter(&comment.text).filter(|named| areas.contains(&named[1])) {
                let path = format!("cases/{}/{}.yaml", &named[1], &named[2]);
                let Some(text) = repository.texts.get(&path) else {
                    breaches.push(Breach::new(&source.path, comment.line, format!("{path} does not exist")));
                    continue;
                };
                let profile = named.get(3).map(|profile| profile.as_str());
                let lists = |line: &str| {
                    let listed = line.split_once("profiles: [").and_then(|(_, rest)| rest.split(']').next());
                    listed.is_some_and(|listed| listed.split(',').any(|listed| Some(listed.trim()) == profile))
                };
                if profile.is_some() && !text.lines().any(lists) {
                    breaches.push(Breach::new(&source.path, comment.line, format!("{path} has no such profile")));
                }
            }
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_rules_without_a_case_and_cases_that_do_not_exist() {
        let texts = [
            ("controller/mutants/bank/a.yaml", "  - file: rules/deployment/a.rs\n  - file: rules/deployment/b.rs\n"),
            ("controller/crates/rules/src/deployment/a.rs", "//! A.\n"),
            (
                "controller/crates/rules/src/deployment/b.rs",
                "//! B. Case: `rolling/one`, `rolling/two`, `rolling/one@xing`, `rolling/a/one`, `rolling/a/two`.\n",
            ),
            ("cases/rolling/one.yaml", "restart: {profiles: [safe, other]}\n"),
            ("cases/rolling/a/one.yaml", ""),
            ("cases/rolling/one.on-v1.20.timeline", ""),
            ("cases/rolling/three.timeline", ""),
        ];
        let repository = Repository::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        let found: Vec<String> =
            check(&repository).into_iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
        assert_eq!(
            found,
            [
                "controller/crates/rules/src/deployment/a.rs: has a mutant and names no case in its first comment (Case: `area/name`)",
                "controller/crates/rules/src/deployment/b.rs: cases/rolling/two.yaml does not exist",
                "controller/crates/rules/src/deployment/b.rs: cases/rolling/one.yaml has no such profile",
                "controller/crates/rules/src/deployment/b.rs: cases/rolling/a/two.yaml does not exist",
                "cases/rolling/three.timeline: a timeline without a case: cases/rolling/three.yaml does not exist",
            ]
        );
    }
}
