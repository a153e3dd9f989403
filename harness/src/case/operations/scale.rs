//! `scale: 12`: another number of replicas, by the scale subresource.

use serde_json::Value;

use super::form::nothing;
use super::{Action, By, Change, Drive, Form, Names, Operation, Performing, Written};
use crate::case::field::{Field, NAME, Type, names};
use crate::case::model::Target;
use crate::case::read::{self, Fields, MOST_PODS};
use crate::case::schema::{any_of, object};
use crate::case::step::Reader;
use crate::case::tree::Kind;

const REPLICAS: Type = Type::Count { most: MOST_PODS };

static FIELDS: [Field; 3] = [
    Field::new("deployment", NAME, "The Deployment; not needed where there is only one."),
    Field::new("replicaset", NAME, "A ReplicaSet instead: its name, or `rs2` for the second to appear."),
    Field::required("replicas", REPLICAS, "How many replicas it wants."),
];

pub(super) static FORM: Form = Form {
    name: "scale",
    says: "`kubectl scale`.",
    by: By::User,
    short: "the number of replicas",
    fields: &FIELDS,
    schema,
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- scale: 12", "- scale: {deployment: web, replicas: 12}", "- scale: {replicaset: rs1, replicas: 2}"],
};

/// Another number of replicas.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Scale {
    /// The Deployment or ReplicaSet.
    pub(in crate::case) target: Target,
    /// The new number.
    pub(in crate::case) replicas: i32,
}

fn schema(refused: bool) -> Value {
    let [deployment, replica_set, replicas] = FIELDS;
    any_of([
        REPLICAS.schema(refused),
        object(&[deployment, replicas], refused),
        object(&[replica_set, replicas], refused),
    ])
}

fn read(reader: &mut Reader<'_>, Written { key, value, refused }: &Written<'_>) -> Option<Operation> {
    let (named, set, number) = if let Kind::Map(_) = value.kind {
        let fields = Fields::of(value, "`scale`", &names(&FIELDS), reader.report)?;
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
    let target = match (named, set, reader.scope.only_set()) {
        (None, Some(set), _) => target("replicaset", reader.scope.named_set(set, reader.report)?),
        (None, None, Some(only)) => target("replicaset", only),
        (named, None, _) => target("deployment", reader.scope.meant(named, key, reader.report)?),
        (Some(_), Some(set), _) => {
            reader.report.add(set, "`scale` scales one thing", "either `deployment` or `replicaset`");
            return None;
        }
    };
    Some(Operation::new(Scale { target, replicas: i32::try_from(replicas?).ok()? }))
}

impl Action for Scale {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        let Self { target: Target { kind, name }, replicas } = self;
        if kind == "deployment" {
            return format!("scale{} {replicas}", names.deployment(name));
        }
        format!("scale {kind}/{name} {replicas}")
    }

    fn change(&self) -> Change<'_> {
        Change::Scale(&self.target, self.replicas)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.scale(&self.target, self.replicas)
    }
}
