//! Reads a case file as a whole.

use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Header, secret};
use lockstep_support::sanitize;
use serde_json::json;

use super::diagnostics::{CaseError, DiagnosticCollector};
use super::field::{FieldSpec, FieldType, TEXT, names, reference, words};
use super::model::{Bindings, Case, ClockKind, PodKind, Terminations};
use super::read::{self, MappingFields};
use super::step::{self, StepReader};
use super::yaml::{YamlKind, YamlNode};
use super::{case_rules, definitions, estimate, operations, restart, workload_field};
use crate::rules::Expectation;

const CONTROLLERS: FieldType = FieldType::Is(
    |_| json!({"type": "array", "minItems": 1, "items": words(&Controller::ALL.map(Controller::as_str))}),
    "a list of `deployment`, `replicaset` and `config-restart`",
);
const NODES: FieldType =
    FieldType::Is(|_| json!({"type": "array", "uniqueItems": true, "items": reference("name")}), "a list of names");
const TAGS: FieldType =
    FieldType::Is(|_| json!({"type": "array", "uniqueItems": true, "items": reference("name")}), "a list of names");
const AUTO_OR_HELD: FieldType = FieldType::Words(&["auto", "held"]);
const GIVEN: FieldType = FieldType::Is(|_| reference("steps"), "a list of [steps](#steps)");
const STEPS: FieldType =
    FieldType::Is(|_| json!({"type": "array", "minItems": 1, "items": reference("step")}), "a list of [steps](#steps)");

/// The fields of a case.
pub(super) static FIELDS: [FieldSpec; 16] = [
    FieldSpec::required("description", TEXT, "What the case is about, in one sentence."),
    FieldSpec::new(
        "tags",
        TAGS,
        "Groups that it belongs to, for `tag(x)` in filters and for trials on real clusters: `cross-section` on local processes, `smoke` on kind and on containers.",
    ),
    FieldSpec::new(
        "controllers",
        CONTROLLERS,
        "What is judged, and what a subject must therefore bring. By default the Deployment controller alone.",
    ),
    FieldSpec::new(
        "workload",
        FieldType::Is(|_| workload_field::schema(), "`argo-rollouts` or [a mapping](#workload)"),
        "The kind that the Deployments of the case are written as and read from, for subjects that look after that kind.",
    ),
    FieldSpec::new(
        "nodes",
        NODES,
        "Nodes that the pods are bound to in turn. By default each pod has a node of its own.",
    ),
    FieldSpec::new(
        "bindings",
        AUTO_OR_HELD,
        "Who gives pods their nodes: the test environment at once, or the case, by naming a pod or making it ready.",
    ),
    FieldSpec::new(
        "terminations",
        AUTO_OR_HELD,
        "Who finishes deletions: the test environment at once, or the case, by `terminate` steps.",
    ),
    FieldSpec::new(
        "clock",
        FieldType::Words(&["any", "virtual"]),
        "`virtual` for a case with times of day: it is left out in real time. In virtual time it is Monday, 2026-01-05, 00:00 UTC when it begins.",
    ),
    FieldSpec::new(
        "pods",
        FieldType::Words(&["held", "real"]),
        "Who runs the pods: only the case, or a kubelet where there is one.",
    ),
    FieldSpec::new(
        "crds",
        definitions::TYPE,
        "CustomResourceDefinitions that the case needs: manifests, or names of YAML and JSON files with them. They are created before the case begins, and removed at the end from clusters that outlive the run. Keep the files outside of the folders of cases.",
    ),
    FieldSpec::new("given", GIVEN, "Made one by one before the first step; compared as one block."),
    FieldSpec::required(
        "steps",
        STEPS,
        "The steps of the case. After each one the test environment waits until the namespace has settled.",
    ),
    FieldSpec::new(
        "with",
        FieldType::Is(|_| restart::with_schema(), "`{deployment: upstream}` or `{deployment: ours}`"),
        "Whose Deployment controller runs beside the subject, where it brings none.",
    ),
    FieldSpec::new(
        "restart",
        FieldType::Is(|_| restart::schema(), "[a mapping](#restart)"),
        "How a config-restart controller is to run.",
    ),
    FieldSpec::new(
        "expectation",
        FieldType::Words(&["timeline", "outcomes", "rules"]),
        "What the case is compared with: what upstream did; one of the several things that it does; or its own rules alone, where there is no upstream or where its decisions are chance.",
    ),
    FieldSpec::new(
        "rules",
        FieldType::Is(
            |_| case_rules::schema(),
            "a mapping from `always`, `never`, `eventually` and `finally` to lists of CEL",
        ),
        "What must hold besides: at every frame, at none, at some frame, at the last.",
    ),
];

