//! What the simulated server says that it does not know: it must, each time. A sequence ends with
//! such a request, as nothing that follows one can be believed.

use serde_json::json;

use super::bodies::Kind;
use super::lots::Lots;
use super::step::Step;

/// What there is, by the verb that the table counts it under.
pub(crate) const REFUSED: [&str; 4] = ["unsafe-delete", "finalize", "foreign-continue", "delete-some"];

/// A last request.
pub(crate) fn last(kind: &Kind, lots: &mut Lots) -> Step {
    let verb = lots.one(&REFUSED);
    // Namespaces go one by one anyway.
    let verb = if verb == "delete-some" && kind.kind == "Namespace" { "finalize" } else { verb };
    let name = kind.name(lots);
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
