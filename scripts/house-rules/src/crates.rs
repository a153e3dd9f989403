//! Crates: the picture and the table of the workspace's crates in docs/architecture.md, and what
//! the pure crates and those of the controller may not depend on.
//!
//! The picture has no arrow that follows from others. `cargo run --package house-rules -- --write`
//! writes both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Context;
use regex::Regex;
use toml_edit::{DocumentMut, Item, TableLike};

use crate::repository::{Breach, Repository};

/// The page with the picture.
const PAGE: &str = "docs/architecture.md";
const BEGIN: &str = "<!-- crates -->\n";
const END: &str = "<!-- end of crates -->";

/// The crates that need neither a client of Kubernetes, its simulated server, a network nor a
/// runtime.
const PURE: [&str; 12] = [
    "harness/apiserver/apimachinery",
    "harness/crates/support",
    "harness/crates/workload",
    "harness/crates/recording",
    "harness/crates/timeline",
    "harness/crates/case",
    "harness/crates/verdict",
    "harness/crates/report",
    "harness/crates/search",
    "controller/crates/model",
    "controller/crates/rules",
    "controller/crates/config-restart",
];

/// The folders of the controller's crates, and the crates of the workspace that each may know.
const CONTROLLER: [(&str, &[&str]); 5] = [
    ("controller/crates/model", &[]),
    ("controller/crates/rules", &["rollout-model"]),
    ("controller/crates/config-restart", &["rollout-model"]),
    ("controller/crates/client", &["rollout-model"]),
    (
        "controller/crates/reconcilers",
        &["config-restart", "controller-client", "rollout-controller-mutants", "rollout-model", "rollout-rules"],
    ),
];

/// What waits or runs tasks; a decision of the controller does neither.
const ASYNCHRONOUS: [&str; 4] = ["async-trait", "futures", "tokio", "tokio-util"];

/// What one of them may depend on all the same: the clock of the harness is tokio's, and the
/// objects that a restart writes have the types of Kubernetes.
const ALLOWED: [(&str, &str); 2] = [("support", "tokio"), ("config-restart", "k8s-openapi")];
/// The prefix of the harness's crates.
const HARNESS: &str = "lockstep-";

/// How far a number of lines or files on the page may be from the fact, so that not every commit
/// has to write the page.
const TOLERATED_PERCENT: u64 = 10;

#[derive(Debug, Default, PartialEq, Eq)]
struct WorkspaceCrate {
    /// The folder of its manifest, with a slash at the end.
    folder: String,
    /// The names of all packages that it depends on, except for tests and builds.
    dependencies: BTreeSet<String>,
    lines: usize,
    files: usize,
}

/// Crates by name, and the crates that each depends on.
type Edges<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// A stale page, and dependencies that a pure crate may not have.
pub(crate) fn check(repository: &Repository) -> anyhow::Result<Vec<Breach>> {
    let mut breaches = impure_dependencies(repository)?;
    breaches.extend(unknown_dependencies(repository)?);
    if let Some(page) = repository.texts.get(PAGE) {
        let (before, written, _) = parts(page)?;
        let fresh = generated(&read(repository)?);
        if !is_about(written, &fresh) {
            let line = before.lines().count();
            let how = "the crates are not as shown here: cargo run --package house-rules -- --write";
            breaches.push(Breach::new(PAGE, line, how));
        }
    }
    Ok(breaches)
}

/// The path and the text of the page with a fresh picture and table.
pub(crate) fn fresh_page(repository: &Repository) -> anyhow::Result<(&'static str, String)> {
    let page = repository.texts.get(PAGE).with_context(|| format!("{PAGE} does not exist"))?;
    let (before, _, after) = parts(page)?;
    Ok((PAGE, format!("{before}{}{after}", generated(&read(repository)?))))
}

/// The page up to the first marker, between the markers, and from the second on.
fn parts(page: &str) -> anyhow::Result<(&str, &str, &str)> {
    let begin = page.find(BEGIN).with_context(|| format!("{PAGE} has no line {BEGIN}"))? + BEGIN.len();
    let end = page[begin..].find(END).with_context(|| format!("{PAGE} has no line {END}"))? + begin;
    Ok((&page[..begin], &page[begin..end], &page[end..]))
}

