//! `delete: deployment/web`: an object goes, and what it owns with it or not.

use super::form::nothing;
use super::{Action, By, Change, Drive, Form, Names, Operation, Performing, Written};
use crate::case::field::{Field, Type, names};
use crate::case::model::{Cascade, Target};
use crate::case::read::{self, Fields};
use crate::case::schema::{any_of, object, reference};
use crate::case::step::Reader;
use crate::case::target::TARGET;

static FIELDS: [Field; 2] = [
    Field::required("target", TARGET, "What goes."),
    Field::new(
        "cascade",
        Type::Words(&["background", "foreground", "orphan"]),
        "What becomes of what it owns: deleted after it (the default), before it, or left behind.",
    ),
];

pub(super) static FORM: Form = Form {
    name: "delete",
    says: "Deletes an object.",
    by: By::User,
    short: "`kind/name`",
    fields: &FIELDS,
    schema: |refused| any_of([reference("target"), object(&FIELDS, refused)]),
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- delete: deployment/web", "- delete: {target: deployment/web, cascade: orphan}", "- delete: pod/a"],
};

/// An object is deleted.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Delete {
    /// Which object.
    pub(in crate::case) target: Target,
    /// What happens to what it owns.
    pub(in crate::case) cascade: Cascade,
}

fn read(reader: &mut Reader<'_>, Written { value, .. }: &Written<'_>) -> Option<Operation> {
    if value.as_text().is_some() {
        let target = reader.target(Some(value), value)?;
        return Some(Operation::new(Delete { target, cascade: Cascade::default() }));
    }
    let fields = Fields::of(value, "`delete`", &names(&FIELDS), reader.report)?;
    let words = [("background", Cascade::Background), ("foreground", Cascade::Foreground), ("orphan", Cascade::Orphan)];
    let target = reader.target(fields.get("target"), value);
    let cascade = match fields.get("cascade") {
        Some(cascade) => read::word(cascade, "the cascade", &words, reader.report)?,
        None => Cascade::default(),
    };
    Some(Operation::new(Delete { target: target?, cascade }))
}

impl Action for Delete {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        let Target { kind, name } = &self.target;
        let cascade = match self.cascade {
            Cascade::Background => "",
            Cascade::Foreground => " cascade=foreground",
            Cascade::Orphan => " cascade=orphan",
        };
        format!("delete {kind}/{name}{cascade}")
    }

    fn change(&self) -> Change<'_> {
        if self.cascade == Cascade::Orphan { Change::Orphans } else { Change::Nothing }
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.delete(&self.target, self.cascade)
    }
}
