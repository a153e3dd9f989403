//! Reads how a config-restart controller must run: `restart: {profile: xing}`, for cases that judge
//! one.
//!
//! A file with `restart: {profiles: [safe, xing]}` is one case per profile. Each case is named
//! `area/name@PROFILE` in reports and trials. On a command line `cases/area/name.yaml@PROFILE`
//! selects one of them, and the path alone selects all. A file with a single profile is one case
//! with the file's name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lockstep_support::sanitize;
use serde_json::{Value, json};

use super::diagnostics::{CaseError, DiagnosticCollector};
use super::field::{BOOLEAN, DURATION, FieldSpec, FieldType, names, object, text, words};
use super::model::{Case, CompanionController, RestartOptions, RestartProfile, RestartWebhook};
use super::read::{self, MappingFields};
use super::rules::Expectation;
use super::yaml::{YamlKind, YamlNode};

const LIST: FieldType = FieldType::Is(|_| json!({"type": "array", "items": text()}), "a list of strings");
const PROFILES: FieldType = FieldType::Is(|_| profiles_schema(), "`[safe, xing]`");
const BUDGET: FieldType = FieldType::Is(|_| object(&BUDGET_FIELDS, false), "`{restarts: 3, period: 10m}`");

pub(super) static FIELDS: [FieldSpec; 9] = [
    FieldSpec::new(
        "profile",
        FieldType::Words(&["xing", "safe", "reloader"]),
        "Whose choices it makes; `safe` by default.",
    ),
    FieldSpec::new(
        "profiles",
        PROFILES,
        "The file stands for one case per profile, `NAME@safe` and `NAME@xing`; instead of `profile`.",
    ),
    FieldSpec::new("gracePeriod", DURATION, "How long changes are gathered."),
    FieldSpec::new("maxWait", DURATION, "How long at most."),
    FieldSpec::new("budget", BUDGET, "So many restarts of one workload within a period."),
    FieldSpec::new("ignoredErrors", LIST, "Parts of errors that are ignored."),
    FieldSpec::new("dryRun", BOOLEAN, "Whether it writes nothing."),
    FieldSpec::new(
        "webhook",
        FieldType::Words(&["json", "raw", "slack", "teams", "gchat", "instead"]),
        "The form in which restarts are reported to a webhook, whose messages are recorded; `json`: safe profile only. \
         `instead`, for profile `reloader`: changes are reported and restart nothing.",
    ),
    FieldSpec::new("flags", LIST, "Flags of Reloader's, for profile `reloader`: `[--reload-strategy=annotations]`."),
];
static BUDGET_FIELDS: [FieldSpec; 2] = [
    FieldSpec::required("restarts", FieldType::Whole { least: 1, most: u32::MAX as i64 }, "How many."),
    FieldSpec::required("period", DURATION, "Within this time."),
];
/// The fields of `with`.
static WITH_FIELDS: [FieldSpec; 1] = [FieldSpec::required(
    "deployment",
    FieldType::Words(&["upstream", "ours"]),
    "Whose Deployment controller runs beside the subject.",
)];

/// `restart`, as JSON schema.
pub(super) fn schema() -> Value {
    let mut schema = object(&FIELDS, false);
    schema["not"] = json!({"required": ["profile", "profiles"]});
    schema
}

/// `restart.profiles`, as JSON schema.
fn profiles_schema() -> Value {
    let profiles = RestartProfile::ALL.map(RestartProfile::as_str);
    json!({"type": "array", "minItems": 2, "uniqueItems": true, "items": words(&profiles)})
}

/// `with`, as JSON schema.
pub(super) fn with_schema() -> Value {
    object(&WITH_FIELDS, false)
}

/// Reads `with`.
pub(super) fn read_companion(node: Option<&YamlNode>, report: &mut DiagnosticCollector) -> Option<CompanionController> {
    let fields = MappingFields::of(node?, "`with`", &names(&WITH_FIELDS), report)?;
    let words = [("upstream", CompanionController::Upstream), ("ours", CompanionController::Ours)];
    read::word(fields.get("deployment")?, "who runs beside", &words, report)
}

