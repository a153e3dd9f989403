//! Compares the requests of two programs, by step and object.
//!
//! Different workers write different objects, so the order matters only per object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use lockstep_intercept::SentRequest;
use serde_json::Value;

use super::normalized::{NormalizedRequest, case_request, cluster_request};

/// The status of a write with an outdated version.
const CONFLICT: u16 = 409;
/// How many characters of a body to show.
const MAX_SHOWN: usize = 200;

/// The result. In pairs the first number is of virtual time.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Requests that are equal in both.
    equal: usize,
    /// Status writes.
    statuses: [usize; 2],
    /// How many times the intermediate statuses of an object in a step differ and the last one is
    /// equal.
    other_versions: usize,
    /// Writes that met a conflict.
    conflicts: [usize; 2],
    /// Writes that the server refused for another reason, and Events about them.
    refused: [usize; 2],
    refusal_events: [usize; 2],
    /// Status writes of objects that were being deleted.
    deletions: [usize; 2],
    /// Reads of objects.
    reads: [usize; 2],
    pub(crate) differences: Vec<String>,
}

/// Requests by client and object.
type Objects = BTreeMap<(String, String), Vec<NormalizedRequest>>;

/// Compares the requests of each step in virtual and in real time.
pub(crate) fn compare(one: &[Vec<SentRequest>], two: &[Vec<SentRequest>]) -> Comparison {
    let mut comparison = Comparison::default();
    if one.len() != two.len() {
        comparison.differences.push(format!("{} steps in virtual and {} in real time", one.len(), two.len()));
    }
    let mut last = [BTreeMap::new(), BTreeMap::new()];
    for (number, (one, two)) in one.iter().zip(two).enumerate() {
        let sides = [(0, one), (1, two)].map(|(side, requests)| comparison.by_object(side, requests));
        for_each_object(&sides, |about, [one, two]| {
            comparison.object(&format!("settling {number}, {about}"), [one, two], &mut last);
        });
    }
    let all = [one.concat(), two.concat()];
    let events =
        all.each_ref().map(|all| grouped(all.iter().filter_map(case_request).filter(NormalizedRequest::is_event)));
    for_each_object(&events, |about, sides| comparison.event(about, sides));
    let asked = all.each_ref().map(|all| all.iter().filter_map(cluster_request).collect::<BTreeSet<_>>());
    for (only, other, side) in [(0, 1, "virtual"), (1, 0, "real")] {
        let alone = asked[only].difference(&asked[other]);
        comparison.differences.extend(alone.map(|what| format!("only in {side} time: {what}")));
    }
    comparison
}

fn grouped(requests: impl Iterator<Item = NormalizedRequest>) -> Objects {
    let mut objects = Objects::new();
    for request in requests {
        objects.entry((request.client.clone(), request.about.clone())).or_default().push(request);
    }
    objects
}

/// Calls a function with both sides' requests for each object.
fn for_each_object(sides: &[Objects; 2], mut with: impl FnMut(&str, [&[NormalizedRequest]; 2])) {
    let objects: BTreeSet<_> = sides.iter().flat_map(BTreeMap::keys).collect();
    for object in objects {
        with(&object.1, sides.each_ref().map(|side| side.get(object).map_or(&[][..], Vec::as_slice)));
    }
}

impl Comparison {
    /// One side's requests in a step by object, without those that are only counted.
    fn by_object(&mut self, side: usize, requests: &[SentRequest]) -> Objects {
        let mut kept = Vec::new();
        for request in requests.iter().filter_map(case_request).filter(|request| !request.is_event()) {
            match &request {
                request if !request.is_write() => self.reads[side] += 1,
                request if request.status == CONFLICT => self.conflicts[side] += 1,
                request if request.is_deletion_status() => self.deletions[side] += 1,
                request if !request.succeeded() => self.refused[side] += 1,
                _ => kept.push(request),
            }
        }
        grouped(kept.into_iter())
    }

    /// Compares the writes of one step to one object. `last` has the last status of each side.
    fn object(&mut self, about: &str, sides: [&[NormalizedRequest]; 2], last: &mut [BTreeMap<String, Value>; 2]) {
        let bodies = sides.map(|side| side.iter().map(|request| request.body.clone()).collect::<Vec<_>>());
        let is_status = sides.iter().any(|side| side.first().is_some_and(NormalizedRequest::is_status));
        if is_status {
            for side in [0, 1] {
                self.statuses[side] += bodies[side].len();
                if let Some(request) = sides[side].last() {
                    last[side].insert(request.about.clone(), request.final_status());
                }
            }
        }
        let [one, two] = &bodies;
        if one == two {
            self.equal += one.len();
        } else if is_status && last[0] == last[1] {
            self.other_versions += 1;
        } else {
            let at = (0..one.len().max(two.len())).find(|at| one.get(*at) != two.get(*at)).unwrap_or_default();
            let why = format!("{about}: {} in virtual and {} in real time; number {}", one.len(), two.len(), at + 1);
            let parts = parts("", one.get(at).unwrap_or(&Value::Null), two.get(at).unwrap_or(&Value::Null));
            self.differences.push(format!("{why}\n  {}", parts.join("\n  ")));
        }
    }

    /// Compares Events and their final counts.
    fn event(&mut self, about: &str, sides: [&[NormalizedRequest]; 2]) {
        let [one, two] = sides.map(<[NormalizedRequest]>::len);
        if sides.concat().iter().any(NormalizedRequest::reports_refusal) {
            self.refusal_events[0] += one;
            self.refusal_events[1] += two;
        } else if one == two {
            self.equal += one;
        } else {
            self.differences.push(format!("{about}: said {one} times in virtual and {two} in real time"));
        }
    }
}

/// The differences between two bodies.
fn parts(place: &str, one: &Value, two: &Value) -> Vec<String> {
    match (one, two) {
        (Value::Object(a), Value::Object(b)) => {
            let fields: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            let of =
                |side: &serde_json::Map<String, Value>, field: &String| side.get(field).cloned().unwrap_or_default();
            fields
                .into_iter()
                .flat_map(|field| parts(&format!("{place}/{field}"), &of(a, field), &of(b, field)))
                .collect()
        }
        _ if one == two => Vec::new(),
        _ => {
            let shown = |value: &Value| value.to_string().chars().take(MAX_SHOWN).collect::<String>();
            vec![format!("{place}: {} and {}", shown(one), shown(two))]
        }
    }
}

/// `32 requests the same; statuses 7 and 8, 2 times in other versions in between; conflicts 0 and
/// 1; …`.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = |[one, two]: [usize; 2]| format!("{one} and {two}");
        write!(f, "{} requests the same; statuses {}", self.equal, pair(self.statuses))?;
        write!(f, ", {} times in other versions in between", self.other_versions)?;
        for (what, counts) in [
            ("conflicts", self.conflicts),
            ("refused", self.refused),
            ("Events about that", self.refusal_events),
            ("statuses of the deleted", self.deletions),
            ("reads", self.reads),
        ] {
            if counts != [0, 0] {
                write!(f, "; {what} {}", pair(counts))?;
            }
        }
        write!(f, "; differences {}", self.differences.len())
    }
}
