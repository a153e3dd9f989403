//! `patch: {target: deployment/web, type: merge, patch: {…}}`: any change to an object.

use kube_apimachinery::ApiType;
use lockstep_recording::secret::mask_patch;
use serde_json::{Map, Value, json};

use super::target::TARGET;
use crate::field::{FieldSpec, FieldType, any_of, names, object};
use crate::model::{
    DeclaredChange, Drive, DriveError, LabelStyle, Operation, PatchKind, PerformFuture, StepAction, Target,
};
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::unknown_fields;
use crate::yaml::YamlKind;

static FIELDS: [FieldSpec; 3] = [
    FieldSpec::required("target", TARGET, "What is patched."),
    FieldSpec::new(
        "type",
        FieldType::Words(&["strategic", "merge", "json"]),
        "The patch's type; `strategic` by default.",
    ),
    FieldSpec::required(
        "patch",
        FieldType::Is(
            |_| json!({"type": ["object", "array"]}),
            "a mapping; a list of operations where the type is `json`",
        ),
        "The patch. `$(NAMESPACE)` in it is the case's namespace.",
    ),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "patch",
    description: "Patches an object, as `kubectl patch` does.",
    actor: Actor::User,
    shorthand: "",
    fields: &FIELDS,
    schema,
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &[
        "- patch: {target: deployment/web, patch: {spec: {minReadySeconds: 5}}}",
        "- patch: {target: replicaset/rs1, type: json, patch: [{op: remove, path: /metadata/labels/tier}]}",
    ],
};

/// Patches an object.
#[derive(Debug, PartialEq)]
pub(crate) struct PatchStep {
    /// Which object.
    pub(crate) target: Target,
    /// `strategic`, `merge` or `json`.
    pub(crate) kind: PatchKind,
    pub(crate) patch: Value,
}

fn schema(_: bool) -> Value {
    let [target, kind, patch] = FIELDS;
    let of_objects = [
        target,
        FieldSpec { field_type: FieldType::Words(&["strategic", "merge"]), ..kind },
        FieldSpec { field_type: FieldType::Is(|_| json!({"type": "object"}), ""), ..patch },
    ];
    let of_lists = [
        target,
        FieldSpec { field_type: FieldType::Words(&["json"]), required: true, ..kind },
        FieldSpec { field_type: FieldType::Is(|_| json!({"type": "array"}), ""), ..patch },
    ];
    any_of([object(&of_objects, false), object(&of_lists, false)])
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, refused, .. }: &OperationNode<'_>) -> Option<Operation> {
    let fields = MappingFields::of(value, "`patch`", &names(&FIELDS), reader.report)?;
    let target = reader.read_target(fields.get("target"), value);
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
        PatchKind::Json => matches!(patch.kind, YamlKind::List(_)),
        PatchKind::Strategic | PatchKind::Merge => matches!(patch.kind, YamlKind::Map(_)),
    };
    if !fits {
        let shape = if kind == PatchKind::Json { "a list of operations" } else { "a mapping" };
        reader.report.add(patch, format!("this patch is {shape}"), format!("this is {}", patch.describe()));
        return None;
    }
    let target = target?;
    if let (Some((version, kind)), false) = (target.type_of(), *refused) {
        unknown_fields::check_patch(version, kind, patch, reader.report);
    }
    reader.scope.has_template_change |= target.kind == "deployment" && !refused;
    Some(Operation::new(PatchStep { target, kind, patch: patch.to_json() }))
}

impl StepAction for PatchStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        let Self { target: Target { kind, name }, patch, .. } = self;
        if kind == "secret" {
            return format!("patch {kind}/{name} {}", mask_patch(patch));
        }
        format!("patch {kind}/{name} {patch}")
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Patch(&self.target, self.kind, &self.patch)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.patch(&self.target, self.kind, &self.patch, "kubectl-patch")
    }
}

/// Patches the current Deployment to the changed one, as `kubectl set` and `kubectl rollout` do:
/// they send the difference as a strategic merge patch. Returns `false` if the two do not differ;
/// then nothing is sent.
pub(super) async fn patch_difference(
    driver: &dyn Drive,
    current: &Value,
    changed: &Value,
    manager: &'static str,
) -> Result<bool, DriveError> {
    let of_deployment = ApiType::of("apps/v1", "Deployment").expect("the server has Deployments");
    let patch = of_deployment.difference(current, changed).map_err(DriveError::Refused)?;
    if patch.as_object().is_some_and(Map::is_empty) {
        return Ok(false);
    }
    let name = current["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let target = Target { kind: "deployment".to_owned(), name };
    driver.patch(&target, PatchKind::Strategic, &patch, manager).await?;
    Ok(true)
}
