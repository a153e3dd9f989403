//! Reads the custom resources that a case brings: `crds`, CustomResourceDefinitions in the case
//! itself or in files beside it.
//!
//! Files are read when they are needed, not with the case, because a case from a recording needs
//! none.

use std::path::Path;

use lockstep_support::collection;
use serde::Deserialize;
use serde_json::{Value, json};

use super::diagnostics::DiagnosticCollector;
use super::field::FieldType;
use super::model::{Case, CrdSource};
use super::read;
use super::yaml::{YamlKind, YamlNode};

/// The type of `crds`.
pub(super) const TYPE: FieldType = FieldType::Is(
    |_| {
        json!({"type": "array", "minItems": 1, "items": {"oneOf": [{"type": "string", "minLength": 1},
            {"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"]}]}})
    },
    "a list of manifests and of file names, relative to the case",
);

const KIND: &str = "CustomResourceDefinition";

/// Reads `crds`.
pub(super) fn read_all(node: Option<&YamlNode>, report: &mut DiagnosticCollector) -> Vec<CrdSource> {
    let Some(node) = node else { return Vec::new() };
    let items = read::items(node, "`crds`", report).unwrap_or_default();
    items.iter().filter_map(|item| read_one(item, report)).collect()
}

fn read_one(item: &YamlNode, report: &mut DiagnosticCollector) -> Option<CrdSource> {
    let YamlKind::Map(_) = item.kind else {
        let file = read::text(item, "a file of `crds`", report)?;
        return Some(CrdSource::File(file.to_owned()));
    };
    let manifest = item.to_json();
    match definition_error(&manifest) {
        Some(what) => {
            report.add(
                item,
                what,
                "`crds` takes CustomResourceDefinitions of apiextensions.k8s.io/v1, or names of files with them",
            );
            None
        }
        None => Some(CrdSource::Inline(manifest)),
    }
}

/// Returns why this manifest is not a CustomResourceDefinition.
fn definition_error(manifest: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&manifest["apiVersion"]), text(&manifest["kind"]));
    if kind != KIND || version != "apiextensions.k8s.io/v1" {
        return Some(format!("a manifest of kind `{kind}`, version `{version}`, is no {KIND}"));
    }
    text(&manifest["metadata"]["name"]).is_empty().then(|| format!("the {KIND} has no name"))
}

impl Case {
    /// The CustomResourceDefinitions of the case, including those in files.
    ///
    /// # Errors
    /// A file cannot be read, or holds another kind of manifest.
    pub fn definitions(&self) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        for definition in &self.crds {
            match definition {
                CrdSource::Inline(manifest) => all.push(manifest.clone()),
                CrdSource::File(name) => {
                    let path = Path::new(&self.path).parent().unwrap_or(Path::new("")).join(name);
                    all.extend(read_file(&path).map_err(|why| format!("{}: {why}", path.display()))?);
                }
            }
        }
        Ok(all)
    }
}

/// Reads all documents of a file.
fn read_file(path: &Path) -> Result<Vec<Value>, String> {
    let bytes = collection::read(path).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for document in serde_yaml::Deserializer::from_slice(&bytes) {
        let manifest = Value::deserialize(document).map_err(|error| error.to_string())?;
        if manifest.is_null() {
            continue;
        }
        if let Some(what) = definition_error(&manifest) {
            return Err(what);
        }
        all.push(manifest);
    }
    if all.is_empty() { Err(format!("the file holds no {KIND}")) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "description: x\nsteps:\n- deployment: {name: web, replicas: 3, image: \"app:1\"}\n";

    /// A case in a temporary folder that exists as long as the returned guard.
    fn case(crds: &str) -> (Case, tempfile::TempDir) {
        let kept = tempfile::tempdir().unwrap();
        let folder = kept.path();
        std::fs::create_dir_all(folder.join("area")).unwrap();
        let manifest =
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\nspec: {}\n";
        std::fs::write(folder.join("two.yaml"), format!("---\n{manifest}---\n{manifest}")).unwrap();
        std::fs::write(folder.join("other.yaml"), "kind: ConfigMap\n").unwrap();
        let path = folder.join("area/case.yaml");
        (crate::parse(&path.display().to_string(), "area/case", &format!("{CASE}{crds}")).unwrap(), kept)
    }

    #[test]
    fn reads_definitions_from_case_and_files() {
        let inline = "- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x.y.z}, spec: {}}";
        let (case, _folder) = case(&format!("crds:\n- ../two.yaml\n{inline}\n"));
        let found = case.definitions().unwrap();
        let names: Vec<_> = found.iter().map(|one| one["metadata"]["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, ["a.b.c", "a.b.c", "x.y.z"]);
    }

    #[test]
    fn refuses_file_with_other_manifests() {
        let error_of = |file: &str| {
            let (case, _folder) = case(&format!("crds: [../{file}]\n"));
            case.definitions().unwrap_err()
        };
        assert!(
            error_of("other.yaml")
                .ends_with("a manifest of kind `ConfigMap`, version ``, is no CustomResourceDefinition")
        );
        assert!(error_of("none.yaml").contains("none.yaml"));
    }
}
