//! Builds recordings for tests.

use serde_json::{Value, json};

use crate::{
    Blame, ChangeType, Effect, FORMAT, Header, Identity, ImpossibleStep, Injection, ObjectVersion, Recording,
    RecordingEnd, RecordingEntry, Settling, StepMark, SubjectKind, SubjectRequest, Trouble, WriterRole,
};

/// The source of the recorded case.
pub const SOURCE: &str = "description: x\ngiven:\n  - deployment: {name: web, replicas: 10, image: \"app:1\"}\nsteps:\n  - scale: 12\n  - ready: {pods: all}\n";

/// A recording that is being built. Each version gets the next resourceVersion.
pub struct RecordingBuilder {
    recording: Recording,
    rv: u64,
}

impl Default for RecordingBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordingBuilder {
    /// A recording of an empty case.
    pub fn new() -> Self {
        let header = Header {
            format: FORMAT,
            case: "rolling/x".to_owned(),
            path: "cases/rolling/x.yaml".to_owned(),
            source: SOURCE.to_owned(),
            controllers: Default::default(),
            under_test: Default::default(),
            namespace: "x".to_owned(),
            subject: Identity::new("ours", "rollout-controller", "0.1.0"),
            kind: SubjectKind::Ours,
            cluster: Identity::new("control-plane", "kube-apiserver", "v1.36.3"),
            cluster_controllers: None,
            beside: None,
            workload: None,
            real_pods: false,
            unevaluated: Vec::new(),
            seed: None,
            started: "2026-11-21T01:44:51Z".to_owned(),
        };
        Self { recording: Recording { header, entries: Vec::new(), end: None }, rv: 100 }
    }

    /// A recording of a Deployment whose first ReplicaSet is completely ready.
    pub fn rolled_out(replicas: i32) -> Self {
        let web = deployment("web", replicas, "app:1");
        let set = owned_set(&web, "1", "app:1", replicas);
        Self::new()
            .given("deployment/web")
            .driver_write(&web)
            .subject_write(&set)
            .subject_write(&with_patch(&web, &revision(1)))
            .subject_write(&with_patch(&set, &json!({"status": ready(replicas)})))
            .subject_write(&with_patch(&with_patch(&web, &revision(1)), &json!({"status": complete(replicas)})))
            .settled()
    }

    /// An initial step begins.
    pub fn given(self, label: &str) -> Self {
        self.mark(0, 0, label, 3, true)
    }

    /// A step of a user.
    pub fn user_step(self, index: u32, label: &str) -> Self {
        self.mark(index, 0, label, 4 + index as usize, true)
    }

    /// A step of several user operations, without settling between them.
    pub fn burst_step(self, index: u32, label: &str) -> Self {
        self.user_step(index, label).mark_burst()
    }

    /// Marks the current step as a burst.
    pub fn mark_burst(mut self) -> Self {
        if let Some(RecordingEntry::Step(mark)) = self.recording.entries.last_mut() {
            mark.together = true;
        }
        self
    }

    /// A step of a node.
    pub fn node_step(self, index: u32, part: u32, label: &str) -> Self {
        self.mark(index, part, label, 4 + index as usize, false)
    }

    /// The case judges the ReplicaSet controller, which the subject brings.
    pub fn for_replica_set_controller(mut self) -> Self {
        let only = "replicaset".parse::<crate::controllers::ControllerSet>().expect("a controller's name");
        self.recording.header.controllers = only.clone();
        self.recording.header.under_test = only;
        self
    }

    /// Another kind is in place of Deployments.
    pub fn with_workload(mut self, workload: &lockstep_workload::Workload) -> Self {
        self.recording.header.workload = Some(Box::new(workload.clone()));
        self
    }

    /// The case names a pod.
    pub fn pod_name(self, name: &str, real: &str) -> Self {
        self.entry(RecordingEntry::PodNames([(name.to_owned(), real.to_owned())].into()))
    }

    /// A step of a user, after which the case expects one of these sets of pods.
    pub fn step_expecting(self, index: u32, sets: &[&[&str]]) -> Self {
        let set = |set: &&[&str]| set.iter().map(|name| (*name).to_owned()).collect();
        let expect = Some(super::entry::PodExpectation::any_of(sets.iter().map(set).collect()));
        let label = "scale".to_owned();
        self.entry(RecordingEntry::Step(StepMark {
            index,
            part: 0,
            label,
            line: 5,
            user: true,
            together: false,
            stale: false,
            expect,
            at: 0,
        }))
    }

    /// A version that the subject wrote with this request.
    pub fn requested_write(self, verb: &str, resource: &str, object: &Value) -> Self {
        self.foreign_write(object).request(verb, resource, 200)
    }

    /// An object that the driver created.
    pub fn driver_create(self, object: &Value) -> Self {
        self.version(object, ChangeType::Added, WriterRole::Driver)
    }

    fn mark(self, index: u32, part: u32, label: &str, line: usize, user: bool) -> Self {
        let label = label.to_owned();
        self.entry(RecordingEntry::Step(StepMark {
            index,
            part,
            label,
            line,
            user,
            together: false,
            stale: false,
            expect: None,
            at: 0,
        }))
    }

