//! A world for the agent: objects with versions, a clock, and writes that are made or refused.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a reference before each")]

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::body;
use super::super::config::Described;
use super::super::obstacle::Obstacle;
use super::super::plan::Restart;
use super::super::work::{Action, Outcome};
use super::super::workload::Workload;
use super::super::{
    Agent, Budget, ChecksumKeys, ConfigKind, ConfigName, Profile, RestartSettings, SecretChecksums, WorkloadKind,
    WorkloadName,
};
use crate::model::Meta;
use crate::model::names::restart as names;

pub(super) struct World {
    pub(super) agent: Agent,
    settings: RestartSettings,
    at: u64,
    version: u64,
    objects: BTreeMap<String, Value>,
    pub(super) refuses: bool,
    /// Milliseconds, workload, restart if it was one.
    pub(super) writes: Vec<(u64, String, Option<Restart>)>,
    pub(super) told: Vec<&'static str>,
}

impl World {
    pub(super) fn new(profile: Profile) -> Self {
        let secrets = match profile {
            Profile::Safe => keyed(ONE, None),
            Profile::Xing | Profile::Reloader => SecretChecksums::Unkeyed,
        };
        Self::with(RestartSettings { profile, secrets, ..RestartSettings::default() })
    }

    pub(super) fn budget(restarts: u32, seconds: u64) -> Self {
        let budget = Budget { restarts, period: Duration::from_secs(seconds) };
        Self::with(RestartSettings { budget, ..RestartSettings::default() })
    }

    pub(super) fn with(settings: RestartSettings) -> Self {
        let mut world = Self {
            agent: Agent::new(settings.clone()),
            settings,
            at: 0,
            version: 0,
            objects: BTreeMap::new(),
            refuses: false,
            writes: Vec::new(),
            told: Vec::new(),
        };
        world.list();
        world
    }

    fn moment(&self) -> Duration {
        Duration::from_millis(self.at)
    }

    /// Nothing is written; what is planned is reported.
    pub(super) fn dry() -> Self {
        Self::with(RestartSettings { dry_run: true, secrets: keyed(ONE, None), ..RestartSettings::default() })
    }

    /// With a workload that has its two configs, long ago.
    pub(super) fn settled(mut self) -> Self {
        self.config(0, "c", json!({"k": "1"}));
        self.config(0, "c2", json!({"k": "1"}));
        self.deployment(1000, "web", &["c", "c2"]);
        self.pass(60_000);
        assert_eq!((self.records(WEB).len(), self.restarts(WEB).len()), (1, 0));
        self
    }

    /// The controller begins anew, and has seen nothing yet.
    pub(super) fn forget(&mut self) {
        self.agent = Agent::new(self.settings.clone());
    }

    /// The controller ends and begins anew with other keys.
    pub(super) fn restart_with(&mut self, secrets: SecretChecksums) {
        self.settings.secrets = secrets;
        self.restart_controller();
    }

    /// Both kinds of config have been seen.
    pub(super) fn list(&mut self) {
        let at = self.moment();
        ConfigKind::ALL.into_iter().for_each(|kind| self.agent.listed(kind, at));
    }

    /// The controller ends and begins anew, and sees everything in a list.
    pub(super) fn restart_controller(&mut self) {
        self.forget();
        for path in self.objects.keys().cloned().collect::<Vec<_>>() {
            self.show(&path);
        }
        self.list();
        self.run();
    }

    /// A ConfigMap's data, given as JSON, at a moment in milliseconds.
    pub(super) fn config(&mut self, at: u64, name: &str, data: Value) {
        self.pass(at);
        self.put(&format!("configmap/{name}"), json!({"metadata": {"name": name, "namespace": "ns"}, "data": data}));
    }

    pub(super) fn object(&mut self, at: u64, path: &str, object: Value) {
        self.pass(at);
        self.put(path, object);
    }

    /// A Deployment that has opted in and uses these ConfigMaps.
    pub(super) fn deployment(&mut self, at: u64, name: &str, uses: &[&str]) {
        self.object(at, &format!("deployment/{name}"), deployment(name, env_from(uses, false)));
    }

