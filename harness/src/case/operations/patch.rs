//! `patch: {target: deployment/web, type: merge, patch: {…}}`: any change to an object.

use serde_json::{Value, json};

use super::form::nothing;
use super::{Action, By, Change, Drive, Form, Names, Operation, Performing, Written};
use crate::case::field::{Field, Type, names};
use crate::case::model::{PatchKind, Target};
use crate::case::read::{self, Fields};
use crate::case::schema::{any_of, object};
use crate::case::step::Reader;
use crate::case::target::TARGET;
use crate::case::tree::Kind;
use crate::case::unknown_fields;
use crate::secret::masked;

static FIELDS: [Field; 3] = [
    Field::required("target", TARGET, "What is patched."),
    Field::new("type", Type::Words(&["strategic", "merge", "json"]), "The patch's type; `strategic` by default."),
    Field::required(
        "patch",
        Type::Is(|_| json!({"type": ["object", "array"]}), "a mapping; a list of operations where the type is `json`"),
        "The patch. `$(NAMESPACE)` in it is the case's namespace.",
    ),
];

pub(super) static FORM: Form = Form {
    name: "patch",
    says: "Patches an object, as `kubectl patch` does.",
    by: By::User,
    short: "",
    fields: &FIELDS,
    schema,
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &[
        "- patch: {target: deployment/web, patch: {spec: {minReadySeconds: 5}}}",
        "- patch: {target: replicaset/rs1, type: json, patch: [{op: remove, path: /metadata/labels/tier}]}",
    ],
};

/// An object is patched.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Patch {
    /// Which object.
    pub(in crate::case) target: Target,
    /// `strategic`, `merge` or `json`.
    pub(in crate::case) kind: PatchKind,
    /// The patch.
    pub(in crate::case) patch: Value,
}

fn schema(_: bool) -> Value {
    let [target, kind, patch] = FIELDS;
    let of_objects = [
        target,
        Field { takes: Type::Words(&["strategic", "merge"]), ..kind },
        Field { takes: Type::Is(|_| json!({"type": "object"}), ""), ..patch },
    ];
    let of_lists = [
        target,
        Field { takes: Type::Words(&["json"]), required: true, ..kind },
        Field { takes: Type::Is(|_| json!({"type": "array"}), ""), ..patch },
    ];
    any_of([object(&of_objects, false), object(&of_lists, false)])
}

fn read(reader: &mut Reader<'_>, Written { value, refused, .. }: &Written<'_>) -> Option<Operation> {
    let fields = Fields::of(value, "`patch`", &names(&FIELDS), reader.report)?;
    let target = reader.target(fields.get("target"), value);
    let kinds = [("strategic", PatchKind::Strategic), ("merge", PatchKind::Merge), ("json", PatchKind::Json)];
    let kind = match fields.get("type") {
        Some(kind) => read::word(kind, "the type of a patch", &kinds, reader.report)?,
        None => PatchKind::default(),
    };
    let Some(patch) = fields.get("patch") else {
        reader.report.add(value, "a patch without `patch`", "add `patch: …`");
        return None;
    };
    let fits = match kind {
        PatchKind::Json => matches!(patch.kind, Kind::List(_)),
        PatchKind::Strategic | PatchKind::Merge => matches!(patch.kind, Kind::Map(_)),
    };
    if !fits {
        let shape = if kind == PatchKind::Json { "a list of operations" } else { "a mapping" };
        reader.report.add(patch, format!("this patch is {shape}"), format!("this is {}", patch.describe()));
        return None;
    }
    let target = target?;
    if let (Some((version, kind)), false) = (target.type_of(), *refused) {
        unknown_fields::of_patch(version, kind, patch, reader.report);
    }
    reader.scope.retemplated |= target.kind == "deployment" && !refused;
    Some(Operation::new(Patch { target, kind, patch: patch.to_json() }))
}

impl Action for Patch {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        let Self { target: Target { kind, name }, patch, .. } = self;
        if kind == "secret" {
            return format!("patch {kind}/{name} {}", masked(patch));
        }
        format!("patch {kind}/{name} {patch}")
    }

    fn change(&self) -> Change<'_> {
        Change::Patch(&self.target, self.kind, &self.patch)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.patch(&self.target, self.kind, &self.patch, "kubectl-patch")
    }
}
