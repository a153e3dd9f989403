//! The JSON schema of a case: `cases/case.schema.json` is what `lockstep schema` prints, every case
//! is valid, and invalid files are rejected. The reference page is what `lockstep schema
//! --reference` prints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lockstep_case as case;
use serde_json::Value;

/// Bad files that are valid by the schema: the error depends on other steps or on the meaning of a
/// text, or JSON reads `3.0` as an integer.
const VALID_BY_SCHEMA: [&str; 54] = [
    "cel-not-a-boolean",
    "cel-number-and-text",
    "cel-unknown-field",
    "deployment-before-it-is-made",
    "duration-beyond-all-numbers",
    "duration-of-a-century",
    "duration-since-a-label",
    "duration-zero",
    "during-a-decision-of-nothing",
    "during-an-unknown-replicaset",
    "expect-an-unknown-pod",
    "expect-of-several-steps",
    "fault-before-the-first-event",
    "fault-that-lasts",
    "more-pods-than-there-are",
    "no-deployment",
    "pod-on-a-node-of-its-own-choosing",
    "pods-by-unknown-name",
    "replicas-octal-of-nine",
    "replicas-whole-but-a-fraction",
    "replicas-with-an-exponent",
    "scale-an-unknown-deployment",
    "scale-an-unknown-replicaset",
    "subject-started-twice",
    "subject-stopped-for-good",
    "terminate-where-deletions-finish",
    "undo-nothing",
    "which-deployment",
    "workload-of-another-controller",
    "workload-of-the-core-group",
    "workload-that-cannot-settle",
    "cel-after-wide-letters",
    "cel-always-the-same",
    "cel-assignment",
    "cel-count-of-a-number",
    "cel-count-of-a-pod",
    "cel-count-of-no-decision",
    "cel-in-escaped-quotes",
    "cel-name-bound-elsewhere",
    "cel-on-its-third-line",
    "cel-restarts-of-a-bare-name",
    "cel-restarts-of-an-unknown-kind",
    "cel-statement",
    "cel-too-deep",
    "cel-too-long",
    "cel-too-many-signs",
    "cel-unclosed-bracket",
    "cel-unclosed-quote",
    "cel-unknown-function",
    "cel-unknown-macro",
    "cel-unknown-name",
    "cel-unknown-type",
    "cel-words-for-signs",
    "rules-not-there",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn committed() -> Value {
    let text = std::fs::read_to_string(root().join("cases/case.schema.json")).expect("the schema is committed");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The file as an editor reads it, with the same rules for scalars; `None` if it is not YAML.
fn value(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).ok()?;
    let options = serde_saphyr::options! { with_snippet: false, legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(&text, options).ok()
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a file").to_string_lossy().into_owned()
}

#[test]
fn committed_schema_is_up_to_date() {
    let fresh = format!("{:#}\n", case::schema());
    let text = std::fs::read_to_string(root().join("cases/case.schema.json")).unwrap_or_default();
    assert!(text == fresh, "the case format has changed: cargo lockstep schema > cases/case.schema.json");
}

#[test]
fn reference_page_is_up_to_date() {
    let text = std::fs::read_to_string(root().join("docs/case-reference.md")).unwrap_or_default();
    let command = "cargo lockstep schema --reference > docs/case-reference.md";
    assert!(text == case::reference(), "the case format has changed: {command}");
}

#[test]
fn schema_accepts_every_case() {
    let schema = committed();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut wrong = Vec::new();
    let cases = case::find(&[root().join("cases")]).expect("cases");
    for path in &cases {
        let value = value(path).unwrap_or_else(|| panic!("{} is YAML", path.display()));
        wrong.extend(
            validator
                .iter_errors(&value)
                .map(|error| format!("{}: {} at {}", path.display(), error, error.instance_path())),
        );
    }
    assert!(cases.len() > 200 && wrong.is_empty(), "{} cases\n{}", cases.len(), wrong.join("\n"));
}

#[test]
fn schema_rejects_bad_files() {
    let schema = committed();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let corpus = case::find(&[root().join("harness/tests/bad")]).expect("the corpus");
    let read = corpus.iter().filter_map(|path| Some((name(path), value(path)?))).collect::<Vec<_>>();
    let passed: BTreeSet<_> =
        read.iter().filter(|(_, value)| validator.is_valid(value)).map(|(name, _)| name.as_str()).collect();
    let expected = BTreeSet::from(VALID_BY_SCHEMA);
    let diff = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| a.difference(b).copied().collect::<Vec<_>>().join(", ");
    assert!(read.len() > 120, "only {} of the corpus are YAML", read.len());
    assert!(
        passed == expected,
        "valid, and should not be: {}\nnot valid any more: {}",
        diff(&passed, &expected),
        diff(&expected, &passed)
    );
}

/// Editors find the schema by the first line of a case, relative to the case's folder.
#[test]
fn editor_line_points_to_the_schema() {
    for path in case::find(&[root().join("cases")]).expect("cases") {
        let text = std::fs::read_to_string(&path).expect("readable");
        let Some(line) = text.lines().find(|line| line.contains("yaml-language-server:")) else { continue };
        let file = line.split_once("$schema=").expect("it names a schema").1.trim();
        assert!(path.with_file_name(file).is_file(), "{}: {file} is not there", path.display());
    }
}
