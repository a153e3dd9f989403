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
                if let Some(Expired { timer, limit, since }) = timers.observe(version) {
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
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let step = index.checked_sub(1).and_then(|index| self.case.steps.get(index));
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
struct Expired {
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
    fn observe(&mut self, version: &ObjectVersion) -> Option<Expired> {
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

    fn observe_deployment(&mut self, version: &ObjectVersion) -> Option<Expired> {
        let deployment = version.object.value();
        let condition = condition(&deployment, "Progressing")?;
        if object::text(condition, "/reason") == Some("ProgressDeadlineExceeded") {
            let (_, since) = self.progress.get(&version.name)?;
            let seconds = object::int(&deployment, "/spec/progressDeadlineSeconds")?;
            return Some(Expired {
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
    fn observe_replica_set(&mut self, version: &ObjectVersion) -> Option<Expired> {
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
        Some(Expired { timer: format!("minReadySeconds of ReplicaSet {}", version.name), limit, since })
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