    /// The driver writes an object.
    pub fn driver_write(self, object: &Value) -> Self {
        self.version(object, ChangeType::Modified, WriterRole::Driver)
    }

    /// A version that the subject wrote; for a ReplicaSet or a Deployment with its request.
    pub fn subject_write(self, object: &Value) -> Self {
        self.foreign_write(object).with_request(object, WriterRole::Other, "update")
    }

    /// A version that the controller beside the subject wrote.
    pub fn write_beside(mut self, object: &Value) -> Self {
        let beside = Identity::new("upstream", "kube-controller-manager", "v1.36.3");
        self.recording.header.beside = Some(Box::new(beside));
        self.version(object, ChangeType::Modified, WriterRole::Beside)
    }

    /// An object that another writer than the driver created.
    pub fn foreign_create(self, object: &Value) -> Self {
        self.version(object, ChangeType::Added, WriterRole::Other)
    }

    /// A version that neither the driver nor the subject wrote.
    pub fn foreign_write(self, object: &Value) -> Self {
        self.version(object, ChangeType::Modified, WriterRole::Other)
    }

    /// A deletion that neither the driver nor the subject requested.
    pub fn foreign_delete(self, object: &Value) -> Self {
        self.version(object, ChangeType::Deleted, WriterRole::Other)
    }

    /// An object is deleted.
    pub fn delete(self, object: &Value, by: WriterRole) -> Self {
        self.version(object, ChangeType::Deleted, by).with_request(object, by, "delete")
    }

    /// Adds the request of a version that the subject wrote.
    fn with_request(self, object: &Value, by: WriterRole, verb: &str) -> Self {
        match (by, object["kind"].as_str()) {
            (WriterRole::Other, Some("ReplicaSet")) => self.request(verb, "replicasets", 200),
            (WriterRole::Other, Some("Deployment")) => self.request(verb, "deployments", 200),
            _ => self,
        }
    }

    fn version(mut self, object: &Value, change: ChangeType, by: WriterRole) -> Self {
        self.rv += 1;
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).expect("the object has it").to_owned();
        let (kind, name, rv) = (text("/kind"), text("/metadata/name"), self.rv);
        let object = object.clone().into();
        self.entry(RecordingEntry::Object(ObjectVersion { kind, name, change, rv, by, author: None, at: 0, object }))
    }

    /// The step settles.
    pub fn settled(self) -> Self {
        self.entry(RecordingEntry::Settled(Settling { unsettled: None, rounds: 2, took: 10, at: 20 }))
    }

    /// The step does not settle.
    pub fn unsettled(self, blame: Blame, why: &str) -> Self {
        self.unsettled_by(Trouble::new(blame, why))
    }

    /// The step does not settle, because of this.
    pub fn unsettled_by(self, trouble: Trouble) -> Self {
        let unsettled = Some(trouble);
        self.entry(RecordingEntry::Settled(Settling { unsettled, rounds: 0, took: 10, at: 20 }))
    }

    /// Something goes wrong.
    pub fn trouble(self, blame: Blame, why: &str) -> Self {
        self.entry(RecordingEntry::Trouble(Trouble::new(blame, why)))
    }

    /// Something is injected.
    pub fn injection(self, description: &str) -> Self {
        self.entry(RecordingEntry::Injected(Injection {
            description: description.to_owned(),
            effect: Effect::Answered,
            at: 25,
        }))
    }

    /// A step of a user on this line.
    pub fn at_line(self, line: usize) -> Self {
        self.mark(1, 0, "x", line, true)
    }

    /// The step cannot be performed.
    pub fn impossible(self, why: &str) -> Self {
        self.entry(RecordingEntry::Impossible(ImpossibleStep { why: why.to_owned(), never_came: false }))
    }

    /// The case names a request that the subject never sent.
    pub fn never_came(self, why: &str) -> Self {
        self.entry(RecordingEntry::Impossible(ImpossibleStep { why: why.to_owned(), never_came: true }))
    }

    /// In the current step the subject may decide from an old view.
    pub fn mark_stale(mut self) -> Self {
        if let Some(RecordingEntry::Step(mark)) = self.recording.entries.last_mut() {
            mark.stale = true;
        }
        self
    }

    /// Sets the effect of the last injection.
    pub fn with_effect(mut self, effect: Effect) -> Self {
        if let Some(RecordingEntry::Injected(meeting)) = self.recording.entries.last_mut() {
            meeting.effect = effect;
        }
        self
    }

    /// The subject makes a request.
    pub fn request(self, verb: &str, resource: &str, status: u16) -> Self {
        let (verb, resource) = (verb.to_owned(), resource.to_owned());
        let (subresource, name) = (String::new(), "x".to_owned());
        let (message, elsewhere) = (None, None);
        self.entry(RecordingEntry::Request(SubjectRequest {
            verb,
            resource,
            subresource,
            name,
            status,
            message,
            ignored_status: false,
            patch: None,
            elsewhere,
            at: 30,
        }))
    }

    /// Says which object the last request was about.
    pub fn about(mut self, name: &str) -> Self {
        if let Some(RecordingEntry::Request(request)) = self.recording.entries.last_mut() {
            request.name = name.to_owned();
        }
        self
    }

    /// Adds a message to the last answer of the server.
    pub fn with_message(mut self, text: &str) -> Self {
        if let Some(RecordingEntry::Request(request)) = self.recording.entries.last_mut() {
            request.message = Some(text.to_owned());
        }
        self
    }

    /// Makes the last request one of a subresource.
    pub fn of_subresource(mut self, name: &str) -> Self {
        if let Some(RecordingEntry::Request(request)) = self.recording.entries.last_mut() {
            name.clone_into(&mut request.subresource);
        }
        self
    }

    /// Adds what the last request has sent as a patch.
    pub fn with_patch(mut self, text: &str) -> Self {
        if let Some(RecordingEntry::Request(request)) = self.recording.entries.last_mut() {
            request.patch = Some(text.to_owned());
        }
        self
    }

    /// A request about another namespace, or about all, that the server denied.
    pub fn refused_request(self, verb: &str, resource: &str, elsewhere: &str) -> Self {
        let mut builder = self.request(verb, resource, 403);
        if let Some(RecordingEntry::Request(request)) = builder.recording.entries.last_mut() {
            request.name.clear();
            request.elsewhere = Some(elsewhere.to_owned());
        }
        builder
    }

    fn entry(mut self, entry: RecordingEntry) -> Self {
        self.recording.entries.push(entry);
        self
    }

    /// The complete recording.
    pub fn end(mut self) -> Recording {
        self.recording.end = Some(RecordingEnd { completed: true, events_complete: true, at: 40, diagnosis: None });
        self.recording
    }

    /// The recording of a run that ended before its last step.
    pub fn aborted(mut self) -> Recording {
        self.recording.end = Some(RecordingEnd { completed: false, events_complete: false, at: 40, diagnosis: None });
        self.recording
    }

    /// The recording without its end.
    pub fn cut_off(self) -> Recording {
        self.recording
    }
}

