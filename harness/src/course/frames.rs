//! A recording in numbers, frame by frame: what a person sees who steps through it.
//!
//! A [`Moment`] is the state after one version of one object, or the one that has settled; a
//! [`Passage`] is a step of the case with what was asked of the API server meanwhile. A recording
//! without a case is one passage. All texts are plain: they act on no terminal.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Course, Size, Stop, bounds, total};
use crate::plain::line;
use crate::pointer::At;
use crate::recording::{Entry, Recording, Request, StepMark, Version};
use crate::timeline::{Frame, Names, Reader, StepId, replay};

const DEPLOYMENT: &str = "Deployment";
const REPLICA_SET: &str = "ReplicaSet";

/// Everything that a recording shows, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frames {
    /// The steps; `given` first.
    pub passages: Vec<Passage>,
    /// The frames that show a state.
    pub moments: Vec<Moment>,
}

/// A step of the case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passage {
    /// Which step.
    pub id: StepId,
    /// What the world did.
    pub label: String,
    /// The line of the case file; 0 where there is no case.
    pub line: usize,
    /// When it began, in milliseconds of the recording.
    pub from: u64,
    /// When the last of it was seen.
    pub to: u64,
    /// What the subject asked for.
    pub asked: Vec<Asked>,
    /// What came between its requests, and what went wrong.
    pub remarks: Vec<String>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// When it was answered.
    pub at: u64,
    /// What was asked: `update replicasets web-1`.
    pub what: String,
    /// The HTTP status of the answer; 0 if there was none.
    pub status: u16,
}

/// The state after one version, or once the namespace had settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The place of its passage.
    pub passage: usize,
    /// Which version of its step it is, from 1; `None` once settled.
    pub version: Option<u32>,
    /// When, in milliseconds of the recording.
    pub at: u64,
    /// What led to it.
    pub what: String,
    /// The programs that wrote its version, if the recording names them.
    pub author: Option<String>,
    /// What somebody other than the driver decided in its version.
    pub decision: Option<String>,
    /// The sizes and the bounds.
    pub stop: Arc<Stop>,
    /// What each Deployment says of itself.
    pub statuses: Arc<Vec<Status>>,
}

/// What a Deployment says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The Deployment.
    pub deployment: String,
    /// `10 replicas, 3 updated, 8 ready, 8 available, generation 2 of 2`.
    pub counts: String,
    /// `Progressing=True(ReplicaSetUpdated)`, with the message.
    pub conditions: Vec<(String, String)>,
}

impl Passage {
    /// `step 2.1`, `given`; nothing for a recording without steps.
    #[must_use]
    pub fn title(&self) -> String {
        if self.is_all() { String::new() } else { self.id.to_string() }
    }

    /// Whether it stands for a recording that has no case.
    const fn is_all(&self) -> bool {
        self.line == 0 && self.label.is_empty()
    }
}

impl Frames {
    /// Of a whole recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let names = Names::of(recording);
        let mut making = Making::default();
        replay(recording, &names, &mut [&mut making]);
        making.frames
    }

    /// The passage of a moment.
    #[must_use]
    pub fn passage(&self, moment: &Moment) -> &Passage {
        &self.passages[moment.passage]
    }

    /// The moments of a passage, each with its place.
    pub fn within(&self, passage: usize) -> impl Iterator<Item = (usize, &Moment)> {
        let first = self.moments.partition_point(|moment| moment.passage < passage);
        (first..).zip(&self.moments[first..]).take_while(move |(_, moment)| moment.passage == passage)
    }

    /// The last moment of each step in which there is one; where there are no steps, those in which
    /// something was decided.
    #[must_use]
    pub fn ends(&self) -> Vec<usize> {
        let all = self.moments.iter().enumerate();
        let is_last =
            |at: usize, moment: &Moment| self.moments.get(at + 1).is_none_or(|next| next.passage != moment.passage);
        let has_steps = self.passages.len() > 1;
        let ends = all.filter(|(at, moment)| is_last(*at, moment) || !has_steps && moment.decision.is_some());
        ends.map(|(at, _)| at).collect()
    }

    /// Every ReplicaSet and Deployment that ever was, in one stop: a lane is where it was in the
    /// frame before.
    #[must_use]
    pub fn lanes(&self) -> Course {
        let mut all = Stop {
            id: StepId::GIVEN,
            label: String::new(),
            line: None,
            sets: BTreeMap::new(),
            totals: BTreeMap::new(),
            allowed: BTreeMap::new(),
        };
        for moment in &self.moments {
            let Stop { sets, totals, .. } = &*moment.stop;
            if !sets.keys().all(|name| all.sets.contains_key(name)) {
                all.sets.extend(sets.clone());
            }
            if !totals.keys().all(|name| all.totals.contains_key(name)) {
                all.totals.extend(totals.clone());
            }
        }
        Course { stops: vec![all] }
    }
}

