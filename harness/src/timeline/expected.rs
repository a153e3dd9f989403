//! The case's own word on its named pods, held against what is there once a step has settled.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::StepId;
use super::object;
use super::replay::{Frame, Reader};
use super::world::POD;
use crate::expect::{Expect, list};
use crate::recording::Entry;

/// Compares, after each step, the named pods that are alive with what the case says.
#[derive(Debug, Default)]
pub(crate) struct Expected<'a> {
    /// The real names of the named pods.
    named: BTreeMap<&'a str, &'a str>,
    /// What the step that is being made expects.
    now: Option<(StepId, &'a Expect)>,
    found: Vec<(StepId, String)>,
}

impl Expected<'_> {
    /// The steps after which other named pods are alive than the case says, and what is wrong.
    pub(crate) fn unexpected(self) -> Vec<(StepId, String)> {
        self.found
    }
}

impl<'a> Reader<'a> for Expected<'a> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            Entry::Step(mark) => self.now = mark.expect.as_ref().map(|expect| (StepId::of(mark), expect)),
            Entry::Named(names) => self.named.extend(names.iter().map(|(name, real)| (name.as_str(), real.as_str()))),
            Entry::Settled(settling) if settling.unsettled.is_none() => {
                let Some((step, expect)) = self.now.take() else { return };
                let alive: BTreeSet<&str> = frame.world.all(POD).filter(|pod| alive(pod)).map(object::name).collect();
                let named = self.named.iter().filter(|(_, real)| alive.contains(*real));
                let alive: BTreeSet<String> = named.map(|(name, _)| (*name).to_owned()).collect();
                if !expect.holds(&alive) {
                    let what = format!("the case expects {expect} to be alive, and it is {}", list(&alive));
                    self.found.push((step, what));
                }
            }
            _ => {}
        }
    }
}

/// Whether a ReplicaSet counts it: neither being deleted nor at its end.
pub(super) fn alive(pod: &Value) -> bool {
    let ended = matches!(object::text(pod, "/status/phase"), Some("Failed" | "Succeeded"));
    !object::deleting(pod) && !ended
}
