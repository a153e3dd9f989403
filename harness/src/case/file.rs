//! A case file as a whole.

use serde_json::json;

use super::counts;
use super::definitions;
use super::field::{Field, TEXT, Type, names};
use super::finding::{CaseError, Report};
use super::kind;
use super::model::{Bindings, Case, PodKind, Terminations};
use super::profiles;
use super::read::{self, Fields};
use super::restart;
use super::ruled;
use super::schema::{reference, words};
use super::scope::Scope;
use super::step::Reader;
use super::tree::{Kind, Node};
use crate::controllers::{Controller, Controllers};
use crate::plain;
use crate::recording::Header;
use crate::rules::Expectation;
use crate::secret;

const CONTROLLERS: Type = Type::Is(
    |_| json!({"type": "array", "minItems": 1, "items": words(&Controller::ALL.map(Controller::as_str))}),
    "a list of `deployment`, `replicaset` and `config-restart`",
);
const NODES: Type =
    Type::Is(|_| json!({"type": "array", "uniqueItems": true, "items": reference("name")}), "a list of names");
const TAGS: Type =
    Type::Is(|_| json!({"type": "array", "uniqueItems": true, "items": reference("name")}), "a list of names");
const WHO: Type = Type::Words(&["auto", "held"]);
const GIVEN: Type = Type::Is(|_| reference("steps"), "a list of [steps](#steps)");
const STEPS: Type =
    Type::Is(|_| json!({"type": "array", "minItems": 1, "items": reference("step")}), "a list of [steps](#steps)");

/// The fields of a case.
pub(super) static FIELDS: [Field; 15] = [
    Field::required("description", TEXT, "What the case is about, in one sentence."),
    Field::new(
        "tags",
        TAGS,
        "Groups that it belongs to, for `tag(x)` in filters and for trials on real clusters: `cross-section` on local processes, `smoke` on kind and on containers.",
    ),
    Field::new(
        "controllers",
        CONTROLLERS,
        "What is judged, and what a subject must therefore bring. By default the Deployment controller alone.",
    ),
    Field::new(
        "workload",
        Type::Is(|_| kind::schema(), "`argo-rollouts` or [a mapping](#workload)"),
        "The kind that the Deployments of the case are written as and read from, for subjects that look after that kind.",
    ),
    Field::new("nodes", NODES, "Nodes that the pods are bound to in turn. By default each pod has a node of its own."),
    Field::new(
        "bindings",
        WHO,
        "Who gives pods their nodes: the test environment at once, or the case, by naming a pod or making it ready.",
    ),
    Field::new(
        "terminations",
        WHO,
        "Who finishes deletions: the test environment at once, or the case, by `terminate` steps.",
    ),
    Field::new(
        "pods",
        Type::Words(&["held", "real"]),
        "Who runs the pods: only the case, or a kubelet where there is one.",
    ),
    Field::new(
        "crds",
        definitions::TYPE,
        "CustomResourceDefinitions that the case needs: manifests, or names of YAML and JSON files with them. They are created before the case begins, and removed at the end from clusters that outlive the run. Keep the files outside of the folders of cases.",
    ),
    Field::new("given", GIVEN, "Made one by one before the first step; compared as one block."),
    Field::required(
        "steps",
        STEPS,
        "The steps of the case. After each one the test environment waits until the namespace has settled.",
    ),
    Field::new(
        "with",
        Type::Is(|_| restart::with_schema(), "`{deployment: upstream}` or `{deployment: ours}`"),
        "Whose Deployment controller runs beside the subject, where it brings none.",
    ),
    Field::new(
        "restart",
        Type::Is(|_| restart::schema(), "[a mapping](#restart)"),
        "How a config-restart controller is to run.",
    ),
    Field::new(
        "expectation",
        Type::Words(&["timeline", "outcomes", "rules"]),
        "What the case is compared with: what upstream did; one of the several things that it does; or its own rules alone, where there is no upstream or where its decisions are chance.",
    ),
    Field::new(
        "rules",
        Type::Is(|_| ruled::schema(), "a mapping from `always`, `never`, `eventually` and `finally` to lists of CEL"),
        "What must hold besides: at every frame, at none, at some frame, at the last.",
    ),
];

/// More bytes than any case has; what is larger is some other file.
pub(super) const LARGEST: usize = 1 << 20;