/// The frames in the making.
#[derive(Default)]
struct Making {
    frames: Frames,
}

impl Making {
    fn step(&mut self, mark: &StepMark) {
        let id = StepId::of(mark);
        let label = line(&mark.label).into_owned();
        match self.frames.passages.last_mut() {
            // The parts of `given` are one step.
            Some(passage) if passage.id == id => passage.remarks.push(format!("{label}, from line {}", mark.line)),
            _ => self.frames.passages.push(Passage {
                id,
                label,
                line: mark.line,
                from: mark.at,
                to: mark.at,
                ..Passage::default()
            }),
        }
    }

    /// The step that goes on; what was seen before the first belongs to `given`.
    fn passage(&mut self) -> &mut Passage {
        if self.frames.passages.is_empty() {
            self.frames.passages.push(Passage::default());
        }
        self.frames.passages.last_mut().expect("one was just put there if there was none")
    }

    fn moment(&mut self, frame: &Frame<'_, '_>, at: u64) {
        let passage = self.passage();
        passage.to = passage.to.max(at);
        let place = self.frames.passages.len() - 1;
        let kind = frame.version.map(|version| version.kind.as_str());
        let last = self.frames.moments.last();
        let (stop, statuses) = match last {
            // A pod and an Event change neither sizes nor what a Deployment says.
            Some(last) if kind.is_some_and(|kind| kind != DEPLOYMENT && kind != REPLICA_SET) => {
                (Arc::clone(&last.stop), Arc::clone(&last.statuses))
            }
            last => {
                let (stop, statuses) = (stop(frame), statuses(frame));
                let same = |last: &&Moment| last.stop.sets == stop.sets && last.stop.allowed == stop.allowed;
                let shared = last.filter(same).map(|last| Arc::clone(&last.stop));
                let told = last.filter(|last| *last.statuses == statuses).map(|last| Arc::clone(&last.statuses));
                (shared.unwrap_or_else(|| Arc::new(stop)), told.unwrap_or_else(|| Arc::new(statuses)))
            }
        };
        self.frames.moments.push(Moment {
            passage: place,
            version: frame.version.map(|_| frame.number),
            at,
            what: what(frame),
            author: frame.version.and_then(|version| Some(line(version.author.as_deref()?).into_owned())),
            decision: frame.decision().map(|decision| line(&decision.to_string()).into_owned()),
            stop,
            statuses,
        });
    }
}

impl<'a> Reader<'a> for Making {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            Entry::Step(mark) => self.step(mark),
            Entry::Object(version) => self.moment(frame, version.at),
            Entry::Settled(settling) => {
                let unsettled = settling.unsettled.as_ref();
                let remark = unsettled.map(|trouble| format!("it did not settle: {}", line(&trouble.why)));
                self.passage().remarks.extend(remark);
                self.moment(frame, settling.at);
            }
            Entry::Request(request) => self.passage().asked.push(asked(request)),
            Entry::Met(meeting) => self.passage().remarks.push(format!("in the middle: {}", line(&meeting.what))),
            Entry::Trouble(trouble) => self.passage().remarks.push(line(&trouble.why).into_owned()),
            Entry::Impossible(impossible) => {
                self.passage().remarks.push(format!("the step could not be made: {}", line(&impossible.why)));
            }
            Entry::Header(_) | Entry::Named(_) | Entry::End(_) => {}
        }
    }
}

fn asked(request: &Request) -> Asked {
    let what = format!("{request} {}", request.name);
    let said = request.message.as_ref().map_or_else(String::new, |message| format!(": {}", line(message)));
    Asked { at: request.at, what: format!("{}{said}", line(what.trim())), status: request.status }
}

/// What led to a frame; of a pod and of an Event also what it says.
fn what(frame: &Frame<'_, '_>) -> String {
    let Some((version, event)) = frame.version.zip(frame.event()) else { return "settled".to_owned() };
    let text = |pointer: &str| version.object.at(pointer).and_then(Value::as_str).unwrap_or_default();
    let said = match version.kind.as_str() {
        "Pod" => pod(version),
        "Event" => format!(": {} {}", text("/reason"), text("/message")),
        _ => String::new(),
    };
    line(&format!("{event}{said}")).into_owned()
}