/// Larger than any case; a larger file is not a case.
pub(super) const LARGEST: usize = 1 << 20;

/// Reads the cases of a file from its bytes.
///
/// # Errors
/// All problems of the file, each with its location.
pub fn parse_bytes(path: &str, name: &str, bytes: &[u8]) -> Result<Vec<Case>, CaseError> {
    let bad = |text: &str, at: usize, problem: &str, hint: &str| {
        let mut report = DiagnosticCollector::default();
        report.add_at(at..at + 1, problem, hint);
        report.into_error(path, text)
    };
    if bytes.len() > LARGEST {
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(&first[..first.len().min(80)]).into_owned();
        return Err(bad(&first, 0, "the file is too large", "a case has at most 1 MiB"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_all(path, name, text),
        Err(error) => {
            let at = error.valid_up_to();
            let hint = format!("the byte 0x{:02X}; save the file as UTF-8", bytes[at]);
            // Lossy conversion keeps the length of the valid text before the error.
            Err(bad(&String::from_utf8_lossy(bytes), at, "this is not UTF-8", &hint))
        }
    }
}

/// Reads the case from a recording's header.
///
/// # Errors
/// This build cannot read the recorded case.
pub fn parse_recorded(header: &Header) -> Result<Case, CaseError> {
    parse(&header.path, &header.case, &header.source)
}

/// Reads the cases of a file, one per restart profile. `path` is where the text came from, `name`
/// is `area/name`. Does not read from disk.
///
/// # Errors
/// All problems of the file, each with its location.
pub(crate) fn parse_all(path: &str, name: &str, text: &str) -> Result<Vec<Case>, CaseError> {
    Ok(parse_first(path, name, text)?.split_by_profile())
}

/// Reads one case of a file by its name: `area/name`, or `area/name@PROFILE` if the file has a case
/// for each of several profiles.
///
/// # Errors
/// All problems of the file, each with its location; or the file has no case of that name.
pub fn parse(path: &str, name: &str, text: &str) -> Result<Case, CaseError> {
    let case = parse_first(path, name, text)?;
    match restart::split_profile(name).1 {
        _ if case.profiles.is_empty() => Ok(case),
        Some(profile) if case.profiles.contains(&profile) => Ok(case.with_profile(profile)),
        _ => Err(case.several_cases_error()),
    }
}

/// Reads the case of the file's first profile, under the file's own name.
fn parse_first(path: &str, name: &str, text: &str) -> Result<Case, CaseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut report = DiagnosticCollector::default();
    if !sanitize::is_one_line(path) || !sanitize::is_one_line(name) {
        report.add_at(0..0, "the file's name is not plain text", "rename it: it would act on a terminal or in a job");
    } else if path.contains(char::REPLACEMENT_CHARACTER) {
        // The timelines beside the file would be looked for under another path.
        report.add_at(
            0..0,
            "the file's path is not UTF-8",
            "rename what is not, or name the file from a folder below it",
        );
    }
    let case = match YamlNode::parse(text) {
        Ok(root) => read_case(&root, text, &mut report).map(|case| {
            let case = redact_case(Case { path: path.to_owned(), name: name.to_owned(), ..case }, text);
            if let (true, Some((line, why)), Some(pods)) =
                (case.wants_real_pods(), case.held_pods_reason(), root.get("pods"))
            {
                report.add(pods, "this case cannot have real pods", format!("line {line}: {why}"));
            }
            if let Some((line, what, there)) = estimate::infeasible_step(&case) {
                report.add_at(span_of(text, line), what, there);
            }
            case
        }),
        Err(_) if text.starts_with("{\"header\":") => {
            report.add_at(0..0, "this is a recording", "`lockstep judge` and `lockstep replay` read recordings");
            None
        }
        Err(malformed) => {
            report.add_at(malformed.span, malformed.message, malformed.hint);
            None
        }
    };
    match case {
        Some(case) if report.is_empty() => Ok(case),
        _ => Err(report.into_error(path, text)),
    }
}

/// Removes the values of Secrets from everything of the case that is shown or evaluated on a
/// recording, which lacks the values too. Steps keep them, to write them.
fn redact_case(case: Case, text: &str) -> Case {
    let (source, redaction) = secret::redact(text);
    if source == text {
        return Case { source, redaction, ..case };
    }
    let shown =
        YamlNode::parse(&source).ok().and_then(|root| read_case(&root, &source, &mut DiagnosticCollector::default()));
    let (description, rules) = match shown {
        Some(shown) => (shown.description, shown.rules),
        None => (redaction.text(&case.description).into_owned(), case.rules),
    };
    Case { source, redaction, description, rules, ..case }
}

impl Case {
    /// The text with the values of Secrets, for running the case with another step. It must not be
    /// stored.
    pub fn runnable_source(&self) -> &str {
        self.redaction.original().unwrap_or(&self.source)
    }
}

/// The span of the text on a line, which is counted from 1.
fn span_of(text: &str, line: usize) -> std::ops::Range<usize> {
    let begins: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let written = text[begins..].lines().next().unwrap_or_default();
    let blanks = written.len() - written.trim_start_matches([' ', '-']).len();
    begins + blanks..begins + written.trim_end().len().max(blanks)
}

/// Reads the case without its path, name and source. If there are diagnostics, the result is of no
/// use.
fn read_case(root: &YamlNode, text: &str, report: &mut DiagnosticCollector) -> Option<Case> {
    if matches!(root.kind, YamlKind::Null) {
        report.add(root, "the file is empty", format!("a case has {}", read::join_quoted(&names(&FIELDS))));
        return None;
    }
    let fields = MappingFields::of(root, "a case", &names(&FIELDS), report)?;
    let description = match fields.get("description") {
        Some(node) => {
            let text = read::text(node, "the description", report).unwrap_or_default();
            sanitize::text(text.trim()).into_owned()
        }
        None if !fields.lacks("description") => String::new(),
        None => {
            report.add(root, "the case has no description", "add `description: …`, one sentence on what it is about");
            String::new()
        }
    };
    let words = [("auto", Terminations::Auto), ("held", Terminations::Held)];
    let terminations = fields.get("terminations");
    let terminations =
        terminations.and_then(|node| read::word(node, "terminations", &words, report)).unwrap_or_default();
    let words = [("held", PodKind::Held), ("real", PodKind::Real)];
    let pods = fields.get("pods").and_then(|node| read::word(node, "pods", &words, report)).unwrap_or_default();
    let words = [("any", ClockKind::Any), ("virtual", ClockKind::Virtual)];
    let clock = fields.get("clock").and_then(|node| read::word(node, "clock", &words, report)).unwrap_or_default();
    let nodes = fields.get("nodes").map(|node| distinct_names(node, "node", report)).unwrap_or_default();
    let tags = fields.get("tags").map(|node| distinct_names(node, "tag", report)).unwrap_or_default();
    let controllers = fields.get("controllers").and_then(|node| controllers(node, report)).unwrap_or_default();
    let words = [("auto", Bindings::Auto), ("held", Bindings::Held)];
    let bindings = fields.get("bindings").and_then(|node| read::word(node, "bindings", &words, report));
    let bindings = bindings.unwrap_or_default();
    if let (Bindings::Held, Some((key, _))) = (bindings, fields.entry("nodes")) {
        report.add(key, "`nodes` is not allowed with `bindings: held`", "leave out `nodes`, or `bindings: held`");
    }

    let mut scope = step::names_in_scope(&operations::ALL, &[fields.get("given"), fields.get("steps")]);
    // Config restarts add templates that no step adds.
    scope.has_template_change |= controllers.has(Controller::ConfigRestart);
    if !scope.has_workload && !["given", "steps"].iter().any(|list| fields.is_misspelt(list)) {
        let at = fields.entry("given").map_or(root, |(key, _)| key);
        report.add(at, "the case makes no Deployment", "add `deployment: {name: web, replicas: 3, image: \"app:1\"}`");
    }
    let mut reader = StepReader {
        operations: &operations::ALL,
        scope: &mut scope,
        report,
        terminations_are_held: terminations == Terminations::Held,
        bindings_are_held: bindings == Bindings::Held,
        stopped_at: None,
    };
    let given = fields.get("given").map(|node| reader.steps(node, "`given`")).unwrap_or_default();
    let steps = match fields.get("steps") {
        Some(node) if !matches!(&node.kind, YamlKind::List(list) if list.is_empty()) => reader.steps(node, "`steps`"),
        None if !fields.lacks("steps") => Vec::new(),
        found => {
            let at = found.or(fields.entry("steps").map(|(key, _)| key)).unwrap_or(root);
            reader.report.add(at, "the case has no steps", "without a step there is nothing to judge");
            Vec::new()
        }
    };
    if let Some(place) = reader.stopped_at {
        reader.report.add_at(
            place,
            "the subject stays stopped",
            "a case must end with a running subject: add `subject: start`",
        );
    }
    let (rules, expectation) = case_rules::read_rules(root, text, report);
    let of_restarts = controllers.has(Controller::ConfigRestart);
    let (restart, profiles) = restart::read_options(fields.entry("restart"), of_restarts, report);
    // Golden timelines are recorded from other projects' controllers; what this one does better is
    // expected by rules.
    let is_ruled = expectation == Expectation::Rules && !rules.is_empty();
    if of_restarts && !is_ruled && (!profiles.is_empty() || !restart.profile.is_recorded()) {
        let why = "no other controller decides restarts as profile safe does";
        report.add(
            root,
            "a case of config restarts without rules",
            format!("{why}; add `expectation: rules` and `rules`"),
        );
    }
    let beside = restart::read_companion(fields.get("with"), report);
    let crds = definitions::read_all(fields.get("crds"), report);
    let workload = workload_field::read_workload(fields.entry("workload"), &controllers, report);
    let (path, name, source, redaction) = Default::default();
    Some(Case {
        name,
        path,
        source,
        redaction,
        description,
        tags: tags.into_iter().collect(),
        controllers,
        nodes,
        bindings,
        terminations,
        clock,
        pods,
        workload,
        crds,
        given,
        steps,
        companion: beside,
        restart,
        profiles,
        expectation,
        rules,
    })
}

/// Reads `controllers: [deployment, replicaset]`, the controllers that the case judges.
fn controllers(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<ControllerSet> {
    let words = Controller::ALL.map(|one| (one.as_str(), one));
    let items = read::items(node, "`controllers`", report)?;
    if items.is_empty() {
        report.add(node, "`controllers` is empty", "leave `controllers` out for the Deployment controller");
    }
    items.iter().map(|item| read::word(item, "a controller", &words, report)).collect()
}

/// Reads names of nodes or tags (`noun`), and reports duplicates.
fn distinct_names(node: &YamlNode, noun: &str, report: &mut DiagnosticCollector) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in read::items(node, &format!("`{noun}s`"), report).unwrap_or_default() {
        let Some(name) = read::name(item, &format!("a {noun}'s name"), report) else {
            continue;
        };
        if names.contains(&name) {
            report.add(item, format!("duplicate {noun} `{name}`"), format!("each {noun} has a name of its own"));
        }
        names.push(name);
    }
    names
}
