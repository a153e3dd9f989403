//! What a workload's controller claims, according to its description. Nothing else is waited for
//! or judged.
//!
//! A promise is claimed if `claims` includes it, or is left out, and `unclaimed` does not. A field
//! that `paths` maps to null is not claimed either (`/status/readyReplicas: null`, or all of
//! `/status`), nor is an invariant about a bound without a field, unless `bounds` states the bound.

use super::owned::OWNED_STATUS;
use super::table::{ROLLING, Workload};
use super::vocabulary::{PROMISES, Promise, Sign, find_promise, mistake};

/// What the harness can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// The workload's status.
    pub status: ReportedCounts,
    /// The status of what it owns.
    pub owned: ReportedCounts,
    /// The sizes of ReplicaSets.
    pub sizes: bool,
    /// Events about the workload.
    pub events: bool,
}

/// The fields of a status that are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedCounts {
    /// `status.observedGeneration`.
    pub generation: bool,
    /// `status.replicas`.
    pub replicas: bool,
    /// `status.readyReplicas`.
    pub ready: bool,
    /// `status.availableReplicas`.
    pub available: bool,
}

impl ReportedCounts {
    const ALL: Self = Self { generation: true, replicas: true, ready: true, available: true };
}

impl Default for Claims {
    /// Deployments and ReplicaSets report all of them.
    fn default() -> Self {
        Self { status: ReportedCounts::ALL, owned: ReportedCounts::ALL, sizes: true, events: true }
    }
}

/// A promise that has no word of its own in a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The sizes of ReplicaSets.
    Sizes,
    /// A ReplicaSet is created with its size, and not scaled right after.
    InitialSize,
    /// The order and number of writes in a step.
    Order,
    /// ReplicaSets are adopted and released.
    Adoption,
    /// Old ReplicaSets are deleted.
    History,
    /// Events.
    Events,
    /// The rules of a case.
    Rules,
    /// The pods that a case expects to live on.
    ExpectedPods,
}

/// How much of an area is claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimedShare {
    /// All of its promises.
    Everything,
    /// All but these.
    AllBut(Vec<String>),
    /// These.
    Only(Vec<String>),
    /// None of them.
    Nothing,
}

/// The promise that every description claims: by nothing less can a controller be seen to act.
const CREATION: &str = "replicasets.creation";

impl Claim {
    const fn name(self) -> &'static str {
        match self {
            Self::Sizes => "replicasets.sizes",
            Self::InitialSize => "replicasets.initial-size",
            Self::Order => "replicasets.order",
            Self::Adoption => "replicasets.adoption",
            Self::History => "history",
            Self::Events => "events",
            Self::Rules => "rules.cel",
            Self::ExpectedPods => "rules.pods",
        }
    }
}

impl Workload {
    /// What the harness can wait for.
    #[must_use]
    pub fn claims(&self) -> Claims {
        Claims {
            status: ReportedCounts {
                generation: self.claims_own("generation"),
                replicas: self.claims_own("replicas"),
                ready: self.claims_own("ready"),
                available: self.claims_own("available"),
            },
            owned: ReportedCounts {
                generation: self.owned_reports("/status/observedGeneration"),
                replicas: self.owned_reports("/status/replicas"),
                ready: self.owned_reports("/status/readyReplicas"),
                available: self.owned_reports("/status/availableReplicas"),
            },
            sizes: self.has_claimed(Claim::Sizes),
            events: self.has_claimed(Claim::Events),
        }
    }

    /// Whether the workload's controller claims this.
    pub fn has_claimed(&self, claim: Claim) -> bool {
        find_promise(claim.name()).is_none_or(|promise| self.has_promised(promise))
    }

    /// Whether a field of a ReplicaSet's line, or of a decision about one, is compared.
    pub fn claims_of_set(&self, key: &str) -> bool {
        let path = OWNED_STATUS.iter().find(|(known, _)| *known == key).map(|(_, path)| *path);
        let is_reported = path.is_none_or(|path| self.owned_reports(path));
        self.has_promised_sign(Sign::Set(key), "replicasets.fields") && is_reported
    }

    /// Whether what it owns has this field of a ReplicaSet's status.
    fn owned_reports(&self, field: &str) -> bool {
        self.owns.as_ref().is_none_or(|owned| owned.reports(field))
    }

