//! Detects pods that upstream's PodSecurity may reject. It is not implemented here: pods that the
//! `baseline` standard could reject are unsupported in namespaces that enforce it, and so are
//! namespaces with a standard other than `privileged` and `baseline`.

use serde_json::Value;

use crate::pointer::JsonPointer;

const PREFIX: &str = "pod-security.kubernetes.io/";
const BASELINE: &str = "baseline";

/// The first label of a namespace with an unsupported standard.
pub(crate) fn unknown_standard(labels: &Value) -> Option<String> {
    let mut all = labels.as_object().into_iter().flatten().filter_map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        let known = match name.strip_prefix(PREFIX)? {
            "enforce" => matches!(value, "privileged" | BASELINE),
            // Audit results are not part of any response.
            "audit" => matches!(value, "privileged" | BASELINE | "restricted"),
            "warn" => value == "privileged",
            "enforce-version" | "audit-version" | "warn-version" => value == "latest",
            _ => true,
        };
        (!known).then(|| format!("a namespace with the label {name}={value}"))
    });
    all.next()
}

/// The feature of a pod that its namespace may reject.
pub(crate) fn restricted(labels_of_namespace: &Value, pod: &Value) -> Option<String> {
    if labels_of_namespace[format!("{PREFIX}enforce").as_str()] != BASELINE {
        return None;
    }
    of_baseline(pod).map(|what| format!("a pod with {what} in a namespace whose pod security is {BASELINE}"))
}

/// The feature of a pod that the `baseline` standard may reject.
fn of_baseline(pod: &Value) -> Option<&'static str> {
    let spec = &pod["spec"];
    if let Some(field) = ["hostNetwork", "hostPID", "hostIPC"].into_iter().find(|field| spec[*field] == true) {
        return Some(field);
    }
    let items = |list: &str| spec[list].as_array().into_iter().flatten();
    if items("volumes").any(|volume| !volume["hostPath"].is_null()) {
        return Some("hostPath");
    }
    let annotations = pod["metadata"]["annotations"].as_object().into_iter().flatten();
    if annotations.into_iter().any(|(name, _)| name.starts_with("container.apparmor.security.beta.kubernetes.io/")) {
        return Some("an annotation for AppArmor");
    }
    let contexts = std::iter::once(spec).chain(items("containers")).chain(items("initContainers"));
    for owner in contexts {
        let context = &owner["securityContext"];
        for field in ["seLinuxOptions", "windowsOptions", "appArmorProfile", "sysctls"] {
            if !context[field].is_null() {
                return Some(field);
            }
        }
        let is_odd = context["privileged"] == true
            || !matches!(context["procMount"].as_str(), None | Some("Default"))
            || context.at("/seccompProfile/type").is_some_and(|profile| profile == "Unconfined")
            || context.at("/capabilities/add").is_some_and(|added| !added.is_null());
        if is_odd {
            return Some("a securityContext");
        }
        if owner["ports"].as_array().into_iter().flatten().any(|port| port["hostPort"].as_i64().unwrap_or(0) != 0) {
            return Some("hostPort");
        }
        let probes =
            ["/livenessProbe", "/readinessProbe", "/startupProbe", "/lifecycle/postStart", "/lifecycle/preStop"];
        let reaches_host = |probe: &&str| {
            ["httpGet", "tcpSocket"].iter().any(|handler| owner.at(&format!("{probe}/{handler}/host")).is_some())
        };
        if probes.iter().any(reaches_host) {
            return Some("a probe of another host");
        }
    }
    None
}
