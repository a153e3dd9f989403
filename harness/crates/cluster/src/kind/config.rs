//! Builds the configuration of a kind cluster: the user's, plus a patch that turns the controllers
//! under test off. No I/O but for one read.
//!
//! The patch names no API version and writes its arguments as a map: kind converts such a patch to
//! the version of the node's kubeadm. kind silently ignores a patch with the wrong version or
//! shape.

use std::path::Path;

use lockstep_recording::controllers::ControllerSet;
use lockstep_support::fingerprint::fingerprint;
use serde_json::{Value, json};

use super::KindError;

/// kubeadm's default for `controllers`. Setting the flag replaces the default, so it is repeated.
const DEFAULT: &str = "*,bootstrapsigner,tokencleaner";

/// A complete configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KindConfig(Value);

impl KindConfig {
    /// The user's configuration, or a minimal one, with the controllers under test turned off.
    pub(super) fn merge(path: Option<&Path>, without: &ControllerSet) -> Result<Self, KindError> {
        let Some(path) = path else {
            return Ok(Self::with_patches(json!({"nodes": [{"role": "control-plane"}]}), without));
        };
        let bad = |why: String| KindError::Config { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        let config: Value = serde_yaml::from_str(&text).map_err(|error| bad(error.to_string()))?;
        check(&config).map_err(bad)?;
        Ok(Self::with_patches(config, without))
    }

    /// The harness's patch comes last, and the last one wins.
    fn with_patches(mut config: Value, without: &ControllerSet) -> Self {
        config["kind"] = "Cluster".into();
        config["apiVersion"] = "kind.x-k8s.io/v1alpha4".into();
        let patches = config["kubeadmConfigPatches"].as_array().cloned().unwrap_or_default();
        config["kubeadmConfigPatches"] = patches.into_iter().chain([patch(without).into()]).collect();
        Self(config)
    }

    /// The configuration as YAML.
    pub(super) fn yaml(&self) -> String {
        serde_yaml::to_string(&self.0).expect("plain JSON can be written as YAML")
    }

    /// Identifies a cluster by its configuration and node image.
    pub(super) fn fingerprint(&self, image: &str) -> String {
        fingerprint(self.0.to_string().bytes().chain([0]).chain(image.bytes()))
    }
}

/// Finds errors that kind reports late or not at all.
fn check(config: &Value) -> Result<(), String> {
    let fields = config.as_object().ok_or("a kind configuration must be a mapping")?;
    for (field, expected) in [("kind", "Cluster"), ("apiVersion", "kind.x-k8s.io/v1alpha4")] {
        if fields.get(field).is_some_and(|found| found != expected) {
            return Err(format!("`{field}` is {}, and must be {expected}", fields[field]));
        }
    }
    for field in ["nodes", "kubeadmConfigPatches"] {
        if fields.get(field).is_some_and(|found| !found.is_array()) {
            return Err(format!("`{field}` is a list"));
        }
    }
    Ok(())
}

/// The kubeadm patch. The client limits are raised as on every cluster: with upstream's limits, the
/// test environment would be the slowest part of a case.
fn patch(without: &ControllerSet) -> String {
    let off = without.iter().map(|one| format!(",-{one}")).collect::<String>();
    let arguments = json!({
        "controllers": format!("{DEFAULT}{off}"),
        "kube-api-qps": "2000",
        "kube-api-burst": "4000",
    });
    let patch = json!({"kind": "ClusterConfiguration", "controllerManager": {"extraArgs": arguments}});
    serde_yaml::to_string(&patch).expect("plain JSON can be written as YAML")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(text: &str) -> Result<KindConfig, KindError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        KindConfig::merge(Some(file.path()), &"deployment,replicaset".parse().unwrap())
    }

    #[test]
    fn appends_own_patch_to_the_users_configuration() {
        let user = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnetworking: {disableDefaultCNI: true}\n\
                    nodes: [{role: control-plane}, {role: worker}]\nkubeadmConfigPatches: ['kind: KubeletConfiguration']\n";
        let config = merged(user).unwrap();
        assert_eq!(config.0["networking"]["disableDefaultCNI"], true);
        assert_eq!(config.0["nodes"].as_array().unwrap().len(), 2);
        let patches = config.0["kubeadmConfigPatches"].as_array().unwrap();
        assert_eq!(patches[0], "kind: KubeletConfiguration");
        let ours = patches[1].as_str().unwrap();
        assert!(ours.contains("'*,bootstrapsigner,tokencleaner,-deployment,-replicaset'"), "{ours}");
    }

    #[test]
    fn refuses_invalid_kind_configuration() {
        for (text, word) in [
            ("[]", "a mapping"),
            ("kind: Pod", "must be Cluster"),
            ("apiVersion: v1", "v1alpha4"),
            ("nodes: 3", "a list"),
        ] {
            let error = merged(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn fingerprint_depends_on_image_and_configuration() {
        let plain = KindConfig::merge(None, &ControllerSet::default()).unwrap();
        let other = KindConfig::merge(None, &"replicaset".parse().unwrap()).unwrap();
        let prints = [plain.fingerprint("a"), plain.fingerprint("b"), other.fingerprint("a")];
        assert_eq!(std::collections::BTreeSet::from(prints).len(), 3);
    }
}
