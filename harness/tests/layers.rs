//! Checks the layers of each crate: a top-level module with all its files imports only from lower
//! layers, and the files within it do not import each other in cycles.
//!
//! The imports are read from the sources: `use` declarations and paths such as `crate::model::Pod`,
//! resolved through `mod.rs` and its re-exports to the defining file. Tests are left out. The root
//! (`lib.rs`, `main.rs`) may import everything.
//!
//! To check another crate, add a constant next to [`CONTROLLER`] and a case to [`layers`].

#[path = "layers/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use imports::{Import, Imports};
use rstest::rstest;

/// The allowed imports of one crate.
struct Crate {
    /// The path of its sources from this crate.
    sources: &'static str,
    /// Its top-level modules, the lowest layer first. A module imports from layers below its own,
    /// and not from its own layer.
    layers: &'static [&'static [&'static str]],
    /// Modules whose files import each other in cycles; should be empty.
    circular: &'static [&'static str],
}

/// The controller, and after it the modules of its program: flags and their meaning.
const CONTROLLER: Crate = Crate {
    sources: "../controller/src",
    layers: &[
        &["clock", "model"],
        &["hash"],
        &["metrics", "settings"],
        &["api", "connect"],
        &["deployment", "replicaset", "restart"],
        &["runtime"],
        &["process"],
        &["serving_flags"],
        &["launch"],
        &["checksum_key", "reloader_flags"],
        &["restart_flags"],
        &["flags"],
    ],
    circular: &[],
};

/// The harness: pure modules, modules with I/O, modules that combine them, and the program.
const HARNESS: Crate = Crate {
    sources: "src",
    layers: &[
        &["clock", "collection", "output", "private_fs", "state_dir"],
        &[
            "error_chain",
            "controllers",
            "coverage",
            "pod_expectation",
            "fingerprint",
            "outcome",
            "sanitize",
            "pointer",
            "shell",
            "yaml",
            "workload",
        ],
        &["mutants", "recording"],
        &["secret"],
        &["timeline"],
        &["rules", "versions"],
        &["case"],
        &["faults", "series", "verdict"],
        &["explore", "golden", "infer", "report", "search"],
        &["campaign", "inspect"],
        &["supervise"],
        &["cluster"],
        &["capture", "intercept"],
        &["audit"],
        &["observe", "subject"],
        &["driver", "monitor"],
        &["runner"],
        &["run"],
        &["trials"],
        &["cli"],
    ],
    circular: &["case", "cli", "golden", "recording", "rules", "runner", "subject", "timeline"],
};