/// Reads `restart`, and the profiles if the file has a case for each; `judges_restarts`: whether
/// the case judges a config-restart controller at all.
pub(super) fn read_options(
    entry: Option<(&YamlNode, &YamlNode)>,
    judges_restarts: bool,
    report: &mut DiagnosticCollector,
) -> (RestartOptions, Vec<RestartProfile>) {
    let mut options = RestartOptions::default();
    let Some((key, node)) = entry else { return (options, Vec::new()) };
    if !judges_restarts {
        report.add(key, "`restart` where no restarts are judged", "add `controllers: [config-restart]`");
    }
    let Some(fields) = MappingFields::of(node, "`restart`", &names(&FIELDS), report) else {
        return (options, Vec::new());
    };
    if let (Some((key, _)), Some(_)) = (fields.entry("profiles"), fields.entry("profile")) {
        report.add(key, "`profiles` beside `profile`", "leave out one of them");
    }
    let profiles = fields.get("profiles").map(|node| profiles_of(node, report)).unwrap_or_default();
    let words = RestartProfile::ALL.map(|profile| (profile.as_str(), profile));
    let profile = fields.get("profile").and_then(|node| read::word(node, "a profile", &words, report));
    options.profile = profile.unwrap_or_default();
    options.grace_period = fields.get("gracePeriod").and_then(|node| read::duration_or_zero(node, report));
    options.max_wait = fields.get("maxWait").and_then(|node| read::duration_or_zero(node, report));
    options.budget = fields.get("budget").and_then(|node| read_budget(node, report));
    options.dry_run = fields.get("dryRun").and_then(|node| read::boolean(node, "`dryRun`", report)).unwrap_or_default();
    options.ignored_errors = texts(fields.get("ignoredErrors"), ("`ignoredErrors`", "a part of an error"), report);
    let words = RestartWebhook::ALL.map(|webhook| (webhook.as_str(), webhook));
    options.webhook = fields.get("webhook").and_then(|node| read::word(node, "the form of a webhook", &words, report));
    let all = if profiles.is_empty() { std::slice::from_ref(&options.profile) } else { &profiles };
    if let (Some(webhook), Some((key, _))) = (options.webhook, fields.entry("webhook"))
        && let Some(profile) = all.iter().find(|profile| !webhook.is_supported_by(**profile))
    {
        let hint = "safe: json, raw, slack, teams, gchat; reloader: raw, slack, teams, gchat, instead";
        report.add(key, format!("profile `{profile}` has no webhook `{}`", webhook.as_str()), hint);
    }
    options.flags = texts(fields.get("flags"), ("`flags`", "a flag"), report);
    if let (false, Some((key, _))) = (options.flags.is_empty(), fields.entry("flags"))
        && options.profile != RestartProfile::Reloader
    {
        report.add(key, "`flags` of another profile than `reloader`", "the other fields of `restart` are its settings");
    }
    (options, profiles)
}

/// Reads a list of strings; the two nouns name the list and an item.
fn texts(list: Option<&YamlNode>, (name, one): (&str, &str), report: &mut DiagnosticCollector) -> Vec<String> {
    let items = list.and_then(|list| read::items(list, name, report)).unwrap_or_default();
    items.iter().filter_map(|item| read::text(item, one, report)).map(str::to_owned).collect()
}

/// Reads `profiles`.
fn profiles_of(node: &YamlNode, report: &mut DiagnosticCollector) -> Vec<RestartProfile> {
    let known = RestartProfile::ALL.map(|profile| (profile.as_str(), profile));
    let items = read::items(node, "`profiles`", report);
    if items.is_some_and(|items| items.len() < 2) {
        report.add(node, "`profiles` has fewer than two profiles", "for one write `profile: safe`");
    }
    let mut profiles = Vec::new();
    for item in items.unwrap_or_default() {
        match read::word(item, "a profile", &known, report) {
            Some(profile) if profiles.contains(&profile) => {
                report.add(item, format!("duplicate profile `{profile}`"), "one case is made for each");
            }
            found => profiles.extend(found),
        }
    }
    profiles
}

