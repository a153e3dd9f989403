//! Overruns: timers of the API that expired because the steps of a case took long.
//!
//! A case lets time pass by `advance` alone; on a real cluster its other steps take time as well.
//! Where `progressDeadlineSeconds` or `minReadySeconds` expire in that time, a subject that reports
//! so is right, and the golden timeline, in which they did not expire, no longer applies.

use std::collections::BTreeMap;

use lockstep_case::Case;
use lockstep_case::model::AdvanceStep;
use lockstep_recording::{Blame, ChangeType, ObjectVersion, Recording, RecordingEntry, Trouble};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object;
use serde_json::Value;

/// Upstream compares times of whole seconds, so a timer may expire this much early. In
/// milliseconds.
const ROUNDING: u64 = 1000;

/// The recording with trouble of the test environment in front of the first overrun, if there is
/// one. There is none in virtual time, which only `advance` moves.
pub(super) fn with_overrun(case: &Case, recording: &Recording) -> Option<Recording> {
    if recording.header.seed.is_some() {
        return None;
    }
    let (position, why) = first_overrun(case, recording)?;
    let mut recording = recording.clone();
    recording.entries.insert(position, RecordingEntry::Trouble(Trouble::new(Blame::Environment, why)));
    Some(recording)
}

/// The position of the version that shows an overrun, and the reason.
fn first_overrun(case: &Case, recording: &Recording) -> Option<(usize, String)> {
    let mut clock = CaseClock::new(case);
    let mut timers = TimerStarts::default();
    for (position, entry) in recording.entries.iter().enumerate() {
        match entry {
            RecordingEntry::Step(mark) => clock.begin(mark.index, mark.at),
            RecordingEntry::Object(version) => {
                if let Some(TimerExpiry { timer, limit, since }) = timers.observe(version) {
                    let took = version.at.saturating_sub(since);
                    let intended = clock.time_at(version.at).saturating_sub(clock.time_at(since));
                    if intended + ROUNDING <= limit && took + ROUNDING >= limit {
                        return Some((position, reason(&timer, limit, intended, took)));
                    }
                }
            }
            _ => {}
        }
    }
    None
}

fn reason(timer: &str, limit: u64, intended: u64, took: u64) -> String {
    let seconds = |time: u64| time / 1000;
    format!(
        "the test environment was slow: {timer} of {} s expired, as {} s passed where the case lets {} s pass",
        seconds(limit),
        seconds(took),
        seconds(intended)
    )
}

/// The time that a case lets pass, by the time of its recording. All times are milliseconds.
struct CaseClock<'a> {
    case: &'a Case,
    /// Each step: when it began, in the recording and by this clock, and how long it lasts.
    steps: Vec<(u64, u64, u64)>,
    /// When steps with a label began, by this clock.
    labels: BTreeMap<&'a str, u64>,
}

impl<'a> CaseClock<'a> {
    fn new(case: &'a Case) -> Self {
        Self { case, steps: Vec::new(), labels: BTreeMap::new() }
    }

    /// A step begins; 0 is `given`.
    fn begin(&mut self, index: u32, at: u64) {
        let now = self.time_at(at);
        let step = self.case.step(index);
        if let Some(label) = step.and_then(|step| step.label.as_deref()) {
            self.labels.entry(label).or_insert(now);
        }
        let lasts = match step.and_then(|step| step.operation.advance()) {
            None => 0,
            Some(AdvanceStep::For(time)) => milliseconds(*time),
            Some(AdvanceStep::Until { to, since }) => {
                let since = self.labels.get(since.as_str()).copied().unwrap_or_default();
                (since + milliseconds(*to)).saturating_sub(now)
            }
        };
        self.steps.push((at, now, lasts));
    }

    /// How much time the case has let pass at a moment of the recording.
    fn time_at(&self, at: u64) -> u64 {
        let step = self.steps.iter().rev().find(|(began, ..)| *began <= at);
        step.map_or(0, |(began, time, lasts)| time + (at - began).min(*lasts))
    }
}