    pub(super) fn change(&mut self, at: u64, path: &str, change: impl FnOnce(&mut Value)) {
        self.pass(at);
        self.only_seen(at, path, change);
        self.run();
    }

    /// A change that is seen, and nothing done about what is due then.
    pub(super) fn only_seen(&mut self, at: u64, path: &str, change: impl FnOnce(&mut Value)) {
        self.at = at;
        let mut object = self.objects[path].clone();
        change(&mut object);
        self.keep(path, object);
    }

    /// A Deployment's rollout is complete.
    pub(super) fn complete(&mut self, at: u64, path: &str) {
        self.change(at, path, |of| {
            let (generation, replicas) = (of["metadata"]["generation"].clone(), of["spec"]["replicas"].clone());
            of["status"] = json!({"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
                "availableReplicas": replicas, "conditions": [{"type": "Progressing", "reason": "NewReplicaSetAvailable"}]});
        });
    }

    /// A Deployment's rollout has failed.
    pub(super) fn fail(&mut self, at: u64, path: &str) {
        self.change(at, path, |of| {
            let generation = of["metadata"]["generation"].clone();
            of["status"] = json!({"observedGeneration": generation, "replicas": 2, "updatedReplicas": 1,
                "availableReplicas": 1, "conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]});
        });
    }

    pub(super) fn delete(&mut self, at: u64, path: &str) {
        self.pass(at);
        self.objects.remove(path);
        self.show(path);
        self.run();
    }

    /// An object of the version that it says, which is seen only now.
    pub(super) fn object_as_it_was(&mut self, at: u64, path: &str, object: Value) {
        self.pass(at);
        self.objects.insert(path.to_owned(), object);
        self.show(path);
        self.run();
    }

    fn put(&mut self, path: &str, object: Value) {
        self.keep(path, object);
        self.run();
    }

    fn keep(&mut self, path: &str, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = format!("uid-{}", self.version).into();
        }
        self.objects.insert(path.to_owned(), object);
        self.show(path);
    }

    fn show(&mut self, path: &str) {
        let (at, object) = (self.moment(), self.objects.get(path).cloned());
        self.show_as(path, object, at);
    }

    /// Shows an event that is not what is there.
    pub(super) fn show_stale(&mut self, at: u64, path: &str, object: Value) {
        self.pass(at);
        self.show_as(path, Some(object), self.moment());
        self.run();
    }

    fn show_as(&mut self, path: &str, object: Option<Value>, at: Duration) {
        let (kind, name) = path.split_once('/').unwrap();
        if kind == "namespace" {
            let meta = object.map(|object| Meta::read(&object, "Namespace").unwrap());
            return self.agent.namespace(name, meta.as_ref(), at);
        }
        let (namespace, name) = ("ns".to_owned(), name.to_owned());
        let config = |kind| ConfigName { kind, namespace: namespace.clone(), name: name.clone() };
        let workload = |kind| WorkloadName { kind, namespace: namespace.clone(), name: name.clone() };
        let (config, workload) = match kind {
            "configmap" => (Some(config(ConfigKind::ConfigMap)), None),
            "secret" => (Some(config(ConfigKind::Secret)), None),
            "deployment" => (None, Some(workload(WorkloadKind::Deployment))),
            "statefulset" => (None, Some(workload(WorkloadKind::StatefulSet))),
            _ => (None, Some(workload(WorkloadKind::DaemonSet))),
        };
        if let Some(name) = config {
            let read = |object| serde_json::from_value::<Described>(object).unwrap().config;
            self.agent.config(&name, object.clone().map(read), at);
        }
        if let Some(name) = workload {
            let now = object.map(|object| Workload::read(name.kind, &object).unwrap());
            for work in self.agent.workload(&name, now, at) {
                self.told.push(match work.action {
                    Action::UnknownKey(_) => "unknown key",
                    Action::BadAnnotations(_) => "bad annotation",
                    _ => "unreadable",
                });
            }
        }
    }

    /// Time passes, and what is due is done at its time.
    pub(super) fn pass(&mut self, to: u64) {
        assert!(to >= self.at, "time goes on");
        let mut looks = 0;
        while let Some(next) = self.agent.next().map(|next| u64::try_from(next.as_millis()).unwrap()) {
            if next > to {
                break;
            }
            looks += 1;
            assert!(looks < 10_000, "there is something to do at {next}, again and again");
            self.at = self.at.max(next);
            self.run();
        }
        self.at = to;
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_767_571_200_000 + i64::try_from(self.at).unwrap()).unwrap()
    }