/// Read the cases of a file from its bytes, which may be no text at all.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse_bytes(path: &str, name: &str, bytes: &[u8]) -> Result<Vec<Case>, CaseError> {
    let bad = |text: &str, at: usize, what: &str, hint: &str| {
        let mut report = Report::default();
        report.add_at(at..at + 1, what, hint);
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
            // What is before it is as long as it was.
            Err(bad(&String::from_utf8_lossy(bytes), at, "this is not UTF-8", &hint))
        }
    }
}

/// The case that was recorded, from the recording's header.
///
/// # Errors
/// The recording is of a case that this build cannot read.
pub fn recorded(header: &Header) -> Result<Case, CaseError> {
    parse(&header.path, &header.case, &header.source)
}

/// Read the cases of a file, one per restart profile: `path` is where it came from, `name` is
/// `area/name`. Nothing is read from disk.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse_all(path: &str, name: &str, text: &str) -> Result<Vec<Case>, CaseError> {
    Ok(of_text(path, name, text)?.each())
}

/// Read one case of a file by its name: `area/name`, or `area/name@PROFILE` if the file stands for
/// several.
///
/// # Errors
/// Everything that is wrong with the file, each with its place; or the file has no case of that
/// name.
pub fn parse(path: &str, name: &str, text: &str) -> Result<Case, CaseError> {
    let case = of_text(path, name, text)?;
    match profiles::split(name).1 {
        _ if case.profiles.is_empty() => Ok(case),
        Some(profile) if case.profiles.contains(&profile) => Ok(case.with_profile(profile)),
        _ => Err(case.is_one_of_several()),
    }
}

/// The case of the file's first profile, called as the file is.
fn of_text(path: &str, name: &str, text: &str) -> Result<Case, CaseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut report = Report::default();
    if !plain::is_one_line(path) || !plain::is_one_line(name) {
        report.add_at(0..0, "the file's name is not plain text", "rename it: it would act on a terminal or in a job");
    }
    let case = match Node::parse(text) {
        Ok(root) => read_case(&root, text, &mut report).map(|case| {
            let case = without_values(Case { path: path.to_owned(), name: name.to_owned(), ..case }, text);
            if let (true, Some((line, why)), Some(pods)) = (case.wants_real(), case.only_held(), root.get("pods")) {
                report.add(pods, "this case cannot have real pods", format!("line {line}: {why}"));
            }
            if let Some((line, what, there)) = counts::impossible(&case) {
                report.add_at(span_of(text, line), what, there);
            }
            case
        }),
        Err(malformed) => {
            report.add_at(malformed.span, malformed.what, malformed.hint);
            None
        }
    };
    match case {
        Some(case) if report.is_empty() => Ok(case),
        _ => Err(report.into_error(path, text)),
    }
}

/// The case with what is shown of it taken from its text without the values of Secrets: a
/// recording, of which rules are asked, lacks them too. Steps keep them, to write them.
fn without_values(case: Case, text: &str) -> Case {
    let (source, redaction) = secret::redact(text);
    if source == text {
        return Case { source, redaction, ..case };
    }
    let shown = Node::parse(&source).ok().and_then(|root| read_case(&root, &source, &mut Report::default()));
    let (description, rules) = match shown {
        Some(shown) => (shown.description, shown.rules),
        None => (redaction.text(&case.description).into_owned(), case.rules),
    };
    Case { source, redaction, description, rules, ..case }
}

impl Case {
    /// The text that was read, with the values of Secrets: to be played with another step, and not
    /// to be kept.
    pub(crate) fn played_text(&self) -> &str {
        self.redaction.original().unwrap_or(&self.source)
    }
}

/// What is written on a line, from 1.
fn span_of(text: &str, line: usize) -> std::ops::Range<usize> {
    let begins: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let written = text[begins..].lines().next().unwrap_or_default();
    let blanks = written.len() - written.trim_start_matches([' ', '-']).len();
    begins + blanks..begins + written.trim_end().len().max(blanks)
}

