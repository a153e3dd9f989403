//! Requests that the simulated server must refuse as unsupported. A sequence ends with such a
//! request, as responses after it are not comparable.

use serde_json::json;

use super::kinds::Kind;
use super::rng::Rng;
use super::step::Step;

/// The verbs of these requests in the table.
pub(crate) const UNSUPPORTED_VERBS: [&str; 4] = ["unsafe-delete", "finalize", "foreign-continue", "delete-some"];

/// A last request of a sequence.
pub(crate) fn last(kind: &Kind, rng: &mut Rng) -> Step {
    let verb = rng.one(&UNSUPPORTED_VERBS);
    // Namespaces cannot be deleted as a collection.
    let verb = if verb == "delete-some" && kind.kind == "Namespace" { "finalize" } else { verb };
    let name = kind.name(rng);
    let (all, one) = (kind.collection(), format!("{}/{name}", kind.collection()));
    let (method, path, form, accept, body) = match verb {
        "delete-some" => ("DELETE", format!("{all}?limit=1&labelSelector=seq%3D$NS"), "", "", String::new()),
        "unsafe-delete" => {
            let option = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
            ("DELETE", format!("{one}?{option}"), "", "", String::new())
        }
        "finalize" => (
            "PUT",
            "/api/v1/namespaces/$NS/finalize".to_owned(),
            "application/json",
            "",
            json!({"metadata": {"name": "$NS"}}).to_string(),
        ),
        _ => (
            "GET",
            format!("{all}?limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0"),
            "",
            "",
            String::new(),
        ),
    };
    let kind = if verb == "finalize" { "Namespace" } else { kind.kind };
    let text = str::to_owned;
    Step {
        verb: text(verb),
        kind: text(kind),
        method: text(method),
        path,
        form: text(form),
        accept: text(accept),
        body,
    }
}
