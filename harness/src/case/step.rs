//! One step: a mapping with exactly one operation, and `refused` where a server must say no.

use std::time::Duration;

use super::finding::Report;
use super::model::{Count, During, Fault, Operation, Step};
use super::naming;
use super::nearest::did_you_mean;
use super::pods;
use super::read::{self, Fields};
use super::scope::Scope;
use super::tree::{Kind, Node};
use crate::expect::Expect;

/// Every operation.
pub(super) const OPERATIONS: [&str; 20] = [
    "deployment",
    "replicaset",
    "apply",
    "patch",
    "delete",
    "set",
    "scale",
    "pause",
    "resume",
    "undo",
    "restart",
    "ready",
    "unready",
    "fail",
    "succeed",
    "terminate",
    "pods",
    "advance",
    "together",
    "subject",
];

/// What a step may say besides its operation.
pub(super) const BESIDES: [&str; 5] = ["label", "refused", "expect", "during", "fault"];

/// Operations that no server takes part in, or not as one request.
pub(super) const NOT_REFUSABLE: [&str; 8] =
    ["ready", "unready", "fail", "succeed", "terminate", "advance", "together", "subject"];

/// Operations that cannot stand inside another step.
pub(super) const NOT_INSIDE: [&str; 3] = ["together", "advance", "subject"];

/// Longer than anything that a Deployment waits for.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// What reading a step needs to know.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) scope: &'a mut Scope,
    pub(super) report: &'a mut Report,
    /// Whether deletions wait for `terminate`.
    pub(super) held: bool,
    /// Whether pods wait for the case to give them a node.
    pub(super) unbound: bool,
    /// Where the subject was stopped, while it is.
    pub(super) stopped: Option<std::ops::Range<usize>>,
}

