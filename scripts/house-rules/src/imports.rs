//! Reads the imports of a Rust file: `use` declarations, and paths in expressions and types that
//! begin with `crate`, `self`, `super` or a module that the file declares. Comments, strings and
//! everything under `#[cfg(test)]` are left out.
//!
//! It reads tokens and does not parse: imports in macro output are not seen, and paths of other
//! crates are ignored.

use std::collections::BTreeSet;

use ra_ap_rustc_lexer::TokenKind;

use crate::source::SourceToken;

/// The imports and module declarations of one file.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    pub(crate) all: Vec<Import>,
    /// Modules that it declares under `#[cfg(test)]`.
    pub(crate) tests: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) line: usize,
    /// The path from the crate's root.
    pub(crate) path: Vec<String>,
    /// The local name from a `use`; `None` for a path in an expression, or a glob.
    pub(crate) name: Option<String>,
    /// Whether it is a re-export.
    pub(crate) is_public: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ImportToken {
    Word(String),
    /// `::`
    Path,
    Sign(char),
}

/// Reads the imports of a module from the tokens of its file.
pub(crate) fn imports(module: &[String], tokens: &[SourceToken]) -> Imports {
    let mut tests = BTreeSet::new();
    let tokens = without_tests(&import_tokens(tokens), &mut tests);
    let mut reader =
        Reader { tokens: &tokens, at: 0, module: module.to_vec(), children: children(&tokens), collected: Vec::new() };
    reader.read();
    Imports { all: reader.collected, tests }
}

/// The tokens with their line numbers, without literals.
fn import_tokens(all: &[SourceToken]) -> Vec<(ImportToken, usize)> {
    let mut tokens = Vec::new();
    // Where a second colon makes a `::` of the one before.
    let mut second_colon = None;
    for token in all {
        match token.kind {
            TokenKind::Ident | TokenKind::RawIdent => {
                tokens.push((ImportToken::Word(token.text.trim_start_matches("r#").to_owned()), token.line));
            }
            TokenKind::Colon if second_colon == Some(token.start) => {
                tokens.pop();
                tokens.push((ImportToken::Path, token.line));
                second_colon = None;
                continue;
            }
            TokenKind::Literal { .. } | TokenKind::Lifetime { .. } => {}
            _ => tokens.extend(token.text.chars().next().map(|sign| (ImportToken::Sign(sign), token.line))),
        }
        second_colon = (token.kind == TokenKind::Colon).then_some(token.start + 1);
    }
    tokens
}

/// The tokens without items, fields and statements under `#[cfg(test)]`. Adds the names of test
/// modules to `tests`.
fn without_tests(tokens: &[(ImportToken, usize)], tests: &mut BTreeSet<String>) -> Vec<(ImportToken, usize)> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !is_sign(tokens, at, '#') || !is_sign(tokens, at + 1, '[') {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let end = end_of_group(tokens, at + 1);
        let words: Vec<&str> = (at..end).filter_map(|at| word(tokens, at)).collect();
        if !matches!(words[..], ["cfg", "test"] | ["cfg", "all", "test", ..]) {
            kept.extend_from_slice(&tokens[at..end]);
            at = end;
            continue;
        }
        at = end;
        while is_sign(tokens, at, '#') {
            at = end_of_group(tokens, at + 1);
        }
        let end = end_of_item(tokens, at);
        let declared = (at..end).find(|at| word(tokens, *at) == Some("mod")).and_then(|at| word(tokens, at + 1));
        tests.extend(declared.map(ToOwned::to_owned));
        at = end;
    }
    kept
}

fn word(tokens: &[(ImportToken, usize)], at: usize) -> Option<&str> {
    match tokens.get(at) {
        Some((ImportToken::Word(word), _)) => Some(word),
        _ => None,
    }
}

fn is_sign(tokens: &[(ImportToken, usize)], at: usize, sign: char) -> bool {
    tokens.get(at).is_some_and(|(token, _)| *token == ImportToken::Sign(sign))
}

