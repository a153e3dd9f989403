//! One step: a mapping with exactly one operation of the table, and what may stand beside it.

use std::time::Duration;

use super::field::{Field, NAME, TEXT, Type, names};
use super::finding::Report;
use super::model::{Count, During, Fault, Operation, Step};
use super::naming;
use super::nearest::did_you_mean;
use super::operations::{self, Written};
use super::read::{self, Fields};
use super::schema::{object, reference};
use super::scope::Scope;
use super::tree::{Kind, Node};
use crate::expect::Expect;

/// What a step may say besides its operation.
pub(super) static BESIDES: [Field; 5] = [
    Field::new("label", NAME, "A name for the moment of this step, for `advance: {to, since}` and for rules."),
    Field::new("refused", REFUSED, "The server must refuse the operation, and its message must contain this text."),
    Field::new("expect", EXPECT, "Which of the named pods live on."),
    Field::new("during", DURING, "Other steps in the middle of this one; not together with `fault`."),
    Field::new("fault", FAULT, "What goes wrong between the subject and the server."),
];

/// The fields of `refused`.
static REFUSED_FIELDS: [Field; 1] = [Field::required("message", TEXT, "A part of what the server says.")];

const REFUSED: Type = Type::Is(|_| object(&REFUSED_FIELDS, false), "`{message: a string}`");
const EXPECT: Type = Type::Is(|_| reference("expect"), "[a mapping](#expect)");
const DURING: Type = Type::Is(|_| reference("during"), "[a mapping](#during)");
const FAULT: Type = Type::Is(|_| reference("fault"), "[a mapping](#fault)");

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
        let operations = operations::names();
        if let Some(word) = node.as_text().filter(|word| operations.contains(word)) {
            self.report.add(node, "a step must be a mapping", format!("write `{word}: …`"));
            return None;
        }
        let besides = names(&BESIDES);
        let fields = Fields::of(node, "a step", &[operations.as_slice(), &besides].concat(), self.report)?;
        let refused = self.refused(&fields);
        let mut found =
            operations::ALL.iter().filter_map(|form| Some((*form, fields.entry(form.name)?))).collect::<Vec<_>>();
        found.sort_by_key(|(_, (key, _))| key.span.start);
        let (form, (key, value)) = match found.as_slice() {
            [] => {
                // An unknown field has been reported already.
                let only_besides = matches!(&node.kind, Kind::Map(map) if map.iter().all(|(key, _)| besides.contains(&key.as_key().as_str())));
                if only_besides {
                    let hint = format!("one of {}", read::list(&operations));
                    self.report.add(node, "a step without an operation", hint);
                }
                return None;
            }
            [one] => *one,
            [(first, _), (second, (key, _)), ..] => {
                self.report.add(
                    key,
                    format!("two operations in one step: `{}` and `{}`", first.name, second.name),
                    "a step does one thing",
                );
                self.report.help("make them two steps, or `together: [{…}, {…}]` for no settling between them");
                return None;
            }
        };
        let name = form.name;
        if let (Some(_), false) = (&refused, form.refusable)
            && let Some((at, _)) = fields.entry("refused")
        {
            self.report.add(at, format!("`{name}` cannot be refused"), "only an operation of a user's can");
            return None;
        }
        if !top && !form.inner {
            self.report.add(key, format!("`{name}` is not allowed inside `together`"), "make it a step of its own");
            self.report.help("nor inside the `do` of a `during`");
            return None;
        }
        let operation = (form.read)(self, &Written { key, value, refused: refused.is_some() })?;
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
            self.report.add(key, format!("`{name}` is not allowed here"), "only a step of its own has a middle");
        } else if self.stopped.is_some() || operation.life().is_some() {
            self.report.add(
                key,
                format!("`{name}` while the subject is stopped"),
                "no controller runs then; start the subject first",
            );
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
        if !top || operation.moves().is_some_and(|(_, pods)| !pods.atomic && pods.count != Count::Exactly(1)) {
            self.report.add(key, "`expect` is for one step", "put it beside the last of them, in a step of its own");
            return None;
        }
        naming::expect(value, self).map(Some)
    }

    /// `refused: {message: "unable to find"}`.
    fn refused(&mut self, fields: &Fields<'_>) -> Option<String> {
        let (key, value) = fields.entry("refused")?;
        let inner = Fields::of(value, "`refused`", &names(&REFUSED_FIELDS), self.report)?;
        let Some(message) = inner.get("message") else {
            self.report.add(key, "refused without a message", "add `{message: \"…\"}`, a part of what the server says");
            return None;
        };
        read::text(message, "the message", self.report).map(str::to_owned)
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
            self.report.add(value, format!("duplicate label `{label}`"), "each moment has a name of its own");
        }
        Some(label)
    }

    /// A length of time.
    pub(super) fn duration(&mut self, node: &Node) -> Option<Duration> {
        if let Kind::Int(number) = node.kind {
            self.report.add(node, "a duration has a unit", format!("did you mean `{number}s`?"));
            return None;
        }
        let text = read::text(node, "a duration", self.report)?;
        match humantime::parse_duration(text) {
            Ok(Duration::ZERO) => {
                self.report.add(node, "the duration must not be zero", "write a duration such as `10s`");
            }
            Ok(duration) if duration > LONGEST => {
                self.report.add(node, "the duration is too long", "at most ten years");
            }
            Ok(duration) => return Some(duration),
            Err(error) => {
                self.report.add(node, format!("`{text}` is not a duration"), not_a_duration(text, &error));
            }
        }
        None
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