/// Dependencies of pure crates that bring a client, a server, a network or a runtime with them.
fn impure_dependencies(repository: &Repository) -> anyhow::Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for folder in PURE {
        let path = format!("{folder}/Cargo.toml");
        let Some(text) = repository.texts.get(&path) else { continue };
        let name = crate_in(folder);
        let is_refused = |it: &String| {
            let waits = folder.starts_with("controller/") && ASYNCHRONOUS.contains(&it.as_str());
            (is_impure(it) || waits) && !ALLOWED.contains(&(name, it.as_str()))
        };
        for dependency in dependencies(&manifest(&path, text)?).into_iter().filter(is_refused) {
            let message = format!("{name} is a pure crate: it may not depend on {dependency}");
            breaches.push(Breach::new(&path, line_of(text, &dependency), message));
        }
    }
    Ok(breaches)
}

/// Dependencies among the crates of the controller that their layers do not allow.
fn unknown_dependencies(repository: &Repository) -> anyhow::Result<Vec<Breach>> {
    let ours = read(repository)?;
    let mut breaches = Vec::new();
    for (folder, known) in CONTROLLER {
        let path = format!("{folder}/Cargo.toml");
        let Some(text) = repository.texts.get(&path) else { continue };
        let is_refused = |name: &String| ours.contains_key(name) && !known.contains(&name.as_str());
        for dependency in dependencies(&manifest(&path, text)?).into_iter().filter(is_refused) {
            let message = format!("{folder} may know {known:?} of the workspace, and not {dependency}");
            breaches.push(Breach::new(&path, line_of(text, &dependency), message));
        }
    }
    Ok(breaches)
}

/// The line of a manifest that names a dependency.
fn line_of(text: &str, dependency: &str) -> usize {
    text.lines().position(|line| line.starts_with(dependency)).map_or(1, |index| index + 1)
}

