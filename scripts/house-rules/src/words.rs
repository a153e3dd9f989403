//! Words: what `words.yaml` refuses, in comments, identifiers, messages, pages and descriptions.

use anyhow::Context;
use regex::Regex;
use serde::Deserialize;

use crate::repository::{Breach, Repository};
use crate::source::{Declared, Source};

/// Where the list is, from the root of the repository.
pub(crate) const PATH: &str = "scripts/house-rules/words.yaml";
/// Pages that are made of what programs print.
const GENERATED: [&str; 2] = ["docs/commands.md", "docs/case-reference.md"];

/// The list, with its patterns compiled.
#[derive(Debug)]
pub(crate) struct Words {
    /// All of `sentences` in one, because most texts have none of them.
    any: Regex,
    sentences: Vec<Phrase>,
    list: List,
}

#[derive(Debug)]
struct Phrase {
    refused: Regex,
    except: Option<Regex>,
    instead: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    sentences: Vec<SentenceEntry>,
    identifiers: Vec<IdentifierEntry>,
    declarations: Vec<DeclarationEntry>,
    shared: Vec<SharedEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentenceEntry {
    pattern: String,
    #[serde(rename = "use")]
    instead: String,
    except: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentifierEntry {
    word: String,
    #[serde(rename = "use")]
    instead: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclarationEntry {
    words: Vec<String>,
    #[serde(rename = "use")]
    instead: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SharedEntry {
    names: Vec<String>,
    #[serde(rename = "why")]
    _why: String,
}

impl Words {
    /// Reads the list.
    ///
    /// # Errors
    /// When it is not such a list, or has a pattern that does not compile.
    pub(crate) fn read(yaml: &str) -> anyhow::Result<Self> {
        let list: List = serde_yaml::from_str(yaml).context("words.yaml")?;
        let compile = |pattern: &str| Regex::new(&format!(r"(?i)\b(?:{pattern})\b")).context("words.yaml");
        let mut sentences = Vec::new();
        for SentenceEntry { pattern, instead, except } in &list.sentences {
            let except = except.as_ref().map(|except| Regex::new(&format!("(?i){except}"))).transpose();
            let except = except.context("words.yaml")?;
            sentences.push(Phrase { refused: compile(pattern)?, except, instead: instead.clone() });
        }
        let all: Vec<&str> = list.sentences.iter().map(|entry| entry.pattern.as_str()).collect();
        Ok(Self { any: compile(&all.join("|"))?, sentences, list })
    }

    /// Whether several types may have this name.
    pub(crate) fn is_shared(&self, name: &str) -> bool {
        self.list.shared.iter().any(|entry| entry.names.iter().any(|shared| shared == name))
    }

    /// All that is refused.
    pub(crate) fn check(&self, repository: &Repository) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let is_own = |path: &str| path.starts_with("scripts/house-rules/");
        for source in repository.sources.iter().filter(|source| !is_own(&source.path)) {
            self.check_source(source, &mut breaches);
        }
        for (path, text) in &repository.texts {
            let is_page = path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'));
            if is_page && !GENERATED.contains(&path.as_str()) {
                self.check_page(path, text, &mut breaches);
            }
            if path.ends_with(".yaml") && (path.starts_with("cases/") || path.starts_with("controller/mutants/")) {
                for (number, line) in text.lines().enumerate() {
                    let line = line.trim_start().trim_start_matches("- ");
                    if ["does: ", "says: ", "description: ", "# "].iter().any(|key| line.starts_with(key)) {
                        self.check_text(path, number + 1, line, "a description", &mut breaches);
                    }
                }
            }
        }
        breaches
    }

    fn check_source(&self, source: &Source, breaches: &mut Vec<Breach>) {
        for comment in &source.comments {
            self.check_text(&source.path, comment.line, &without_code(&comment.text), "a comment", breaches);
        }
        for string in source.strings.iter().filter(|it| !source.is_test() && it.line < source.tests_from) {
            for (line, text) in (string.line..).zip(string.text.lines()) {
                self.check_text(&source.path, line, &text.replace("\\\"", ""), "a message", breaches);
            }
        }
        for identifier in &source.identifiers {
            for entry in &self.list.identifiers {
                if segments(&identifier.text).contains(&entry.word) {
                    let message = format!("`{}` has the word '{}': {}", identifier.text, entry.word, entry.instead);
                    breaches.push(Breach::new(&source.path, identifier.line, message));
                }
            }
        }
        for declaration in source.declarations.iter().filter(|it| it.what != Declared::AssociatedType) {
            let name = segments(&declaration.name).join("_");
            for entry in self.list.declarations.iter().filter(|entry| entry.words.contains(&name)) {
                let message = format!("`{}` is declared: {}", declaration.name, entry.instead);
                breaches.push(Breach::new(&source.path, declaration.line, message));
            }
        }
    }

    /// A page without its code.
    fn check_page(&self, path: &str, text: &str, breaches: &mut Vec<Breach>) {
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code {
                self.check_text(path, number + 1, &without_code(line), "a page", breaches);
            }
        }
    }

    fn check_text(&self, path: &str, line: usize, text: &str, what: &str, breaches: &mut Vec<Breach>) {
        if !self.any.is_match(text) {
            return;
        }
        for phrase in &self.sentences {
            let exceptions: Vec<_> = phrase.except.iter().flat_map(|except| except.find_iter(text)).collect();
            let is_within = |at: regex::Match<'_>| {
                exceptions.iter().any(|except| except.start() < at.end() && at.start() < except.end())
            };
            if let Some(at) = phrase.refused.find_iter(text).find(|at| !is_within(*at)) {
                let message = format!("{what} has '{}': {}", at.as_str(), phrase.instead);
                breaches.push(Breach::new(path, line, message));
            }
        }
    }
}

/// A line without what stands between back-ticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// The words of an identifier, in small letters: `was_told`, `WasTold` and `WAS_TOLD` have two.
fn segments(identifier: &str) -> Vec<String> {
    let mut segments: Vec<String> = Vec::new();
    let mut after_small = false;
    for part in identifier.split('_').filter(|part| !part.is_empty()) {
        segments.push(String::new());
        for letter in part.chars() {
            if letter.is_ascii_uppercase() && after_small {
                segments.push(String::new());
            }
            after_small = !letter.is_ascii_uppercase();
            segments.last_mut().expect("one was pushed for this part").push(letter.to_ascii_lowercase());
        }
        after_small = false;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Vec<(usize, String)> {
        let words = Words::read(include_str!("../words.yaml")).unwrap();
        let repository = Repository::new([(path.to_owned(), text.to_owned())].into());
        words.check(&repository).into_iter().map(|breach| (breach.line, breach.message)).collect()
    }

    #[test]
    fn finds_a_planted_word_in_a_comment() {
        let found = breaches("a/src/x.rs", "fn a() {}\n// Whoever asks is answered.\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == 2 && found[0].1.starts_with("a comment has 'Whoever'"), "{found:?}");
    }

    #[test]
    fn finds_a_planted_word_in_an_identifier() {
        assert_eq!(breaches("a/src/x.rs", "fn a() {\n    was_told();\n}\n").len(), 1);
        assert_eq!(breaches("a/src/x.rs", "struct WasTold;\n").len(), 1);
        assert_eq!(breaches("a/src/x.rs", "struct Seen;\n").len(), 1);
    }

    #[test]
    fn finds_a_planted_word_in_a_message() {
        assert_eq!(breaches("a/src/x.rs", "const A: &str = \"nobody answers\";\n").len(), 1);
        // What a test compares with is what a program says, which is checked where it is said.
        assert_eq!(breaches("a/src/tests.rs", "const A: &str = \"nobody answers\";\n"), []);
    }

    #[test]
    fn finds_a_planted_word_in_a_page_and_in_a_description() {
        assert_eq!(breaches("docs/x.md", "One\nnobody answers\n```\nnobody\n```\n`nobody`\n").len(), 1);
        assert_eq!(breaches("cases/a/b.yaml", "description: nobody answers\nsteps: []\n").len(), 1);
    }

    #[test]
    fn leaves_out_what_a_word_may_be_part_of() {
        assert_eq!(breaches("docs/x.md", "there is no pod\n"), []);
        assert_eq!(breaches("docs/x.md", "it is no pod\n").len(), 1);
    }
}
