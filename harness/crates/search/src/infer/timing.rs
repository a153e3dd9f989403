//! Finds what happened because time had passed, and from when that time counts.
//!
//! The controllers have two timers: a pod is available minReadySeconds after it became ready, and a
//! rollout is late some time after it last progressed. Both count from timestamps of whole seconds,
//! and so does this module: it dates changes by the cluster's own clock, which it derives from the
//! timestamps. A case counts from the step that started a timer, however long settling takes.

use std::collections::BTreeMap;

use lockstep_recording::{ObjectVersion, Recording, RecordingEntry};
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::live::{self, DEPLOYMENT, LiveObjects, REPLICA_SET, int, ready_since, text, uid};

/// Time that passed before something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimedWait {
    /// How much.
    pub(super) seconds: u64,
    /// The entry from which it counts; `None`: from now on.
    pub(super) since: Option<usize>,
    /// Whether it is the time since which pods have been ready.
    pub(super) is_ready: bool,
}

/// The timers of the controllers.
#[derive(Debug)]
pub(super) struct Timers {
    /// The difference between milliseconds since 1970 by the cluster's clock and the recording's
    /// milliseconds.
    offset: i64,
    /// The entries with which steps begin, and their seconds.
    begun: Vec<(usize, i64)>,
    /// The entry and the second in which a pod became ready, by UID.
    ready: BTreeMap<String, (usize, i64)>,
    /// The second in which a pod became ready, if nothing else was done since.
    last_ready: Option<i64>,
    /// The second up to which the case has advanced the clock last, and how many steps had begun by
    /// then.
    reached: Option<(i64, usize)>,
}

/// What was done, as far as it matters for timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MoveSummary {
    /// Whether pods became ready, and nothing else was done.
    pub(super) readies: bool,
    /// Whether the controllers had settled before.
    pub(super) settled: bool,
}

impl Timers {
    /// The timers before anything was done.
    pub(super) fn new(recording: &Recording) -> Self {
        // No timestamp is later than its version was recorded, so the version that was recorded
        // soonest after its timestamp shows the difference of the clocks.
        let lead = |entry: &RecordingEntry| match entry {
            RecordingEntry::Object(version) => Some(last_stamp(&version.object)? * 1000 - millis(version.at)),
            _ => None,
        };
        let offset = recording.entries.iter().filter_map(lead).max().unwrap_or(0);
        Self { offset, begun: Vec::new(), ready: BTreeMap::new(), last_ready: None, reached: None }
    }

    /// The second of this version by the cluster's clock. The timestamp of readiness precedes its
    /// write.
    fn second(&self, version: &ObjectVersion) -> i64 {
        let seen = (millis(version.at) + self.offset).div_euclid(1000);
        let last = self.begun.last().map_or(i64::MIN, |(_, last)| *last);
        ready_since(&version.object).and_then(seconds).filter(|stamp| *stamp <= seen).unwrap_or(seen).max(last)
    }

    /// Something was done in this entry. Returns whether a step begins with it: not if the
    /// controllers had not settled. If pods become available some time after they are ready, no
    /// controller decides anything when they become ready, so the second decides instead.
    pub(super) fn done(
        &mut self,
        entry: usize,
        version: &ObjectVersion,
        done: MoveSummary,
        live: &LiveObjects<'_>,
    ) -> bool {
        let second = self.second(version);
        let last_ready = std::mem::replace(&mut self.last_ready, done.readies.then_some(second));
        if done.readies {
            self.ready.insert(uid(&version.object).to_owned(), (entry, second));
        }
        let begins = match last_ready {
            Some(last) if done.readies && is_timed(live) => second > last,
            _ => done.settled,
        };
        if begins || self.begun.is_empty() {
            self.begun.push((entry, second));
        }
        begins
    }

    /// The time after which a controller wrote this, if it wrote it because that time had passed.
    pub(super) fn due(&self, live: &LiveObjects<'_>, version: &ObjectVersion) -> Option<TimedWait> {
        let after = &*version.object;
        match version.kind.as_str() {
            REPLICA_SET => {
                let before = live.sets().into_iter().find(|set| uid(set) == uid(after))?;
                let available = |set: &Value| int(set, "/status/availableReplicas");
                let (least, is) = (int(after, "/spec/minReadySeconds"), available(after));
                if least == 0 || is <= available(before) {
                    return None;
                }
                let pods = live.pods(uid(after));
                let last = pods.get(usize::try_from(is - 1).ok()?).filter(|pod| ready_since(pod).is_some())?;
                let start = self.ready.get(uid(last)).copied();
                Some(TimedWait { is_ready: true, ..self.wait(start, least) })
            }
            DEPLOYMENT => {
                let before = live.deployment()?;
                if !is_late(after) || is_late(before) {
                    return None;
                }
                let progressed = progressed(before)?;
                let start = self.begun.iter().rev().find(|(_, second)| *second <= progressed).copied();
                Some(self.wait(start, int(after, "/spec/progressDeadlineSeconds") + LATE))
            }
            _ => None,
        }
    }