/// The name of a crate, as its folder has it.
fn crate_in(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Whether a package is a client or server of Kubernetes, a network or a runtime, belongs to one,
/// or is a crate of the harness that may depend on one.
fn is_impure(package: &str) -> bool {
    let is_kube =
        matches!(package, "kube" | "kube-client" | "kube-core" | "kube-runtime" | "kube-apiserver-sim" | "k8s-openapi");
    let is_network = |part| matches!(part, "hyper" | "rustls" | "tokio" | "tower" | "http" | "h2" | "reqwest");
    let is_above = |name| !PURE.iter().any(|folder| crate_in(folder) == name);
    is_kube || package.split('-').any(is_network) || package.strip_prefix(HARNESS).is_some_and(is_above)
}

/// The crates of the workspace by name.
fn read(repository: &Repository) -> anyhow::Result<BTreeMap<String, WorkspaceCrate>> {
    let root = repository.texts.get("Cargo.toml").context("the repository has no Cargo.toml")?;
    let root = manifest("Cargo.toml", root)?;
    let members = root.get("workspace").and_then(|it| it.get("members")).and_then(Item::as_array);
    let members: Vec<&str> = members.into_iter().flatten().filter_map(|member| member.as_str()).collect();
    let mut crates = BTreeMap::new();
    for (path, text) in repository.below("", "/Cargo.toml") {
        let folder = path.trim_end_matches("Cargo.toml");
        if !members.iter().any(|member| is_member(member, folder.trim_end_matches('/'))) {
            continue;
        }
        let manifest = manifest(path, text)?;
        let name = manifest.get("package").and_then(|it| it.get("name")).and_then(Item::as_str);
        let name = name.with_context(|| format!("{path} names no package"))?;
        let sources = format!("{folder}src/");
        let texts: Vec<&str> = repository.below(&sources, ".rs").map(|(_, text)| text).collect();
        let one = WorkspaceCrate {
            folder: folder.to_owned(),
            dependencies: dependencies(&manifest),
            lines: texts.iter().map(|text| text.lines().count()).sum(),
            files: texts.len(),
        };
        crates.insert(name.to_owned(), one);
    }
    Ok(crates)
}

fn manifest(path: &str, text: &str) -> anyhow::Result<DocumentMut> {
    text.parse().with_context(|| format!("reading {path}"))
}

/// Whether an entry of `members` names a folder; `harness/crates/*` names all below one.
fn is_member(member: &str, folder: &str) -> bool {
    match member.strip_suffix("/*") {
        Some(above) => folder.rsplit_once('/').is_some_and(|(parent, _)| parent == above),
        None => member == folder,
    }
}

/// The packages that a manifest depends on, on any platform.
fn dependencies(manifest: &DocumentMut) -> BTreeSet<String> {
    let section = |table: &dyn TableLike| {
        let entries = table.get("dependencies").and_then(Item::as_table_like);
        let package =
            |(name, entry): (&str, &Item)| entry.get("package").and_then(Item::as_str).unwrap_or(name).to_owned();
        entries.into_iter().flat_map(TableLike::iter).map(package).collect::<Vec<_>>()
    };
    let targets = manifest.get("target").and_then(Item::as_table_like);
    let targets = targets.into_iter().flat_map(TableLike::iter).filter_map(|(_, target)| target.as_table_like());
    section(manifest.as_table()).into_iter().chain(targets.flat_map(section)).collect()
}

/// The picture and the table.
fn generated(crates: &BTreeMap<String, WorkspaceCrate>) -> String {
    let is_ours = |name: &&str| crates.contains_key(*name);
    let edges: Edges<'_> = crates
        .iter()
        .map(|(name, one)| (name.as_str(), one.dependencies.iter().map(String::as_str).filter(is_ours).collect()))
        .collect();
    let edges = without_implied(&edges);
    let mut text = "\n```mermaid\ngraph TD\n".to_owned();
    // A name with a dash is not safe as the id of a node.
    let id = |name: &str| name.replace('-', "_");
    let mut arrows = String::new();
    for (name, below) in &edges {
        if below.is_empty() && !edges.values().any(|below| below.contains(name)) {
            continue;
        }
        writeln!(text, "  {}[{name}]", id(name)).expect("a String takes all");
        for other in below {
            writeln!(arrows, "  {} --> {}", id(name), id(other)).expect("a String takes all");
        }
    }
    text += &arrows;
    text += "```\n\n| crate | folder | lines | files | other packages that it depends on |\n";
    text += "| --- | --- | --: | --: | --- |\n";
    for (name, WorkspaceCrate { folder, dependencies, lines, files }) in crates {
        let others: Vec<&str> = dependencies.iter().map(String::as_str).filter(|it| !is_ours(it)).collect();
        let folder = folder.trim_end_matches('/');
        writeln!(text, "| `{name}` | `{folder}` | {lines} | {files} | {} |", others.join(", "))
            .expect("a String takes all");
    }
    text + "\n"
}

/// The edges that do not follow from others: without one to a crate that another dependency
/// reaches.
fn without_implied<'a>(edges: &Edges<'a>) -> Edges<'a> {
    let reduced = |below: &BTreeSet<&'a str>| {
        let is_implied = |one: &str| below.iter().any(|other| *other != one && reachable(edges, other).contains(one));
        below.iter().copied().filter(|one| !is_implied(one)).collect()
    };
    edges.iter().map(|(name, below)| (*name, reduced(below))).collect()
}

/// The crates that a crate depends on, directly or not.
fn reachable<'a>(edges: &Edges<'a>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut ahead) = (BTreeSet::new(), vec![from]);
    while let Some(next) = ahead.pop() {
        for below in edges.get(next).into_iter().flatten() {
            if reached.insert(*below) {
                ahead.push(below);
            }
        }
    }
    reached
}

