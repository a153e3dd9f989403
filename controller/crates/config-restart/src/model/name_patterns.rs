//! The names of configs in an annotation, as Reloader reads them: regular expressions, separated by
//! commas.
//!
//! They are compiled when the workload is read, and reused until the annotation changes. An
//! annotation may have 256 KiB, and a short expression may need a large automaton, so the text, the
//! automata and their nesting have limits. So has the time for expressions that turn out too large:
//! one namespace's annotations must not delay the start of the controller or the restarts of other
//! namespaces. Names beyond the limits have no effect and are reported; the other names work.
//! Expressions that Go's regexp refuses are refused here too.
//!
//! Most names have no operators. They are compared directly and need no automaton. Automata are
//! stored without their caches, which would take more memory than the automata; config names are so
//! short that matching does not need them.
//!
//! Cases: `config-restart/reloader/named-pattern`,
//! `config-restart/reloader/named-and-no-expression`.

use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    AssertionKind, Ast, ErrorKind, Flag, Flags, FlagsItemKind, GroupKind, HexLiteralKind, LiteralKind, RepetitionKind,
    RepetitionRange,
};
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::TranslatorBuilder;

use crate::model::checksum;

/// How many bytes of an annotation are read.
pub(crate) const MAX_LIST_BYTES: usize = 16 << 10;
/// The most bytes that the automata of an annotation may take.
const MAX_AUTOMATA_BYTES: usize = 32 << 10;
/// The bytes that an automaton takes besides its states.
const OVERHEAD: usize = 1 << 10;
/// How many expressions are compiled in vain, because they are too large. Each takes as long as one
/// that uses up the limit. Further expressions are left out.
const MAX_TOO_LARGE: usize = 8;
/// The most bytes of expressions with Unicode classes. Three bytes, such as `\pL`, make a class of
/// hundreds of ranges, which may then be dropped again and so never reach the limit of automata;
/// and names of configs are ASCII anyway.
const MAX_UNICODE_BYTES: usize = 256;
/// How deep an expression may be nested.
const MAX_NESTING: u32 = 100;
/// Go refuses expressions that repeat a part more often.
const MAX_REPEATS: u32 = 1000;

/// The names in one annotation.
#[derive(Debug, Clone, Default)]
pub struct NamePatterns {
    /// The checksum of the annotation's text.
    checksum: String,
    /// Names without operators other than the dot, separated by commas.
    plain: String,
    automata: Vec<PikeVM>,
    /// The size of the automata.
    bytes: usize,
    /// The size of the expressions with Unicode classes.
    unicode_bytes: usize,
    /// How many expressions were compiled in vain.
    too_large_count: usize,
    /// How many names exceed the limits.
    pub(crate) excess_count: usize,
}

/// Why an expression has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternError {
    Invalid,
    TooLarge,
}

