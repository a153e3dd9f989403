//! A Rust file in tokens: its comments, its texts and the names that it declares.

use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// What the rules read of a Rust file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// From the root of the repository.
    pub(crate) path: String,
    /// Comments, a line each, with the slashes.
    pub(crate) comments: Vec<Span>,
    /// String literals, with the quotes.
    pub(crate) strings: Vec<Span>,
    /// Names where they are declared.
    pub(crate) declarations: Vec<Declaration>,
    /// Every identifier and keyword.
    pub(crate) identifiers: Vec<Span>,
    /// The tokens that are neither space nor comment.
    pub(crate) tokens: Vec<SourceToken>,
    /// The line of the first `#[cfg(test)]`; the number of lines and one more where there is none.
    pub(crate) tests_from: usize,
}

/// A token that is neither space nor comment.
#[derive(Debug)]
pub(crate) struct SourceToken {
    pub(crate) kind: TokenKind,
    /// Where it begins, in bytes.
    pub(crate) start: usize,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The number of braces around it.
    depth: usize,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A name that a file declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) what: Declared,
}

/// What a name is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    /// `struct`, `enum`, `union`, `trait` or `type`.
    Type,
    /// A `type` in the body of a trait or of an implementation.
    AssociatedType,
    Function,
    Module,
    /// `const` or `static`.
    Constant,
    /// A field, or the value that one is given.
    Field,
}

impl Source {
    /// Reads the text of a file; what does not parse has fewer tokens and no error.
    pub(crate) fn read(path: &str, text: &str) -> Self {
        let mut source = Self { path: path.to_owned(), ..Self::default() };
        let mut words: Vec<SourceToken> = Vec::new();
        let (mut at, mut line, mut depth) = (0, 1, 0_usize);
        for token in tokenize(text, FrontmatterAllowed::No) {
            let piece = &text[at..at + token.len as usize];
            match token.kind {
                TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => {
                    let lines = piece.lines().enumerate();
                    source
                        .comments
                        .extend(lines.map(|(below, text)| Span { line: line + below, text: text.to_owned() }));
                }
                TokenKind::Whitespace => {}
                kind => {
                    if matches!(
                        kind,
                        TokenKind::Literal { kind: LiteralKind::Str { .. } | LiteralKind::RawStr { .. }, .. }
                    ) {
                        source.strings.push(Span { line, text: piece.to_owned() });
                    }
                    if kind == TokenKind::Ident {
                        source.identifiers.push(Span { line, text: piece.to_owned() });
                    }
                    if kind == TokenKind::CloseBrace {
                        depth = depth.saturating_sub(1);
                    }
                    words.push(SourceToken { kind, start: at, line, text: piece.to_owned(), depth });
                    if kind == TokenKind::OpenBrace {
                        depth += 1;
                    }
                }
            }
            line += piece.matches('\n').count();
            at += piece.len();
        }
        source.tests_from = line + 1;
        let mut brackets: Vec<&str> = Vec::new();
        for (number, token) in words.iter().enumerate() {
            let (line, word) = (token.line, token.text.as_str());
            let before = |back: usize| number.checked_sub(back).map_or("", |number| words[number].text.as_str());
            let after = |ahead: usize| words.get(number + ahead).map_or("", |word| word.text.as_str());
            if word == "cfg" && before(1) == "[" && after(1) == "(" && after(2) == "test" && line < source.tests_from {
                source.tests_from = line;
            }
            match word {
                "(" | "[" | "{" => brackets.push(word),
                ")" | "]" | "}" => drop(brackets.pop()),
                _ => {}
            }
            let is_name = matches!(token.kind, TokenKind::Ident | TokenKind::RawIdent);
            let what = match before(1) {
                _ if !is_name => None,
                "type" if token.depth > 0 && is_in_body(&words, number) => Some(Declared::AssociatedType),
                "struct" | "enum" | "union" | "trait" | "type" => Some(Declared::Type),
                "fn" => Some(Declared::Function),
                "mod" => Some(Declared::Module),
                "const" | "static" if word != "fn" && word != "mut" && word != "_" => Some(Declared::Constant),
                "{" | "," | ")" | "pub" | "]"
                    if after(1) == ":" && after(2) != ":" && brackets.last() == Some(&"{") =>
                {
                    Some(Declared::Field)
                }
                _ => None,
            };
            if let Some(what) = what.filter(|_| !matches!(word, "self" | "crate" | "in")) {
                source.declarations.push(Declaration { line, name: word.to_owned(), what });
            }
        }
        source.tokens = words;
        source
    }

    /// Whether the whole file is tests.
    pub(crate) fn is_test(&self) -> bool {
        let in_folder =
            self.path.contains("/tests/") || self.path.contains("/benches/") || self.path.contains("/fuzz/");
        let names = ["tests.rs", "_test.rs", "_tests.rs", "fixture.rs"];
        in_folder || names.iter().any(|end| self.path.ends_with(end))
    }
}

/// Whether the braces around a word are those of an `impl` or a `trait`.
fn is_in_body(words: &[SourceToken], number: usize) -> bool {
    let depth = words[number].depth;
    let Some(open) =
        words[..number].iter().rposition(|word| word.kind == TokenKind::OpenBrace && word.depth + 1 == depth)
    else {
        return false;
    };
    let head = words[..open].iter().rev().take_while(|word| !matches!(word.text.as_str(), ";" | "}" | "{"));
    head.into_iter().any(|word| matches!(word.text.as_str(), "impl" | "trait"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_declarations_with_their_lines() {
        let text =
            "//! Essay.\nstruct A {\n    b: u8,\n}\nimpl C for A {\n    type D = u8;\n}\nfn e(f: u8) {}\nmod g;\n";
        let source = Source::read("x.rs", text);
        let found: Vec<_> = source.declarations.iter().map(|it| (it.line, it.name.as_str(), it.what)).collect();
        let expected = [
            (2, "A", Declared::Type),
            (3, "b", Declared::Field),
            (6, "D", Declared::AssociatedType),
            (8, "e", Declared::Function),
            (9, "g", Declared::Module),
        ];
        assert_eq!(found, expected);
        assert_eq!(source.comments, [Span { line: 1, text: "//! Essay.".to_owned() }]);
    }

    #[test]
    fn takes_a_path_in_a_string_for_no_comment() {
        let source = Source::read("x.rs", "const A: &str = \"http://told\";\n");
        assert!(source.comments.is_empty());
        assert_eq!(source.strings[0].text, "\"http://told\"");
    }
}
