//! Selects cases by expressions in a small language after nextest's: `area(rolling) &
//! label(surge)`.
//!
//! | written | means |
//! | --- | --- |
//! | `area(x)` | the folder is `x`, or is in it: `area(config-restart)` has `config-restart/safe` |
//! | `name(x)` | the name without its folder |
//! | `case(x)` | `area/name` |
//! | `label(x)` | one of the case's labels: what it makes happen and what it sets, see [`labels`] |
//! | `tag(x)` | one of the case's `tags` |
//! | `text(x)` | the description |
//! | `judges(x)` | one of the controllers that it judges |
//! | `all()`, `none()` | every case, no case |
//! | `a & b`, `a \| b`, `a - b`, `!a`, `(a)`, and `and`, `or`, `not` | as usual; `&` and `-` bind more tightly than `\|` |
//!
//! `x` is a substring, ignoring case; `=x` is an exact match, which is the default of `area`, `tag`
//! and `judges`; `#x*` is a pattern. Words without brackets are a substring of `area/name`, as in
//! `case(x)`.

use std::collections::BTreeSet;

use super::diagnostics::did_you_mean;
use super::model::{Bindings, Case, DecisionKind, InjectionPoint, PodKind, Step, Terminations};

/// A parsed filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// A test of one attribute of a case.
    Matches(CaseAttribute, Matcher),
    /// Every case.
    All,
    /// Both filters match.
    And(Box<Self>, Box<Self>),
    /// At least one of two filters matches.
    Or(Box<Self>, Box<Self>),
    /// The filter does not match.
    Not(Box<Self>),
}

/// The attribute of a case that a filter tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseAttribute {
    /// `area`
    Area,
    /// `name`
    Name,
    /// `case`
    Case,
    /// `label`
    Label,
    /// `tag`
    Tag,
    /// `text`
    Text,
    /// `judges`
    Judges,
}

/// How an attribute is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matcher {
    /// It contains this text.
    Part(String),
    /// It equals this text.
    Exact(String),
    /// It matches this pattern: `*` stands for any letters, `?` for any one letter.
    Pattern(String),
}

/// Why a filter cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n  {filter}\n  {:>at$} {hint}", "^", at = .at + 1)]
pub struct FilterError {
    message: String,
    hint: String,
    filter: String,
    at: usize,
}

const ATTRIBUTES: [(&str, CaseAttribute); 7] = [
    ("area", CaseAttribute::Area),
    ("name", CaseAttribute::Name),
    ("case", CaseAttribute::Case),
    ("label", CaseAttribute::Label),
    ("tag", CaseAttribute::Tag),
    ("text", CaseAttribute::Text),
    ("judges", CaseAttribute::Judges),
];

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The filter is malformed; the error shows where.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut reader = FilterParser { text, at: 0, depth: 0 };
        let filter = reader.parse_or()?;
        reader.skip_blanks();
        if reader.at < text.len() {
            return Err(reader.error("something is left over", "`&`, `|` or `-` goes before it"));
        }
        Ok(filter)
    }

    /// Whether the filter selects a case.
    #[must_use]
    pub fn matches(&self, case: &Case) -> bool {
        match self {
            Self::All => true,
            Self::And(a, b) => a.matches(case) && b.matches(case),
            Self::Or(a, b) => a.matches(case) || b.matches(case),
            Self::Not(a) => !a.matches(case),
            Self::Matches(subject, matcher) => match subject {
                CaseAttribute::Area => areas(case).any(|area| matcher.is_match(area)),
                CaseAttribute::Name => matcher.is_match(case.name.rsplit('/').next().unwrap_or_default()),
                CaseAttribute::Case => matcher.is_match(&case.name),
                CaseAttribute::Tag => case.tags.iter().any(|tag| matcher.is_match(tag)),
                CaseAttribute::Text => matcher.is_match(&case.description),
                CaseAttribute::Judges => case.controllers.to_string().split(',').any(|one| matcher.is_match(one)),
                CaseAttribute::Label => labels(case).iter().any(|label| matcher.is_match(label)),
            },
        }
    }
}

impl Matcher {
    fn is_match(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        match self {
            Self::Part(part) => text.contains(&part.to_lowercase()),
            Self::Exact(whole) => text == whole.to_lowercase(),
            Self::Pattern(pattern) => matches_pattern(&pattern.to_lowercase(), &text),
        }
    }
}

/// The area of a case, and the areas that it is in: `a/b`, `a`.
fn areas(case: &Case) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(case.area()), |area| Some(area.rsplit_once('/')?.0))
}

/// Whether a text matches a pattern with `*` and `?`. Takes time in proportion to the product of
/// both lengths.
pub(crate) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for letter in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match letter {
                '*' => reached[at] || (at > 0 && next[at - 1]),
                '?' => at > 0 && reached[at - 1],
                letter => at > 0 && reached[at - 1] && text[at - 1] == letter,
            };
        }
        reached = next;
    }
    reached[text.len()]
}

