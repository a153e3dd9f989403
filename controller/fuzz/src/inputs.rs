//! The reader of what users write into annotations.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use config_restart::{
    ConfigKind, ConfigName, ConfigRef, ConfigState, ObservedWorkload, Profile, ReloaderSettings, RestartSettings,
    WorkloadFacts, WorkloadKind, plan, reloader,
};
use serde_json::{Value, json};

/// Annotations of a workload, one `KEY VALUE` per line. They are read, and used for decisions in
/// every profile.
pub fn annotations(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let pairs = text.split('\n').filter_map(|line| line.split_once(' '));
    let annotations: serde_json::Map<String, Value> =
        pairs.map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
    let object = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 1,
            "annotations": annotations},
        "spec": {"template": {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "app",
            "envFrom": [{"configMapRef": {"name": "config"}}, {"secretRef": {"name": "secret"}}]}]}}},
    });
    let Ok(workload) = WorkloadFacts::read(WorkloadKind::Deployment, &object) else { return };
    let workload = Arc::new(workload);
    let now = "2026-01-01T00:01:00Z".parse().expect("a time");
    let checksum = "e5eb05bb23136deb5962f9004ae449e74f7e0547";
    let mut settings = RestartSettings::default();
    let moment = Duration::from_secs(60);
    for profile in [Profile::Xing, Profile::Safe] {
        settings.profile = profile;
        let mut observed = ObservedWorkload::of(Arc::clone(&workload), moment);
        observed.schedule.clone_from(&workload.schedule);
        observed.configs = workload
            .references
            .iter()
            .map(|(name, used)| {
                let there = ConfigState::Present {
                    usage_checksum: checksum.to_owned(),
                    data_checksum: checksum.to_owned(),
                    equivalent: Vec::new(),
                };
                let change_span = Some((moment, moment));
                (
                    name.clone(),
                    ConfigRef {
                        usage: used.clone(),
                        state: there,
                        baseline: None,
                        changes: 1,
                        change_span,
                        keys: BTreeSet::new(),
                        is_rolled_out: false,
                    },
                )
            })
            .collect();
        plan(&observed, now, &settings);
    }
    let settings = ReloaderSettings::default();
    let mut compiled = WorkloadFacts::clone(&workload);
    compiled.reloader.compile(&settings.annotations, None);
    let workload = Arc::new(compiled);
    for (kind, name) in [(ConfigKind::ConfigMap, "config"), (ConfigKind::Secret, "other")] {
        let config = ConfigName { kind, namespace: "shop".to_owned(), name: name.to_owned() };
        let change =
            reloader::ConfigChange { config, checksum: checksum.to_owned(), marks: BTreeSet::new(), is_deleted: false };
        let observed = reloader::ObservedChange { workload: Arc::clone(&workload), change, is_end_known: false };
        reloader::plan(&observed, now, &settings);
    }
}
