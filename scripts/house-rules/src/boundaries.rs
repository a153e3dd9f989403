//! Boundaries: what shares no code.

use crate::Breach;
use crate::repository::Repository;

/// A crate that may not be named below a folder.
struct Boundary {
    folder: &'static str,
    /// The one file that may.
    except: &'static str,
    refused: &'static [&'static str],
    why: &'static str,
}

const BOUNDARIES: [Boundary; 3] = [
    Boundary {
        folder: "harness/src/",
        except: "harness/src/subject/ours.rs",
        refused: &["rollout_controller"],
        why: "the judge shares no code with the controller under test: only harness/src/subject/ours.rs names it",
    },
    Boundary {
        folder: "controller/",
        except: "",
        refused: &["lockstep"],
        why: "the controller must not use the harness",
    },
    Boundary {
        folder: "harness/apiserver/",
        except: "",
        refused: &["lockstep", "rollout_controller"],
        why: "the simulated server is a crate that can be published: it knows nothing of the harness",
    },
];

/// Names of crates where they may not be.
pub(crate) fn check(repository: &Repository) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for Boundary { folder, except, refused, why } in BOUNDARIES {
        for source in repository.sources.iter().filter(|it| it.path.starts_with(folder) && it.path != except) {
            let named = source.identifiers.iter().filter(|it| refused.contains(&it.text.as_str()));
            breaches.extend(named.map(|it| Breach::new(&source.path, it.line, why)));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_judge_that_uses_the_controller() {
        let texts = [
            ("harness/src/a.rs", "use rollout_controller::x;"),
            ("harness/src/subject/ours.rs", "use rollout_controller::x;"),
        ];
        let repository = Repository::new(texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
        assert_eq!(check(&repository).len(), 1);
    }
}