/// The labels of a case: its operations (`set`, `scale`, `undo` …), `refused`, `expect`, `during`,
/// `fault`, `held` and `real` pods, `revision` if it names one, and the fields of its Deployments
/// (`maxSurge`, `Recreate`, `minReadySeconds` …).
#[must_use]
pub fn labels(case: &Case) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    let mut add = |label: &str| {
        labels.insert(label.to_owned());
    };
    if case.terminations == Terminations::Held {
        add("terminations-held");
    }
    if case.bindings == Bindings::Held {
        add("bindings-held");
    }
    if case.pods == PodKind::Real {
        add("real");
    }
    case.given.iter().chain(&case.steps).for_each(|step| add_step_labels(step, &mut add));
    labels
}

fn add_step_labels(step: &Step, add: &mut dyn FnMut(&str)) {
    for (there, label) in [
        (step.refused.is_some(), "refused"),
        (step.expect.is_some(), "expect"),
        (step.during.is_some(), "during"),
        (step.fault.is_some(), "fault"),
    ] {
        if there {
            add(label);
        }
    }
    if let Some(InjectionPoint::Decision(decision)) = step.during.as_ref().map(|during| &during.point)
        && matches!(decision.kind, DecisionKind::Revision(_))
    {
        add("revision");
    }
    step.inner_steps().for_each(|step| add_step_labels(step, add));
    step.operation.add_filter_labels(add);
    add(step.operation.name());
}

/// Parses a filter from left to right.
struct FilterParser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// Nesting of brackets beyond any real filter.
const MAX_DEPTH: usize = 64;

impl<'a> FilterParser<'a> {
    fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> FilterError {
        let at = self.text[..self.at].chars().count();
        FilterError { message: message.into(), hint: hint.into(), filter: self.text.to_owned(), at }
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Consumes one of these signs, or of these words at a word boundary.
    fn take(&mut self, signs: &[&str]) -> bool {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let found = signs.iter().find(|sign| {
            let is_word = sign.chars().all(char::is_alphabetic);
            let ends = |rest: &str| !rest.starts_with(|c: char| is_letter(c) || c == '(') || rest.starts_with(" (");
            rest.strip_prefix(**sign).is_some_and(|rest| !is_word || ends(rest))
        });
        found.map(|sign| self.at += sign.len()).is_some()
    }

    fn parse_or(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.parse_and()?;
        while self.take(&["|", "+", "or"]) {
            filter = Filter::Or(Box::new(filter), Box::new(self.parse_and()?));
        }
        Ok(filter)
    }

    fn parse_and(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.parse_not()?;
        loop {
            if self.take(&["&", "and"]) {
                filter = Filter::And(Box::new(filter), Box::new(self.parse_not()?));
            } else if self.take(&["-"]) {
                filter = Filter::And(Box::new(filter), Box::new(Filter::Not(Box::new(self.parse_not()?))));
            } else {
                return Ok(filter);
            }
        }
    }

    fn parse_not(&mut self) -> Result<Filter, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("too many brackets", "at most 64 in each other"));
        }
        let filter = if self.take(&["!", "not"]) {
            Filter::Not(Box::new(self.parse_not()?))
        } else if self.take(&["("]) {
            let filter = self.parse_or()?;
            if !self.take(&[")"]) {
                return Err(self.error("a bracket is not closed", "`)` is missing"));
            }
            filter
        } else {
            self.parse_term()?
        };
        self.depth -= 1;
        Ok(filter)
    }

    /// Parses `area(rolling)`, or a word without brackets.
    fn parse_term(&mut self) -> Result<Filter, FilterError> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            return Err(self.error("something is missing", "such as `area(rolling)`, or a part of a name"));
        }
        let Some(inside) = after.strip_prefix('(') else {
            self.at += end;
            return Ok(Filter::Matches(CaseAttribute::Case, Matcher::Part(word.to_owned())));
        };
        let Some(close) = inside.find(')') else {
            self.at += end;
            return Err(self.error("a bracket is not closed", "`)` is missing"));
        };
        let asked = inside[..close].trim();
        let filter = match (word, ATTRIBUTES.iter().find(|(name, _)| *name == word), asked) {
            ("all", None, "") => Filter::All,
            ("none", None, "") => Filter::Not(Box::new(Filter::All)),
            (_, Some(_), "") => {
                return Err(self.error(format!("`{word}()` asks for nothing"), format!("such as `{word}(x)`")));
            }
            (_, Some((_, subject)), asked) => Filter::Matches(*subject, matcher(*subject, asked)),
            (_, None, _) => {
                let known: Vec<_> = ATTRIBUTES.iter().map(|(name, _)| *name).chain(["all", "none"]).collect();
                let hint =
                    did_you_mean(word, known.iter().copied()).unwrap_or_else(|| format!("one of {}", known.join(", ")));
                return Err(self.error(format!("there is no `{word}(…)`"), hint));
            }
        };
        self.at += end + close + 2;
        Ok(filter)
    }
}

