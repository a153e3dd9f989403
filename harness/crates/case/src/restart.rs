//! Reads how a config-restart controller must run: `restart: {profile: xing}`, for cases that judge
//! one.

use std::time::Duration;

use serde_json::{Value, json};

use super::diagnostics::DiagnosticCollector;
use super::field::{BOOLEAN, DURATION, FieldSpec, FieldType, names, object, text, words};
use super::model::{CompanionController, RestartOptions, RestartProfile, RestartWebhook};
use super::read::{self, MappingFields};
use super::yaml::{YamlKind, YamlNode};

const LIST: FieldType = FieldType::Is(|_| json!({"type": "array", "items": text()}), "a list of strings");
const PROFILES: FieldType = FieldType::Is(|_| profiles_schema(), "`[safe, xing]`");
const BUDGET: FieldType = FieldType::Is(|_| object(&BUDGET_FIELDS, false), "`{restarts: 3, period: 10m}`");

/// The fields.
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
    options.grace_period = fields.get("gracePeriod").and_then(|node| duration(node, report));
    options.max_wait = fields.get("maxWait").and_then(|node| duration(node, report));
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

fn duration(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Duration> {
    let text = read::text(node, "a duration", report)?;
    let duration = humantime::parse_duration(text);
    duration.map_err(|error| report.add(node, format!("`{text}` is not a duration"), error.to_string())).ok()
}

/// `budget: {restarts: 3, period: 10m}`.
fn read_budget(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<(u32, Duration)> {
    let fields = MappingFields::of(node, "`budget`", &names(&BUDGET_FIELDS), report)?;
    let restarts = fields.get("restarts").and_then(|node| match node.kind {
        YamlKind::Int(number) => u32::try_from(number).ok(),
        _ => None,
    });
    let period = fields.get("period").and_then(|node| duration(node, report));
    if restarts.is_none() || period.is_none() {
        report.add(node, "a budget needs `restarts`, a number, and `period`", "`{restarts: 3, period: 10m}`");
    }
    restarts.zip(period)
}
