//! Recordings for tests, written in a few words.

use serde_json::{Value, json};

use crate::recording::{
    Blame, Change, Effect, End, Entry, FORMAT, Header, Identity, Impossible, Meeting, Recording, Request, Settling,
    StepMark, SubjectKind, Trouble, Version, Writer,
};

/// The case that is recorded.
pub(crate) const SOURCE: &str = "description: x\ngiven:\n  - deployment: {name: web, replicas: 10, image: \"app:1\"}\nsteps:\n  - scale: 12\n  - ready: {pods: all}\n";

/// A recording in the making. Each version gets the next resourceVersion.
pub(crate) struct Film {
    recording: Recording,
    rv: u64,
}

impl Film {
    pub(crate) fn new() -> Self {
        let header = Header {
            format: FORMAT,
            case: "rolling/x".to_owned(),
            path: "cases/rolling/x.yaml".to_owned(),
            source: SOURCE.to_owned(),
            judged: Default::default(),
            under_test: Default::default(),
            namespace: "x".to_owned(),
            subject: Identity::new("ours", "rollout-controller", "0.1.0"),
            kind: SubjectKind::Ours,
            cluster: Identity::new("control-plane", "kube-apiserver", "v1.36.3"),
            cluster_controllers: None,
            workload: None,
            real_pods: false,
            unevaluated: Vec::new(),
            seed: None,
            started: "2026-11-21T01:44:51Z".to_owned(),
        };
        Self { recording: Recording { header, entries: Vec::new(), end: None }, rv: 100 }
    }

    /// A recording of a Deployment that has got its first ReplicaSet, all ready.
    pub(crate) fn rolled_out(replicas: i32) -> Self {
        let web = deployment("web", replicas, "app:1");
        let set = owned_set(&web, "1", "app:1", replicas);
        Self::new()
            .given("deployment/web")
            .driver(&web)
            .other(&set)
            .other(&with(&web, &revision(1)))
            .other(&with(&set, &json!({"status": ready(replicas)})))
            .other(&with(&with(&web, &revision(1)), &json!({"status": complete(replicas)})))
            .settled()
    }

    pub(crate) fn given(self, label: &str) -> Self {
        self.mark(0, 0, label, 3, true)
    }

    /// A step of a user's.
    pub(crate) fn user(self, index: u32, label: &str) -> Self {
        self.mark(index, 0, label, 4 + index as usize, true)
    }

    /// A step of several operations of a user's, without settling between them.
    pub(crate) fn together(self, index: u32, label: &str) -> Self {
        self.user(index, label).bursting()
    }

    /// The step that begins is a burst.
    pub(crate) fn bursting(mut self) -> Self {
        if let Some(Entry::Step(mark)) = self.recording.entries.last_mut() {
            mark.together = true;
        }
        self
    }

    /// A step of a node's.
    pub(crate) fn node(self, index: u32, part: u32, label: &str) -> Self {
        self.mark(index, part, label, 4 + index as usize, false)
    }

    /// The ReplicaSet controller is judged, and the subject brings it.
    pub(crate) fn judging_replica_sets(mut self) -> Self {
        let only = "replicaset".parse::<crate::controllers::Controllers>().unwrap();
        self.recording.header.judged = only.clone();
        self.recording.header.under_test = only;
        self
    }

    /// The case knows a pod by name.
    pub(crate) fn named(self, name: &str, real: &str) -> Self {
        self.entry(Entry::Named([(name.to_owned(), real.to_owned())].into()))
    }

