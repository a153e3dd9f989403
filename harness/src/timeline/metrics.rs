//! What a run cost. Reported beside the verdict, never judged.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use crate::controllers::{Controller, Controllers};
use crate::recording::{Entry, Recording, Request};

/// The costs of one recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The subject's requests about the case's namespace, by verb; watches are counted once.
    pub requests: BTreeMap<String, u64>,
    /// The same by verb and by the answer's status code; 0: it had none.
    pub answers: BTreeMap<String, BTreeMap<u16, u64>>,
    /// The last kinds of request that were answered with an error, the latest last.
    pub refusals: Vec<Refusal>,
    /// Those that were answered with a conflict (409).
    pub conflicts: u64,
    /// Those that were answered with any other error, or not at all.
    pub errors: u64,
    /// What the server refused, 401 or 403, about the case's namespace or not: what was asked, and
    /// how often.
    pub refused: BTreeMap<String, u64>,
    /// Writes of an object that meant to change its status, which the server ignores there: what
    /// was asked, and how often.
    pub ignored_status: BTreeMap<String, u64>,
    /// What only a controller does that the subject was not said to bring: which one, and what was
    /// asked, how often.
    pub undeclared: BTreeMap<Controller, BTreeMap<String, u64>>,
    /// From the first entry to the last, in milliseconds.
    pub wall: u64,
    /// The part of it that was spent waiting for the namespace to settle, in milliseconds.
    pub settling: u64,
}

/// A request that the server answered with an error, once or many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked: `update replicasets/status`.
    pub what: String,
    /// The object, the last of them; empty for a collection.
    pub name: String,
    /// The status code.
    pub status: u16,
    /// What the server said, the last time.
    pub message: Option<String>,
    /// How often.
    pub times: u64,
}

/// How many refusals are told.
const LAST_REFUSALS: usize = 5;

impl Refusal {
    /// Whether a request was refused. To look whether an object is there is no failure, nor is it a
    /// watch whose place is forgotten.
    fn is(request: &Request) -> bool {
        let looked = request.verb == "get" && request.status == 404;
        let expired = matches!(request.verb.as_str(), "watch" | "list") && request.status == 410;
        request.status >= 400 && !looked && !expired
    }

    /// Add a request to those of its kind, which become the latest.
    fn add(all: &mut Vec<Self>, request: &Request) {
        let what = request.to_string();
        let known = all.iter().position(|known| known.what == what && known.status == request.status);
        let times = known.map_or(0, |at| all.remove(at).times) + 1;
        let (name, message) = (request.name.clone(), request.message.clone());
        all.push(Self { what, name, status: request.status, message, times });
    }
}

/// The controller whose work a request does, where the subject was not said to bring that one.
fn undeclared(request: &Request, under_test: &Controllers) -> Option<Controller> {
    let of_status = request.subresource == "status" && matches!(request.verb.as_str(), "update" | "patch");
    let controller = match (request.resource.as_str(), request.verb.as_str()) {
        ("pods", "create") if request.subresource.is_empty() => Controller::ReplicaSet,
        ("replicasets", _) if of_status => Controller::ReplicaSet,
        ("replicasets", "create") => Controller::Deployment,
        ("deployments", _) if of_status => Controller::Deployment,
        _ => return None,
    };
    (!under_test.has(controller)).then_some(controller)
}

impl Metrics {
    /// Count one recording.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let mut metrics = Self::default();
        for entry in &recording.entries {
            let at = match entry {
                Entry::Request(request) => {
                    if Refusal::is(request) {
                        Refusal::add(&mut metrics.refusals, request);
                    }
                    if request.is_refused() {
                        *metrics.refused.entry(request.to_string()).or_default() += 1;
                    }
                    if request.elsewhere.is_some() {
                        continue;
                    }
                    *metrics.requests.entry(request.verb.clone()).or_default() += 1;
                    let answers = metrics.answers.entry(request.verb.clone()).or_default();
                    *answers.entry(request.status).or_default() += 1;
                    if request.ignored_status {
                        *metrics.ignored_status.entry(request.to_string()).or_default() += 1;
                    }
                    if let Some(controller) = undeclared(request, &recording.header.under_test) {
                        let times = metrics.undeclared.entry(controller).or_default();
                        *times.entry(request.to_string()).or_default() += 1;
                    }
                    match request.status {
                        409 => metrics.conflicts += 1,
                        0 | 400.. => metrics.errors += 1,
                        _ => {}
                    }
                    request.at
                }
                Entry::Settled(settling) => {
                    metrics.settling += settling.took;
                    settling.at
                }
                Entry::Step(mark) => mark.at,
                Entry::Object(version) => version.at,
                Entry::Met(meeting) => meeting.at,
                Entry::Header(_) | Entry::Named(_) | Entry::Trouble(_) | Entry::Impossible(_) | Entry::End(_) => 0,
            };
            metrics.wall = metrics.wall.max(at);
        }
        let told = metrics.refusals.len().saturating_sub(LAST_REFUSALS);
        metrics.refusals.drain(..told);
        metrics.wall = metrics.wall.max(recording.end.as_ref().map_or(0, |end| end.at));
        metrics
    }

    /// All requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Requests that write.
    #[must_use]
    pub fn writes(&self) -> u64 {
        let write = |verb: &str| matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection");
        self.requests.iter().filter(|(verb, _)| write(verb)).map(|(_, count)| count).sum()
    }
}

impl Display for Metrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03} s", self.wall / 1000, self.wall % 1000)?;
        if self.total() > 0 {
            let verbs: Vec<String> = self.requests.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
            write!(f, "; {} requests ({})", self.total(), verbs.join(", "))?;
            write!(f, ", {} conflicts", self.conflicts)?;
        }
        if self.errors > 0 {
            write!(f, ", {} errors", self.errors)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;
    use crate::timeline::fixture::Film;

    #[test]
    fn refusals_are_counted_by_what_was_asked_and_the_latest_are_told() {
        let loops = (0..3).fold(Film::new(), |film, number| {
            film.request("update", "replicasets", 422).with_message(&format!("invalid, for the {number} time"))
        });
        let film =
            loops.request("get", "deployments", 404).request("watch", "pods", 410).request("create", "pods", 201);
        let metrics = Metrics::from_recording(&film.refused("list", "nodes", "").end());
        let told: Vec<_> = metrics.refusals.iter().map(|it| (it.what.as_str(), it.status, it.times)).collect();
        assert_eq!(told, [("update replicasets", 422, 3), ("list nodes in all namespaces", 403, 1)]);
        assert_eq!(metrics.refusals[0].message.as_deref(), Some("invalid, for the 2 time"));
        let of = |verb: &str| metrics.answers[verb].iter().map(|(code, times)| (*code, *times)).collect::<Vec<_>>();
        assert_eq!((of("update"), of("get"), of("create")), (vec![(422, 3)], vec![(404, 1)], vec![(201, 1)]));
        assert!(!metrics.answers.contains_key("list"));
        let many = (400..420).fold(Film::new(), |film, status| film.request("create", "pods", status));
        let told = Metrics::from_recording(&many.end()).refusals;
        assert_eq!(told.iter().map(|it| it.status).collect::<Vec<_>>(), [415, 416, 417, 418, 419]);
    }
}
