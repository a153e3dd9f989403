//! The table of operations: what one step of a case can do.
//!
//! An operation is one file, which it shares with those that differ little from it: its
//! [`OperationSpec`] (name, sentence, fields, schema, reader, examples) and what it is once it is
//! read, a `StepAction` of the model (label in timelines, labels for filters, effect on objects,
//! performance). The table is the source of the reader's messages, `cases/case.schema.json`, the
//! values of `label(…)` in filters and `docs/case-reference.md`. A new operation is a new file
//! here, a module below and an entry in [`ALL`].
//!
//! Operations are pure: to perform one, it calls a `Drive`, which the driver implements. Only an
//! operation that needs a new kind of request adds a method there.
//!
//! `target` reads which object a step means.

pub(crate) mod advance;
pub(crate) mod apply;
mod delete;
mod deployment;
mod patch;
mod pause;
pub(crate) mod pod_operations;
pub(crate) mod pods;
mod replicaset;
mod restart;
mod scale;
mod set;
mod subject;
pub(crate) mod target;
mod together;
mod undo;

use crate::step::OperationSpec;

/// All operations, in the order in which messages and the reference page list them.
pub(crate) static ALL: [&OperationSpec; 20] = {
    let [ready, unready, fail, succeed, terminate] = &pod_operations::SPECS;
    [
        &deployment::SPEC,
        &replicaset::SPEC,
        &apply::SPEC,
        &patch::SPEC,
        &delete::SPEC,
        &set::SPEC,
        &scale::SPEC,
        &pause::PAUSE,
        &pause::RESUME,
        &undo::SPEC,
        &restart::SPEC,
        ready,
        unready,
        fail,
        succeed,
        terminate,
        &pods::SPEC,
        &advance::SPEC,
        &together::SPEC,
        &subject::SPEC,
    ]
};

#[cfg(test)]
pub(crate) use {
    delete::DeleteStep, patch::PatchStep, pause::PauseStep, pod_operations::PodStep, restart::RestartStep,
    scale::ScaleStep, set::SetStep, undo::UndoStep,
};

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::ALL;
    use crate::model::label;
    use crate::{Case, parse};

    /// A case in which everything that an example refers to exists.
    fn case_with(steps: &str) -> String {
        let indented: String = steps.lines().map(|line| format!("  {line}\n")).collect();
        format!(
            "description: x\nterminations: held\nbindings: held\ngiven:\n  \
         - deployment: {{name: web, replicas: 3, image: \"app:1\"}}\n  \
         - pods: {{name: {{a: {{node: n1}}, b: null}}}}\nsteps:\n  \
         - set: {{deployment: web, image: \"app:2\"}}\n{indented}"
        )
    }

    fn read(text: &str) -> Case {
        parse("cases/a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn examples_are_read_and_valid_for_an_editor() {
        let validator = jsonschema::validator_for(&crate::schema()).unwrap();
        for form in ALL {
            assert!(!form.description.is_empty() && form.description.ends_with('.'), "{}", form.name);
            assert!(!form.examples.is_empty(), "{} has no example", form.name);
            for example in form.examples {
                let text = case_with(example.strip_suffix('\n').unwrap_or(example));
                assert!(example.contains(&format!("{}:", form.name)), "{example} is no example of {}", form.name);
                read(&text);
                let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
                let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{example}: {}", errors.join("; "));
            }
        }
    }

    #[test]
    fn operation_names_are_unique() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|form| form.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    const ONE: &str = "- deployment: {name: web, replicas: 2, image: 'app:1', maxSurge: 25%}";
    const TWO: &str =
        "- deployment: {name: web, replicas: 2, image: 'app:1'}\n  - deployment: {name: api, image: 'api:1'}";

    #[rstest]
    #[case(ONE, "set: {image: 'app:2'}", "set image=app:2")]
    #[case(TWO, "set: {deployment: api, image: 'app:2'}", "set api image=app:2")]
    #[case(ONE, "scale: 12", "scale 12")]
    #[case(TWO, "scale: {deployment: web, replicas: 12}", "scale web 12")]
    #[case(ONE, "pause: web", "pause")]
    #[case(ONE, "set: {env: {A: b}}", "set A=b")]
    #[case(ONE, "ready: {of: {revision: 1}, pods: 2}", "ready 2 of revision 1")]
    #[case(ONE, "advance: 90s", "advance 1m 30s")]
    #[case(ONE, "together: [{scale: 3}, {pause: web}]", "together scale 3, pause")]
    #[case(ONE, "delete: deployment/web", "delete deployment/web")]
    fn label_uses_words_of_case(#[case] given: &str, #[case] operation: &str, #[case] expected: &str) {
        let text = format!("description: x\ngiven:\n  {given}\nsteps:\n  - {operation}\n");
        let case = parse("cases/a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(label(&case, &case.steps[0].operation), expected);
    }

    #[test]
    fn label_of_deployment_shows_rollout_fields() {
        let text = format!("description: x\ngiven:\n  {ONE}\nsteps:\n  - scale: 3\n");
        let case = parse("cases/a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}"));
        let shown = label(&case, &case.given[0].operation);
        assert_eq!(shown, "deployment/web replicas=2 strategy=RollingUpdate maxSurge=25% image=app:1");
    }
}