fn milliseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A timer that a version reports to have expired.
struct TimerExpiry {
    /// Its field and object: `progressDeadlineSeconds of Deployment web`.
    timer: String,
    /// How long it is, in milliseconds.
    limit: u64,
    /// When it was started, in milliseconds since the recording began.
    since: u64,
}

/// When the timers of a recording were started.
#[derive(Default)]
struct TimerStarts {
    /// The last progress of each Deployment, as it reports it, and when that was recorded.
    progress: BTreeMap<String, (String, u64)>,
    /// When each pod became ready, and the UID of its controller.
    ready: BTreeMap<String, (u64, String)>,
    /// The available replicas of each ReplicaSet.
    available: BTreeMap<String, i64>,
}

impl TimerStarts {
    fn observe(&mut self, version: &ObjectVersion) -> Option<TimerExpiry> {
        match version.kind.as_str() {
            "Deployment" => self.observe_deployment(version),
            "ReplicaSet" => self.observe_replica_set(version),
            "Pod" => {
                self.observe_pod(version);
                None
            }
            _ => None,
        }
    }

    fn observe_deployment(&mut self, version: &ObjectVersion) -> Option<TimerExpiry> {
        let deployment = version.object.value();
        let condition = condition(&deployment, "Progressing")?;
        if object::text(condition, "/reason") == Some("ProgressDeadlineExceeded") {
            let (_, since) = self.progress.get(&version.name)?;
            let seconds = object::int(&deployment, "/spec/progressDeadlineSeconds")?;
            return Some(TimerExpiry {
                timer: format!("progressDeadlineSeconds of Deployment {}", version.name),
                limit: limit(seconds)?,
                since: *since,
            });
        }
        let updated = object::text(condition, "/lastUpdateTime").unwrap_or_default();
        if self.progress.get(&version.name).is_none_or(|(last, _)| last != updated) {
            self.progress.insert(version.name.clone(), (updated.to_owned(), version.at));
        }
        None
    }

    fn observe_pod(&mut self, version: &ObjectVersion) {
        let pod = version.object.value();
        let is_ready = condition(&pod, "Ready").and_then(|ready| object::text(ready, "/status")) == Some("True");
        if version.change == ChangeType::Deleted || !is_ready {
            self.ready.remove(&version.name);
        } else {
            let owner = object::controller_uid(&pod).unwrap_or_default().to_owned();
            self.ready.entry(version.name.clone()).or_insert((version.at, owner));
        }
    }