    /// The time that passed before something was done while pods were ready but not yet available.
    pub(super) fn pending(&self, live: &LiveObjects<'_>, version: &ObjectVersion) -> Option<TimedWait> {
        let oldest = |set: &Value| {
            let pods = live.pods(uid(set));
            let available = usize::try_from(int(set, "/status/availableReplicas")).ok()?;
            let pod = pods.get(available).filter(|pod| ready_since(pod).is_some())?;
            Some((*self.ready.get(uid(pod))?, int(set, "/spec/minReadySeconds")))
        };
        let waiting = live.sets().into_iter().filter_map(oldest).filter(|(_, least)| *least > 0);
        let ((entry, since), least) = waiting.min_by_key(|((_, since), _)| *since)?;
        // After that time the reactions of the controllers are recorded. The case takes most of a
        // second to settle after the wait, and again after what was done.
        let passed = (self.second(version) - since).min(least - 2);
        let wait = TimedWait { seconds: u64::try_from(passed).ok()?, since: Some(entry), is_ready: true };
        let is_ahead = self.reached.is_none_or(|(second, begun)| {
            let steps = u64::try_from(self.begun.len().saturating_sub(begun) + 1).unwrap_or(u64::MAX);
            since + passed > second + i64::try_from((steps * LONGEST).div_ceil(1000)).unwrap_or(i64::MAX)
        });
        (wait.seconds > 0 && is_ahead && self.takes(entry) < wait.seconds * 1000).then_some(wait)
    }

    /// The case advances the clock by this time.
    pub(super) fn waits(&mut self, wait: TimedWait) {
        let known = || self.begun.iter().chain(self.ready.values());
        let since = wait.since.and_then(|entry| known().find(|(known, _)| *known == entry));
        if let Some((_, second)) = since {
            let seconds = i64::try_from(wait.seconds).unwrap_or(i64::MAX);
            self.reached = Some((second.saturating_add(seconds), self.begun.len()));
        }
    }

    /// This much time since something was done.
    fn wait(&self, start: Option<(usize, i64)>, length: i64) -> TimedWait {
        let seconds = u64::try_from(length).unwrap_or(1);
        match start {
            Some((entry, _)) if self.takes(entry) < seconds * 1000 => {
                TimedWait { seconds, since: Some(entry), is_ready: false }
            }
            // The case takes longer than that to settle: less than a second is left.
            Some(_) => TimedWait { seconds: 1, since: None, is_ready: false },
            None => TimedWait { seconds, since: None, is_ready: false },
        }
    }

    /// How many milliseconds a case takes to settle after what was done in this entry and since.
    fn takes(&self, entry: usize) -> u64 {
        let later = self.begun.iter().filter(|(begun, _)| *begun > entry).count();
        u64::try_from(later + 1).unwrap_or(u64::MAX).saturating_mul(SETTLING)
    }
}

/// The milliseconds of virtual time that a case takes to settle after a step.
const SETTLING: u64 = 700;
/// The most milliseconds of virtual time that it takes: an advance that would end before that is
/// left out.
const LONGEST: u64 = 1_100;
/// Upstream notices a deadline after this many seconds: it checks a second later, and timestamps
/// have no fractions.
const LATE: i64 = 2;

/// Whether pods become available some time after they are ready.
fn is_timed(live: &LiveObjects<'_>) -> bool {
    live.deployment().is_some_and(|deployment| int(deployment, "/spec/minReadySeconds") > 0)
}

fn is_late(deployment: &Value) -> bool {
    live::condition(deployment, "Progressing").is_some_and(|(_, reason, _)| reason == "ProgressDeadlineExceeded")
}

/// The second in which it last progressed.
fn progressed(deployment: &Value) -> Option<i64> {
    let all = conditions(deployment);
    let start = all.iter().find(|condition| text(condition, "/type") == "Progressing")?;
    seconds(text(start, "/lastUpdateTime"))
}

/// The last timestamp of a past event in an object.
fn last_stamp(object: &Value) -> Option<i64> {
    let stamps = |condition: &Value| {
        ["/lastTransitionTime", "/lastUpdateTime"]
            .map(|place| seconds(text(condition, place)))
            .into_iter()
            .flatten()
            .max()
    };
    let of_conditions = conditions(object).iter().filter_map(stamps).max();
    of_conditions.max(seconds(text(object, "/metadata/creationTimestamp")))
}

fn conditions(object: &Value) -> &[Value] {
    object.at("/status/conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn seconds(stamp: &str) -> Option<i64> {
    stamp.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

fn millis(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}
