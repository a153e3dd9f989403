//! The usual cause of a difference, where one is known: a sentence in the API's own words below the
//! diff.
//!
//! Sees the lines of one step and nothing else. A hint says which field is otherwise and how it is
//! called in the API, never whose fault it is.

use crate::timeline::{Field, Line, State, annotation};

/// The annotation that numbers a Deployment's rollouts.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// What is known about the objects that stand otherwise than expected, each once.
pub(super) fn hints(expected: &[Line], actual: &[Line]) -> Vec<String> {
    let mut hints = Vec::new();
    for happened in actual.iter().filter_map(Line::state) {
        let Some(wanted) = expected.iter().filter_map(Line::state).find(|state| state.object == happened.object) else {
            continue;
        };
        if let Some(hint) = unobserved(wanted, happened) {
            // The rest of the status follows from it.
            hints.push(hint);
            continue;
        }
        hints.extend(generation_raised(wanted, happened));
        hints.extend(wanted.fields.iter().filter_map(|field| annotated(&happened.object, field, happened)));
    }
    hints
}

/// A generation that only a write of the object itself can have raised.
fn generation_raised(wanted: &State, happened: &State) -> Option<String> {
    let ((_, wanted), (_, generation)) = (generations(wanted)?, generations(happened)?);
    (generation > wanted && !happened.is_replica_set()).then(|| {
        format!(
            "{}: metadata.generation is {generation} instead of {wanted}: the object itself was written; upstream's controller \
             writes its status subresource alone",
            happened.object
        )
    })
}

/// The generation that the status is for, and that of the object.
fn generations(state: &State) -> Option<(u64, u64)> {
    let (observed, generation) = value(state, "generation")?.split_once('/')?;
    Some((observed.parse().ok()?, generation.parse().ok()?))
}

/// A status that was not written for the generation that the object has.
fn unobserved(wanted: &State, happened: &State) -> Option<String> {
    let ((wanted, _), (observed, generation)) = (generations(wanted)?, generations(happened)?);
    (observed < generation && observed < wanted).then(|| {
        format!(
            "{}: the status was not written for generation {generation}; status.observedGeneration is {observed}",
            happened.object
        )
    })
}

/// An annotation of the controller's that is missing or has another value.
fn annotated(object: &str, wanted: &Field, happened: &State) -> Option<String> {
    let key = annotation(&wanted.key)?;
    match value(happened, &wanted.key) {
        None if key == REVISION && !object.starts_with("rs") => Some(format!(
            "{object}: the annotation {key} is missing; upstream keeps it at {} and writes it through the status subresource, which \
             leaves metadata.generation as it is",
            wanted.value
        )),
        None => Some(format!("{object}: the annotation {key} is missing; upstream keeps it at {}", wanted.value)),
        Some(other) if other != wanted.value => {
            Some(format!("{object}: the annotation {key} is {other}; upstream keeps it at {}", wanted.value))
        }
        Some(_) => None,
    }
}

fn value<'a>(state: &'a State, key: &str) -> Option<&'a str> {
    state.fields.iter().find(|field| field.key == key).map(|field| field.value.as_str())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::timeline::Timeline;

    fn lines(state: &str) -> Vec<Line> {
        let text = format!("given   deployment/web\n      = {state}\n");
        Timeline::parse(&text).unwrap().steps[0].lines()
    }

    #[rstest]
    #[case::status_not_written(
        "web 3 updated=3 generation=2/2 revision=2",
        "web 3 generation=1/2 revision=1",
        &["web: the status was not written for generation 2; status.observedGeneration is 1"])]
    #[case::annotations_missing(
        "rs2 1/1 ready=0 revision=2 desired=3 max=4",
        "rs2 1/1 ready=0 revision=2",
        &["rs2: the annotation deployment.kubernetes.io/desired-replicas is missing; upstream keeps it at 3",
          "rs2: the annotation deployment.kubernetes.io/max-replicas is missing; upstream keeps it at 4"])]
    #[case::annotation_old(
        "rs2 1/1 desired=5 max=6",
        "rs2 1/1 desired=5 max=4",
        &["rs2: the annotation deployment.kubernetes.io/max-replicas is 4; upstream keeps it at 6"])]
    #[case::revision_missing(
        "web 3 generation=1/1 revision=1",
        "web 3 generation=1/1",
        &["web: the annotation deployment.kubernetes.io/revision is missing; upstream keeps it at 1 and writes it through the status subresource, which leaves metadata.generation as it is"])]
    #[case::the_object_was_written(
        "web 3 generation=1/1 revision=1",
        "web 3 generation=2/2 revision=1",
        &["web: metadata.generation is 2 instead of 1: the object itself was written; upstream's controller writes its status subresource alone"])]
    #[case::nothing_known("rs1 3/3 ready=3", "rs1 3/3 ready=2", &[])]
    #[case::upstream_has_not_written_it_either("web 3 generation=1/2", "web 4 generation=1/2", &[])]
    fn the_usual_cause_is_named(#[case] expected: &str, #[case] actual: &str, #[case] hint: &[&str]) {
        assert_eq!(hints(&lines(expected), &lines(actual)), hint);
    }
}
