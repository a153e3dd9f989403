//! Finds the ConfigMaps and Secrets that a pod template uses, and which keys of them.
//!
//! xing's controller finds only `envFrom` and volumes of ConfigMaps, and only in regular containers
//! (defect X1). This module finds all references: `envFrom`, `env[].valueFrom`, and ConfigMap,
//! Secret and projected volumes, also in init containers and ephemeral containers. Where a
//! reference names keys, only those count. All names are in the workload's own namespace.
//!
//! Cases: `config-restart/safe/s08-init-env-from`, `config-restart/safe/s08-value-from-secret`,
//! `config-restart/safe/s08-projected-secret`, `config-restart/safe/s08-equal-names`,
//! `config-restart/safe/s18-other-key`, `config-restart/safe/s18-volume-items`,
//! `config-restart/safe/s32-optional-volume-appears`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::names::{ConfigKind, ConfigName};

/// What a workload uses of a config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigUsage {
    /// Whether it uses all keys.
    pub all_keys: bool,
    /// The keys that it names. If `all_keys` is set, other keys count as well.
    pub keys: BTreeSet<String>,
    /// Whether the workload's annotation selects these keys.
    pub selected: bool,
    /// Whether at least one reference is not optional, so that pods wait for the config.
    pub required: bool,
    /// Whether xing's controller finds one of the references.
    pub known_to_xing: bool,
}

/// All references of a pod template.
pub type References = BTreeMap<ConfigName, ConfigUsage>;

/// Finds the references of a pod template.
pub fn references(template: &Value, namespace: &str) -> References {
    let mut found = ReferenceCollector { namespace, references: References::new() };
    let spec = &template["spec"];
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(&spec[list]) {
            found.container(container, list == "containers");
        }
    }
    for volume in items(&spec["volumes"]) {
        found.volume(volume);
    }
    found.references
}

struct ReferenceCollector<'a> {
    namespace: &'a str,
    references: References,
}

impl ReferenceCollector<'_> {
    fn container(&mut self, container: &Value, known_to_xing: bool) {
        for from in items(&container["envFrom"]) {
            // If an entry has both references, xing's controller sees only the ConfigMap.
            let has_config_map = from["configMapRef"].is_object();
            self.add_all(ConfigKind::ConfigMap, &from["configMapRef"], known_to_xing);
            self.add_all(ConfigKind::Secret, &from["secretRef"], known_to_xing && !has_config_map);
        }
        for env in items(&container["env"]) {
            let from = &env["valueFrom"];
            for (kind, field) in [(ConfigKind::ConfigMap, "configMapKeyRef"), (ConfigKind::Secret, "secretKeyRef")] {
                if let Some(key) = from[field]["key"].as_str() {
                    self.add(kind, &from[field]["name"], &from[field], Some([key].into_iter()), false);
                }
            }
        }
    }

    fn volume(&mut self, volume: &Value) {
        self.files(ConfigKind::ConfigMap, &volume["configMap"], "name", true);
        self.files(ConfigKind::Secret, &volume["secret"], "secretName", false);
        for source in items(&volume["projected"]["sources"]) {
            self.files(ConfigKind::ConfigMap, &source["configMap"], "name", false);
            self.files(ConfigKind::Secret, &source["secret"], "name", false);
        }
    }

    fn add_all(&mut self, kind: ConfigKind, reference: &Value, known_to_xing: bool) {
        self.add::<std::iter::Empty<&str>>(kind, &reference["name"], reference, None, known_to_xing);
    }

    /// Adds the source of a volume; its `items` name the keys that become files.
    fn files(&mut self, kind: ConfigKind, source: &Value, name: &str, known_to_xing: bool) {
        let named = items(&source["items"]).filter_map(|item| item["key"].as_str());
        let has_items = items(&source["items"]).next().is_some();
        self.add(kind, &source[name], source, has_items.then_some(named), known_to_xing);
    }

    fn add<'a, K: Iterator<Item = &'a str>>(
        &mut self,
        kind: ConfigKind,
        name: &Value,
        reference: &Value,
        keys: Option<K>,
        known_to_xing: bool,
    ) {
        let Some(name) = name.as_str().filter(|name| !name.is_empty()) else { return };
        let name = ConfigName { kind, namespace: self.namespace.to_owned(), name: name.to_owned() };
        let usage = self.references.entry(name).or_default();
        usage.required |= reference["optional"] != true;
        usage.known_to_xing |= known_to_xing;
        match keys {
            Some(keys) => usage.keys.extend(keys.map(str::to_owned)),
            None => usage.all_keys = true,
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// Scenario 8, with one case for each line of its table.
    #[rstest]
    #[case(json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}), "configmap/ns/c whole required xing")]
    #[case(json!({"containers": [{"envFrom": [{"secretRef": {"name": "c"}}]}]}), "secret/ns/c whole required xing")]
    #[case(json!({"volumes": [{"configMap": {"name": "c"}}]}), "configmap/ns/c whole required xing")]
    #[case(json!({"volumes": [{"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}]}),
        "configmap/ns/c [k] required xing")]
    #[case(json!({"volumes": [{"secret": {"secretName": "c"}}]}), "secret/ns/c whole required")]
    #[case(json!({"volumes": [{"secret": {"secretName": "c", "optional": true}}]}), "secret/ns/c whole")]
    #[case(json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]}]}),
        "configmap/ns/c [k] required")]
    #[case(json!({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "c", "key": "k", "optional": true}}}]}]}),
        "secret/ns/c [k]")]
    #[case(json!({"volumes": [{"projected": {"sources": [{"configMap": {"name": "c"}}, {"serviceAccountToken": {}}]}}]}),
        "configmap/ns/c whole required")]
    #[case(json!({"volumes": [{"projected": {"sources": [{"secret": {"name": "c", "items": [{"key": "k"}]}}]}}]}),
        "secret/ns/c [k] required")]
    #[case(json!({"initContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}), "configmap/ns/c whole required")]
    #[case(json!({"initContainers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "c", "key": "k"}}}]}]}),
        "secret/ns/c [k] required")]
    #[case(json!({"ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "c"}}]}]}), "secret/ns/c whole required")]
    #[case::of_both_xing_sees_one(
        json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}, "secretRef": {"name": "c"}}]}]}),
        "configmap/ns/c whole required xing; secret/ns/c whole required")]
    #[case::the_wider_use_counts(
        json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c", "optional": true}}],
            "env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]}]}),
        "configmap/ns/c whole [k] required xing")]
    #[case::nothing(json!({"containers": [{"env": [{"name": "A", "value": "c"}]}], "volumes": [{"emptyDir": {}}]}), "")]
    #[case::pull_secrets_are_none(json!({"imagePullSecrets": [{"name": "c"}]}), "")]
    #[case::no_name(json!({"volumes": [{"configMap": {"name": ""}}, {"secret": {}}]}), "")]
    fn finds_all_references_of_a_pod_template(#[case] spec: Value, #[case] expected: &str) {
        let found = references(&json!({"spec": spec}), "ns");
        let text = |(name, usage): (&ConfigName, &ConfigUsage)| {
            let keys: Vec<&str> = usage.keys.iter().map(String::as_str).collect();
            let words = [
                name.to_string(),
                if usage.all_keys { "whole".to_owned() } else { String::new() },
                if keys.is_empty() { String::new() } else { format!("[{}]", keys.join(",")) },
                if usage.required { "required".to_owned() } else { String::new() },
                if usage.known_to_xing { "xing".to_owned() } else { String::new() },
            ];
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found.iter().map(text).collect::<Vec<_>>().join("; "), expected);
    }
}
