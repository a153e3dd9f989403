//! How a config-restart controller is to run: `restart: {profile: xing}`, for cases that judge one.

use std::time::Duration;

use serde_json::{Value, json};

use super::field::{BOOLEAN, DURATION, Field, Type, names};
use super::finding::Report;
use super::model::{Advance, Case};
use super::read::{self, Fields};
use super::schema::{object, text, words};
use super::tree::{Kind, Node};

const LIST: Type = Type::Is(|_| json!({"type": "array", "items": text()}), "a list of strings");
const PROFILES: Type = Type::Is(|_| profiles_schema(), "`[safe, xing]`");
const BUDGET: Type = Type::Is(|_| object(&BUDGETED, false), "`{restarts: 3, period: 10m}`");

/// The fields.
pub(super) static FIELDS: [Field; 9] = [
    Field::new("profile", Type::Words(&["xing", "safe", "reloader"]), "Whose choices it makes; `safe` by default."),
    Field::new(
        "profiles",
        PROFILES,
        "The file stands for one case per profile, `NAME@safe` and `NAME@xing`; instead of `profile`.",
    ),
    Field::new("gracePeriod", DURATION, "How long changes are gathered."),
    Field::new("maxWait", DURATION, "How long at most."),
    Field::new("budget", BUDGET, "So many restarts of one workload within a period."),
    Field::new("ignoredErrors", LIST, "Parts of errors that are ignored."),
    Field::new("dryRun", BOOLEAN, "Whether it writes nothing."),
    Field::new(
        "webhook",
        Type::Words(&["json", "raw", "slack", "teams", "gchat", "instead"]),
        "The form in which restarts are reported to a webhook, whose messages are recorded; `json`: safe profile only. \
         `instead`, for profile `reloader`: changes are reported and restart nothing.",
    ),
    Field::new("flags", LIST, "Flags of Reloader's, for profile `reloader`: `[--reload-strategy=annotations]`."),
];
static BUDGETED: [Field; 2] = [
    Field::required("restarts", Type::Whole { least: 1, most: u32::MAX as i64 }, "How many."),
    Field::required("period", DURATION, "Within this time."),
];
/// The fields of `with`.
static WITH: [Field; 1] = [Field::required(
    "deployment",
    Type::Words(&["upstream", "ours"]),
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
    object(&WITH, false)
}

/// How a config-restart controller is to run; what is not said is the controller's own default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestartOptions {
    /// Whose choices it makes.
    pub profile: RestartProfile,
    /// How long changes are gathered.
    pub grace: Option<Duration>,
    /// How long at most.
    pub longest: Option<Duration>,
    /// Restarts of one workload within a period.
    pub budget: Option<(u32, Duration)>,
    /// Parts of errors to be ignored.
    pub ignored_errors: Vec<String>,
    /// Whether it writes nothing.
    pub dry_run: bool,
    /// The form in which restarts are reported to a webhook, if they are.
    pub webhook: Option<RestartWebhook>,
    /// Flags of the project whose profile it is, as that project has them.
    pub flags: Vec<String>,
}

impl RestartOptions {
    /// Whether nothing is said but a profile.
    pub fn is_profile_alone(&self) -> bool {
        *self == Self { profile: self.profile, ..Self::default() }
    }
}

/// What is reported to a webhook, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartWebhook {
    /// Restarts, as JSON for programs.
    Json,
    /// Restarts, as plain text.
    Raw,
    /// The same for Slack.
    Slack,
    /// The same for Microsoft Teams.
    Teams,
    /// The same for Google Chat.
    GoogleChat,
    /// That something has changed, which restarts nothing then.
    Instead,
}

impl RestartWebhook {
    const ALL: [Self; 6] = [Self::Json, Self::Raw, Self::Slack, Self::Teams, Self::GoogleChat, Self::Instead];

    /// As a case has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Raw => "raw",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::GoogleChat => "gchat",
            Self::Instead => "instead",
        }
    }

    /// Whether a profile has it.
    const fn is_of(self, profile: RestartProfile) -> bool {
        match profile {
            RestartProfile::Xing => false,
            RestartProfile::Safe => !matches!(self, Self::Instead),
            RestartProfile::Reloader => !matches!(self, Self::Json),
        }
    }
}

/// Whose choices it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RestartProfile {
    /// Those of xing's controller.
    Xing,
    /// No restart is missed, and none is made for adoption.
    #[default]
    Safe,
    /// Those of Stakater's Reloader.
    Reloader,
}

impl RestartProfile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Xing, Self::Safe, Self::Reloader];

    /// As a case has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Xing => "xing",
            Self::Safe => "safe",
            Self::Reloader => "reloader",
        }
    }

    /// Whether its choices are those of another project's controller, from which golden timelines
    /// are recorded.
    pub const fn is_recorded(self) -> bool {
        matches!(self, Self::Xing | Self::Reloader)
    }
}