impl NamePatterns {
    /// Reads an annotation. Also returns the names that are not regular expressions.
    pub(crate) fn read(text: &str) -> (Self, Vec<&str>) {
        let mut patterns = Self { checksum: checksum::text_checksum(text), ..Self::default() };
        let (mut invalid, mut length) = (Vec::new(), 0);
        for pattern in text.split(',') {
            length += pattern.len() + 1;
            let pattern = pattern.trim();
            if length > MAX_LIST_BYTES + 1 {
                patterns.excess_count += 1;
            } else if pattern.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
                patterns.plain.push_str(pattern);
                patterns.plain.push(',');
            } else {
                match patterns.add(pattern) {
                    Ok(()) => {}
                    Err(PatternError::Invalid) => invalid.push(pattern),
                    Err(PatternError::TooLarge) => patterns.excess_count += 1,
                }
            }
        }
        (patterns, invalid)
    }

    fn add(&mut self, pattern: &str) -> Result<(), PatternError> {
        let room = MAX_AUTOMATA_BYTES.saturating_sub(self.bytes + OVERHEAD);
        if room == 0 || self.too_large_count >= MAX_TOO_LARGE {
            return Err(PatternError::TooLarge);
        }
        match self.compile(pattern, room) {
            Ok(automaton) => {
                self.bytes += automaton.get_nfa().memory_usage() + OVERHEAD;
                self.automata.push(automaton);
                Ok(())
            }
            Err(error) => {
                self.too_large_count += usize::from(error == PatternError::TooLarge);
                Err(error)
            }
        }
    }

    fn compile(&mut self, pattern: &str, room: usize) -> Result<PikeVM, PatternError> {
        // Reloader builds the expression in this way, so the alternatives of `a|b` are anchored at
        // one end only.
        let pattern = format!("^{pattern}$");
        let ast = ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(&pattern);
        let ast = ast.map_err(|error| match error.kind() {
            ErrorKind::NestLimitExceeded(_) => PatternError::TooLarge,
            _ => PatternError::Invalid,
        })?;
        if !is_go_syntax(&ast, MAX_REPEATS) {
            return Err(PatternError::Invalid);
        }
        let hir = self.translate(&pattern, &ast)?;
        let config = Config::new().utf8(false).nfa_size_limit(Some(room)).which_captures(WhichCaptures::None);
        let nfa = Compiler::new().configure(config).build_from_hir(&hir).map_err(|error| match error.size_limit() {
            Some(_) => PatternError::TooLarge,
            None => PatternError::Invalid,
        })?;
        PikeVM::new_from_nfa(nfa).map_err(|_| PatternError::Invalid)
    }

    /// Like in Go, `\w` and similar classes are ASCII. Only classes such as `\pL` need Unicode.
    fn translate(&mut self, pattern: &str, ast: &Ast) -> Result<Hir, PatternError> {
        let with = |unicode| TranslatorBuilder::new().unicode(unicode).utf8(false).build().translate(pattern, ast);
        if let Ok(hir) = with(false) {
            return Ok(hir);
        }
        self.unicode_bytes += pattern.len();
        if self.unicode_bytes > MAX_UNICODE_BYTES {
            return Err(PatternError::TooLarge);
        }
        with(true).map_err(|_| PatternError::Invalid)
    }

    /// Whether they were read from this annotation.
    pub(crate) fn is_read_from(&self, text: &str) -> bool {
        self.checksum == checksum::text_checksum(text)
    }

    /// Whether one of them matches the name of a config.
    pub(crate) fn matches_name(&self, name: &str) -> bool {
        let is_equal = |pattern: &str| {
            let mut bytes = pattern.bytes().zip(name.bytes());
            pattern.len() == name.len() && bytes.all(|(pattern, byte)| pattern == byte || pattern == b'.')
        };
        self.plain.split(',').any(is_equal)
            || self.automata.iter().any(|automaton| automaton.is_match(&mut Cache::new(automaton), name))
    }

    /// The cost of matching a name; a small workload costs 1.
    pub(crate) fn cost(&self) -> usize {
        (self.plain.len() + 8 * self.bytes) / 512
    }

    /// The problem to report to users, if names exceed the limits.
    pub(crate) fn problem(&self) -> Option<String> {
        (self.excess_count > 0).then(|| {
            format!(
                "{} of its names are left out; it may have {} KiB of names, and their expressions {} KiB of states, \
                 {MAX_NESTING} levels and {MAX_UNICODE_BYTES} bytes with Unicode classes",
                self.excess_count,
                MAX_LIST_BYTES >> 10,
                MAX_AUTOMATA_BYTES >> 10
            )
        })
    }
}

impl PartialEq for NamePatterns {
    fn eq(&self, rhs: &Self) -> bool {
        self.checksum == rhs.checksum
    }
}

impl Eq for NamePatterns {}

