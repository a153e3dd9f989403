//! `pods: {of: {revision: 1}, name: {a: {node: n1, ready: {since: -2h}}, b: {node: null}}}`: pods
//! whose fate matters get names and traits.

use serde_json::json;

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing, Written};
use crate::case::field::{Field, Type, names};
use crate::case::model::{Naming, Place, Pods, Readiness, Traits};
use crate::case::moved::{self, OF};
use crate::case::naming::traits;
use crate::case::read::{self, Fields};
use crate::case::schema::{object, reference};
use crate::case::step::Reader;
use crate::case::tree::Kind;

const NAMED: Type = Type::Is(
    |_| {
        json!({"type": "object", "minProperties": 1, "propertyNames": reference("name"),
            "additionalProperties": reference("traits")})
    },
    "a mapping from names to [traits](#traits)",
);

static FIELDS: [Field; 2] = [
    Field::new("of", OF, "Whose pods; all of the case's by default."),
    Field::required("name", NAMED, "The names, in the order in which they are given."),
];

pub(in crate::case) static FORM: Form = Form {
    name: "pods",
    says: "Pods get names, oldest first, and traits; a name that is known keeps its pod.",
    by: By::Nodes,
    short: "",
    fields: &FIELDS,
    schema: |refused| object(&FIELDS, refused),
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: Some("a kubelet says itself how a pod is"),
    examples: &["- pods: {of: {revision: 1}, name: {a: {node: n1, ready: {since: -20m}}, b: {deletionCost: 5}}}"],
};

fn read(reader: &mut Reader<'_>, Written { value, .. }: &Written<'_>) -> Option<Operation> {
    let fields = Fields::of(value, "`pods`", &names(&FIELDS), reader.report)?;
    let of = moved::of(fields.get("of"), reader)?;
    let Some(named) = fields.get("name") else {
        reader.report.add(value, "`pods` names none", "add `name: {a: {…}, b: {…}}`");
        return None;
    };
    let Kind::Map(map) = &named.kind else {
        reader.report.add(named, "`name` must be a mapping", format!("this is {}", named.describe()));
        return None;
    };
    let mut names = Vec::new();
    for (key, value) in map {
        let name = read::name(key, "a pod's name", reader.report)?;
        let traits = traits(value, reader)?;
        reader.scope.pods.insert(name.clone());
        names.push((name, traits));
    }
    if names.is_empty() {
        reader.report.add(named, "`pods` names none", "a step must do something");
        return None;
    }
    if reader.scope.several_sets() && of == Pods::default() {
        reader.report.add(value, "the pods of which ReplicaSet?", "add `of: {revision: …}` or `of: {replicaset: …}`");
        return None;
    }
    Some(Operation::new(Naming { of, names }))
}

impl Action for Naming {
    fn form(&self) -> &'static Form {
        &FORM
    }

    /// `pods of revision 1: a node=n1 ready=-2h restarts=3, b node=none`.
    fn label(&self, _: Names) -> String {
        let all: Vec<_> = self.names.iter().map(|(name, traits)| name.clone() + &shown(traits)).collect();
        format!("pods{}: {}", moved::whose(&self.of), all.join(", "))
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.name_pods(self)
    }
}

/// ` node=n1 ready=-2h`.
fn shown(traits: &Traits) -> String {
    let seconds = |seconds: i64| {
        let time = humantime::format_duration(std::time::Duration::from_secs(seconds.unsigned_abs())).to_string();
        format!("{}{}", if seconds < 0 { "-" } else { "+" }, time.replace(' ', ""))
    };
    let node = traits.node.as_ref().map(|node| match node {
        Place::Nowhere => " node=none".to_owned(),
        Place::On(node) => format!(" node={node}"),
    });
    let ready = traits.ready.map(|ready| match ready {
        Readiness::No => " ready=no".to_owned(),
        Readiness::Since(0) => " ready=now".to_owned(),
        Readiness::Since(time) => format!(" ready={}", seconds(time)),
        Readiness::SinceUnknown => " ready=unknown".to_owned(),
    });
    let phase = traits.phase.map(|phase| format!(" phase={}", phase.as_str()));
    let cost = traits.deletion_cost.as_ref().map(|cost| format!(" deletionCost={}", json!(cost)));
    let restarts = traits.restarts.map(|count| format!(" restarts={count}"));
    let sidecars = traits.sidecar_restarts.map(|count| format!(" sidecarRestarts={count}"));
    [node, phase, ready, cost, restarts, sidecars].into_iter().flatten().collect()
}
