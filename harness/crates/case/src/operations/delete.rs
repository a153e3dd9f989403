//! `delete: deployment/web`: deletes an object, with or without its dependents.

use super::target::TARGET;
use crate::field::{FieldSpec, FieldType, any_of, names, object, reference};
use crate::model::{Cascade, DeclaredChange, Drive, LabelStyle, Operation, PerformFuture, StepAction, Target};
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};

static FIELDS: [FieldSpec; 2] = [
    FieldSpec::required("target", TARGET, "What goes."),
    FieldSpec::new(
        "cascade",
        FieldType::Words(&["background", "foreground", "orphan"]),
        "What becomes of what it owns: deleted after it (the default), before it, or left behind.",
    ),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "delete",
    description: "Deletes an object.",
    actor: Actor::User,
    shorthand: "`kind/name`",
    fields: &FIELDS,
    schema: |refused| any_of([reference("target"), object(&FIELDS, refused)]),
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &["- delete: deployment/web", "- delete: {target: deployment/web, cascade: orphan}", "- delete: pod/a"],
};

/// Deletes an object.
#[derive(Debug, PartialEq)]
pub(crate) struct DeleteStep {
    /// The object.
    pub(crate) target: Target,
    /// What happens to its dependents.
    pub(crate) cascade: Cascade,
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, .. }: &OperationNode<'_>) -> Option<Operation> {
    if value.as_text().is_some() {
        let target = reader.read_target(Some(value), value)?;
        return Some(Operation::new(DeleteStep { target, cascade: Cascade::default() }));
    }
    let fields = MappingFields::of(value, "`delete`", &names(&FIELDS), reader.report)?;
    let words = [("background", Cascade::Background), ("foreground", Cascade::Foreground), ("orphan", Cascade::Orphan)];
    let target = reader.read_target(fields.get("target"), value);
    let cascade = match fields.get("cascade") {
        Some(cascade) => read::word(cascade, "the cascade", &words, reader.report)?,
        None => Cascade::default(),
    };
    Some(Operation::new(DeleteStep { target: target?, cascade }))
}

impl StepAction for DeleteStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        let Target { kind, name } = &self.target;
        let cascade = match self.cascade {
            Cascade::Background => "",
            Cascade::Foreground => " cascade=foreground",
            Cascade::Orphan => " cascade=orphan",
        };
        format!("delete {kind}/{name}{cascade}")
    }

    fn change(&self) -> DeclaredChange<'_> {
        if self.cascade == Cascade::Orphan { DeclaredChange::Orphans } else { DeclaredChange::Unchanged }
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.delete(&self.target, self.cascade)
    }
}