/// Whether Go's regexp supports this syntax. `repeats_left` is how often its parts may still be
/// repeated.
fn is_go_syntax(ast: &Ast, repeats_left: u32) -> bool {
    match ast {
        Ast::Repetition(repetition) => {
            let most = match &repetition.op.kind {
                RepetitionKind::Range(RepetitionRange::Exactly(most) | RepetitionRange::AtLeast(most)) => *most,
                RepetitionKind::Range(RepetitionRange::Bounded(_, most)) => *most,
                _ => 1,
            };
            // Go refuses `a**`.
            let is_repeated = matches!(*repetition.ast, Ast::Repetition(_));
            most <= repeats_left && !is_repeated && is_go_syntax(&repetition.ast, repeats_left / most.max(1))
        }
        Ast::Group(group) => {
            let flags = match &group.kind {
                GroupKind::NonCapturing(flags) => Some(flags),
                GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => None,
            };
            flags.is_none_or(are_go_flags) && is_go_syntax(&group.ast, repeats_left)
        }
        Ast::Concat(all) => all.asts.iter().all(|ast| is_go_syntax(ast, repeats_left)),
        Ast::Alternation(all) => all.asts.iter().all(|ast| is_go_syntax(ast, repeats_left)),
        Ast::Flags(set) => are_go_flags(&set.flags),
        Ast::Assertion(assertion) => matches!(
            assertion.kind,
            AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::StartText
                | AssertionKind::EndText
                | AssertionKind::WordBoundary
                | AssertionKind::NotWordBoundary
        ),
        Ast::Literal(literal) => match &literal.kind {
            LiteralKind::HexFixed(kind) | LiteralKind::HexBrace(kind) => *kind == HexLiteralKind::X,
            _ => true,
        },
        _ => true,
    }
}

fn are_go_flags(flags: &Flags) -> bool {
    flags.items.iter().all(|item| match item.kind {
        FlagsItemKind::Negation => true,
        FlagsItemKind::Flag(flag) => {
            matches!(flag, Flag::CaseInsensitive | Flag::MultiLine | Flag::DotMatchesNewLine | Flag::SwapGreed)
        }
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn read(text: &str) -> (NamePatterns, usize) {
        let (patterns, invalid) = NamePatterns::read(text);
        let invalid = invalid.len();
        (patterns, invalid)
    }

    #[rstest]
    #[case::a_name("c", "c", true)]
    #[case::more_of_a_name("c", "cc", false)]
    #[case::one_of_many("b, c ,d", "c", true)]
    #[case::a_dot_is_any("a.c", "abc", true)]
    #[case::of_one_end_only("c2|c", "xc", true)]
    #[case::a_class(r"app-\d{2}", "app-12", true)]
    #[case::unicode(r"\pL+-\d", "app-1", true)]
    #[case::flags("(?i)APP", "app", true)]
    #[case::what_is_invalid_counts_for_nothing("(,c", "c", true)]
    fn matches_names_like_reloader(#[case] text: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(read(text).0.matches_name(name), expected);
    }

    /// The parser of Go's `regexp/syntax` refuses these.
    #[rstest]
    #[case::repeats("a{1001}")]
    #[case::repeats_of_repeats("(a{40}){40}")]
    #[case::repeats_of_operators("a**")]
    #[case::unclosed("(a")]
    #[case::flag("(?x)a")]
    #[case::word_start(r"\<a")]
    #[case::short_hex(r"\u0061")]
    fn refuses_what_go_refuses(#[case] pattern: &str) {
        let (patterns, invalid) = read(pattern);
        assert_eq!((invalid, patterns.excess_count, patterns.automata.len()), (1, 0, 0));
    }

    #[rstest]
    #[case::most_repeats("a{1000}")]
    #[case::repeats_of_repeats("(a{30}){30}")]
    fn accepts_what_go_accepts(#[case] pattern: &str) {
        assert_eq!(read(pattern).1, 0);
    }

    #[rstest]
    #[case::of_one_expression(r"(\w{30}){30},c", 1)]
    #[case::of_all_expressions(&format!("c{}", r",(\w{20}){5}".repeat(200)), 190)]
    #[case::of_depth(&format!("{}a{},c", "(".repeat(101), ")".repeat(101)), 1)]
    #[case::of_unicode(&format!(r"(?i)({}){{0}},c", r"\pL".repeat(100)), 1)]
    #[case::of_expressions_in_vain(&format!(r"{}\d,c", r"\w{1000},".repeat(8)), 9)]
    #[case::of_text(&format!("c{}", ",name".repeat(50_000)), 46_000)]
    fn names_beyond_the_limits_have_no_effect(#[case] text: &str, #[case] at_least: usize) {
        let (patterns, invalid) = read(text);
        assert!(patterns.excess_count >= at_least && invalid == 0, "{} {invalid}", patterns.excess_count);
        assert!(patterns.matches_name("c"), "the rest of the annotation works");
        assert!(patterns.bytes <= MAX_AUTOMATA_BYTES && patterns.plain.len() <= MAX_LIST_BYTES + 1, "{patterns:?}");
        assert!(patterns.problem().is_some());
    }
}
