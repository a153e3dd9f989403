//! Finds, creates, annotates, resizes and deletes the ReplicaSets of a Deployment.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::{Event, EventSource, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::core::{Selector, SelectorExt};
use kube::{Api, Error, Resource, ResourceExt};

use crate::rollout::Rollout;

pub const REVISION: &str = "deployment.kubernetes.io/revision";
pub const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const HASH: &str = "pod-template-hash";
/// Annotations that are not copied from a Deployment to its ReplicaSets.
const NOT_COPIED: [&str; 6] = [
    REVISION,
    HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The replica counts in a ReplicaSet's status.
pub struct Counts {
    pub replicas: i32,
    pub ready: i32,
    pub available: i32,
}

pub fn counts(set: &ReplicaSet) -> Counts {
    let status = set.status.clone().unwrap_or_default();
    let (ready, available) = (status.ready_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
    Counts { replicas: status.replicas, ready, available }
}

pub fn size(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// The number of replicas in an annotation.
pub fn annotated(set: &ReplicaSet, key: &str) -> Option<i32> {
    set.annotations().get(key)?.parse().ok().filter(|count| *count >= 0)
}

pub fn desired(set: &ReplicaSet) -> Option<i32> {
    annotated(set, DESIRED)
}

fn revision(set: &ReplicaSet) -> i64 {
    set.annotations().get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn without_hash(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
        labels.remove(HASH);
    }
    template
}

/// The hash of a template. It is part of the ReplicaSet's name, so one that the cache does not have
/// yet is not created twice.
fn hash_of(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(serde_json::to_string(template).unwrap_or_default().as_bytes());
    hasher.write_i32(collisions.unwrap_or(0));
    hasher.finish().to_be_bytes().iter().map(|byte| char::from(b"bcdfghjklmnpqrst"[usize::from(byte % 16)])).collect()
}

impl Rollout {
    fn api(&self) -> Api<ReplicaSet> {
        Api::namespaced(self.client.clone(), &self.deployment.namespace().unwrap_or_default())
    }

    /// Reads the ReplicaSets that the Deployment owns.
    pub async fn find(&mut self) -> Result<(), Error> {
        let selector = Selector::try_from(self.spec.selector.clone()).unwrap_or_default(); // the server has checked it
        let mut sets = self.api().list(&ListParams::default().labels_from(&selector)).await?.items;
        let uid = self.deployment.uid();
        sets.retain(|set| {
            let owner = set.owner_references().iter().find(|owner| owner.controller == Some(true));
            selector.matches(set.labels()) && owner.is_some_and(|owner| Some(&owner.uid) == uid.as_ref())
        });
        sets.sort_by_key(|set| (set.creation_timestamp().map(|time| time.0), set.name_any()));
        let present = without_hash(&self.spec.template);
        let is_present = |set: &ReplicaSet| {
            set.spec.as_ref().and_then(|spec| spec.template.as_ref()).is_some_and(|own| without_hash(own) == present)
        };
        self.current = sets.iter().position(is_present);
        self.sets = sets;
        Ok(())
    }

    pub fn old(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.sets.len()).filter(|at| Some(*at) != self.current)
    }

    /// The indexes of ReplicaSets that should have pods.
    pub fn active(&self) -> Vec<usize> {
        (0..self.sets.len()).filter(|at| size(&self.sets[*at]) > 0).collect()
    }

    pub fn active_old(&self) -> Vec<usize> {
        self.old().filter(|at| size(&self.sets[*at]) > 0).collect()
    }

    pub fn sum(&self, of: impl Fn(&ReplicaSet) -> i32) -> i32 {
        self.sets.iter().map(of).sum()
    }

    pub fn total_size(&self) -> i32 {
        self.sum(size)
    }

    pub async fn refresh_or_create(&mut self) -> Result<usize, Error> {
        match self.current {
            Some(at) => self.refresh().await.map(|()| at),
            None => self.create().await,
        }
    }

    /// Updates the current ReplicaSet from the Deployment, except its size.
    pub async fn refresh(&mut self) -> Result<(), Error> {
        let Some(at) = self.current else { return Ok(()) };
        let mut set = self.sets[at].clone();
        self.annotate(&mut set);
        if let Some(spec) = &mut set.spec {
            spec.min_ready_seconds = self.spec.min_ready_seconds;
        }
        if set != self.sets[at] {
            self.sets[at] = self.api().replace(&set.name_any(), &PostParams::default(), &set).await?;
        }
        self.take_revision(at);
        self.note_first("FoundNewReplicaSet", format!("Found new replica set \"{}\"", self.sets[at].name_any()));
        Ok(())
    }

    fn take_revision(&mut self, at: usize) {
        if let Some(revision) = self.sets[at].annotations().get(REVISION).cloned() {
            self.deployment.annotations_mut().insert(REVISION.to_owned(), revision);
        }
    }

    /// Copies the Deployment's annotations, and gives the ReplicaSet the highest revision.
    fn annotate(&self, set: &mut ReplicaSet) {
        let copied = self.deployment.annotations().iter().filter(|(key, _)| !NOT_COPIED.contains(&key.as_str()));
        let next = 1 + self.old().map(|at| revision(&self.sets[at])).max().unwrap_or(0).max(0);
        let was = set.annotations().get(REVISION).cloned();
        // A revision that is not a number was written by another client. Upstream then changes
        // nothing, and neither does this controller.
        if was.as_ref().is_some_and(|was| was.parse::<i64>().is_err()) {
            return;
        }
        let is_behind = revision(set) < next;
        let annotations = set.annotations_mut();
        annotations.extend(copied.map(|(key, value)| (key.clone(), value.clone())));
        if !is_behind {
            return;
        }
        annotations.insert(REVISION.to_owned(), next.to_string());
        if let Some(was) = was {
            let past = annotations.remove(HISTORY).filter(|past| !past.is_empty());
            annotations.insert(HISTORY.to_owned(), past.map_or(was.clone(), |past| format!("{past},{was}")));
        }
    }

    async fn create(&mut self) -> Result<usize, Error> {
        let hash = hash_of(&self.spec.template, self.status.collision_count);
        let (mut template, mut selector) = (self.spec.template.clone(), self.spec.selector.clone());
        let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
        labels.insert(HASH.to_owned(), hash.clone());
        let labels = labels.clone();
        selector.match_labels.get_or_insert_default().insert(HASH.to_owned(), hash.clone());
        let name = self.deployment.name_any();
        let size = self.new_size(0);
        let mut set = ReplicaSet {
            metadata: ObjectMeta {
                namespace: self.deployment.namespace(),
                name: Some(format!("{}-{hash}", &name[..name.len().min(252 - hash.len())])),
                labels: Some(labels),
                // kube-rs does not set `blockOwnerDeletion`; upstream does.
                owner_references: self
                    .deployment
                    .controller_owner_ref(&())
                    .map(|owner| vec![OwnerReference { block_owner_deletion: Some(true), ..owner }]),
                ..ObjectMeta::default()
            },
            spec: Some(ReplicaSetSpec {
                replicas: Some(size),
                min_ready_seconds: self.spec.min_ready_seconds,
                selector,
                template: Some(template),
            }),
            status: None,
        };
        self.annotate(&mut set);
        self.note_sizes(&mut set);
        let set = match self.api().create(&PostParams::default(), &set).await {
            Ok(set) => set,
            Err(error) => {
                let message = format!("Failed to create new replica set \"{}\": {error}", set.name_any());
                self.event("Warning", "ReplicaSetCreateError", message).await;
                return Err(error);
            }
        };
        self.note_progress("NewReplicaSetCreated", format!("Created new replica set \"{}\"", set.name_any()));
        self.note_resize(&set.name_any(), 0, size).await;
        self.sets.push(set);
        let at = self.sets.len() - 1;
        self.current = Some(at);
        self.take_revision(at);
        Ok(at)
    }

    /// Sets the size and the size annotations, unless the ReplicaSet already has that size.
    pub async fn resize(&mut self, at: usize, target: i32) -> Result<bool, Error> {
        if size(&self.sets[at]) == target {
            return Ok(false);
        }
        self.resize_or_note(at, target).await
    }

    /// Like [`Self::resize`], but also writes if only the annotations differ. Returns whether the
    /// size has changed.
    pub async fn resize_or_note(&mut self, at: usize, target: i32) -> Result<bool, Error> {
        let (before, mut set) = (size(&self.sets[at]), self.sets[at].clone());
        self.note_sizes(&mut set);
        if let Some(spec) = &mut set.spec {
            spec.replicas = Some(target);
        }
        if set != self.sets[at] {
            self.sets[at] = self.api().replace(&set.name_any(), &PostParams::default(), &set).await?;
            self.note_resize(&set.name_any(), before, target).await;
        }
        Ok(before != target)
    }

    fn note_sizes(&self, set: &mut ReplicaSet) {
        let most = self.replicas + self.max_surge();
        let sizes = [(DESIRED, self.replicas), (MAXIMUM, most)].map(|(key, count)| (key.to_owned(), count.to_string()));
        set.annotations_mut().extend(BTreeMap::from(sizes));
    }

    /// Deletes old ReplicaSets beyond the history limit, the lowest revision first.
    pub async fn clean_up(&self) -> Result<(), Error> {
        let limit = self.spec.revision_history_limit.unwrap_or(i32::MAX);
        let mut old: Vec<_> = self.old().map(|at| &self.sets[at]).collect();
        old.retain(|set| set.metadata.deletion_timestamp.is_none());
        old.sort_by_key(|set| revision(set));
        let many = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        for set in &old[..many] {
            let observed = set.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(0);
            if size(set) > 0 || counts(set).replicas > 0 || set.metadata.generation.unwrap_or(0) > observed {
                continue; // its pods have not all gone
            }
            match self.api().delete(&set.name_any(), &DeleteParams::default()).await {
                Err(Error::Api(status)) if status.code == 404 => {}
                result => drop(result?),
            }
        }
        Ok(())
    }

    async fn note_resize(&self, set: &str, from: i32, to: i32) {
        let direction = if from < to { "up" } else { "down" };
        if from != to {
            let message = format!("Scaled {direction} replica set {set} from {from} to {to}");
            self.event("Normal", "ScalingReplicaSet", message).await;
        }
    }

    /// Writes an Event of core/v1. kube-rs's recorder counts Events with the same reason as one,
    /// even with different messages.
    async fn event(&self, kind: &str, reason: &str, message: String) {
        let (now, name) = (jiff::Timestamp::now(), self.deployment.name_any());
        let event = Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: self.deployment.namespace(),
                ..ObjectMeta::default()
            },
            involved_object: self.deployment.object_ref(&()),
            type_: Some(kind.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(message),
            source: Some(EventSource { component: Some("deployment-controller".to_owned()), host: None }),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            ..Event::default()
        };
        let api: Api<Event> = Api::namespaced(self.client.clone(), &self.deployment.namespace().unwrap_or_default());
        if let Err(error) = api.create(&PostParams::default(), &event).await {
            eprintln!("{name}: an Event is lost: {error}");
        }
    }
}
