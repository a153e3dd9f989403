//! `terminate: {pods: 2}`: deletions finish.

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing, Written};
use crate::case::model::{PodOperation, Pods};
use crate::case::moved::{self, FIELDS};
use crate::case::step::Reader;

pub(super) static FORM: Form = Form {
    name: "terminate",
    says: "Deletions finish, one sub-step each; with `terminations: held`.",
    by: By::Nodes,
    short: "",
    fields: &FIELDS,
    schema: moved::schema,
    read,
    announce: nothing,
    refusable: false,
    inner: true,
    only_held: Some("a kubelet finishes deletions by itself"),
    examples: &["- terminate: {pods: all}"],
};

/// Deletions finish.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Terminate(pub(in crate::case) Pods);

fn read(reader: &mut Reader<'_>, written: &Written<'_>) -> Option<Operation> {
    if !reader.held {
        reader.report.add(written.key, "`terminate` without held terminations", "deletions finish by themselves here");
        reader.report.help("add `terminations: held` at the top of the case");
        return None;
    }
    moved::read(reader, written).map(|pods| Operation::new(Terminate(pods)))
}

impl Action for Terminate {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        moved::label(FORM.name, &self.0)
    }

    fn moves(&self) -> Option<(PodOperation, &Pods)> {
        Some((PodOperation::Terminate, &self.0))
    }

    fn on(&self, pods: Pods) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.move_pods(PodOperation::Terminate, &self.0)
    }
}
