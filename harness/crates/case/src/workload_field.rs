//! Reads `workload`: the kind that a case uses in place of Deployments, by the name of a built-in
//! description or as a full description.

use lockstep_recording::controllers::ControllerSet;
use lockstep_workload::{Workload, vocabulary};
use serde_json::{Value, json};

use super::diagnostics::DiagnosticCollector;
use super::field::{FieldSpec, FieldType, TEXT, names, object, words};
use super::read::{self, MappingFields};
use super::yaml::{YamlKind, YamlNode};

const POINTERS: FieldType = FieldType::Is(
    |_| json!({"type": "object", "additionalProperties": {"type": ["string", "null"], "pattern": "^/"}}),
    "a mapping from JSON pointers to JSON pointers or null",
);
const BOUNDS: FieldType = FieldType::Is(|_| bounds(), "a mapping of `maxSurge` and `maxUnavailable`");
const MANIFEST: FieldType = FieldType::Is(|_| json!({"type": "object"}), "a mapping");
const LIST: FieldType = FieldType::Is(|_| json!({"type": "array", "items": {"type": "string"}}), "a list of strings");
const CLAIMS: FieldType = FieldType::Is(|_| claims(), "a list of [words](workloads.md#what-can-be-claimed)");
const OWNED: FieldType = FieldType::Is(|_| object(&OWNED_FIELDS, false), "`apiVersion`, `kind`, `plural`, `paths`");
const DEFINITIONS: FieldType =
    FieldType::Is(|_| definitions(), "a list of `{kind: …, plural: …, clusterScoped: true}`");

pub(super) static FIELDS: [FieldSpec; 14] = [
    FieldSpec::required("apiVersion", TEXT, "Its group and version, `example.com/v1`."),
    FieldSpec::required("kind", TEXT, "Its kind."),
    FieldSpec::required("plural", TEXT, "What its paths call it."),
    FieldSpec::new(
        "paths",
        POINTERS,
        "A Deployment's paths to its own, where they differ: replicas, template, bounds, status; null: it has nothing of the kind.",
    ),
    FieldSpec::new(
        "bounds",
        BOUNDS,
        "The bounds of a rolling update, where it has no fields for them; `maxSurge: 1`, `maxUnavailable: 25%`.",
    ),
    FieldSpec::new("manifest", MANIFEST, "What every manifest has besides."),
    FieldSpec::new("numbers", LIST, "JSON pointers to numbers that it keeps as text."),
    FieldSpec::new(
        "annotations",
        TEXT,
        "What its controller's annotations begin with; `deployment.kubernetes.io/` by default.",
    ),
    FieldSpec::new("hashLabel", TEXT, "The label with the hash of its template; `pod-template-hash` by default."),
    FieldSpec::new("lacks", LIST, "Labels of cases that it has nothing for; this case must have none of them."),
    FieldSpec::new("owns", OWNED, "The kind that it owns in place of ReplicaSets."),
    FieldSpec::new("claims", CLAIMS, "What its controller promises; everything by default."),
    FieldSpec::new("unclaimed", CLAIMS, "What its controller does not promise, of what it would claim otherwise."),
    FieldSpec::new("definitions", DEFINITIONS, "Other custom resources of its group that its controller waits for."),
];

/// The fields of `owns`.
static OWNED_FIELDS: [FieldSpec; 4] = [
    FieldSpec::required("apiVersion", TEXT, "Its group and version."),
    FieldSpec::required("kind", TEXT, "Its kind."),
    FieldSpec::required("plural", TEXT, "What its paths call it."),
    FieldSpec::new("paths", POINTERS, "A ReplicaSet's paths to its own, where they differ; null: it has none."),
];

/// `workload`, as JSON schema.
pub(super) fn schema() -> Value {
    json!({"oneOf": [words(&Workload::builtin_names()), object(&FIELDS, false)]})
}

fn claims() -> Value {
    json!({"type": "array", "items": {"enum": vocabulary::words()}, "minItems": 1, "uniqueItems": true})
}

