//! `scale: 12`: changes the number of replicas through the scale subresource.

use serde_json::Value;

use crate::field::{FieldSpec, FieldType, NAME, any_of, names, object};
use crate::model::{DeclaredChange, Drive, LabelStyle, Operation, PerformFuture, StepAction, Target};
use crate::read::{self, MOST_PODS, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlKind;

const REPLICAS: FieldType = FieldType::Count { most: MOST_PODS };

static FIELDS: [FieldSpec; 3] = [
    FieldSpec::new("deployment", NAME, "The Deployment; not needed where there is only one."),
    FieldSpec::new("replicaset", NAME, "A ReplicaSet instead: its name, or `rs2` for the second to appear."),
    FieldSpec::required("replicas", REPLICAS, "How many replicas it wants."),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "scale",
    description: "`kubectl scale`.",
    actor: Actor::User,
    shorthand: "the number of replicas",
    fields: &FIELDS,
    schema,
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &["- scale: 12", "- scale: {deployment: web, replicas: 12}", "- scale: {replicaset: rs1, replicas: 2}"],
};

/// Changes the number of replicas.
#[derive(Debug, PartialEq)]
pub(crate) struct ScaleStep {
    /// The Deployment or ReplicaSet.
    pub(crate) target: Target,
    /// The new number.
    pub(crate) replicas: i32,
}

fn schema(refused: bool) -> Value {
    let [deployment, replica_set, replicas] = FIELDS;
    any_of([
        REPLICAS.schema(refused),
        object(&[deployment, replicas], refused),
        object(&[replica_set, replicas], refused),
    ])
}

fn read(reader: &mut StepReader<'_>, OperationNode { key, value, refused }: &OperationNode<'_>) -> Option<Operation> {
    let (named, set, number) = if let YamlKind::Map(_) = value.kind {
        let fields = MappingFields::of(value, "`scale`", &names(&FIELDS), reader.report)?;
        if fields.lacks("replicas") {
            reader.report.add(key, "`scale` without `replicas`", "add `replicas: …`");
        }
        let replicas = fields.get("replicas")?;
        (fields.get("deployment"), fields.get("replicaset"), replicas)
    } else {
        (None, None, *value)
    };
    let range = if *refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=MOST_PODS };
    let replicas = read::integer(number, "the number of replicas", range, reader.report);
    let target = |kind: &str, name: String| Target { kind: kind.to_owned(), name };
    let target = match (named, set, reader.scope.only_replica_set()) {
        (None, Some(set), _) => target("replicaset", reader.scope.replica_set_named(set, reader.report)?),
        (None, None, Some(only)) => target("replicaset", only),
        (named, None, _) => target("deployment", reader.scope.resolve_deployment(named, key, reader.report)?),
        (Some(_), Some(set), _) => {
            reader.report.add(set, "`scale` scales one thing", "either `deployment` or `replicaset`");
            return None;
        }
    };
    Some(Operation::new(ScaleStep { target, replicas: i32::try_from(replicas?).ok()? }))
}

impl StepAction for ScaleStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        let Self { target: Target { kind, name }, replicas } = self;
        if kind == "deployment" {
            return format!("scale{} {replicas}", names.deployment(name));
        }
        format!("scale {kind}/{name} {replicas}")
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Scale(&self.target, self.replicas)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.scale(&self.target, self.replicas)
    }
}
