//! Which Deployments are to be remembered, and when: a while after a breach, so that the recording
//! shows what came of it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::estate::{Estate, Group};
use super::model::{Output, Place, Terms};
use crate::clock::to_rfc3339;
use crate::recording::{FORMAT, FileName, Header, Identity, SubjectKind};

/// For how long nothing must happen before the evidence is complete, in milliseconds.
const QUIET: u64 = 10_000;
/// For how long it is waited for at most.
const MOST: u64 = 120_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Evidence {
    terms: Terms,
    place: Place,
    /// When a breach was found, and the file, by the Deployment's UID.
    pending: BTreeMap<String, (u64, FileName)>,
    /// When evidence was taken, and the file.
    taken: BTreeMap<String, (u64, FileName)>,
    /// The numbers of Deployments in the names of anonymised evidence, by UID.
    numbers: BTreeMap<String, usize>,
    /// What was taken before it was asked for.
    waiting: Vec<Output>,
}

impl Evidence {
    pub(super) fn new(terms: Terms, place: Place) -> Self {
        Self {
            terms,
            place,
            pending: BTreeMap::new(),
            taken: BTreeMap::new(),
            numbers: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }

    /// There is a breach; the file that will show it. One Deployment has one file in so many
    /// minutes.
    pub(super) fn wanted(&mut self, uid: &str, group: &Group, at: u64) -> FileName {
        let taken = || self.taken.get(uid).filter(|(taken, _)| taken + self.terms.keep > at);
        if let Some((_, file)) = self.pending.get(uid).or_else(taken) {
            return file.clone();
        }
        let stamp = to_rfc3339(time(&self.place, at)).replace(['-', ':'], "");
        let of = if self.terms.anonymise {
            let next = self.numbers.len() + 1;
            format!("deployment-{}", self.numbers.entry(uid.to_owned()).or_insert(next))
        } else {
            format!("{}-{}", group.namespace, group.name)
        };
        let file = FileName::of(&format!("{stamp}-{of}")).with_ending(".ndjson");
        self.pending.insert(uid.to_owned(), (at, file.clone()));
        file
    }

    /// Whether this Deployment's is still to be taken.
    pub(super) fn is_pending(&self, uid: &str) -> bool {
        self.pending.contains_key(uid)
    }

    /// What is complete by now.
    pub(super) fn due(&mut self, estate: &Estate, now: u64) -> Vec<Output> {
        self.taken.retain(|_, (taken, _)| *taken + self.terms.keep > now);
        let is_due = |uid: &str, since: u64| {
            let last = estate.groups.get(uid).and_then(|group| group.window.last()).unwrap_or(0);
            last + QUIET <= now || since + MOST <= now
        };
        let due = self.pending.iter().filter(|(uid, (since, _))| is_due(uid, *since));
        let due: Vec<String> = due.map(|(uid, _)| uid.clone()).collect();
        let mut out = std::mem::take(&mut self.waiting);
        out.extend(due.iter().filter_map(|uid| self.take(estate, uid, now)));
        out
    }

    /// All that is pending, as it is.
    pub(super) fn all(&mut self, estate: &Estate) -> Vec<Output> {
        let mut out = std::mem::take(&mut self.waiting);
        let all: Vec<(String, u64)> = self.pending.iter().map(|(uid, (since, _))| (uid.clone(), *since)).collect();
        let last = |uid: &str| estate.groups.get(uid).and_then(|group| group.window.last());
        out.extend(all.iter().filter_map(|(uid, since)| self.take(estate, uid, last(uid).unwrap_or(*since))));
        out
    }

    /// Hand this out when evidence is asked for next.
    pub(super) fn wait(&mut self, outputs: Vec<Output>) {
        self.waiting.extend(outputs);
    }

    fn take(&mut self, estate: &Estate, uid: &str, now: u64) -> Option<Output> {
        let (_, file) = self.pending.remove(uid)?;
        let group = estate.groups.get(uid)?;
        let header = self.header(estate, group, group.window.began().unwrap_or(now));
        self.taken.insert(uid.to_owned(), (now, file.clone()));
        Some(Output::Evidence(file, Box::new(group.window.recording(header, now))))
    }

    fn header(&self, estate: &Estate, group: &Group, began: u64) -> Header {
        let Place { cluster, version, .. } = &self.place;
        let program = estate.controllers.first().map_or("kube-controller-manager", String::as_str);
        let of_program = if program == "kube-controller-manager" { version.as_str() } else { "" };
        Header {
            format: FORMAT,
            case: format!("captured/{}", FileName::of(&group.name)),
            path: String::new(),
            source: String::new(),
            judged: Default::default(),
            under_test: Default::default(),
            namespace: group.namespace.clone(),
            subject: Identity::new(cluster, program, of_program),
            kind: SubjectKind::Cluster,
            cluster: Identity::new(cluster, "kube-apiserver", version),
            cluster_controllers: None,
            workload: None,
            real_pods: true,
            unevaluated: Vec::new(),
            seed: None,
            started: to_rfc3339(time(&self.place, began)),
        }
    }
}

/// The time of day, so many milliseconds after the beginning.
pub(super) fn time(place: &Place, at: u64) -> Timestamp {
    let passed = SignedDuration::from_millis(i64::try_from(at).unwrap_or(i64::MAX));
    place.began.checked_add(passed).unwrap_or(place.began)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use super::*;

    /// The names of the evidence of Deployments of these namespaces and names.
    fn files(anonymise: bool, deployments: &[(&str, &str)]) -> Vec<String> {
        let terms = Terms { staleness: 0, settle: 0, keep: 0, bytes: 0, anonymise };
        let began = "2026-11-24T04:00:00Z".parse().unwrap();
        let mut evidence = Evidence::new(terms, Place { cluster: "prod".to_owned(), version: String::new(), began });
        let name = |(uid, (namespace, name)): (usize, &(&str, &str))| {
            let group = Group { namespace: (*namespace).to_owned(), name: (*name).to_owned(), ..Group::default() };
            evidence.wanted(&uid.to_string(), &group, 0).to_string()
        };
        deployments.iter().enumerate().map(name).collect()
    }

    #[test]
    fn names_from_the_server_stay_in_the_folder() {
        assert_eq!(files(false, &[("shop", "web")]), ["20261124T040000Z-shop-web.ndjson"]);
        let long = "x".repeat(300);
        for file in files(false, &[("../../etc", "x"), ("a", "/../../x"), ("..", ".."), (&long, &long)]) {
            let parts: Vec<_> = Path::new(&file).components().collect();
            assert!(matches!(parts[..], [Component::Normal(_)]) && file.len() < 250, "{file}");
        }
    }

    #[test]
    fn anonymised_evidence_is_named_by_a_number() {
        let names = files(true, &[("shop", "web"), ("shop", "api")]);
        assert_eq!(names, ["20261124T040000Z-deployment-1.ndjson", "20261124T040000Z-deployment-2.ndjson"]);
    }
}
