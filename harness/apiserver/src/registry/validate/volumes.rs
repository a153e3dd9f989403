//! Validates the volumes of a pod and where containers mount them. Upstream: `ValidateVolumes`,
//! `ValidateVolumeMounts`.
//!
//! Of the sources of volumes it knows those that need no driver. Of others it knows that a volume
//! can have only one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::validate::downward_api;
use crate::registry::validate::scalars::{invalid, items, text};
use crate::types::field_error::FieldError;
use crate::types::names;

/// The sources in the order in which upstream looks at them.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];
/// The fields of a pod that its volumes can contain.
const FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Validates volumes; returns the names of the valid ones.
pub(crate) fn validate(errors: &mut Vec<FieldError>, spec: &Value, path: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (volume, path) in items(spec, "volumes", path) {
        let mut wrong = Vec::new();
        source(&mut wrong, volume, &path);
        let at = format!("{path}.name");
        let name = text(volume, "name");
        if name.is_empty() {
            wrong.push(FieldError::required(&at, ""));
        } else {
            wrong.extend(invalid(&at, name, names::dns_label(name)));
        }
        if names.contains(name) {
            wrong.push(FieldError::duplicate(&at, name));
        }
        if wrong.is_empty() {
            names.insert(name.to_owned());
        }
        errors.extend(wrong);
    }
    names
}

/// A volume has exactly one source. Upstream: `validateVolumeSource`.
fn source(errors: &mut Vec<FieldError>, volume: &Value, path: &str) {
    let mut found = 0;
    for source in SOURCES {
        let Some(content) = volume.get(source).filter(|content| !content.is_null()) else { continue };
        found += 1;
        if found > 1 {
            // Upstream misspells two of them.
            let source = match source {
                "downwardAPI" => "downwarAPI",
                "cephfs" => "cephFS",
                source => source,
            };
            let why = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(&format!("{path}.{source}"), why));
            continue;
        }
        let path = format!("{path}.{source}");
        match source {
            "emptyDir" if text(content, "sizeLimit").starts_with('-') => {
                let why = "SizeLimit field must be a valid resource quantity";
                errors.push(FieldError::forbidden(&format!("{path}.sizeLimit"), why));
            }
            "hostPath" => host_path(errors, content, &path),
            "persistentVolumeClaim" => required(errors, content, &path, "claimName"),
            "nfs" => {
                required(errors, content, &path, "server");
                required(errors, content, &path, "path");
                if !text(content, "path").starts_with('/') {
                    let why = "must be an absolute path";
                    errors.push(FieldError::invalid(&format!("{path}.path"), text(content, "path"), why));
                }
            }
            "secret" | "configMap" => {
                required(errors, content, &path, if source == "secret" { "secretName" } else { "name" });
                errors.extend(mode(content, &path, "defaultMode"));
                items(content, "items", &path).for_each(|(item, path)| key_to_path(errors, item, &path));
            }
            "downwardAPI" => {
                errors.extend(mode(content, &path, "defaultMode"));
                // Upstream names the volume instead of the item.
                items(content, "items", "").for_each(|(item, _)| downward_file(errors, item, &path));
            }
            "projected" => projected(errors, content, &path),
            _ => {}
        }
    }
}

fn required(errors: &mut Vec<FieldError>, object: &Value, path: &str, name: &str) {
    if text(object, name).is_empty() {
        errors.push(FieldError::required(&format!("{path}.{name}"), ""));
    }
}

fn host_path(errors: &mut Vec<FieldError>, source: &Value, path: &str) {
    const TYPES: [&str; 8] =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if text(source, "path").is_empty() {
        return required(errors, source, path, "path");
    }
    errors.extend(backsteps(text(source, "path"), &format!("{path}.path")));
    if !TYPES.contains(&text(source, "type")) {
        errors.push(FieldError::unsupported(&format!("{path}.type"), text(source, "type"), &TYPES));
    }
}

fn mode(object: &Value, path: &str, name: &str) -> Option<FieldError> {
    let mode = object[name].as_i64().filter(|mode| !(0..=0o777).contains(mode))?;
    let why = "must be a number between 0 and 0777 (octal), both inclusive";
    Some(FieldError::invalid(&format!("{path}.{name}"), mode, why))
}

/// Upstream: `validateKeyToPath`.
fn key_to_path(errors: &mut Vec<FieldError>, item: &Value, path: &str) {
    required(errors, item, path, "key");
    required(errors, item, path, "path");
    errors.extend(file_path(text(item, "path"), &format!("{path}.path")));
    errors.extend(mode(item, path, "mode"));
}