/// The index after the closing bracket of the one at `at`.
fn end_of_group(tokens: &[(ImportToken, usize)], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at].0 {
            ImportToken::Sign('(' | '[' | '{') => depth += 1,
            ImportToken::Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The index after an item or statement (`;` or its block), or a field or arm (`,`).
fn end_of_item(tokens: &[(ImportToken, usize)], mut at: usize) -> usize {
    const ITEMS: [&str; 15] = [
        "pub", "fn", "mod", "use", "impl", "struct", "enum", "const", "static", "type", "trait", "async", "unsafe",
        "extern", "let",
    ];
    let is_item = word(tokens, at).is_some_and(|word| ITEMS.contains(&word));
    while at < tokens.len() {
        match tokens[at].0 {
            ImportToken::Sign(';') => return at + 1,
            ImportToken::Sign(',') if !is_item => return at + 1,
            ImportToken::Sign('{') => return end_of_group(tokens, at),
            ImportToken::Sign('(' | '[') => at = end_of_group(tokens, at),
            // The enclosing group ends.
            ImportToken::Sign(')' | ']' | '}') => return at,
            _ => at += 1,
        }
    }
    at
}

/// The modules that the file declares.
fn children(tokens: &[(ImportToken, usize)]) -> BTreeSet<String> {
    let declared = |at: &usize| word(tokens, *at) == Some("mod") && is_sign(tokens, at + 2, ';');
    (0..tokens.len()).filter(declared).filter_map(|at| word(tokens, at + 1)).map(ToOwned::to_owned).collect()
}

struct Reader<'a> {
    tokens: &'a [(ImportToken, usize)],
    at: usize,
    /// The current module: the file's module and inline modules in it.
    module: Vec<String>,
    children: BTreeSet<String>,
    collected: Vec<Import>,
}

impl Reader<'_> {
    fn read(&mut self) {
        // The depth at which each inline module began.
        let (mut depth, mut inner) = (0, Vec::new());
        while self.at < self.tokens.len() {
            let follows_path = self.at > 0 && self.tokens[self.at - 1].0 == ImportToken::Path;
            match &self.tokens[self.at].0 {
                ImportToken::Sign('{') => depth += 1,
                ImportToken::Sign('}') => {
                    depth -= 1;
                    if inner.last() == Some(&depth) {
                        inner.pop();
                        self.module.pop();
                    }
                }
                ImportToken::Word(word) if word == "mod" && is_sign(self.tokens, self.at + 2, '{') => {
                    inner.push(depth);
                    self.module.extend(self::word(self.tokens, self.at + 1).map(ToOwned::to_owned));
                }
                // `pub(in path)` imports nothing.
                ImportToken::Word(word) if word == "pub" && self::word(self.tokens, self.at + 2) == Some("in") => {
                    self.at = end_of_group(self.tokens, self.at + 1);
                    continue;
                }
                ImportToken::Word(word) if word == "use" => {
                    let is_public = self.is_public();
                    self.at += 1;
                    self.tree(&[], is_public, true);
                    continue;
                }
                ImportToken::Word(_)
                    if !follows_path && self.tokens.get(self.at + 1).is_some_and(|t| t.0 == ImportToken::Path) =>
                {
                    self.tree(&[], false, false);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether the `use` at this position is a re-export.
    fn is_public(&self) -> bool {
        self.at > 0 && (word(self.tokens, self.at - 1) == Some("pub") || is_sign(self.tokens, self.at - 1, ')'))
    }

    /// Reads one path from this position; in a `use`, possibly a tree.
    fn tree(&mut self, before: &[String], is_public: bool, is_use: bool) {
        let mut path = before.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
        if self.tokens.get(self.at).is_some_and(|t| t.0 == ImportToken::Path) {
            // `::name` is in another crate.
            self.at += 1;
        }
        loop {
            match self.tokens.get(self.at).map(|(token, _)| token) {
                Some(ImportToken::Word(word)) => path.push(word.clone()),
                Some(ImportToken::Sign('*')) if is_use => {
                    self.at += 1;
                    return self.add(line, path, None, is_public);
                }
                Some(ImportToken::Sign('{')) if is_use => return self.group(&path, is_public),
                // `path::<T>`.
                _ => return self.add(line, path, None, is_public),
            }
            self.at += 1;
            if self.tokens.get(self.at).is_none_or(|t| t.0 != ImportToken::Path) {
                break;
            }
            self.at += 1;
        }
        if !is_use {
            return self.add(line, path, None, false);
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let mut name = path.last().cloned();
        if word(self.tokens, self.at) == Some("as") {
            name = word(self.tokens, self.at + 1).map(ToOwned::to_owned);
            self.at += 2;
        }
        self.add(line, path, name, is_public);
    }

    fn group(&mut self, path: &[String], is_public: bool) {
        self.at += 1;
        while self.at < self.tokens.len() && !is_sign(self.tokens, self.at, '}') {
            if is_sign(self.tokens, self.at, ',') {
                self.at += 1;
            } else {
                self.tree(path, is_public, true);
            }
        }
        self.at += 1;
    }

    /// Adds an import of this crate.
    fn add(&mut self, line: usize, path: Vec<String>, name: Option<String>, is_public: bool) {
        let mut from = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.clone(),
            Some(child) if self.children.contains(child) => self.module.clone(),
            _ => return,
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => drop(from.pop()),
                _ => from.push(part),
            }
        }
        self.collected.push(Import { line, path: from, name, is_public });
    }
}