    fn run(&mut self) {
        let works = self.agent.take(self.moment(), self.now());
        self.carry_out(works);
    }

    pub(super) fn flush(&mut self) {
        let works = self.agent.flush(self.moment(), self.now());
        self.carry_out(works);
    }

    fn carry_out(&mut self, works: Vec<super::super::Work>) {
        for work in works {
            let write = match work.action {
                Action::Write(write) => write,
                Action::Shut(shut) => {
                    let is_stopped = matches!(shut.obstacle, Obstacle::Stopped(_));
                    self.told.push(if is_stopped { "stopped" } else { "pending" });
                    continue;
                }
                _ => {
                    self.told.push("throttled");
                    continue;
                }
            };
            let name = &work.observed.workload.name;
            let path = name.to_string().replace("/ns/", "/");
            let at = self.moment();
            if self.settings.dry_run {
                self.told.extend(write.restart.as_ref().map(|_| "would restart"));
                self.agent.finished(&work.observed, Outcome::Pretended(write), at);
                continue;
            }
            let Some(mut object) = self.objects.get(&path).cloned().filter(|_| !self.refuses) else {
                self.agent.finished(&work.observed, Outcome::Failed(None), at);
                continue;
            };
            json_patch::merge(&mut object, &body::patch(&write));
            if write.restart.is_some() {
                let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
                object["metadata"]["generation"] = (generation + 1).into();
            }
            self.version += 1;
            object["metadata"]["resourceVersion"] = self.version.to_string().into();
            self.objects.insert(path.clone(), object.clone());
            self.writes.push((self.at, path.clone(), write.restart));
            let now = Workload::read(name.kind, &object).unwrap();
            self.agent.finished(&work.observed, Outcome::Written(Box::new(now)), at);
            // The watch shows it, too.
            self.show(&path);
        }
        self.agent.carried_out("ns");
    }

    /// Moments at which a workload was restarted.
    pub(super) fn restarts(&self, path: &str) -> Vec<u64> {
        self.writes.iter().filter(|(_, of, restart)| of == path && restart.is_some()).map(|(at, ..)| *at).collect()
    }

    /// Moments at which a workload was written without a restart.
    pub(super) fn records(&self, path: &str) -> Vec<u64> {
        self.writes.iter().filter(|(_, of, restart)| of == path && restart.is_none()).map(|(at, ..)| *at).collect()
    }

    pub(super) fn get(&self, path: &str) -> &Value {
        &self.objects[path]
    }

    pub(super) fn applied(&self, path: &str) -> String {
        self.objects[path]["metadata"]["annotations"][names::CHECKSUMS].as_str().unwrap_or("-").to_owned()
    }
}

/// Keys as a test has them.
pub(super) fn keyed(current: &str, previous: Option<&str>) -> SecretChecksums {
    SecretChecksums::Keyed(ChecksumKeys::new(current.as_bytes(), previous.map(str::as_bytes)).unwrap())
}

pub(super) const ONE: &str = "the first key, long enough for a test";
pub(super) const TWO: &str = "the second key, long enough for a test";

pub(super) fn deployment(name: &str, pod_spec: Value) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "annotations": {names::ENABLED: "enabled"}},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec}},
    })
}

/// A pod's spec that takes its environment from these ConfigMaps.
pub(super) fn env_from(names: &[&str], optional: bool) -> Value {
    let from: Vec<_> = names.iter().map(|name| json!({"configMapRef": {"name": name, "optional": optional}})).collect();
    json!({"containers": [{"name": "app", "envFrom": from}]})
}

pub(super) const WEB: &str = "deployment/web";
pub(super) const C: &str = "configmap/c";
