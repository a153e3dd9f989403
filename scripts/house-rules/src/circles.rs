//! Circles: the files of a crate do not import each other in circles. Cargo sees to it between
//! crates, and the compiler allows it within one.
//!
//! A re-export (`pub use`) is no import: what is behind it counts. Tests are left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::imports::{Import, Imports, imports};
use crate::repository::{Breach, Repository};

/// The shortest circle of each set of files that import each other.
pub(crate) fn check(repository: &Repository) -> Vec<Breach> {
    let manifests = repository.texts.keys().filter_map(|path| path.strip_suffix("Cargo.toml"));
    manifests.flat_map(|folder| CrateModules::read(repository, &format!("{folder}src/")).circles()).collect()
}

/// The modules of one crate without test modules.
struct CrateModules {
    files: BTreeMap<Vec<String>, File>,
}

#[derive(Default)]
struct File {
    /// The path from the root of the repository.
    path: String,
    imports: Vec<Import>,
}

/// A path in the graph of imports: modules, each with the line of its import of the next.
type Way = Vec<(Vec<String>, usize)>;

impl CrateModules {
    fn read(repository: &Repository, folder: &str) -> Self {
        let mut tests: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut files: BTreeMap<Vec<String>, File> = BTreeMap::new();
        for source in repository.sources.iter().filter(|source| source.path.starts_with(folder)) {
            let module = module(&source.path[folder.len()..]);
            let Imports { all, tests: declared } = imports(&module, &source.tokens);
            tests.extend(declared.into_iter().map(|name| [module.as_slice(), &[name]].concat()));
            // `lib.rs` and `main.rs` are both the root.
            let file = files.entry(module).or_default();
            source.path.clone_into(&mut file.path);
            file.imports.extend(all);
        }
        files.retain(|module, _| !(1..=module.len()).any(|length| tests.contains(&module[..length])));
        Self { files }
    }

    /// The module that defines the item of a path, following re-exports.
    fn home(&self, path: &[String]) -> Vec<String> {
        let mut path = path.to_vec();
        // Each round follows one re-export; this is more than enough.
        for _ in 0..16 {
            let length = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length])).unwrap_or(0);
            let (module, rest) = path.split_at(length);
            let imports = self.files.get(module).map_or(&[][..], |file| &file.imports);
            let follows = |name: &String| imports.iter().find(|import| import.name.as_ref() == Some(name));
            let Some(import) = rest.first().and_then(follows).filter(|import| import.path != path[..=length]) else {
                return module.to_vec();
            };
            path = [&import.path, &rest[1..]].concat();
        }
        path
    }

    /// The imports between files, with line numbers.
    fn arrows(&self) -> BTreeMap<Vec<String>, BTreeMap<Vec<String>, usize>> {
        let mut arrows: BTreeMap<Vec<String>, BTreeMap<Vec<String>, usize>> = BTreeMap::new();
        for (module, file) in &self.files {
            for import in file.imports.iter().filter(|import| !import.is_public) {
                let home = self.home(&import.path);
                if home != *module && self.files.contains_key(&home) {
                    arrows.entry(module.clone()).or_default().entry(home).or_insert(import.line);
                }
            }
        }
        arrows
    }

    fn circles(&self) -> Vec<Breach> {
        let arrows = self.arrows();
        let mut circles: Vec<Way> = arrows.keys().filter_map(|start| way_back(&arrows, start)).collect();
        circles.sort_by_key(Vec::len);
        // The shortest names each file once; longer ones through it are seen when it is gone.
        let (mut seen, mut breaches) = (BTreeSet::new(), Vec::new());
        for circle in circles {
            if circle.iter().any(|(module, _)| seen.contains(module)) {
                continue;
            }
            seen.extend(circle.iter().map(|(module, _)| module.clone()));
            let place = |(module, line): &(Vec<String>, usize)| format!("{}:{line}", self.files[module].path);
            let places: Vec<String> = circle.iter().map(place).collect();
            let message = format!("files import each other in a circle: {}", places.join(" -> "));
            breaches.push(Breach::new(&self.files[&circle[0].0].path, circle[0].1, message));
        }
        breaches
    }
}

/// The module path of a file.
fn module(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = path.trim_end_matches(".rs").split('/').map(ToOwned::to_owned).collect();
    let is_root = parts.len() == 1 && (parts[0] == "lib" || parts[0] == "main");
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// The shortest way of imports from a file back to itself.
fn way_back(arrows: &BTreeMap<Vec<String>, BTreeMap<Vec<String>, usize>>, start: &[String]) -> Option<Way> {
    let mut seen = BTreeSet::new();
    let mut ways = VecDeque::from([(start.to_vec(), Vec::new())]);
    while let Some((here, way)) = ways.pop_front() {
        for (next, line) in arrows.get(&here).into_iter().flatten() {
            let way = [way.as_slice(), &[(here.clone(), *line)]].concat();
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push_back((next.clone(), way));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages about a crate with these files.
    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files.iter().map(|(path, text)| (format!("a/{path}"), (*text).to_owned()));
        let manifest = ("a/Cargo.toml".to_owned(), String::new());
        check(&Repository::new(texts.chain([manifest]).collect())).into_iter().map(|breach| breach.message).collect()
    }

    /// Also through a re-export: `super::A` is defined in a.rs.
    #[test]
    fn finds_a_circle() {
        let files = [
            ("src/lib.rs", "mod left;"),
            ("src/left/mod.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub(crate) use {b::B, c::C};"),
            ("src/left/a.rs", "use super::B;"),
            ("src/left/b.rs", "\nuse super::c::C;"),
            ("src/left/c.rs", "use crate::left::A;"),
        ];
        let expected = "files import each other in a circle: \
            a/src/left/a.rs:1 -> a/src/left/b.rs:2 -> a/src/left/c.rs:1";
        assert_eq!(messages(&files), [expected]);
    }

    #[test]
    fn finds_a_circle_with_the_root() {
        let files = [("src/lib.rs", "mod a;\nuse a::A;\npub struct Thing;"), ("src/a.rs", "use crate::Thing;")];
        assert_eq!(messages(&files), ["files import each other in a circle: a/src/lib.rs:2 -> a/src/a.rs:1"]);
    }

    #[test]
    fn ignores_re_exports_visibilities_tests_comments_and_texts() {
        let files = [
            ("src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub struct Thing;"),
            ("src/a.rs", "use crate::Thing;\npub(in crate::b) struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }"),
            ("src/b.rs", "//! [`crate::b`]\nuse crate::A;\nconst B: &str = \"crate::b::B\";"),
        ];
        assert_eq!(messages(&files), [""; 0]);
    }
}