impl std::fmt::Display for RestartProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for RestartProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|profile| profile.as_str() == text);
        found.ok_or_else(|| format!("unknown restart profile '{text}': expected xing, safe or reloader"))
    }
}

/// Whose Deployment controller runs beside the subject, where it brings none: `with: {deployment:
/// upstream}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// kube-controller-manager's: on every cluster but the simulated one, and there with
    /// `--cluster-controllers upstream`.
    Upstream,
    /// This project's: on the simulated one as a rule.
    Ours,
}

impl Case {
    /// How much time it lets pass by itself.
    pub fn waits(&self) -> Duration {
        let steps = self.given.iter().chain(&self.steps);
        steps.filter_map(|step| step.operation.advance()).map(Advance::most).sum()
    }
}

/// Reads `with`.
pub(super) fn beside(node: Option<&Node>, report: &mut Report) -> Option<Beside> {
    let fields = Fields::of(node?, "`with`", &names(&WITH), report)?;
    let words = [("upstream", Beside::Upstream), ("ours", Beside::Ours)];
    read::word(fields.get("deployment")?, "who runs beside", &words, report)
}

/// Reads it, and the profiles where the file stands for a case of each; `judged`: whether the case
/// judges such a controller at all.
pub(super) fn of(
    entry: Option<(&Node, &Node)>,
    judged: bool,
    report: &mut Report,
) -> (RestartOptions, Vec<RestartProfile>) {
    let mut options = RestartOptions::default();
    let Some((key, node)) = entry else { return (options, Vec::new()) };
    if !judged {
        report.add(key, "`restart` where no restarts are judged", "add `controllers: [config-restart]`");
    }
    let Some(fields) = Fields::of(node, "`restart`", &names(&FIELDS), report) else {
        return (options, Vec::new());
    };
    if let (Some((key, _)), Some(_)) = (fields.entry("profiles"), fields.entry("profile")) {
        report.add(key, "`profiles` beside `profile`", "leave out one of them");
    }
    let profiles = fields.get("profiles").map(|node| profiles_of(node, report)).unwrap_or_default();
    let words = RestartProfile::ALL.map(|profile| (profile.as_str(), profile));
    let profile = fields.get("profile").and_then(|node| read::word(node, "a profile", &words, report));
    options.profile = profile.unwrap_or_default();
    options.grace = fields.get("gracePeriod").and_then(|node| duration(node, report));
    options.longest = fields.get("maxWait").and_then(|node| duration(node, report));
    options.budget = fields.get("budget").and_then(|node| budget(node, report));
    options.dry_run = fields.get("dryRun").and_then(|node| read::boolean(node, "`dryRun`", report)).unwrap_or_default();
    options.ignored_errors = texts(fields.get("ignoredErrors"), ("`ignoredErrors`", "a part of an error"), report);
    let words = RestartWebhook::ALL.map(|webhook| (webhook.as_str(), webhook));
    options.webhook = fields.get("webhook").and_then(|node| read::word(node, "the form of a webhook", &words, report));
    let all = if profiles.is_empty() { std::slice::from_ref(&options.profile) } else { &profiles };
    if let (Some(webhook), Some((key, _))) = (options.webhook, fields.entry("webhook"))
        && let Some(profile) = all.iter().find(|profile| !webhook.is_of(**profile))
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

/// Reads a list of strings, which is called so, and one of which is.
fn texts(list: Option<&Node>, (name, one): (&str, &str), report: &mut Report) -> Vec<String> {
    let items = list.and_then(|list| read::items(list, name, report)).unwrap_or_default();
    items.iter().filter_map(|item| read::text(item, one, report)).map(str::to_owned).collect()
}

/// Reads `profiles`.
fn profiles_of(node: &Node, report: &mut Report) -> Vec<RestartProfile> {
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

fn duration(node: &Node, report: &mut Report) -> Option<Duration> {
    let text = read::text(node, "a duration", report)?;
    let duration = humantime::parse_duration(text);
    duration.map_err(|error| report.add(node, format!("`{text}` is not a duration"), error.to_string())).ok()
}

/// `budget: {restarts: 3, period: 10m}`.
fn budget(node: &Node, report: &mut Report) -> Option<(u32, Duration)> {
    let fields = Fields::of(node, "`budget`", &names(&BUDGETED), report)?;
    let restarts = fields.get("restarts").and_then(|node| match node.kind {
        Kind::Int(number) => u32::try_from(number).ok(),
        _ => None,
    });
    let period = fields.get("period").and_then(|node| duration(node, report));
    if restarts.is_none() || period.is_none() {
        report.add(node, "a budget needs `restarts`, a number, and `period`", "`{restarts: 3, period: 10m}`");
    }
    restarts.zip(period)
}
