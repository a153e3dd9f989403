//! The fixture of these tests: a reconciler, objects with versions, a clock, and writes that
//! succeed or are refused.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a reference before each")]

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use rollout_model::Meta;
use rollout_model::names::restart as names;
use serde_json::{Value, json};

use crate::engines::work::{WorkAction, WriteOutcome};
use crate::model::body;
use crate::model::config::ConfigObject;
use crate::model::pending::BlockReason;
use crate::model::plan::PlannedRestart;
use crate::model::workload::WorkloadFacts;
use crate::{
    Budget, ChecksumKeys, ConfigKind, ConfigName, Profile, RestartReconciler, RestartSettings, SecretChecksums,
    WorkloadKind, WorkloadName,
};

pub(super) struct Fixture {
    pub(super) reconciler: RestartReconciler,
    settings: RestartSettings,
    at: u64,
    version: u64,
    objects: BTreeMap<String, Value>,
    pub(super) refuses: bool,
    /// Each write: time in milliseconds, workload, and the restart if it was one.
    pub(super) writes: Vec<(u64, String, Option<PlannedRestart>)>,
    pub(super) reports: Vec<&'static str>,
}

impl Fixture {
    pub(super) fn new(profile: Profile) -> Self {
        let secrets = match profile {
            Profile::Safe => keyed_checksums(ONE, None),
            Profile::Xing | Profile::Reloader => SecretChecksums::Unkeyed,
        };
        Self::with(RestartSettings { profile, secrets, ..RestartSettings::default() })
    }

    pub(super) fn budget(restarts: u32, seconds: u64) -> Self {
        let budget = Budget { restarts, period: Duration::from_secs(seconds) };
        Self::with(RestartSettings { budget, ..RestartSettings::default() })
    }

    pub(super) fn with(settings: RestartSettings) -> Self {
        let mut fixture = Self {
            reconciler: RestartReconciler::new(settings.clone()),
            settings,
            at: 0,
            version: 0,
            objects: BTreeMap::new(),
            refuses: false,
            writes: Vec::new(),
            reports: Vec::new(),
        };
        fixture.mark_listed();
        fixture
    }

    fn moment(&self) -> Duration {
        Duration::from_millis(self.at)
    }

    /// A dry run: nothing is written, and what is planned is reported.
    pub(super) fn dry() -> Self {
        Self::with(RestartSettings { dry_run: true, secrets: keyed_checksums(ONE, None), ..RestartSettings::default() })
    }

    /// A workload whose two configs have been recorded long ago.
    pub(super) fn settled(mut self) -> Self {
        self.config(0, "c", json!({"k": "1"}));
        self.config(0, "c2", json!({"k": "1"}));
        self.deployment(1000, "web", &["c", "c2"]);
        self.advance_to(60_000);
        assert_eq!((self.records(WEB).len(), self.restarts(WEB).len()), (1, 0));
        self
    }

    /// Replaces the controller by a new one that has not seen anything.
    pub(super) fn replace_controller(&mut self) {
        self.reconciler = RestartReconciler::new(self.settings.clone());
    }

    /// Restarts the controller with other keys.
    pub(super) fn restart_with_keys(&mut self, secrets: SecretChecksums) {
        self.settings.secrets = secrets;
        self.restart_controller();
    }

    /// Reports that both kinds of config have been listed.
    pub(super) fn mark_listed(&mut self) {
        let at = self.moment();
        ConfigKind::ALL.into_iter().for_each(|kind| self.reconciler.on_listed(kind, at));
    }

    /// Restarts the controller, which then sees all objects in its first lists.
    pub(super) fn restart_controller(&mut self) {
        self.replace_controller();
        for path in self.objects.keys().cloned().collect::<Vec<_>>() {
            self.deliver(&path);
        }
        self.mark_listed();
        self.run();
    }

    /// Sets the data of a ConfigMap at a time in milliseconds.
    pub(super) fn config(&mut self, at: u64, name: &str, data: Value) {
        self.advance_to(at);
        self.put(&format!("configmap/{name}"), json!({"metadata": {"name": name, "namespace": "ns"}, "data": data}));
    }

    pub(super) fn object(&mut self, at: u64, path: &str, object: Value) {
        self.advance_to(at);
        self.put(path, object);
    }

    /// Creates a Deployment that has opted in and uses these ConfigMaps.
    pub(super) fn deployment(&mut self, at: u64, name: &str, uses: &[&str]) {
        self.object(at, &format!("deployment/{name}"), deployment(name, env_from(uses, false)));
    }

    pub(super) fn change(&mut self, at: u64, path: &str, change: impl FnOnce(&mut Value)) {
        self.advance_to(at);
        self.change_without_running(at, path, change);
        self.run();
    }

    /// Changes an object without carrying out the work that is due then.
    pub(super) fn change_without_running(&mut self, at: u64, path: &str, change: impl FnOnce(&mut Value)) {
        self.at = at;
        let mut object = self.objects[path].clone();
        change(&mut object);
        self.keep(path, object);
    }

    /// Completes the rollout of a Deployment.
    pub(super) fn complete(&mut self, at: u64, path: &str) {
        self.change(at, path, |of| {
            let (generation, replicas) = (of["metadata"]["generation"].clone(), of["spec"]["replicas"].clone());
            of["status"] = json!({"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
                "availableReplicas": replicas, "conditions": [{"type": "Progressing", "reason": "NewReplicaSetAvailable"}]});
        });
    }

