//! Which cases are wanted, in a small language after nextest's: `area(rolling) & label(surge)`.
//!
//! | written | means |
//! | --- | --- |
//! | `area(x)` | the folder is `x` |
//! | `name(x)` | the name without its folder |
//! | `case(x)` | `area/name` |
//! | `label(x)` | one of the case's labels: what it makes happen and what it sets, see [`labels`] |
//! | `tag(x)` | one of the case's `tags` |
//! | `text(x)` | the description |
//! | `judges(x)` | one of the controllers that it judges |
//! | `all()`, `none()` | every case, no case |
//! | `a & b`, `a \| b`, `a - b`, `!a`, `(a)`, and `and`, `or`, `not` | as usual; `&` and `-` bind more tightly than `\|` |
//!
//! `x` is a part of what is looked at, in any case of letters; `=x` is the whole of it, and that is
//! what `area`, `tag` and `judges` mean anyway; `#x*` is a pattern. Words without brackets are a
//! part of `area/name`, as `case(x)`.

use std::collections::BTreeSet;

use super::model::{Bindings, Case, PodKind, Step, Terminations};
use super::nearest::did_you_mean;

/// A filter that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// What is asked of a case.
    Asks(Subject, Matcher),
    /// Every case.
    All,
    /// Both.
    And(Box<Self>, Box<Self>),
    /// Either.
    Or(Box<Self>, Box<Self>),
    /// Not.
    Not(Box<Self>),
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
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

/// How a text must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matcher {
    /// It has this part.
    Part(String),
    /// It is this.
    Whole(String),
    /// It is of this pattern: `*` any letters, `?` any one.
    Pattern(String),
}

/// Why a filter is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  {filter}\n  {:>at$} {hint}", "^", at = .at + 1)]
pub struct FilterError {
    what: String,
    hint: String,
    filter: String,
    at: usize,
}

const SUBJECTS: [(&str, Subject); 7] = [
    ("area", Subject::Area),
    ("name", Subject::Name),
    ("case", Subject::Case),
    ("label", Subject::Label),
    ("tag", Subject::Tag),
    ("text", Subject::Text),
    ("judges", Subject::Judges),
];

impl Filter {
    /// Understand a filter.
    ///
    /// # Errors
    /// With the place of what is not understood.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut reader = Reader { text, at: 0, deep: 0 };
        let filter = reader.either()?;
        reader.blanks();
        if reader.at < text.len() {
            return Err(reader.error("something is left over", "`&`, `|` or `-` goes before it"));
        }
        Ok(filter)
    }

    /// Whether a case is wanted.
    #[must_use]
    pub fn wants(&self, case: &Case) -> bool {
        match self {
            Self::All => true,
            Self::And(a, b) => a.wants(case) && b.wants(case),
            Self::Or(a, b) => a.wants(case) || b.wants(case),
            Self::Not(a) => !a.wants(case),
            Self::Asks(subject, matcher) => {
                let (area, name) = case.name.rsplit_once('/').unwrap_or(("", &case.name));
                match subject {
                    Subject::Area => matcher.fits(area),
                    Subject::Name => matcher.fits(name),
                    Subject::Case => matcher.fits(&case.name),
                    Subject::Tag => case.tags.iter().any(|tag| matcher.fits(tag)),
                    Subject::Text => matcher.fits(&case.description),
                    Subject::Judges => case.controllers.to_string().split(',').any(|one| matcher.fits(one)),
                    Subject::Label => labels(case).iter().any(|label| matcher.fits(label)),
                }
            }
        }
    }
}

impl Matcher {
    fn fits(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        match self {
            Self::Part(part) => text.contains(&part.to_lowercase()),
            Self::Whole(whole) => text == whole.to_lowercase(),
            Self::Pattern(pattern) => {
                like(&pattern.to_lowercase().chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
            }
        }
    }
}

/// Whether a text is of a pattern; in time that grows with both, not with what stands in them.
fn like(pattern: &[char], text: &[char]) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for letter in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match letter {
                '*' => reached[at] || (at > 0 && next[at - 1]),
                '?' => at > 0 && reached[at - 1],
                letter => at > 0 && reached[at - 1] && text[at - 1] == *letter,
            };
        }
        reached = next;
    }
    reached[text.len()]
}

/// What a case makes happen and what it sets, as words: its operations (`set`, `scale`, `undo` …),
/// `refused`, `expect`, `during`, `fault`, `held` and `real` pods, and the fields of its
/// Deployments (`maxSurge`, `Recreate`, `minReadySeconds` …).
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
    case.given.iter().chain(&case.steps).for_each(|step| of_step(step, &mut add));
    labels
}

fn of_step(step: &Step, add: &mut dyn FnMut(&str)) {
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
    step.during.iter().flat_map(|during| &during.steps).for_each(|step| of_step(step, add));
    step.operation.inner().iter().for_each(|step| of_step(step, add));
    step.operation.words(add);
    add(step.operation.form().name);
}

/// Reads a filter from left to right.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    deep: usize,
}

/// More brackets in brackets than anybody writes.
const DEEPEST: usize = 64;

