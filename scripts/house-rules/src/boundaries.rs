//! Boundaries: what shares no code.

use crate::repository::{Breach, Repository};

/// A crate that may not be named below a folder.
struct Boundary {
    folders: &'static [&'static str],
    /// The one file that may.
    except: &'static str,
    /// Crates, and prefixes of crates that end with `_`.
    refused: &'static [&'static str],
    why: &'static str,
}

/// The crates of the controller.
const CONTROLLER: &[&str] = &[
    "rollout_controller",
    "rollout_controller_",
    "rollout_model",
    "rollout_rules",
    "controller_client",
    "controller_reconcilers",
    "config_restart",
];

const BOUNDARIES: [Boundary; 4] = [
    Boundary {
        folders: &["harness/src/", "harness/crates/", "harness/fuzz/"],
        except: "harness/crates/subject/src/ours.rs",
        refused: CONTROLLER,
        why: "the judge shares no code with the controller under test: only harness/crates/subject/src/ours.rs names it",
    },
    Boundary {
        folders: &["controller/"],
        except: "",
        refused: &["lockstep", "lockstep_"],
        why: "the controller must not use the harness",
    },
    Boundary {
        folders: &["harness/apiserver/"],
        except: "",
        refused: &["lockstep", "lockstep_"],
        why: "the simulated server is a crate that can be published: it knows nothing of the harness",
    },
    Boundary {
        folders: &["harness/apiserver/"],
        except: "",
        refused: CONTROLLER,
        why: "the simulated server is a crate that can be published: it knows nothing of the controller",
    },
];

/// Names of crates where they may not be.
pub(crate) fn check(repository: &Repository) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for Boundary { folders, except, refused, why } in BOUNDARIES {
        let is_below = |path: &str| folders.iter().any(|folder| path.starts_with(folder)) && path != except;
        let is_refused = |name: &str| refused.iter().any(|it| name == *it || it.ends_with('_') && name.starts_with(it));
        for source in repository.sources.iter().filter(|it| is_below(&it.path)) {
            let named = source.identifiers.iter().filter(|it| is_refused(&it.text));
            breaches.extend(named.map(|it| Breach::new(&source.path, it.line, why)));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_uses_a_crate_that_it_may_not() {
        let texts = [
            ("harness/crates/case/src/a.rs", "use rollout_controller::x;"),
            ("harness/apiserver/src/a.rs", "use lockstep_case::x;"),
            ("harness/crates/runner/src/a.rs", "use config_restart::x; use rollout_controller_mutants::x;"),
            ("harness/crates/subject/src/ours.rs", "use rollout_controller::x;"),
            ("harness/fuzz/src/a.rs", "use rollout_controller::x;"),
        ];
        let repository = Repository::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        assert_eq!(check(&repository).len(), 5);
    }
}