/// Whether two texts are the same but for numbers that are near each other.
fn is_about(written: &str, fresh: &str) -> bool {
    let number = Regex::new("[0-9]+").expect("it compiles");
    let numbers =
        |text: &str| -> Vec<u64> { number.find_iter(text).filter_map(|it| it.as_str().parse().ok()).collect() };
    let is_near = |(one, two): (&u64, &u64)| one.abs_diff(*two) * 100 <= one.max(two) * TOLERATED_PERCENT;
    number.replace_all(written, "0") == number.replace_all(fresh, "0")
        && numbers(written).iter().zip(&numbers(fresh)).all(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace]\nmembers = [\"tool\", \"harness/crates/*\"]\n";

    /// A workspace whose crate `tool` depends on `case`, and on `support`, which follows from it.
    fn repository(more: &[(&str, &str)]) -> Repository {
        let texts = [
            ("Cargo.toml", ROOT),
            ("tool/Cargo.toml", "[package]\nname = \"tool\"\n[dependencies]\ncase.workspace = true\nsupport = \"1\"\n"),
            (
                "harness/crates/case/Cargo.toml",
                "[package]\nname = \"case\"\n[dependencies]\nsupport = \"1\"\nregex = \"1\"\n",
            ),
            ("harness/crates/support/Cargo.toml", "[package]\nname = \"support\"\n[dev-dependencies]\nkube = \"1\"\n"),
            ("harness/crates/case/src/lib.rs", "1\n2\n"),
            ("other/Cargo.toml", "[package]\nname = \"other\"\n"),
        ];
        let texts = texts.iter().chain(more).map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Repository::new(texts.collect())
    }

    #[test]
    fn draws_no_arrow_that_follows_from_others() {
        let text = generated(&read(&repository(&[])).unwrap());
        let arrows: Vec<&str> = text.lines().filter(|line| line.contains("-->")).map(str::trim).collect();
        assert_eq!(arrows, ["case --> support", "tool --> case"]);
        assert!(text.contains("| `case` | `harness/crates/case` | 2 | 1 | regex |"), "{text}");
        assert!(!text.contains("other[") && !text.contains("kube"), "{text}");
    }

    #[test]
    fn finds_a_pure_crate_that_depends_on_a_client_or_a_runtime() {
        let planted = "[package]\nname = \"verdict\"\n[dependencies]\nhyper-util = \"1\"\n\
                       client = { package = \"kube\", version = \"1\" }\nkube-apiserver-sim = \"1\"\n\
                       kube-apimachinery = \"1\"\nlockstep-case = \"1\"\nlockstep-runner = \"1\"\ntokio = \"1\"\n";
        let clock = "[package]\nname = \"support\"\n[dependencies]\ntokio = \"1\"\n";
        let planted = [("harness/crates/verdict/Cargo.toml", planted), ("harness/crates/support/Cargo.toml", clock)];
        let breaches = check(&repository(&planted)).unwrap();
        let messages: Vec<&str> = breaches.iter().map(|breach| breach.message.as_str()).collect();
        let expected = [
            "verdict is a pure crate: it may not depend on hyper-util",
            "verdict is a pure crate: it may not depend on kube",
            "verdict is a pure crate: it may not depend on kube-apiserver-sim",
            "verdict is a pure crate: it may not depend on lockstep-runner",
            "verdict is a pure crate: it may not depend on tokio",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn finds_a_rule_that_knows_more_than_objects() {
        let manifest = |name: &str, dependency: &str| {
            format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependency} = \"1\"\n")
        };
        let root = "[workspace]\nmembers = [\"controller/crates/*\"]\n";
        let (model, rules) = (manifest("rollout-model", "serde"), manifest("rollout-rules", "rollout-model"));
        let client = manifest("controller-client", "tokio");
        let below = |rules: &str| {
            let texts = [
                ("Cargo.toml", root),
                ("controller/crates/model/Cargo.toml", &model),
                ("controller/crates/rules/Cargo.toml", rules),
                ("controller/crates/client/Cargo.toml", &client),
            ];
            let repository = Repository::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
            check(&repository).unwrap().into_iter().map(|breach| breach.message).collect::<Vec<_>>()
        };
        assert_eq!(below(&rules), [""; 0]);
        let refused =
            "controller/crates/rules may know [\"rollout-model\"] of the workspace, and not controller-client";
        assert_eq!(below(&manifest("rollout-rules", "controller-client")), [refused]);
        assert_eq!(below(&manifest("rollout-rules", "tokio")), ["rules is a pure crate: it may not depend on tokio"]);
    }

    #[test]
    fn finds_a_stale_page_and_writes_a_fresh_one() {
        let stale = format!("# A\n\n{BEGIN}\n{END}\n\nEnd.\n");
        let repository_with = |page: &str| repository(&[(PAGE, page)]);
        assert_eq!(check(&repository_with(&stale)).unwrap().len(), 1);
        let (_, fresh) = fresh_page(&repository_with(&stale)).unwrap();
        assert!(fresh.starts_with("# A\n") && fresh.ends_with("\n\nEnd.\n"), "{fresh}");
        assert_eq!(check(&repository_with(&fresh)).unwrap(), []);
    }

    #[test]
    fn tolerates_a_size_that_has_changed_by_little() {
        assert!(is_about("| `case` | 1000 | 50 |", "| `case` | 1090 | 52 |"));
        assert!(!is_about("| `case` | 1000 | 50 |", "| `case` | 1200 | 50 |"));
        assert!(!is_about("| `case` | 1000 |", "| `rest` | 1000 |"));
    }
}
