//! Checks links between pages, and names of files.
//!
//! A page of the book links only to pages of the book, so that it works both as a built book and in
//! a repository browser. Other files are named as code.

use std::collections::BTreeSet;

use super::pages::Page;
use super::root;

/// The broken links of a page.
pub(crate) fn broken(page: &Page, pages: &[Page]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, line) in page.prose() {
        for target in targets(line) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let to = if path.is_empty() { page.path.clone() } else { resolved(folder, path) };
            let at = format!("{}:{number}: {target}", page.path);
            if page.path.starts_with("docs/") && !to.starts_with("docs/") {
                wrong.push(format!("{at} leads out of the book; name the file as code"));
            } else if !root().join(&to).exists() {
                wrong.push(format!("{at}: {to} is not there"));
            } else if !anchor.is_empty() {
                let anchors = pages.iter().find(|page| page.path == to).map(anchors).unwrap_or_default();
                if !anchors.contains(anchor) {
                    wrong.push(format!("{at}: {to} has no such heading"));
                }
            }
        }
    }
    wrong
}

/// The area whose page names its cases by the folders in it.
const RESTARTS: &str = "cases/config-restart";

fn folders_in(folder: &str) -> BTreeSet<String> {
    let entries = root().join(folder).read_dir().into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Files and cases that a page names as code and that do not exist.
pub(crate) fn missing(page: &Page) -> Vec<String> {
    const FOLDERS: [&str; 8] =
        ["cases/", "harness/", "controller/", "scripts/", "docs/", ".cargo/", ".github/", ".ci/"];
    let areas = folders_in("cases");
    let profiles = folders_in(RESTARTS);
    let own: Vec<String> = page.blocks().into_iter().filter_map(|block| Some(stem(&block.file?).to_owned())).collect();
    let mut wrong = Vec::new();
    for (number, line) in page.prose() {
        // Every second part is between backticks.
        for code in line.split('`').skip(1).step_by(2) {
            let named =
                code.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "._/-".contains(sign));
            // Files that the page's commands create.
            if !named || own.iter().any(|own| own == stem(code)) {
                continue;
            }
            let file = FOLDERS.iter().any(|folder| code.starts_with(folder)).then(|| code.to_owned());
            let case = || {
                let (area, name) = code.split_once('/')?;
                let folder = if profiles.contains(area) { RESTARTS } else { "cases" };
                ((areas.contains(area) || profiles.contains(area)) && !name.is_empty())
                    .then(|| format!("{folder}/{code}.yaml"))
            };
            if let Some(path) = file.or_else(case).filter(|path| !root().join(path).exists()) {
                wrong.push(format!("{}:{number}: {path} is not there", page.path));
            }
        }
    }
    wrong
}

/// A path without what follows the first dot of its name.
fn stem(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    path[name..].find('.').map_or(path, |dot| &path[..name + dot])
}

/// The targets of `](…)`, `src="…"` and `srcset="…"`, without code.
fn targets(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let mut targets = Vec::new();
    for (open, close) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
        let starts = prose.match_indices(open).map(|(at, _)| at + open.len());
        targets.extend(starts.filter_map(|at| prose[at..].split_once(close)).map(|(target, _)| target.to_owned()));
    }
    targets
}

/// Resolves a relative path: `../cases` in `docs` is `cases`.
fn resolved(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings, as GitHub and mdBook generate them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let headings = page.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