    /// A step of a user's, after which the case expects just these sets of pods.
    pub(crate) fn expecting(self, index: u32, sets: &[&[&str]]) -> Self {
        let set = |set: &&[&str]| set.iter().map(|name| (*name).to_owned()).collect();
        let expect = Some(crate::expect::Expect::any_of(sets.iter().map(set).collect()));
        let label = "scale".to_owned();
        self.entry(Entry::Step(StepMark {
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

    /// A version by somebody else that the subject asked for in this way.
    pub(crate) fn asked(self, verb: &str, resource: &str, object: &Value) -> Self {
        self.foreign(object).request(verb, resource, 200)
    }

    /// What the driver made.
    pub(crate) fn driver_made(self, object: &Value) -> Self {
        self.version(object, Change::Added, Writer::Driver)
    }

    fn mark(self, index: u32, part: u32, label: &str, line: usize, user: bool) -> Self {
        let label = label.to_owned();
        self.entry(Entry::Step(StepMark {
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

    pub(crate) fn driver(self, object: &Value) -> Self {
        self.version(object, Change::Modified, Writer::Driver)
    }

    /// A version by somebody else; of a ReplicaSet or a Deployment, with the subject's request
    /// beside it.
    pub(crate) fn other(self, object: &Value) -> Self {
        self.foreign(object).beside(object, Writer::Other, "update")
    }

    /// An object that somebody else made.
    pub(crate) fn other_made(self, object: &Value) -> Self {
        self.version(object, Change::Added, Writer::Other)
    }

    /// A version that neither the driver nor the subject wrote.
    pub(crate) fn foreign(self, object: &Value) -> Self {
        self.version(object, Change::Modified, Writer::Other)
    }

    /// A deletion by somebody who is neither the driver nor the subject.
    pub(crate) fn foreign_deleted(self, object: &Value) -> Self {
        self.version(object, Change::Deleted, Writer::Other)
    }

    pub(crate) fn deleted(self, object: &Value, by: Writer) -> Self {
        self.version(object, Change::Deleted, by).beside(object, by, "delete")
    }

    /// The request that goes with a version of the subject's.
    fn beside(self, object: &Value, by: Writer, verb: &str) -> Self {
        match (by, object["kind"].as_str()) {
            (Writer::Other, Some("ReplicaSet")) => self.request(verb, "replicasets", 200),
            (Writer::Other, Some("Deployment")) => self.request(verb, "deployments", 200),
            _ => self,
        }
    }

    fn version(mut self, object: &Value, change: Change, by: Writer) -> Self {
        self.rv += 1;
        let text = |pointer: &str| object.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let (kind, name, rv) = (text("/kind"), text("/metadata/name"), self.rv);
        let object = object.clone().into();
        self.entry(Entry::Object(Version { kind, name, change, rv, by, author: None, at: 0, object }))
    }

    pub(crate) fn settled(self) -> Self {
        self.entry(Entry::Settled(Settling { unsettled: None, rounds: 2, took: 10, at: 20 }))
    }

    pub(crate) fn unsettled(self, blame: Blame, why: &str) -> Self {
        self.unsettled_by(Trouble::new(blame, why))
    }

    pub(crate) fn unsettled_by(self, trouble: Trouble) -> Self {
        let unsettled = Some(trouble);
        self.entry(Entry::Settled(Settling { unsettled, rounds: 0, took: 10, at: 20 }))
    }

    pub(crate) fn trouble(self, blame: Blame, why: &str) -> Self {
        self.entry(Entry::Trouble(Trouble::new(blame, why)))
    }

    pub(crate) fn met(self, what: &str) -> Self {
        self.entry(Entry::Met(Meeting { what: what.to_owned(), effect: Effect::Answered, at: 25 }))
    }

    /// A user's step that stands on this line.
    pub(crate) fn at_line(self, line: usize) -> Self {
        self.mark(1, 0, "x", line, true)
    }

    pub(crate) fn impossible(self, why: &str) -> Self {
        self.entry(Entry::Impossible(Impossible { why: why.to_owned(), never_came: false }))
    }

    /// The case names a request that the subject never made.
    pub(crate) fn never_came(self, why: &str) -> Self {
        self.entry(Entry::Impossible(Impossible { why: why.to_owned(), never_came: true }))
    }

    /// In the last step the subject may decide by an old view.
    pub(crate) fn stale(mut self) -> Self {
        if let Some(Entry::Step(mark)) = self.recording.entries.last_mut() {
            mark.stale = true;
        }
        self
    }

    /// The last of what came between the subject's requests had this effect.
    pub(crate) fn with_effect(mut self, effect: Effect) -> Self {
        if let Some(Entry::Met(meeting)) = self.recording.entries.last_mut() {
            meeting.effect = effect;
        }
        self
    }

    pub(crate) fn request(self, verb: &str, resource: &str, status: u16) -> Self {
        let (verb, resource) = (verb.to_owned(), resource.to_owned());
        let (subresource, name) = (String::new(), "x".to_owned());
        let (message, elsewhere) = (None, None);
        self.entry(Entry::Request(Request {
            verb,
            resource,
            subresource,
            name,
            status,
            message,
            ignored_status: false,
            elsewhere,
            at: 30,
        }))
    }

    /// The server says this with what it answered last.
    pub(crate) fn with_message(mut self, text: &str) -> Self {
        if let Some(Entry::Request(request)) = self.recording.entries.last_mut() {
            request.message = Some(text.to_owned());
        }
        self
    }

    /// A request about another namespace, or about all, that the server refused.
    pub(crate) fn refused(self, verb: &str, resource: &str, elsewhere: &str) -> Self {
        let mut film = self.request(verb, resource, 403);
        if let Some(Entry::Request(request)) = film.recording.entries.last_mut() {
            request.name.clear();
            request.elsewhere = Some(elsewhere.to_owned());
        }
        film
    }

    fn entry(mut self, entry: Entry) -> Self {
        self.recording.entries.push(entry);
        self
    }

    /// The recording, come to its end.
    pub(crate) fn end(mut self) -> Recording {
        self.recording.end = Some(End { completed: true, events_complete: true, at: 40, diagnosis: None });
        self.recording
    }

    /// The recording, ended before its last step.
    pub(crate) fn aborted(mut self) -> Recording {
        self.recording.end = Some(End { completed: false, events_complete: false, at: 40, diagnosis: None });
        self.recording
    }

    /// The recording, cut off.
    pub(crate) fn cut(self) -> Recording {
        self.recording
    }
}

/// A Deployment with 25% and 25%.
pub(crate) fn deployment(name: &str, replicas: i32, image: &str) -> Value {
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
pub(crate) fn owned_set(deployment: &Value, hash: &str, image: &str, replicas: i32) -> Value {
    let name = deployment["metadata"]["name"].as_str().unwrap();
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

/// The recording of a case with these fields besides.
pub(crate) fn of_case(fields: &str, mut recording: Recording) -> Recording {
    recording.header.source += fields;
    recording
}

/// An Event about a Deployment.
pub(crate) fn event(name: &str, deployment: &str, message: &str, count: u64) -> Value {
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
pub(crate) fn revision(revision: u32) -> Value {
    json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": revision.to_string()}}})
}

/// A ReplicaSet's status with so many pods, all available.
pub(crate) fn ready(replicas: i32) -> Value {
    json!({"replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas})
}

/// A Deployment's status when its rollout is done.
pub(crate) fn complete(replicas: i32) -> Value {
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

/// The object with a merge patch applied: null removes.
pub(crate) fn with(object: &Value, patch: &Value) -> Value {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            let mut merged = object.clone();
            for (key, value) in patch {
                if value.is_null() {
                    merged.remove(key);
                } else {
                    let old = merged.remove(key).unwrap_or(Value::Null);
                    merged.insert(key.clone(), with(&old, value));
                }
            }
            Value::Object(merged)
        }
        _ => patch.clone(),
    }
}

/// The object with so many replicas wanted.
pub(crate) fn scaled(object: &Value, replicas: i32) -> Value {
    with(object, &json!({"spec": {"replicas": replicas}}))
}

/// A Deployment of ten is scaled to 12, after which its ReplicaSet goes on to this size.
pub(crate) fn scaled_to(size: i32) -> Recording {
    let web = with(&deployment("web", 10, "app:1"), &revision(1));
    let set = with(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
    let larger = scaled(&set, 12);
    let film = Film::rolled_out(10).user(1, "scale 12").driver(&scaled(&web, 12)).other(&larger).settled();
    film.node(2, 1, "ready 1").other(&scaled(&larger, size)).settled().end()
}