/// Letters of a word without brackets: those of case names.
fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || "-_./#*?@".contains(letter)
}

fn matcher(subject: CaseAttribute, argument: &str) -> Matcher {
    match (argument.split_at_checked(1), subject) {
        (Some(("=", rest)), _) => Matcher::Exact(rest.to_owned()),
        (Some(("~", rest)), _) => Matcher::Part(rest.to_owned()),
        (Some(("#", rest)), _) => Matcher::Pattern(rest.to_owned()),
        (_, CaseAttribute::Area | CaseAttribute::Tag | CaseAttribute::Judges) => Matcher::Exact(argument.to_owned()),
        _ => Matcher::Part(argument.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Filter, labels};
    use crate::{Case, parse};

    fn case() -> Case {
        case_of("rolling/ten-or-more")
    }

    fn case_of(name: &str) -> Case {
        let text = "description: Ten are scaled.\ntags: [smoke]\ngiven:\n  - deployment: {name: web, image: 'app:1', maxSurge: 1}\nsteps:\n  - scale: 3\n  - undo: {}\n    refused: {message: never}\n";
        parse(&format!("cases/{name}.yaml"), name, text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[rstest]
    #[case("rolling", true)]
    #[case("ten-or", true)]
    #[case("area(rolling) & label(surge)", true)]
    #[case("area(roll)", false)]
    #[case("area(#roll*)", true)]
    #[case("name(=ten-or-more)", true)]
    #[case("name(=ten)", false)]
    #[case("label(=undo) and not label(pause)", true)]
    #[case("label(pause) or text(scaled)", true)]
    #[case("all() - area(rolling)", false)]
    #[case("!(area(scale) | label(fault)) & judges(deployment)", true)]
    #[case("judges(replicaset)", false)]
    #[case("tag(smoke)", true)]
    #[case("tag(smo)", false)]
    #[case("none()", false)]
    #[case("text(ö)", false)]
    #[case("case(#*/ten-*)", true)]
    #[case("label(pause) & label(pause) | label(refused)", true)]
    fn filter_selects_cases(#[case] filter: &str, #[case] expected: bool) {
        let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(filter.matches(&case()), expected);
    }

    #[rstest]
    #[case("area(a)", true)]
    #[case("area(a/b)", true)]
    #[case("area(#a/*)", true)]
    #[case("area(b)", false)]
    #[case("name(=x)", true)]
    #[case("name(b)", false)]
    fn area_includes_the_folders_in_it(#[case] filter: &str, #[case] expected: bool) {
        let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(filter.matches(&case_of("a/b/x")), expected);
    }

    #[rstest]
    #[case("", "something is missing\n  \n  ^ such as `area(rolling)`, or a part of a name")]
    #[case("aera(x)", "there is no `aera(…)`\n  aera(x)\n  ^ did you mean `area`?")]
    #[case("area(x) &", "something is missing\n  area(x) &\n           ^ such as `area(rolling)`, or a part of a name")]
    #[case("area(x", "a bracket is not closed\n  area(x\n      ^ `)` is missing")]
    #[case("(area(x)", "a bracket is not closed\n  (area(x)\n          ^ `)` is missing")]
    #[case("area()", "`area()` asks for nothing\n  area()\n  ^ such as `area(x)`")]
    #[case(
        "area(x) label(y)",
        "something is left over\n  area(x) label(y)\n          ^ `&`, `|` or `-` goes before it"
    )]
    fn error_points_at_malformed_part(#[case] filter: &str, #[case] expected: &str) {
        assert_eq!(Filter::parse(filter).unwrap_err().to_string(), expected);
    }

    #[test]
    fn endless_brackets_do_not_overflow_stack() {
        for open in ["(", "!", "not "] {
            Filter::parse(&open.repeat(100_000)).unwrap_err();
        }
    }

    #[test]
    fn labels_name_operations_and_fields() {
        let labels = labels(&case());
        let expected = ["Deployment", "RollingUpdate", "apply", "maxSurge", "refused", "scale", "undo"];
        assert!(expected.iter().all(|label| labels.contains(*label)), "{labels:?}");
    }

    #[rstest]
    #[case("ready: {pods: 1}", false)]
    #[case("ready: {pods: 1, of: {revision: 1}}", true)]
    #[case("set: {image: 'app:2'}\n    during: {decision: web revision=2, do: [{pause: web}]}", true)]
    #[case("set: {image: 'app:2'}\n    during: {decision: rs2 created, do: [{pause: web}]}", false)]
    fn case_that_names_a_revision_has_its_label(#[case] step: &str, #[case] expected: bool) {
        let given = "given:\n  - deployment: {name: web, replicas: 2, image: 'app:1'}\n";
        let text = format!("description: x\n{given}steps:\n  - {step}\n");
        let case = parse("cases/a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(labels(&case).contains("revision"), expected);
    }
}