    /// Whether a field of the workload's own line at a checkpoint, or of a decision about it, is
    /// compared.
    pub fn claims_own(&self, key: &str) -> bool {
        // The deletion of a workload is a user's.
        key == "deleting" || self.has_promised_sign(Sign::Own(key), "rollback")
    }

    /// Whether the workload's own condition of this type is compared.
    pub fn claims_condition(&self, condition: &str) -> bool {
        self.has_promised_sign(Sign::Condition(condition), "conditions.others")
    }

    /// Whether the invariant with this name is judged.
    pub fn claims_invariant(&self, name: &str) -> bool {
        // Availability is counted from what the ReplicaSets report, and both bounds from sizes.
        let is_counted = match name {
            "surge" => self.has_claimed(Claim::Sizes),
            "availability" => self.has_claimed(Claim::Sizes) && self.claims().owned.available,
            _ => true,
        };
        is_counted && self.has_promised_sign(Sign::Invariant(name), "")
    }

    /// Whether a case with these labels, or of this area, is about something that is not claimed.
    pub fn leaves_out(&self, is_labelled: impl Fn(&str) -> bool) -> bool {
        let mut unclaimed = PROMISES.iter().filter(|promise| !self.has_promised(promise));
        self.lacks.iter().any(|label| is_labelled(label)) || unclaimed.any(|promise| promise.cases().any(&is_labelled))
    }

    /// What is claimed of an area.
    pub fn claimed_of(&self, area: &str) -> ClaimedShare {
        let all: Vec<&Promise> = PROMISES.iter().filter(|promise| promise.area == area).collect();
        let (claimed, left_out): (Vec<&Promise>, Vec<&Promise>) =
            all.into_iter().partition(|promise| self.has_promised(promise));
        let names = |promises: Vec<&Promise>| promises.into_iter().map(Promise::name).collect();
        match (claimed.len(), left_out.len()) {
            (0, _) => ClaimedShare::Nothing,
            (_, 0) => ClaimedShare::Everything,
            (claims, others) if claims < others => ClaimedShare::Only(names(claimed)),
            _ => ClaimedShare::AllBut(names(left_out)),
        }
    }

    /// Whether a promise is claimed.
    pub(super) fn has_promised(&self, promise: &Promise) -> bool {
        let is_in = |words: &[String]| words.iter().any(|word| promise.is_in(word));
        let bound = promise.field.strip_prefix(ROLLING);
        let has_field = bound.is_some_and(|bound| self.bounds.contains_key(bound)) || !self.lacks_field(promise.field);
        has_field && self.claims.as_deref().is_none_or(is_in) && !is_in(&self.unclaimed)
    }

    /// Whether the promise that this belongs to is claimed; `others` is that of what has none.
    fn has_promised_sign(&self, sign: Sign<'_>, others: &str) -> bool {
        let promise = PROMISES.iter().find(|promise| promise.signs.contains(&sign));
        promise.or_else(|| find_promise(others)).is_none_or(|promise| self.has_promised(promise))
    }

