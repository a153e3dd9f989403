//! Compares the case's expectation of its named pods with the pods that are alive once a step has
//! settled.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::RecordingEntry;
use lockstep_recording::pod_expectation::{PodExpectation, join_names};
use serde_json::Value;

use super::model::StepId;
use super::object;
use super::recorded_objects::POD;
use super::replay::{Frame, FrameReader};

/// Compares a case's expectation of its named pods with the recorded pods.
#[derive(Debug, Default)]
pub struct ExpectationCheck<'a> {
    /// The real names of the named pods.
    pod_names: BTreeMap<&'a str, &'a str>,
    /// The expectation of the current step.
    current: Option<(StepId, &'a PodExpectation)>,
    mismatches: Vec<(StepId, String)>,
}

impl ExpectationCheck<'_> {
    /// The steps after which other named pods are alive than expected, with descriptions.
    pub fn into_mismatches(self) -> Vec<(StepId, String)> {
        self.mismatches
    }
}

impl<'a> FrameReader<'a> for ExpectationCheck<'a> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            RecordingEntry::Step(mark) => self.current = mark.expect.as_ref().map(|expect| (StepId::of(mark), expect)),
            RecordingEntry::PodNames(names) => {
                self.pod_names.extend(names.iter().map(|(name, real)| (name.as_str(), real.as_str())));
            }
            RecordingEntry::Settled(settling) if settling.unsettled.is_none() => {
                let Some((step, expect)) = self.current.take() else { return };
                let alive: BTreeSet<&str> =
                    frame.objects.of_kind(POD).filter(|pod| is_alive(pod)).map(object::name).collect();
                let named = self.pod_names.iter().filter(|(_, real)| alive.contains(*real));
                let alive: BTreeSet<String> = named.map(|(name, _)| (*name).to_owned()).collect();
                if !expect.allows(&alive) {
                    let what = format!("the case expects {expect} to be alive, and it is {}", join_names(&alive));
                    self.mismatches.push((step, what));
                }
            }
            _ => {}
        }
    }
}

/// Whether a ReplicaSet counts the pod: it is neither being deleted nor finished.
pub(super) fn is_alive(pod: &Value) -> bool {
    let ended = matches!(object::text(pod, "/status/phase"), Some("Failed" | "Succeeded"));
    !object::deleting(pod) && !ended
}
