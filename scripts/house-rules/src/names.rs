//! Names: no two types share one, and none says nothing.

use std::collections::BTreeMap;

use crate::repository::{Breach, Repository};
use crate::source::Declared;
use crate::words::Words;

/// What a file or a folder may not be called.
const SAY_NOTHING: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "manager", "managers"];

/// Names of types, files and folders.
pub(crate) fn check(repository: &Repository, words: &Words) -> Vec<Breach> {
    let mut breaches = shared_types(repository, words);
    for source in &repository.sources {
        let parts = source.path.trim_end_matches(".rs").split('/');
        for part in parts.filter(|part| SAY_NOTHING.contains(part)) {
            breaches.push(Breach::new(&source.path, 1, format!("the name '{part}' says nothing of what is in it")));
        }
    }
    breaches
}

/// Types that share a name, tests left out.
fn shared_types(repository: &Repository, words: &Words) -> Vec<Breach> {
    let mut types: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for source in repository.sources.iter().filter(|source| !source.is_test()) {
        let declared = source.declarations.iter();
        for declaration in declared.filter(|it| it.what == Declared::Type && it.line < source.tests_from) {
            types.entry(&declaration.name).or_default().push((&source.path, declaration.line));
        }
    }
    let mut breaches = Vec::new();
    for (name, places) in types.into_iter().filter(|(name, places)| places.len() > 1 && !words.is_shared(name)) {
        for (path, line) in &places {
            let other = places.iter().find(|place| *place != &(*path, *line));
            let other = other.map_or_else(String::new, |(path, line)| format!(" ({path}:{line})"));
            let message = format!("{} types are called `{name}`{other}: give each its own name", places.len());
            breaches.push(Breach::new(path, *line, message));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_types_that_share_a_name() {
        let words = Words::read(include_str!("../words.yaml")).unwrap();
        let texts = [("a.rs", "struct A;\nenum Error {}\n"), ("b.rs", "\nenum A {}\nenum Error {}\n")];
        let repository = Repository::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        let found = check(&repository, &words);
        assert_eq!(found.iter().map(|it| (it.path.as_str(), it.line)).collect::<Vec<_>>(), [("a.rs", 1), ("b.rs", 2)]);
    }
}