fn bounds() -> Value {
    let bound = json!({"type": ["integer", "string"]});
    json!({"type": "object", "additionalProperties": false, "properties": {"maxSurge": bound, "maxUnavailable": bound}})
}

fn definitions() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    json!({"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["kind", "plural"],
        "properties": {"kind": text, "plural": text, "clusterScoped": {"type": "boolean"}}}})
}

/// Reads `workload`.
pub(super) fn read_workload(
    entry: Option<(&YamlNode, &YamlNode)>,
    controllers: &ControllerSet,
    report: &mut DiagnosticCollector,
) -> Option<Box<Workload>> {
    let (key, node) = entry?;
    if *controllers != ControllerSet::default() {
        report.add(
            key,
            "`workload` is for cases of the Deployment controller",
            format!("leave out `workload`, or `controllers: [{controllers}]`"),
        );
    }
    let known = Workload::builtin_names();
    if node.as_text().is_some() {
        let words: Vec<_> = known.iter().map(|name| (*name, *name)).collect();
        let name = read::word(node, "workload", &words, report)?;
        return name.parse().ok().map(Box::new);
    }
    let fields = MappingFields::of(node, "a workload", &names(&FIELDS), report)?;
    if !has_required(&fields, &FIELDS, (node, "the workload"), report) {
        return None;
    }
    if ["claims", "unclaimed"].iter().any(|field| !has_known_words(fields.get(field), report)) {
        return None;
    }
    if let Some(owned) = fields.get("owns") {
        check_owned(owned, report)?;
    }
    match Workload::from_json(node.to_json()) {
        Ok(workload) => Some(Box::new(workload)),
        Err(why) => {
            report.add(node, "this does not describe a workload", why);
            None
        }
    }
}

/// Checks each word of a list of claims, where it stands.
fn has_known_words(list: Option<&YamlNode>, report: &mut DiagnosticCollector) -> bool {
    let Some(YamlKind::List(items)) = list.map(|list| &list.kind) else { return true };
    let known = vocabulary::words();
    let words: Vec<_> = known.iter().map(|word| (word.as_str(), ())).collect();
    // Every item is read, so that each mistake is reported.
    items.iter().filter(|item| read::word(item, "a claim", &words, report).is_none()).count() == 0
}

/// Checks that the fields of `owns` exist.
fn check_owned(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<()> {
    let fields = MappingFields::of(node, "an owned kind", &names(&OWNED_FIELDS), report)?;
    has_required(&fields, &OWNED_FIELDS, (node, "the owned kind"), report).then_some(())
}

/// Whether the required fields of a mapping can be read; reports those that are not there.
fn has_required(
    fields: &MappingFields<'_>,
    known: &[FieldSpec],
    (node, what): (&YamlNode, &str),
    report: &mut DiagnosticCollector,
) -> bool {
    let required = || known.iter().filter(|field| field.required);
    for field in required().filter(|field| fields.lacks(field.name)) {
        let hint = format!("add `{}`: {}", field.name, field.description);
        report.add(node, format!("{what} has no `{}`", field.name), hint);
    }
    required().all(|field| fields.get(field.name).is_some())
}

#[cfg(test)]
mod tests {

    const CASE: &str =
        "description: x\ngiven:\n- deployment: {name: web, replicas: 3, image: \"app:1\"}\nsteps:\n- scale: 2\n";

    #[test]
    fn case_names_or_describes_a_workload() {
        let kind = |field: &str| {
            let case = crate::parse("cases/a/x.yaml", "a/x", &format!("{CASE}{field}")).unwrap();
            case.workload.map(|workload| (workload.kind, workload.name))
        };
        let both = |kind: &str, name: &str| Some((kind.to_owned(), name.to_owned()));
        assert_eq!(kind(""), None);
        assert_eq!(kind("workload: argo-rollouts\n"), both("Rollout", "argo-rollouts"));
        let own =
            "workload: {apiVersion: example.com/v1, kind: Fleet, plural: fleets, paths: {/spec/strategy/type: null}}\n";
        assert_eq!(kind(own), both("Fleet", "Fleet"));
    }
}