    /// More available replicas: of the ready pods, the one that the case has been ready for the
    /// shortest time may be among them.
    fn observe_replica_set(&mut self, version: &ObjectVersion) -> Option<TimerExpiry> {
        let set = version.object.value();
        let available = object::count(&set, "/status/availableReplicas");
        let before = self.available.insert(version.name.clone(), available).unwrap_or_default();
        let limit = limit(object::int(&set, "/spec/minReadySeconds")?)?;
        if available <= before {
            return None;
        }
        let uid = object::uid(&set);
        let owned = self
            .ready
            .values()
            .filter(|(since, owner)| owner == uid && version.at - since.min(&version.at) + ROUNDING >= limit);
        let since = owned.map(|(since, _)| *since).max()?;
        Some(TimerExpiry { timer: format!("minReadySeconds of ReplicaSet {}", version.name), limit, since })
    }
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object.at("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| object::text(condition, "/type") == Some(name))
}

/// A timer of so many seconds, in milliseconds; none where it is off.
fn limit(seconds: i64) -> Option<u64> {
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0)?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, of_case, owned_set, ready, revision, with_patch};
    use lockstep_recording::{Recording, RecordingEntry};
    use lockstep_timeline::Timeline;
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::Verdict;
    use crate::testing::{judge, judge_live};

    /// A case whose second step lets 4 s pass.
    const STEPS: &str = "given:\n  - deployment: {name: web, replicas: 2, image: \"app:1\"}\nsteps:\n  - set: {image: \"app:2\"}\n  - advance: 4s\n";

    fn web(reason: &str) -> Value {
        let web = with_patch(&deployment("web", 2, "app:2"), &revision(2));
        let condition = json!({"type": "Progressing", "status": if reason == "ReplicaSetUpdated" { "True" } else { "False" },
        "reason": reason, "lastUpdateTime": "2026-11-21T01:44:51Z"});
        with_patch(&web, &json!({"spec": {"progressDeadlineSeconds": 6}, "status": {"conditions": [condition]}}))
    }

    /// The subject reports progress at once and this reason later; its clock and the case's are
    /// apart by so many milliseconds.
    fn reports(reason: &str, late: u64) -> Recording {
        let builder = RecordingBuilder::rolled_out(2)
            .user_step(1, "set image=app:2")
            .driver_write(&deployment("web", 2, "app:2"));
        let builder = builder
            .subject_write(&web("ReplicaSetUpdated"))
            .settled()
            .user_step(2, "advance 4s")
            .subject_write(&web(reason));
        timed(of_case(STEPS, builder.settled().end()), late)
    }

    /// The third entry of the last step, its only version, comes 4 s and so much later.
    fn timed(mut recording: Recording, late: u64) -> Recording {
        let last = recording.entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Object(_))).unwrap();
        for entry in &mut recording.entries[last..] {
            match entry {
                RecordingEntry::Object(version) => version.at += 4000 + late,
                RecordingEntry::Settled(settling) => settling.at += 4000 + late,
                _ => {}
            }
        }
        recording
    }

    #[rstest]
    #[case::expires_by_the_clock_but_not_by_the_case(2000, Verdict::Inconclusive)]
    #[case::expires_before_its_time(0, Verdict::NonConformant)]
    fn a_deadline_is_judged_by_the_time_that_passed(#[case] late: u64, #[case] verdict: Verdict) {
        let golden = Timeline::from_recording(&reports("ReplicaSetUpdated", 0));
        let slow = reports("ProgressDeadlineExceeded", late);
        let judgement = judge(&slow, Some(&golden));
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
        assert_eq!(judge_live(&slow, &reports("ReplicaSetUpdated", 0)).verdict, verdict);
        assert_eq!(judge(&reports("ReplicaSetUpdated", late), Some(&golden)).verdict, Verdict::Conformant);
    }

    #[test]
    fn virtual_time_has_no_overrun() {
        let golden = Timeline::from_recording(&reports("ReplicaSetUpdated", 0));
        let mut recording = reports("ProgressDeadlineExceeded", 2000);
        recording.header.seed = Some(1);
        assert_eq!(judge(&recording, Some(&golden)).verdict, Verdict::NonConformant);
    }

    /// One replica is available after a pod has been ready for so long, of 6 s.
    fn available_after(milliseconds: u64) -> Recording {
        let set = |available: u64| {
            let status = json!({"status": {"availableReplicas": available}});
            with_patch(
                &with_patch(
                    &owned_set(&deployment("web", 2, "app:1"), "1", "app:1", 2),
                    &json!({"spec": {"minReadySeconds": 6}}),
                ),
                &with_patch(&json!({"status": ready(2)}), &status),
            )
        };
        let owner = json!({"controller": true, "kind": "ReplicaSet", "name": set(0)["metadata"]["name"], "uid": set(0)["metadata"]["uid"]});
        let pod = json!({"kind": "Pod", "metadata": {"name": "p", "uid": "p", "ownerReferences": [owner]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let builder = RecordingBuilder::rolled_out(2)
            .user_step(1, "set image=app:2")
            .driver_write(&deployment("web", 2, "app:2"));
        let builder = builder
            .driver_write(&pod)
            .subject_write(&set(0))
            .settled()
            .user_step(2, "advance 4s")
            .subject_write(&set(1));
        timed(of_case(STEPS, builder.settled().end()), milliseconds - 4000)
    }

    #[rstest]
    #[case::long_enough_by_the_clock(6000, Verdict::Inconclusive)]
    #[case::too_short(4000, Verdict::NonConformant)]
    fn availability_is_judged_by_the_time_that_passed(#[case] milliseconds: u64, #[case] verdict: Verdict) {
        let mut expected = available_after(4000);
        let last = expected.entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Object(_))).unwrap();
        expected.entries.remove(last);
        let golden = Timeline::from_recording(&expected);
        let judgement = judge(&available_after(milliseconds), Some(&golden));
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
}
