//! Whether two programs have sent the same, step by step and object by object.
//!
//! Different objects are written by different workers, so only what is sent about one object has an
//! order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use lockstep::intercept::SentRequest;
use serde_json::Value;

use super::plain::{Plain, of_case, of_cluster};

/// The answer to a write that came too late.
const CONFLICT: u16 = 409;
/// How much of a body is shown.
const SHOWN: usize = 200;

/// What came of it. Of two numbers the first is of virtual time.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Requests that are the same in both, one by one.
    same: usize,
    /// Statuses that were written in a step.
    statuses: [usize; 2],
    /// In how many steps an object's status was written in other versions in between, and was the
    /// same in the end.
    other_versions: usize,
    /// Writes that came too late.
    conflicts: [usize; 2],
    /// Writes that the server refused for another reason; Events about them.
    refused: [usize; 2],
    refusals_said: [usize; 2],
    /// Statuses of objects that were being deleted.
    of_the_deleted: [usize; 2],
    /// Objects that were read.
    reads: [usize; 2],
    /// What is not the same.
    pub(crate) differences: Vec<String>,
}

/// Requests by who sends them and what they are about.
type Objects = BTreeMap<(String, String), Vec<Plain>>;

/// Compare what was sent in each step in virtual time and in real time.
pub(crate) fn compare(one: &[Vec<SentRequest>], two: &[Vec<SentRequest>]) -> Compared {
    let mut compared = Compared::default();
    if one.len() != two.len() {
        compared.differences.push(format!("{} steps in virtual and {} in real time", one.len(), two.len()));
    }
    let mut last = [BTreeMap::new(), BTreeMap::new()];
    for (number, (one, two)) in one.iter().zip(two).enumerate() {
        let sides = [(0, one), (1, two)].map(|(side, requests)| compared.by_object(side, requests));
        each(&sides, |about, [one, two]| {
            compared.object(&format!("settling {number}, {about}"), [one, two], &mut last);
        });
    }
    let all = [one.concat(), two.concat()];
    let events = all.each_ref().map(|all| grouped(all.iter().filter_map(of_case).filter(Plain::is_event)));
    each(&events, |about, sides| compared.event(about, sides));
    let asked = all.each_ref().map(|all| all.iter().filter_map(of_cluster).collect::<BTreeSet<_>>());
    for (only, other, side) in [(0, 1, "virtual"), (1, 0, "real")] {
        let alone = asked[only].difference(&asked[other]);
        compared.differences.extend(alone.map(|what| format!("only in {side} time: {what}")));
    }
    compared
}

fn grouped(requests: impl Iterator<Item = Plain>) -> Objects {
    let mut objects = Objects::new();
    for request in requests {
        objects.entry((request.client.clone(), request.about.clone())).or_default().push(request);
    }
    objects
}

/// Do something with what both have sent about each object.
fn each(sides: &[Objects; 2], mut with: impl FnMut(&str, [&[Plain]; 2])) {
    let objects: BTreeSet<_> = sides.iter().flat_map(BTreeMap::keys).collect();
    for object in objects {
        with(&object.1, sides.each_ref().map(|side| side.get(object).map_or(&[][..], Vec::as_slice)));
    }
}

impl Compared {
    /// What one has sent in a step about each object; what is only counted is.
    fn by_object(&mut self, side: usize, requests: &[SentRequest]) -> Objects {
        let mut kept = Vec::new();
        for request in requests.iter().filter_map(of_case).filter(|request| !request.is_event()) {
            match &request {
                request if !request.is_write() => self.reads[side] += 1,
                request if request.status == CONFLICT => self.conflicts[side] += 1,
                request if request.is_of_the_deleted() => self.of_the_deleted[side] += 1,
                request if !request.is_done() => self.refused[side] += 1,
                _ => kept.push(request),
            }
        }
        grouped(kept.into_iter())
    }

    /// Writes of one step about one object; `last`: the status as each has written it last.
    fn object(&mut self, about: &str, sides: [&[Plain]; 2], last: &mut [BTreeMap<String, Value>; 2]) {
        let bodies = sides.map(|side| side.iter().map(|request| request.body.clone()).collect::<Vec<_>>());
        let is_status = sides.iter().any(|side| side.first().is_some_and(Plain::is_status));
        if is_status {
            for side in [0, 1] {
                self.statuses[side] += bodies[side].len();
                if let Some(request) = sides[side].last() {
                    last[side].insert(request.about.clone(), request.ended());
                }
            }
        }
        let [one, two] = &bodies;
        if one == two {
            self.same += one.len();
        } else if is_status && last[0] == last[1] {
            self.other_versions += 1;
        } else {
            let at = (0..one.len().max(two.len())).find(|at| one.get(*at) != two.get(*at)).unwrap_or_default();
            let why = format!("{about}: {} in virtual and {} in real time; number {}", one.len(), two.len(), at + 1);
            let parts = parts("", one.get(at).unwrap_or(&Value::Null), two.get(at).unwrap_or(&Value::Null));
            self.differences.push(format!("{why}\n  {}", parts.join("\n  ")));
        }
    }

    /// What was said to people, and how often by the end.
    fn event(&mut self, about: &str, sides: [&[Plain]; 2]) {
        let [one, two] = sides.map(<[Plain]>::len);
        if sides.concat().iter().any(Plain::is_of_a_refusal) {
            self.refusals_said[0] += one;
            self.refusals_said[1] += two;
        } else if one == two {
            self.same += one;
        } else {
            self.differences.push(format!("{about}: said {one} times in virtual and {two} in real time"));
        }
    }
}

/// Where two bodies differ.
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
            let shown = |value: &Value| value.to_string().chars().take(SHOWN).collect::<String>();
            vec![format!("{place}: {} and {}", shown(one), shown(two))]
        }
    }
}

/// `32 requests the same; statuses 7 and 8, 2 times in other versions in between; conflicts 0 and
/// 1; …`.
impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = |[one, two]: [usize; 2]| format!("{one} and {two}");
        write!(f, "{} requests the same; statuses {}", self.same, pair(self.statuses))?;
        write!(f, ", {} times in other versions in between", self.other_versions)?;
        for (what, counts) in [
            ("conflicts", self.conflicts),
            ("refused", self.refused),
            ("Events about that", self.refusals_said),
            ("statuses of the deleted", self.of_the_deleted),
            ("reads", self.reads),
        ] {
            if counts != [0, 0] {
                write!(f, "; {what} {}", pair(counts))?;
            }
        }
        write!(f, "; differences {}", self.differences.len())
    }
}
