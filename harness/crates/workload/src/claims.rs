//! The fields that a workload's controller reports according to its description. Other fields are
//! neither waited for nor judged.
//!
//! A field is not reported if `paths` maps it to null (`/status/readyReplicas: null`, or all of
//! `/status`), or if `uncompared` lists it. Without a field for a bound, the kind does not promise
//! it, so the invariant about it is not judged, unless `bounds` states it.

use super::table::{INVARIANTS, ROLLING, STATUS, Workload};

/// What the harness can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// `status.observedGeneration`.
    pub generation: bool,
    /// `status.replicas`.
    pub replicas: bool,
    /// `status.readyReplicas`.
    pub ready: bool,
    /// `status.availableReplicas`.
    pub available: bool,
    /// Events.
    pub events: bool,
}

impl Default for Claims {
    /// A Deployment reports all of them.
    fn default() -> Self {
        Self { generation: true, replicas: true, ready: true, available: true, events: true }
    }
}

impl Workload {
    /// What the harness can wait for.
    #[must_use]
    pub fn claims(&self) -> Claims {
        Claims {
            generation: self.claims_status("generation"),
            replicas: self.claims_status("replicas"),
            ready: self.claims_status("ready"),
            available: self.claims_status("available"),
            events: !self.uncompared.events,
        }
    }

    /// Whether a field of the workload's own line at a checkpoint is compared.
    pub fn claims_status(&self, key: &str) -> bool {
        let path = STATUS.iter().find(|(known, _)| *known == key).map(|(_, path)| *path);
        !self.uncompared.status.iter().any(|left_out| left_out == key)
            && !path.is_some_and(|path| self.lacks_field(path))
    }

    /// Whether the workload's own conditions are compared.
    pub fn claims_conditions(&self) -> bool {
        !self.uncompared.conditions && !self.lacks_field("/status/conditions")
    }

    /// Whether the invariant with this name is judged.
    pub fn claims_invariant(&self, name: &str) -> bool {
        let about = INVARIANTS.iter().find(|(known, _)| *known == name).and_then(|(_, about)| *about);
        let is_bounded = |about: &str| {
            about.strip_prefix(ROLLING).is_some_and(|bound| self.bounds.contains_key(bound)) || !self.lacks_field(about)
        };
        !self.uncompared.invariants.iter().any(|left_out| left_out == name) && about.is_none_or(is_bounded)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn described(more: &Value) -> Workload {
        let mut description = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "plural": "fleets"});
        let fields = description.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        Workload::from_json(description).unwrap()
    }

    #[rstest]
    #[case::all(json!({}), true, true, true)]
    #[case::no_status(json!({"paths": {"/status": null}}), false, false, true)]
    #[case::no_generation(json!({"paths": {"/status/observedGeneration": null}}), false, true, true)]
    #[case::uncompared(json!({"uncompared": {"status": ["generation"], "events": true}}), false, true, false)]
    #[case::another_path(json!({"paths": {"/status/observedGeneration": "/status/seen"}}), true, true, true)]
    fn field_without_path_is_not_claimed(
        #[case] more: Value,
        #[case] generation: bool,
        #[case] ready: bool,
        #[case] events: bool,
    ) {
        let claims = described(&more).claims();
        assert_eq!((claims.generation, claims.ready, claims.events), (generation, ready, events));
    }

    #[rstest]
    #[case::all(json!({}), &[])]
    #[case::named(json!({"uncompared": {"invariants": ["surge", "silence"]}}), &["surge", "silence"])]
    #[case::no_bounds(json!({"paths": {"/spec/strategy": null}}), &["surge", "availability"])]
    #[case::other_bounds(json!({"paths": {"/spec/strategy": null}, "bounds": {"maxSurge": 1}}), &["availability"])]
    #[case::no_pause(json!({"paths": {"/spec/paused": null}}), &["paused"])]
    fn invariant_without_field_is_not_judged(#[case] more: Value, #[case] left_out: &[&str]) {
        let workload = described(&more);
        let found = INVARIANTS.iter().map(|(name, _)| *name).filter(|name| !workload.claims_invariant(name));
        assert_eq!(found.collect::<Vec<_>>(), left_out);
    }
}