impl Reader<'_> {
    /// All steps of a list; those with findings are left out.
    pub(super) fn steps(&mut self, node: &Node, what: &str) -> Vec<Step> {
        let items = read::items(node, what, self.report).unwrap_or_default();
        items.iter().filter_map(|step| self.step(step, true)).collect()
    }

    /// One step.
    pub(super) fn step(&mut self, node: &Node, top: bool) -> Option<Step> {
        if let Some(word) = node.as_text().filter(|word| OPERATIONS.contains(word)) {
            self.report.add(node, "a step is a mapping", format!("write `{word}: …`"));
            return None;
        }
        let mut known = OPERATIONS.to_vec();
        known.extend(BESIDES);
        let fields = Fields::of(node, "a step", &known, self.report)?;
        let refused = self.refused(&fields);
        let mut found = OPERATIONS.iter().filter_map(|name| Some((*name, fields.entry(name)?))).collect::<Vec<_>>();
        found.sort_by_key(|(_, (key, _))| key.span.start);
        let (name, (key, value)) = match found.as_slice() {
            [] => {
                // An unknown field has been reported already.
                let only_refused = matches!(&node.kind, Kind::Map(map) if map.iter().all(|(key, _)| BESIDES.contains(&key.as_key().as_str())));
                if only_refused {
                    self.report.add(node, "a step without an operation", format!("one of {}", read::list(&OPERATIONS)));
                }
                return None;
            }
            [one] => *one,
            [(first, _), (second, (key, _)), ..] => {
                self.report.add(
                    key,
                    format!("two operations in one step: `{first}` and `{second}`"),
                    "a step does one thing",
                );
                self.report.help("make them two steps, or `together: [{…}, {…}]` for no settling between them");
                return None;
            }
        };
        if let (Some(_), true) = (&refused, NOT_REFUSABLE.contains(&name))
            && let Some((at, _)) = fields.entry("refused")
        {
            self.report.add(at, format!("`{name}` cannot be refused"), "only an operation of a user's can");
            return None;
        }
        if !top && NOT_INSIDE.contains(&name) {
            self.report.add(key, format!("`{name}` cannot stand inside `together`"), "make it a step of its own");
            self.report.help("nor inside the `do` of a `during`");
            return None;
        }
        let operation = self.operation(name, key, value, refused.is_some())?;
        let (during, fault) = self.middle(&fields, top, &operation)?;
        let line = if node.line == 0 { key.line } else { node.line };
        let expect = self.expect(&fields, &operation, top)?;
        let label = self.label(&fields, top);
        Some(Step { line, operation, label, refused, during, fault, expect })
    }

    /// What a step says about the middle of its step. The outer `None` is a finding.
    fn middle(
        &mut self,
        fields: &Fields<'_>,
        top: bool,
        operation: &Operation,
    ) -> Option<(Option<During>, Option<Fault>)> {
        let (during, fault) = (fields.entry("during"), fields.entry("fault"));
        let Some((key, _)) = during.or(fault) else { return Some((None, None)) };
        let name = key.as_key();
        if let (Some(_), Some((key, _))) = (during, fault) {
            self.report.add(key, "`during` and `fault` in one step", "one of them at a time");
        } else if !top {
            self.report.add(key, format!("`{name}` cannot stand here"), "only a step of its own has a middle");
        } else if self.stopped.is_some() || matches!(operation, Operation::Subject(_)) {
            self.report.add(key, format!("`{name}` while the subject is stopped"), "there is nobody to meet");
        } else if let Some((key, value)) = during {
            return Some((Some(self.during(key, value, operation)?), None));
        } else if let Some((key, value)) = fault {
            return Some((None, Some(self.fault(key, value)?)));
        }
        None
    }

    /// `expect: {alive: [b]}`, beside an operation that is one step. The outer `None` is a finding.
    fn expect(&mut self, fields: &Fields<'_>, operation: &Operation, top: bool) -> Option<Option<Expect>> {
        let Some((key, value)) = fields.entry("expect") else { return Some(None) };
        if !top || operation.pods().is_some_and(|pods| !pods.atomic && pods.count != Count::Exactly(1)) {
            self.report.add(key, "`expect` is for one step", "put it beside the last of them, in a step of its own");
            return None;
        }
        naming::expect(value, self).map(Some)
    }

    /// `refused: {message: "unable to find"}`.
    fn refused(&mut self, fields: &Fields<'_>) -> Option<String> {
        let (key, value) = fields.entry("refused")?;
        let inner = Fields::of(value, "`refused`", &["message"], self.report)?;
        let Some(message) = inner.get("message") else {
            self.report.add(key, "refused without a message", "add `{message: \"…\"}`, a part of what the server says");
            return None;
        };
        read::text(message, "the message", self.report).map(str::to_owned)
    }

    fn operation(&mut self, name: &str, key: &Node, value: &Node, refused: bool) -> Option<Operation> {
        match name {
            "deployment" => self.deployment(value, refused),
            "replicaset" => self.replica_set(value, refused),
            "apply" => self.manifest(value, refused),
            "patch" => self.patch(value, refused),
            "delete" => self.delete(value),
            "set" => self.set(key, value, refused),
            "scale" => self.scale(key, value, refused),
            "pause" => self.one_deployment(name, key, value).map(Operation::Pause),
            "resume" => self.one_deployment(name, key, value).map(Operation::Resume),
            "restart" => {
                let deployment = self.one_deployment(name, key, value)?;
                self.scope.retemplated |= !refused;
                Some(Operation::Restart(deployment))
            }
            "undo" => self.undo(key, value, refused),
            "ready" => pods::read(value, name, self).map(Operation::Ready),
            "unready" => pods::read(value, name, self).map(Operation::Unready),
            "fail" => pods::read(value, name, self).map(Operation::Fail),
            "succeed" => pods::read(value, name, self).map(Operation::Succeed),
            "terminate" if !self.held => {
                self.report.add(key, "`terminate` without held terminations", "deletions finish by themselves here");
                self.report.help("add `terminations: held` at the top of the case");
                None
            }
            "terminate" => pods::read(value, name, self).map(Operation::Terminate),
            "pods" => naming::read(value, self).map(Operation::Name),
            "advance" => self.advance(value),
            "subject" => self.subject(key, value),
            _ => self.together(value).map(Operation::Together),
        }
    }

    /// `label: changed`, beside an operation.
    fn label(&mut self, fields: &Fields<'_>, top: bool) -> Option<String> {
        let (key, value) = fields.entry("label")?;
        if !top {
            self.report.add(key, "`label` is for a step of its own", "put it beside the `together`");
            return None;
        }
        let label = read::name(value, "a label", self.report)?;
        if !self.scope.labels.insert(label.clone()) {
            self.report.add(
                value,
                format!("the label `{label}` is there already"),
                "each moment has a name of its own",
            );
        }
        Some(label)
    }

    /// `advance: 10m`, `advance: {to: 6s, since: changed}`.
    fn advance(&mut self, node: &Node) -> Option<Operation> {
        let Kind::Map(_) = node.kind else { return self.duration(node).map(Operation::Advance) };
        let fields = Fields::of(node, "`advance`", &["to", "since"], self.report)?;
        let (Some(to), Some(since)) = (fields.get("to"), fields.get("since")) else {
            self.report.add(node, "`advance` needs both `to` and `since`", "or give a duration: `10m`");
            return None;
        };
        let (to, label) = (self.duration(to)?, read::text(since, "a label", self.report)?);
        if !self.scope.labels.contains(label) {
            self.report.add(
                since,
                format!("no step before this has the label `{label}`"),
                "add `label: …` beside its operation",
            );
            return None;
        }
        Some(Operation::AdvanceTo { to, since: label.to_owned() })
    }

    /// A length of time.
    pub(super) fn duration(&mut self, node: &Node) -> Option<Duration> {
        if let Kind::Int(number) = node.kind {
            self.report.add(node, "a duration has a unit", format!("did you mean `{number}s`?"));
            return None;
        }
        let text = read::text(node, "a duration", self.report)?;
        match humantime::parse_duration(text) {
            Ok(Duration::ZERO) => self.report.add(node, "no time passes", "more than `0s`, please"),
            Ok(duration) if duration > LONGEST => self.report.add(node, "that is too long", "at most ten years"),
            Ok(duration) => return Some(duration),
            Err(error) => {
                self.report.add(node, format!("`{text}` is no duration"), not_a_duration(text, &error));
            }
        }
        None
    }

    /// `together: [{…}, {…}]`.
    fn together(&mut self, node: &Node) -> Option<Vec<Step>> {
        let items = read::items(node, "`together`", self.report)?;
        if items.len() < 2 {
            self.report.add(node, "`together` takes two steps or more", "a single step needs no `together`");
            return None;
        }
        let steps: Vec<Step> = items.iter().filter_map(|step| self.step(step, false)).collect();
        (steps.len() == items.len()).then_some(steps)
    }
}

/// Why a text is no length of time, and what is.
fn not_a_duration(text: &str, error: &humantime::DurationError) -> String {
    use humantime::DurationError as Error;
    let units = ["seconds", "minutes", "hours", "days", "s", "m", "h", "d", "ms"];
    match error {
        _ if text.starts_with('-') => "time passes forwards only".to_owned(),
        Error::UnknownUnit { unit, .. } if !unit.is_empty() => did_you_mean(unit, units)
            .unwrap_or_else(|| format!("there is no unit `{unit}`; try `90s`, `10m` or `1h 30m`")),
        Error::NumberOverflow => "that is too long; at most ten years".to_owned(),
        _ => "try `90s`, `10m` or `1h 30m`".to_owned(),
    }
}