/// Upstream: `validateDownwardAPIVolumeFile`.
fn downward_file(errors: &mut Vec<FieldError>, item: &Value, path: &str) {
    required(errors, item, path, "path");
    errors.extend(file_path(text(item, "path"), &format!("{path}.path")));
    let (field, resource) = (&item["fieldRef"], &item["resourceFieldRef"]);
    if !field.is_null() {
        downward_api::field(errors, field, &format!("{path}.fieldRef"), &FIELDS);
        if !resource.is_null() {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.push(FieldError::invalid(path, "resource", why));
        }
    } else if !resource.is_null() {
        downward_api::resource(errors, resource, &format!("{path}.resourceFieldRef"), true);
    } else {
        errors.push(FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
    }
    errors.extend(mode(item, path, "mode"));
}

/// Upstream: `validateProjectedVolumeSource`, without bundles and certificates.
fn projected(errors: &mut Vec<FieldError>, volume: &Value, path: &str) {
    errors.extend(mode(volume, path, "defaultMode"));
    let mut paths = BTreeSet::new();
    let mut claim = |errors: &mut Vec<FieldError>, item: &Value, owner: &str| {
        let file = text(item, "path");
        if !file.is_empty() && !paths.insert(file.to_owned()) {
            errors.push(FieldError::invalid(path, owner, "conflicting duplicate paths"));
        }
    };
    for (source, at) in items(volume, "sources", path) {
        for kind in ["secret", "configMap"].into_iter().filter(|kind| source[*kind].is_object()) {
            let (content, at) = (&source[kind], format!("{at}.{kind}"));
            required(errors, content, &at, "name");
            for (item, at) in items(content, "items", &at) {
                key_to_path(errors, item, &at);
                claim(errors, item, text(content, "name"));
            }
        }
        for (item, _) in items(&source["downwardAPI"], "items", "") {
            downward_file(errors, item, &format!("{at}.downwardAPI"));
            claim(errors, item, text(item, "path"));
        }
        if let Some(token) = source.get("serviceAccountToken").filter(|token| token.is_object()) {
            let seconds = token["expirationSeconds"].as_i64().unwrap_or(0);
            let why = match seconds {
                ..600 => "may not specify a duration less than 10 minutes",
                600..=0x1_0000_0000 => "",
                _ => "may not specify a duration larger than 2^32 seconds",
            };
            if !why.is_empty() {
                let at = format!("{at}.serviceAccountToken.expirationSeconds");
                errors.push(FieldError::invalid(&at, seconds, why));
            }
            // Upstream names the volume instead of the source.
            required(errors, token, path, "path");
            errors.extend(file_path(text(token, "path"), &format!("{path}.path")));
        }
        if source.as_object().is_some_and(|source| source.len() > 1) {
            errors.push(FieldError::forbidden(&at, "may not specify more than 1 volume type per source"));
        }
    }
}

/// A path below a volume. Upstream: `ValidateLocalNonReservedPath`.
fn file_path(file: &str, path: &str) -> Vec<FieldError> {
    let mut errors = descending_path(file, path);
    if file.starts_with("..") && !file.starts_with("../") && file != ".." {
        errors.push(FieldError::invalid(path, file, "must not start with '..'"));
    }
    errors
}

/// A relative path. Upstream: `validateLocalDescendingPath`.
pub(crate) fn descending_path(file: &str, path: &str) -> Vec<FieldError> {
    let is_absolute = file.starts_with('/').then(|| FieldError::invalid(path, file, "must be a relative path"));
    is_absolute.into_iter().chain(backsteps(file, path)).collect()
}

/// Upstream: `validatePathNoBacksteps`.
fn backsteps(file: &str, path: &str) -> Option<FieldError> {
    file.split('/').any(|part| part == "..").then(|| FieldError::invalid(path, file, "must not contain '..'"))
}

/// Validates the mounts of a container; `volumes` are the names of its pod's volumes.
pub(crate) fn mounts(errors: &mut Vec<FieldError>, container: &Value, path: &str, volumes: &BTreeSet<String>) {
    let all = format!("{path}.volumeMounts");
    let mut places = BTreeSet::new();
    for (mount, path) in items(container, "volumeMounts", path) {
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        required(errors, mount, &path, "name");
        if !volumes.contains(name) {
            errors.push(FieldError::not_found(&format!("{path}.name"), name));
        }
        required(errors, mount, &path, "mountPath");
        if !places.insert(place) {
            errors.push(FieldError::invalid(&format!("{path}.mountPath"), place, "must be unique"));
        }
        // Upstream names the list in what follows.
        let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        errors.extend(descending_path(sub, &format!("{all}.subPath")));
        if !expression.is_empty() && !sub.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            errors.push(FieldError::invalid(&format!("{path}.subPathExpr"), expression, why));
        }
        errors.extend(descending_path(expression, &format!("{all}.subPathExpr")));
        propagation(errors, mount, &format!("{all}.mountPropagation"), container);
    }
}

/// Upstream: `validateMountPropagation`.
fn propagation(errors: &mut Vec<FieldError>, mount: &Value, path: &str, container: &Value) {
    const MODES: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
    let Some(mode) = mount["mountPropagation"].as_str() else { return };
    if !MODES.contains(&mode) {
        errors.push(FieldError::unsupported(path, mode, &MODES));
    }
    if mode == "Bidirectional" && container["securityContext"]["privileged"] != true {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path, why));
    }
}