#[rstest]
#[case::controller(&CONTROLLER)]
#[case::harness(&HARNESS)]
fn layers(#[case] of: &Crate) {
    let faults = faults(of, &Tree::read(of.sources));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// The modules of one crate without test modules.
struct Tree {
    /// The sources' path from the repository's root.
    sources: String,
    files: BTreeMap<Vec<String>, File>,
}

struct File {
    /// The path within the sources.
    path: String,
    imports: Vec<Import>,
}

impl Tree {
    /// Reads all files within a folder.
    fn read(sources: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
        let mut texts = BTreeMap::new();
        for entry in walkdir::WalkDir::new(&root) {
            let entry = entry.expect("the sources can be listed");
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let beneath =
                    path.strip_prefix(&root).expect("it was found there").to_string_lossy().replace('\\', "/");
                texts.insert(beneath, fs::read_to_string(path).expect("a source can be read"));
            }
        }
        Self::of(sources, texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }

    /// Builds a tree from paths and texts.
    fn of<'a>(sources: &str, texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tests: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut files: BTreeMap<Vec<String>, File> = BTreeMap::new();
        for (path, text) in texts {
            let module = module(path);
            let Imports { all, tests: declared } = imports::imports(&module, text);
            tests.extend(declared.into_iter().map(|name| [module.as_slice(), &[name]].concat()));
            // `lib.rs` and `main.rs` are both the root.
            let file = files.entry(module).or_insert_with(|| File { path: path.to_owned(), imports: Vec::new() });
            file.imports.extend(all);
        }
        files.retain(|module, _| !(1..=module.len()).any(|length| tests.contains(&module[..length])));
        let sources = sources.strip_prefix("../").map_or_else(|| format!("harness/{sources}"), ToOwned::to_owned);
        Self { sources, files }
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

    fn at(&self, file: &File, line: usize) -> String {
        format!("{}/{}:{line}", self.sources, file.path)
    }
}

/// The module path of a file; empty for the root.
fn module(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Vec<String> = path.split('/').map(ToOwned::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || path == "lib" || path == "main" {
        parts.pop();
    }
    parts
}

/// All disallowed imports.
fn faults(of: &Crate, tree: &Tree) -> Vec<String> {
    let layer = |room: &str| of.layers.iter().position(|rooms| rooms.contains(&room));
    let rooms: BTreeSet<&str> = tree.files.keys().filter_map(|module| module.first()).map(String::as_str).collect();
    let named = of.layers.iter().copied().flatten().copied();
    let mut faults: Vec<String> = rooms
        .iter()
        .filter(|room| layer(room).is_none())
        .map(|room| format!("{}: the room {room} is in no layer; add it to the table in {}", tree.sources, file!()))
        .collect();
    faults.extend(
        named
            .filter(|room| !rooms.contains(room))
            .map(|room| format!("{}: the table in {} has a room {room}, and there is none", tree.sources, file!())),
    );
    for (module, file) in &tree.files {
        let Some(room) = module.first() else { continue };
        let Some(own) = layer(room) else { continue };
        for import in &file.imports {
            // The module that it names; an item at the root counts as part of the module that the
            // root re-exports it from.
            let named = import.path.first().filter(|name| rooms.contains(name.as_str())).cloned();
            let Some(other) = named.or_else(|| tree.home(&import.path).into_iter().next()) else {
                let (at, path) = (tree.at(file, import.line), import.path.join("::"));
                faults.push(format!(
                    "{at}: {room} imports crate::{path} from the crate's root, which is above all rooms"
                ));
                continue;
            };
            if other != *room && layer(&other).is_some_and(|other| other >= own) {
                let allowed = of.layers[..own].concat().join(", ");
                let (at, path) = (tree.at(file, import.line), import.path.join("::"));
                faults.push(format!(
                    "{at}: {room} must not import {other} (crate::{path}); {room} may import {}",
                    if allowed.is_empty() { "no other room" } else { &allowed }
                ));
            }
        }
    }
    for room in rooms {
        match (circle(tree, room), of.circular.contains(&room)) {
            (Some(circle), false) => faults.push(circle),
            (None, true) => {
                faults.push(format!(
                    "{}: the files of {room} have no circle any more; take it off `circular`",
                    tree.sources
                ));
            }
            _ => {}
        }
    }
    faults
}

/// The imports between files of a module, with line numbers.
type Arrows = BTreeMap<Vec<String>, BTreeMap<Vec<String>, usize>>;

/// The shortest import cycle among the files of a module.
fn circle(tree: &Tree, room: &str) -> Option<String> {
    let is_inside = |module: &[String]| module.first().is_some_and(|first| first == room);
    let mut arrows = Arrows::new();
    for (module, file) in tree.files.iter().filter(|(module, _)| is_inside(module)) {
        // A re-export (`pub use`) is not a dependency.
        for import in file.imports.iter().filter(|import| !import.is_public) {
            let home = tree.home(&import.path);
            if home != *module && is_inside(&home) {
                arrows.entry(module.clone()).or_default().entry(home).or_insert(import.line);
            }
        }
    }
    let shortest = arrows.keys().filter_map(|start| way_back(&arrows, start)).min_by_key(Vec::len)?;
    let places: Vec<_> = shortest.iter().map(|(module, line)| tree.at(&tree.files[module], *line)).collect();
    Some(format!("files of {room} must not import each other in a circle: {}", places.join(" -> ")))
}

/// The shortest import path from a file back to itself: each file on it, with the line of its
/// import.
fn way_back(arrows: &Arrows, start: &[String]) -> Option<Vec<(Vec<String>, usize)>> {
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

    const TABLE: Crate =
        Crate { sources: "../somewhere/src", layers: &[&["base"], &["left", "right"], &["top"]], circular: &[] };

    const BASE: (&str, &str) = ("base.rs", "pub struct Thing;");
    const LEFT_MODULE: (&str, &str) = ("left/mod.rs", "mod inner;\npub use inner::Inner;");
    const RIGHT: (&str, &str) = ("right.rs", "");
    const TOP: (&str, &str) = ("top.rs", "use crate::{base::Thing, left::Inner};");
    const ROOT: (&str, &str) = ("lib.rs", "mod base;\nmod left;\npub use left::Inner;\npub struct OfRoot;");

    /// The disallowed imports of a crate in which `left/inner.rs` has this text.
    fn disallowed_imports(inner: &str) -> Vec<String> {
        faults(&TABLE, &Tree::of(TABLE.sources, [BASE, LEFT_MODULE, RIGHT, TOP, ROOT, ("left/inner.rs", inner)]))
    }

    #[rstest]
    #[case::use_of_a_higher_layer(
        "use std::sync::Arc;\n\nuse crate::top::Top;",
        "somewhere/src/left/inner.rs:3: left must not import top (crate::top::Top); left may import base"
    )]
    #[case::use_of_a_neighbour(
        "use crate::{\n    base::Thing,\n    right::{self, Right},\n};",
        "somewhere/src/left/inner.rs:3: left must not import right (crate::right); left may import base"
    )]
    #[case::path_in_an_expression(
        "fn f() -> bool {\n    // crate::base\n    !crate::top::is_on(\"a\") }",
        "somewhere/src/left/inner.rs:3: left must not import top (crate::top::is_on); left may import base"
    )]
    #[case::path_that_climbs(
        "use super::super::top::Top as Other;",
        "somewhere/src/left/inner.rs:1: left must not import top (crate::top::Top); left may import base"
    )]
    #[case::path_in_a_module_inside(
        "mod a { mod b { type C = super::super::super::super::top::Top; } }\nuse super::d;",
        "somewhere/src/left/inner.rs:1: left must not import top (crate::top::Top); left may import base"
    )]
    #[case::after_a_test(
        "#[cfg(test)]\nuse crate::top::A;\n#[cfg(test)]\n#[rstest]\nfn f<A, B>() { '}'; }\nuse crate::top::B;",
        "somewhere/src/left/inner.rs:6: left must not import top (crate::top::B); left may import base"
    )]
    #[case::of_the_root(
        "type A = crate::OfRoot;",
        "somewhere/src/left/inner.rs:1: left imports crate::OfRoot from the crate's root, which is above all rooms"
    )]
    fn rejects_upward_imports(#[case] inner: &str, #[case] expected: &str) {
        assert_eq!(disallowed_imports(inner).first().map(String::as_str), Some(expected));
    }

    #[rstest]
    #[case::lower_layer("use crate::base::Thing;\npub(crate) fn f(_: &'static crate::base::Thing) {}")]
    #[case::comment("//! See [`crate::top::Top`].\n/* crate::top /* */ crate::top */\n/// [`crate::top`]")]
    #[case::text(
        "const A: &str = \"crate::top::A \\\" crate::top\"; const B: &str = r#\"\" crate::top\"#; const C: char = '\"';"
    )]
    #[case::under_cfg_test("#[cfg(test)]\nmod tests {\n    use crate::top::Top;\n}")]
    #[case::field_under_cfg_test("struct A {\n    #[cfg(test)]\n    a: crate::top::Top,\n}")]
    #[case::other_crate("use top::Top;\nuse ::top::Top;\nfn f() { std::top::f(); }")]
    #[case::through_the_root("use crate::Inner as Own;")]
    #[case::own_room("use super::{self_made, Inner};\nuse crate::left::other::Other;")]
    fn accepts_downward_imports(#[case] inner: &str) {
        assert_eq!(disallowed_imports(inner), [""; 0]);
    }

    #[test]
    fn ignores_test_modules() {
        let left = ("left/mod.rs", "#[cfg(test)]\nmod inner;\n#[cfg(all(test, unix))]\nmod other;");
        let inner = ("left/inner.rs", "use crate::top::Top;");
        let below = ("left/other/below.rs", "use crate::top::Top;");
        let tree = Tree::of(TABLE.sources, [BASE, left, RIGHT, TOP, ROOT, inner, below]);
        assert_eq!(faults(&TABLE, &tree), [""; 0]);
    }

    /// Also through a re-export: `super::A` is defined in a.rs.
    #[test]
    fn rejects_import_cycles() {
        let files = [
            BASE,
            RIGHT,
            TOP,
            ("left/mod.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub(crate) use {b::B, c::C};"),
            ("left/a.rs", "use super::B;"),
            ("left/b.rs", "\nuse super::c::C;"),
            ("left/c.rs", "use crate::left::A;"),
        ];
        let expected = "files of left must not import each other in a circle: \
            somewhere/src/left/a.rs:1 -> somewhere/src/left/b.rs:2 -> somewhere/src/left/c.rs:1";
        assert_eq!(faults(&TABLE, &Tree::of(TABLE.sources, files)), [expected]);
        let tolerant = Crate { circular: &["left", "top"], ..TABLE };
        let expected = "somewhere/src: the files of top have no circle any more; take it off `circular`";
        assert_eq!(faults(&tolerant, &Tree::of(TABLE.sources, files)), [expected]);
    }

    #[test]
    fn table_lists_exactly_the_top_level_modules() {
        let tree = Tree::of(TABLE.sources, [BASE, LEFT_MODULE, TOP, ROOT, ("new.rs", "use crate::top::Top;")]);
        assert_eq!(
            faults(&TABLE, &tree),
            [
                "somewhere/src: the room new is in no layer; add it to the table in harness/tests/layers.rs",
                "somewhere/src: the table in harness/tests/layers.rs has a room right, and there is none",
            ]
        );
    }
}