    /// Checks the words, and that something shows when the controller has settled.
    pub(super) fn check_claims(&self) -> Result<(), String> {
        for (field, words) in [("claims", self.claims.as_deref().unwrap_or_default()), ("unclaimed", &self.unclaimed)] {
            if let Some(why) = words.iter().find_map(|word| mistake(word)) {
                return Err(format!("`{field}`: {why}"));
            }
        }
        if self.claims.as_ref().is_some_and(Vec::is_empty) {
            return Err("`claims`: nothing is claimed, so nothing could be judged".to_owned());
        }
        if find_promise(CREATION).is_some_and(|creation| !self.has_promised(creation)) {
            return Err(format!(
                "without `{CREATION}` nothing shows that the controller has received a change, so no step could settle; \
                 add it to `claims`"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn read(more: &Value) -> Result<Workload, String> {
        let mut description = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "plural": "fleets"});
        let fields = description.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        Workload::from_json(description)
    }

    #[rstest]
    #[case::all(json!({}), true, true, true)]
    #[case::no_status(json!({"paths": {"/status": null}}), false, false, true)]
    #[case::no_generation(json!({"paths": {"/status/observedGeneration": null}}), false, true, true)]
    #[case::unclaimed(json!({"unclaimed": ["status.generation", "events"]}), false, true, false)]
    #[case::an_area(json!({"claims": ["replicasets", "status"]}), true, true, false)]
    #[case::one_of_an_area(json!({"claims": ["replicasets", "status.ready"]}), false, true, false)]
    #[case::both(json!({"claims": ["replicasets", "status"], "unclaimed": ["status.ready"]}), true, false, false)]
    #[case::another_path(json!({"paths": {"/status/observedGeneration": "/status/seen"}}), true, true, true)]
    fn waits_only_for_what_is_claimed(
        #[case] more: Value,
        #[case] generation: bool,
        #[case] ready: bool,
        #[case] events: bool,
    ) {
        let claims = read(&more).unwrap().claims();
        assert_eq!((claims.status.generation, claims.status.ready, claims.events), (generation, ready, events));
    }

    #[rstest]
    #[case::all(json!({}), &[])]
    #[case::named(json!({"unclaimed": ["bounds.surge", "invariants.silence"]}), &["surge", "silence"])]
    #[case::no_bounds(json!({"paths": {"/spec/strategy": null}}), &["surge", "availability"])]
    #[case::other_bounds(json!({"paths": {"/spec/strategy": null}, "bounds": {"maxSurge": 1}}), &["availability"])]
    #[case::no_pause(json!({"paths": {"/spec/paused": null}}), &["paused"])]
    #[case::no_sizes(json!({"unclaimed": ["replicasets.sizes"]}), &["surge", "availability"])]
    #[case::claims_without_invariants(
        json!({"claims": ["replicasets", "revisions"]}),
        &["surge", "availability", "one-template", "ownership", "paused", "completion", "silence"]
    )]
    fn judges_only_invariants_that_are_claimed(#[case] more: Value, #[case] left_out: &[&str]) {
        let workload = read(&more).unwrap();
        let all = ["surge", "availability", "one-template", "revision", "ownership", "paused", "completion", "silence"];
        let found = all.into_iter().filter(|name| !workload.claims_invariant(name));
        assert_eq!(found.collect::<Vec<_>>(), left_out);
    }

    #[rstest]
    #[case::area(json!({"claims": ["replicaset"]}), "`claims`: unknown `replicaset`, expected replicasets, history")]
    #[case::word(json!({"unclaimed": ["status.observed"]}), "expected status.replicas, status.updated")]
    #[case::bare_word(json!({"unclaimed": ["generation"]}), "unknown `generation`, expected status.generation")]
    #[case::too_much(json!({"unclaimed": ["events.all"]}), "unknown `events.all`, expected events")]
    #[case::none(json!({"claims": []}), "nothing is claimed")]
    #[case::cannot_settle(json!({"claims": ["status"]}), "without `replicasets.creation` nothing shows")]
    #[case::taken_away(json!({"unclaimed": ["replicasets"]}), "without `replicasets.creation` nothing shows")]
    fn refuses_claims_that_say_nothing(#[case] more: Value, #[case] expected: &str) {
        let why = read(&more).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn each_claim_is_a_promise() {
        use Claim::{Adoption, Events, ExpectedPods, History, InitialSize, Order, Rules, Sizes};
        for claim in [Sizes, InitialSize, Order, Adoption, History, Events, Rules, ExpectedPods] {
            assert!(find_promise(claim.name()).is_some(), "{claim:?}");
        }
        assert!(
            [CREATION, "replicasets.fields", "conditions.others", "rollback"]
                .iter()
                .all(|it| find_promise(it).is_some())
        );
    }

    #[test]
    fn no_sign_belongs_to_two_promises() {
        let all: Vec<Sign<'_>> = PROMISES.iter().flat_map(|promise| promise.signs).copied().collect();
        let twice = all.iter().filter(|sign| all.iter().filter(|other| other == sign).count() > 1);
        assert_eq!(twice.count(), 0);
    }

    #[test]
    fn cases_about_what_is_not_claimed_are_left_out() {
        let leaves_out = |more: Value, label: &str| read(&more).unwrap().leaves_out(|word| word == label);
        assert!(!leaves_out(json!({}), "pause"));
        assert!(leaves_out(json!({"unclaimed": ["pause"]}), "pause"));
        assert!(leaves_out(json!({"claims": ["replicasets"]}), "progressDeadlineSeconds"));
        assert!(leaves_out(json!({"paths": {"/spec/paused": null}}), "pause"));
        assert!(leaves_out(json!({"lacks": ["Recreate"]}), "Recreate"));
    }
}