/// The case without its path, name and source. With findings, what is returned is of no use.
fn read_case(root: &Node, text: &str, report: &mut Report) -> Option<Case> {
    if matches!(root.kind, Kind::Null) {
        report.add(root, "the file is empty", format!("a case has {}", read::list(&names(&FIELDS))));
        return None;
    }
    let fields = Fields::of(root, "a case", &names(&FIELDS), report)?;
    let description = match fields.get("description") {
        Some(node) => {
            let text = read::text(node, "the description", report).unwrap_or_default();
            plain::text(text.trim()).into_owned()
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
    let nodes = fields.get("nodes").map(|node| distinct(node, "node", report)).unwrap_or_default();
    let tags = fields.get("tags").map(|node| distinct(node, "tag", report)).unwrap_or_default();
    let controllers = fields.get("controllers").and_then(|node| controllers(node, report)).unwrap_or_default();
    let words = [("auto", Bindings::Auto), ("held", Bindings::Held)];
    let bindings = fields.get("bindings").and_then(|node| read::word(node, "bindings", &words, report));
    let bindings = bindings.unwrap_or_default();
    if let (Bindings::Held, Some((key, _))) = (bindings, fields.entry("nodes")) {
        report.add(key, "`nodes` is not allowed with `bindings: held`", "leave out `nodes`, or `bindings: held`");
    }

    let mut scope = Scope::of(&[fields.get("given"), fields.get("steps")]);
    // Its restarts give a Deployment more templates than the steps do.
    scope.retemplated |= controllers.has(Controller::ConfigRestart);
    if !scope.any_workload && !["given", "steps"].iter().any(|list| fields.is_misspelt(list)) {
        let at = fields.entry("given").map_or(root, |(key, _)| key);
        report.add(at, "the case makes no Deployment", "add `deployment: {name: web, replicas: 3, image: \"app:1\"}`");
    }
    let mut reader = Reader {
        scope: &mut scope,
        report,
        held: terminations == Terminations::Held,
        unbound: bindings == Bindings::Held,
        stopped: None,
    };
    let given = fields.get("given").map(|node| reader.steps(node, "`given`")).unwrap_or_default();
    let steps = match fields.get("steps") {
        Some(node) if !matches!(&node.kind, Kind::List(list) if list.is_empty()) => reader.steps(node, "`steps`"),
        None if !fields.lacks("steps") => Vec::new(),
        found => {
            let at = found.or(fields.entry("steps").map(|(key, _)| key)).unwrap_or(root);
            reader.report.add(at, "the case has no steps", "without a step there is nothing to judge");
            Vec::new()
        }
    };
    if let Some(place) = reader.stopped {
        reader.report.add_at(
            place,
            "the subject stays stopped",
            "a case must end with a running subject: add `subject: start`",
        );
    }
    let (rules, expectation) = ruled::of(root, text, report);
    let of_restarts = controllers.has(Controller::ConfigRestart);
    let (restart, profiles) = restart::of(fields.entry("restart"), of_restarts, report);
    // What other projects' controllers do is recorded; what this one does better is said by rules.
    let is_ruled = expectation == Expectation::Rules && !rules.is_empty();
    if of_restarts && !is_ruled && (!profiles.is_empty() || !restart.profile.is_recorded()) {
        let why = "no other controller decides restarts as profile safe does";
        report.add(
            root,
            "a case of config restarts without rules",
            format!("{why}; add `expectation: rules` and `rules`"),
        );
    }
    let beside = restart::beside(fields.get("with"), report);
    let crds = definitions::of(fields.get("crds"), report);
    let workload = kind::of(fields.entry("workload"), &controllers, report);
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
        pods,
        workload,
        crds,
        given,
        steps,
        beside,
        restart,
        profiles,
        expectation,
        rules,
    })
}

/// `controllers: [deployment, replicaset]`: what is judged.
fn controllers(node: &Node, report: &mut Report) -> Option<Controllers> {
    let words = Controller::ALL.map(|one| (one.as_str(), one));
    let items = read::items(node, "`controllers`", report)?;
    if items.is_empty() {
        report.add(node, "`controllers` is empty", "leave `controllers` out for the Deployment controller");
    }
    items.iter().map(|item| read::word(item, "a controller", &words, report)).collect()
}

/// The names of nodes or tags (`what`), each once.
fn distinct(node: &Node, what: &str, report: &mut Report) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in read::items(node, &format!("`{what}s`"), report).unwrap_or_default() {
        let Some(name) = read::name(item, &format!("a {what}'s name"), report) else {
            continue;
        };
        if names.contains(&name) {
            report.add(item, format!("duplicate {what} `{name}`"), format!("each {what} has a name of its own"));
        }
        names.push(name);
    }
    names
}