/// `: Running, ready`.
fn pod(version: &Version) -> String {
    let phase = version.object.at("/status/phase").and_then(Value::as_str).unwrap_or("no phase yet");
    let is_ready = conditions(&version.object).any(|(kind, status, ..)| kind == "Ready" && status == "True");
    let deleting = version.object.at("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null());
    let (ready, deleting) =
        (if is_ready { ", ready" } else { ", not ready" }, if deleting { ", being deleted" } else { "" });
    format!(": {phase}{ready}{deleting}")
}

fn number(object: &Value, pointer: &str) -> i64 {
    object.at(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn stop(frame: &Frame<'_, '_>) -> Stop {
    let size = |set: &Value| Size {
        // 1 is the server's default.
        wanted: set.at("/spec/replicas").and_then(Value::as_i64).unwrap_or(1),
        ready: number(set, "/status/readyReplicas"),
        available: number(set, "/status/availableReplicas"),
    };
    let sets: BTreeMap<String, Size> =
        frame.all(REPLICA_SET).into_iter().map(|(name, set)| (line(&name).into_owned(), size(set))).collect();
    let deployments = frame.all(DEPLOYMENT);
    let named = || deployments.iter().map(|(name, deployment)| (line(name).into_owned(), *deployment));
    let totals = named().map(|(name, _)| (name.clone(), total(&name, &sets))).collect();
    let allowed = named().map(|(name, deployment)| (name, bounds::of(deployment))).collect();
    Stop { id: frame.step, label: String::new(), line: None, sets, totals, allowed }
}

fn statuses(frame: &Frame<'_, '_>) -> Vec<Status> {
    let of = |(name, deployment): (String, &Value)| {
        let status = |field: &str| number(deployment, &format!("/status/{field}"));
        let counts = format!(
            "{} replicas, {} updated, {} ready, {} available, generation {} of {}",
            status("replicas"),
            status("updatedReplicas"),
            status("readyReplicas"),
            status("availableReplicas"),
            status("observedGeneration"),
            number(deployment, "/metadata/generation"),
        );
        let said = conditions(deployment).map(|(kind, status, reason, message)| {
            (line(&format!("{kind}={status}({reason})")).into_owned(), line(message).into_owned())
        });
        Status { deployment: line(&name).into_owned(), counts, conditions: said.collect() }
    };
    frame.all(DEPLOYMENT).into_iter().map(of).collect()
}

/// Type, status, reason and message of each condition.
fn conditions(object: &Value) -> impl Iterator<Item = (&str, &str, &str, &str)> {
    let all = object.at("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    all.map(|condition| {
        let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        (text("type"), text("status"), text("reason"), text("message"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::timeline::fixture::{Film, deployment, owned_set, ready, revision, scaled, with};

    #[test]
    fn each_version_has_its_sizes_and_each_step_its_end() {
        let web = with(&deployment("web", 10, "app:1"), &revision(1));
        let set = with(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
        let film = Film::rolled_out(10).user(1, "scale 12").driver(&scaled(&web, 12)).other(&scaled(&set, 12));
        let frames = Frames::of(&film.settled().end());
        assert_eq!(frames.passages.len(), 2);
        assert_eq!((frames.passages[1].title().as_str(), frames.passages[1].label.as_str()), ("step 1", "scale 12"));
        let last: Vec<&Moment> = frames.within(1).map(|(_, moment)| moment).collect();
        let told: Vec<(&str, i64, i64)> = last
            .iter()
            .map(|it| (it.what.as_str(), it.stop.allowed["web"].bounds.most, it.stop.sets["rs1"].wanted))
            .collect();
        assert_eq!(
            told,
            [
                ("Deployment web was written by the case", 15, 10),
                ("ReplicaSet rs1 was written (rs1 10 -> 12)", 15, 12),
                ("settled", 15, 12)
            ]
        );
        assert_eq!(last[1].decision.as_deref(), Some("rs1 10 -> 12"));
        assert_eq!(frames.ends(), [5, 8]);
        assert_eq!(frames.passages[1].asked[0].what, "update replicasets x");
    }

    #[test]
    fn without_steps_the_decisions_are_where_to_stop() {
        let web = deployment("web", 2, "app:1");
        let set = owned_set(&web, "1", "app:1", 2);
        let frames = Frames::of(&Film::new().foreign(&web).foreign(&set).foreign(&scaled(&set, 1)).cut());
        assert_eq!((frames.passages.len(), frames.ends()), (1, vec![0, 1, 2]));
        assert_eq!((frames.passages[0].title().as_str(), frames.lanes().sets()), ("", vec!["rs1"]));
    }
}