/// A Deployment with a surge of 25% and 25% unavailable.
pub fn deployment(name: &str, replicas: i32, image: &str) -> Value {
    json!({
        "kind": "Deployment",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "app", "image": image}]}},
        },
    })
}

/// A ReplicaSet of the ordinary shape.
pub fn owned_set(deployment: &Value, hash: &str, image: &str, replicas: i32) -> Value {
    let name = deployment["metadata"]["name"].as_str().expect("a Deployment has a name");
    let labels = json!({"app": name, "pod-template-hash": hash});
    json!({
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{name}-{hash}"),
            "uid": format!("uid-{name}-{hash}"),
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": hash},
            "ownerReferences": [{
                "kind": "Deployment",
                "name": name,
                "uid": deployment["metadata"]["uid"],
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}]}},
        },
    })
}

/// Appends these fields to the case of a recording.
pub fn of_case(fields: &str, mut recording: Recording) -> Recording {
    recording.header.source += fields;
    recording
}

/// An Event about a Deployment.
pub fn event(name: &str, deployment: &str, message: &str, count: u64) -> Value {
    json!({
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {"kind": "Deployment", "name": deployment},
        "type": "Normal",
        "reason": "ScalingReplicaSet",
        "message": message,
        "count": count,
    })
}

/// The revision annotation, as a patch.
pub fn revision(revision: u32) -> Value {
    json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": revision.to_string()}}})
}

/// A ReplicaSet's status with this many pods, all available.
pub fn ready(replicas: i32) -> Value {
    json!({"replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas})
}

/// A Deployment's status when its rollout is complete.
pub fn complete(replicas: i32) -> Value {
    json!({
        "observedGeneration": 1,
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": replicas,
        "availableReplicas": replicas,
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
        ],
    })
}

/// The object with a merge patch applied; null removes a field.
pub fn with_patch(object: &Value, patch: &Value) -> Value {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            let mut patched = object.clone();
            for (key, value) in patch {
                if value.is_null() {
                    patched.remove(key);
                } else {
                    let old = patched.remove(key).unwrap_or(Value::Null);
                    patched.insert(key.clone(), with_patch(&old, value));
                }
            }
            Value::Object(patched)
        }
        _ => patch.clone(),
    }
}

/// The object with this number of replicas.
pub fn scaled(object: &Value, replicas: i32) -> Value {
    with_patch(object, &json!({"spec": {"replicas": replicas}}))
}

/// A Deployment of ten is scaled to 12, and its ReplicaSet then to this size.
pub fn scaled_to(size: i32) -> Recording {
    let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
    let set = with_patch(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
    let larger = scaled(&set, 12);
    let builder = RecordingBuilder::rolled_out(10)
        .user_step(1, "scale 12")
        .driver_write(&scaled(&web, 12))
        .subject_write(&larger)
        .settled();
    builder.node_step(2, 1, "ready 1").subject_write(&scaled(&larger, size)).settled().end()
}