/// `budget: {restarts: 3, period: 10m}`.
fn read_budget(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<(u32, Duration)> {
    let fields = MappingFields::of(node, "`budget`", &names(&BUDGET_FIELDS), report)?;
    let restarts = fields.get("restarts").and_then(|node| match node.kind {
        YamlKind::Int(number) => u32::try_from(number).ok(),
        _ => None,
    });
    let period = fields.get("period").and_then(|node| read::duration_or_zero(node, report));
    if restarts.is_none() || period.is_none() {
        report.add(node, "a budget needs `restarts`, a number, and `period`", "`{restarts: 3, period: 10m}`");
    }
    restarts.zip(period)
}

/// Splits a name or path into the file and the profile after it: `area/name@xing`.
pub fn split_profile(text: &str) -> (&str, Option<RestartProfile>) {
    let parts = text.rsplit_once('@').and_then(|(file, profile)| Some((file, profile.parse().ok()?)));
    parts.map_or((text, None), |(file, profile)| (file, Some(profile)))
}

/// The file of a path on the command line, and the profile if the path names one.
pub(super) fn file_and_profile(path: &Path) -> (PathBuf, Option<RestartProfile>) {
    match path.to_str().map(split_profile) {
        Some((file, Some(profile))) if !path.exists() => (PathBuf::from(file), Some(profile)),
        _ => (path.to_owned(), None),
    }
}

impl Case {
    /// The argument that selects this case alone on a command line: its file's path, with
    /// `@PROFILE` if the file has several cases.
    #[must_use]
    pub fn argument(&self) -> String {
        format!("{}{}", self.path, self.profile_suffix())
    }

    /// `@PROFILE` if the file has several cases, else an empty string.
    pub fn profile_suffix(&self) -> String {
        if self.profiles.is_empty() { String::new() } else { format!("@{}", self.restart.profile) }
    }

    /// The error if one case is expected and this case's file has several.
    pub(super) fn several_cases_error(&self) -> CaseError {
        let profiles: Vec<&str> = self.profiles.iter().map(|profile| profile.as_str()).collect();
        let path = sanitize::line(&self.path).into_owned();
        CaseError::SeveralCases { path, profiles: profiles.join(", "), first: self.restart.profile.to_string() }
    }

    /// The path from which the names of golden timelines are derived: the case file, with
    /// `@PROFILE` before the extension if the file has several cases.
    #[must_use]
    pub fn timeline_base(&self) -> PathBuf {
        let path = Path::new(&self.path);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if self.profiles.is_empty() {
            return path.to_owned();
        }
        path.with_file_name(format!("{stem}{}.{extension}", self.profile_suffix()))
    }

    /// The case of this profile. In a file with several, a case of another project's profile is
    /// compared with its golden timeline, and the others with their rules.
    pub(super) fn with_profile(mut self, profile: RestartProfile) -> Self {
        self.restart.profile = profile;
        if profile.is_recorded() {
            self.expectation = Expectation::Timeline;
        }
        self
    }

    /// Splits into one case for each profile of the file; until now the case has the file's name.
    pub(super) fn split_by_profile(self) -> Vec<Self> {
        if self.profiles.is_empty() {
            return vec![self];
        }
        let named = |profile: &RestartProfile| {
            let name = format!("{}@{profile}", self.name);
            Self { name, ..self.clone() }.with_profile(*profile)
        };
        self.profiles.iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use crate::file::parse_all;
    use crate::model::{AdvanceStep, Operation};
    use crate::tests::{findings, read};
    use crate::{find, load, load_one, parse};

    /// A case of config restarts with these fields before, and these rules after, its steps.
    fn of_restarts(fields: &str, steps: &str, rules: &str) -> String {
        let given = "given:\n  - deployment: {name: web, replicas: 3, image: \"app:1\"}\n";
        format!("description: x\ncontrollers: [config-restart]\n{fields}{given}steps:\n{steps}\n{rules}")
    }

    const RULES: &str = "expectation: rules\nrules: {finally: [\"restarts('deployment/web') == 1\"]}\n";

    #[test]
    fn reads_restart_options_and_labelled_advance() {
        let fields = "with: {deployment: ours}\nrestart: {profile: xing, gracePeriod: 1s, budget: {restarts: 3, period: 10m}, dryRun: true}\n";
        let steps = "  - scale: 4\n    label: scaled\n  - advance: {to: 6s, since: scaled}";
        let case = read(&of_restarts(fields, steps, RULES));
        let expected = RestartOptions {
            profile: RestartProfile::Xing,
            grace_period: Some(Duration::from_secs(1)),
            budget: Some((3, Duration::from_secs(600))),
            dry_run: true,
            ..RestartOptions::default()
        };
        assert_eq!((case.companion, case.total_advance()), (Some(CompanionController::Ours), Duration::from_secs(6)));
        assert_eq!((case.restart, case.steps[0].label.as_deref()), (expected, Some("scaled")));
        assert_eq!(
            case.steps[1].operation,
            Operation::new(AdvanceStep::Until { to: Duration::from_secs(6), since: "scaled".to_owned() })
        );
    }

    #[rstest]
    #[case::no_rules("", "  - scale: 4", "", "1: a case of config restarts without rules")]
    #[case::no_such_profile("restart: {profile: wild}\n", "  - scale: 4", RULES, "3: a profile cannot be `wild`")]
    #[case::unknown_companion(
        "with: {deployment: theirs}\n",
        "  - scale: 4",
        RULES,
        "3: who runs beside cannot be `theirs`"
    )]
    #[case::webhook_of_another_profile(
        "restart: {profile: safe, webhook: instead}\n",
        "  - scale: 4",
        RULES,
        "3: profile `safe` has no webhook `instead`"
    )]
    #[case::webhook_of_no_profile(
        "restart: {profiles: [safe, xing], webhook: raw}\n",
        "  - scale: 4",
        RULES,
        "3: profile `xing` has no webhook `raw`"
    )]
    #[case::half_a_budget(
        "restart: {budget: {restarts: 3}}\n",
        "  - scale: 4",
        RULES,
        "3: a budget needs `restarts`, a number, and `period`"
    )]
    #[case::duplicate_label(
        "",
        "  - scale: 4\n    label: a\n  - scale: 5\n    label: a",
        RULES,
        "9: duplicate label `a`"
    )]
    fn reports_mistake_in_case_of_restarts(
        #[case] fields: &str,
        #[case] steps: &str,
        #[case] rules: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(findings(&of_restarts(fields, steps, rules)), [expected]);
    }

    #[test]
    fn file_has_one_case_for_each_profile() {
        let text = of_restarts("restart: {profiles: [safe, xing], gracePeriod: 1s}\n", "  - scale: 4", RULES);
        let cases = parse_all("cases/a/x.yaml", "a/x", &text).unwrap();
        let named = cases.iter().map(|case| (case.name.as_str(), case.argument()));
        let expected = [("a/x@safe", "cases/a/x.yaml@safe"), ("a/x@xing", "cases/a/x.yaml@xing")];
        assert_eq!(named.collect::<Vec<_>>(), expected.map(|(name, argument)| (name, argument.to_owned())));
        let profiles = cases.iter().map(|case| (case.restart.profile, case.restart.grace_period));
        let grace = Some(Duration::from_secs(1));
        assert_eq!(profiles.collect::<Vec<_>>(), [(RestartProfile::Safe, grace), (RestartProfile::Xing, grace)]);
        // A recording has the case's text without the profile.
        assert_eq!(parse("cases/a/x.yaml", "a/x@xing", &text).unwrap(), cases[1]);
        let error = parse("cases/a/x.yaml", "a/x", &text).unwrap_err().to_string();
        assert_eq!(
            error,
            "cases/a/x.yaml holds one case for each restart profile (safe, xing); name one, such as cases/a/x.yaml@safe"
        );
    }

    #[test]
    fn path_selects_file_or_one_case() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, restart: &str| std::fs::write(path(name), of_restarts(restart, "  - scale: 4", RULES));
        write("both.yaml", "restart: {profiles: [safe, xing]}\n").unwrap();
        write("one.yaml", "restart: {profile: xing}\n").unwrap();
        let names = |named: &[&str]| -> Result<Vec<String>, CaseError> {
            let files = find(&named.iter().map(|name| path(name)).collect::<Vec<_>>())?;
            let cases = files.iter().map(|file| load(file)).collect::<Result<Vec<_>, _>>()?;
            Ok(cases.into_iter().flatten().map(|case| case.name.rsplit('/').next().unwrap().to_owned()).collect())
        };
        assert_eq!(names(&[""]).unwrap(), ["both@safe", "both@xing", "one"]);
        assert_eq!(names(&["both.yaml@xing"]).unwrap(), ["both@xing"]);
        assert_eq!(names(&["both.yaml@xing", "both.yaml"]).unwrap(), ["both@safe", "both@xing"]);
        assert_eq!(names(&["one.yaml@xing"]).unwrap(), ["one"]);
        assert!(matches!(names(&["one.yaml@safe"]), Err(CaseError::NoProfile { .. })));
        assert!(matches!(names(&["both.yaml@other"]), Err(CaseError::Missing { .. })));
        assert!(matches!(load_one(&path("both.yaml")), Err(CaseError::SeveralCases { .. })));
    }
}