impl<'a> Reader<'a> {
    fn error(&self, what: impl Into<String>, hint: impl Into<String>) -> FilterError {
        let at = self.text[..self.at].chars().count();
        FilterError { what: what.into(), hint: hint.into(), filter: self.text.to_owned(), at }
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Take one of these signs, or of these words where a word ends.
    fn take(&mut self, signs: &[&str]) -> bool {
        self.blanks();
        let rest = &self.text[self.at..];
        let found = signs.iter().find(|sign| {
            let is_word = sign.chars().all(char::is_alphabetic);
            let ends = |rest: &str| !rest.starts_with(|c: char| is_letter(c) || c == '(') || rest.starts_with(" (");
            rest.strip_prefix(**sign).is_some_and(|rest| !is_word || ends(rest))
        });
        found.map(|sign| self.at += sign.len()).is_some()
    }

    fn either(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.both()?;
        while self.take(&["|", "+", "or"]) {
            filter = Filter::Or(Box::new(filter), Box::new(self.both()?));
        }
        Ok(filter)
    }

    fn both(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.one()?;
        loop {
            if self.take(&["&", "and"]) {
                filter = Filter::And(Box::new(filter), Box::new(self.one()?));
            } else if self.take(&["-"]) {
                filter = Filter::And(Box::new(filter), Box::new(Filter::Not(Box::new(self.one()?))));
            } else {
                return Ok(filter);
            }
        }
    }

    fn one(&mut self) -> Result<Filter, FilterError> {
        self.deep += 1;
        if self.deep > DEEPEST {
            return Err(self.error("too many brackets", "at most 64 in each other"));
        }
        let filter = if self.take(&["!", "not"]) {
            Filter::Not(Box::new(self.one()?))
        } else if self.take(&["("]) {
            let filter = self.either()?;
            if !self.take(&[")"]) {
                return Err(self.error("a bracket is not closed", "`)` is missing"));
            }
            filter
        } else {
            self.word()?
        };
        self.deep -= 1;
        Ok(filter)
    }

    /// `area(rolling)`, or words without brackets.
    fn word(&mut self) -> Result<Filter, FilterError> {
        self.blanks();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            return Err(self.error("something is missing", "such as `area(rolling)`, or a part of a name"));
        }
        let Some(inside) = after.strip_prefix('(') else {
            self.at += end;
            return Ok(Filter::Asks(Subject::Case, Matcher::Part(word.to_owned())));
        };
        let Some(close) = inside.find(')') else {
            self.at += end;
            return Err(self.error("a bracket is not closed", "`)` is missing"));
        };
        let asked = inside[..close].trim();
        let filter = match (word, SUBJECTS.iter().find(|(name, _)| *name == word), asked) {
            ("all", None, "") => Filter::All,
            ("none", None, "") => Filter::Not(Box::new(Filter::All)),
            (_, Some(_), "") => {
                return Err(self.error(format!("`{word}()` asks for nothing"), format!("such as `{word}(x)`")));
            }
            (_, Some((_, subject)), asked) => Filter::Asks(*subject, matcher(*subject, asked)),
            (_, None, _) => {
                let known: Vec<_> = SUBJECTS.iter().map(|(name, _)| *name).chain(["all", "none"]).collect();
                let hint =
                    did_you_mean(word, known.iter().copied()).unwrap_or_else(|| format!("one of {}", known.join(", ")));
                return Err(self.error(format!("there is no `{word}(…)`"), hint));
            }
        };
        self.at += end + close + 2;
        Ok(filter)
    }
}

/// Letters of a word without brackets: those of cases' names.
fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || "-_./#*?@".contains(letter)
}

fn matcher(subject: Subject, asked: &str) -> Matcher {
    match (asked.split_at(1), subject) {
        (("=", rest), _) => Matcher::Whole(rest.to_owned()),
        (("~", rest), _) => Matcher::Part(rest.to_owned()),
        (("#", rest), _) => Matcher::Pattern(rest.to_owned()),
        (_, Subject::Area | Subject::Tag | Subject::Judges) => Matcher::Whole(asked.to_owned()),
        _ => Matcher::Part(asked.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Filter, labels};
    use crate::case::{Case, parse};

    fn case() -> Case {
        let text = "description: Ten are scaled.\ntags: [smoke]\ngiven:\n  - deployment: {name: web, image: 'app:1', maxSurge: 1}\nsteps:\n  - scale: 3\n  - undo: {}\n    refused: {message: never}\n";
        parse("cases/rolling/ten-or-more.yaml", "rolling/ten-or-more", text).unwrap_or_else(|error| panic!("{error}"))
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
    #[case("case(#*/ten-*)", true)]
    #[case("label(pause) & label(pause) | label(refused)", true)]
    fn a_filter_chooses(#[case] filter: &str, #[case] wanted: bool) {
        let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(filter.wants(&case()), wanted);
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
    fn what_is_not_understood_is_pointed_at(#[case] filter: &str, #[case] expected: &str) {
        assert_eq!(Filter::parse(filter).unwrap_err().to_string(), expected);
    }

    #[test]
    fn brackets_without_end_are_no_overflow() {
        for open in ["(", "!", "not "] {
            Filter::parse(&open.repeat(100_000)).unwrap_err();
        }
    }

    #[test]
    fn labels_are_what_a_case_does_and_sets() {
        let labels = labels(&case());
        let expected = ["Deployment", "RollingUpdate", "apply", "maxSurge", "refused", "scale", "undo"];
        assert!(expected.iter().all(|label| labels.contains(*label)), "{labels:?}");
    }
}