    /// Fails the rollout of a Deployment.
    pub(super) fn fail(&mut self, at: u64, path: &str) {
        self.change(at, path, |of| {
            let generation = of["metadata"]["generation"].clone();
            of["status"] = json!({"observedGeneration": generation, "replicas": 2, "updatedReplicas": 1,
                "availableReplicas": 1, "conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]});
        });
    }

    pub(super) fn delete(&mut self, at: u64, path: &str) {
        self.advance_to(at);
        self.objects.remove(path);
        self.deliver(path);
        self.run();
    }

    /// Adds an object with the resourceVersion that it has, seen only now.
    pub(super) fn put_old_object(&mut self, at: u64, path: &str, object: Value) {
        self.advance_to(at);
        self.objects.insert(path.to_owned(), object);
        self.deliver(path);
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
        self.deliver(path);
    }

    fn deliver(&mut self, path: &str) {
        let (at, object) = (self.moment(), self.objects.get(path).cloned());
        self.deliver_as(path, object, at);
    }

    /// Delivers an event with an outdated object.
    pub(super) fn deliver_stale(&mut self, at: u64, path: &str, object: Value) {
        self.advance_to(at);
        self.deliver_as(path, Some(object), self.moment());
        self.run();
    }

    fn deliver_as(&mut self, path: &str, object: Option<Value>, at: Duration) {
        let (kind, name) = path.split_once('/').unwrap();
        if kind == "namespace" {
            let meta = object.map(|object| Meta::read(&object, "Namespace").unwrap());
            return self.reconciler.on_namespace(name, meta.as_ref(), at);
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
            let read = |object| serde_json::from_value::<ConfigObject>(object).unwrap().config;
            self.reconciler.on_config(&name, object.clone().map(read), at);
        }
        if let Some(name) = workload {
            let now = object.map(|object| WorkloadFacts::read(name.kind, &object).unwrap());
            for work in self.reconciler.on_workload(&name, now, at) {
                self.reports.push(match work.action {
                    WorkAction::ReportUnknownKey(_) => "unknown key",
                    WorkAction::ReportBadAnnotations(_) => "bad annotation",
                    _ => "unreadable",
                });
            }
        }
    }

    /// Advances the clock and carries out the work at the time when it is due.
    pub(super) fn advance_to(&mut self, to: u64) {
        assert!(to >= self.at, "time goes on");
        let mut looks = 0;
        while let Some(next) = self.reconciler.next_due().map(|next| u64::try_from(next.as_millis()).unwrap()) {
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
        let work_items = self.reconciler.take_due(self.moment(), self.now());
        self.carry_out(work_items);
    }

    pub(super) fn flush(&mut self) {
        let work_items = self.reconciler.flush(self.moment(), self.now());
        self.carry_out(work_items);
    }

    fn carry_out(&mut self, work_items: Vec<crate::WorkItem>) {
        for work in work_items {
            let write = match work.action {
                WorkAction::Write(write) => write,
                WorkAction::ReportBlocked(blocked) => {
                    let is_stopped = matches!(blocked.reason, BlockReason::Stopped(_));
                    self.reports.push(if is_stopped { "stopped" } else { "pending" });
                    continue;
                }
                _ => {
                    self.reports.push("throttled");
                    continue;
                }
            };
            let name = &work.observed.workload.name;
            let path = name.to_string().replace("/ns/", "/");
            let at = self.moment();
            if self.settings.dry_run {
                self.reports.extend(write.restart.as_ref().map(|_| "would restart"));
                self.reconciler.on_write_finished(&work.observed, WriteOutcome::DryRun(write), at);
                continue;
            }
            let Some(mut object) = self.objects.get(&path).cloned().filter(|_| !self.refuses) else {
                self.reconciler.on_write_finished(&work.observed, WriteOutcome::Failed(None), at);
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
            let now = WorkloadFacts::read(name.kind, &object).unwrap();
            self.reconciler.on_write_finished(&work.observed, WriteOutcome::Updated(Box::new(now)), at);
            // The watch delivers the new version as well.
            self.deliver(&path);
        }
        self.reconciler.finish_namespace("ns");
    }

    /// When a workload was restarted.
    pub(super) fn restarts(&self, path: &str) -> Vec<u64> {
        self.writes.iter().filter(|(_, of, restart)| of == path && restart.is_some()).map(|(at, ..)| *at).collect()
    }

    /// When a workload was written without a restart.
    pub(super) fn records(&self, path: &str) -> Vec<u64> {
        self.writes.iter().filter(|(_, of, restart)| of == path && restart.is_none()).map(|(at, ..)| *at).collect()
    }

    pub(super) fn get(&self, path: &str) -> &Value {
        &self.objects[path]
    }

    pub(super) fn checksums(&self, path: &str) -> String {
        self.objects[path]["metadata"]["annotations"][names::CHECKSUMS].as_str().unwrap_or("-").to_owned()
    }
}

/// Keyed checksums with these keys.
pub(super) fn keyed_checksums(current: &str, previous: Option<&str>) -> SecretChecksums {
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

/// A pod spec whose environment comes from these ConfigMaps.
pub(super) fn env_from(names: &[&str], optional: bool) -> Value {
    let from: Vec<_> = names.iter().map(|name| json!({"configMapRef": {"name": name, "optional": optional}})).collect();
    json!({"containers": [{"name": "app", "envFrom": from}]})
}

pub(super) const WEB: &str = "deployment/web";
pub(super) const C: &str = "configmap/c";
