//! The names of configs in one annotation, as Reloader reads them: regular expressions, separated
//! by commas.
//!
//! They are compiled once, when a workload is read, and kept while the annotation stays as it is.
//! An annotation may have 256 KiB, and a short expression may stand for a large automaton, so the
//! text, the automata and their nesting have limits. What goes beyond them counts for nothing and
//! is reported; what is within them works. What Go's regexp refuses is refused here, too.
//!
//! A name without operators, which most are, is compared and needs no automaton. An automaton is
//! kept without caches: these would take more memory than it does itself, and a name is short.
//!
//! Cases: `config-restart/reloader-named-pattern`,
//! `config-restart/reloader-named-and-no-expression`.

use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    AssertionKind, Ast, ErrorKind, Flag, Flags, FlagsItemKind, GroupKind, HexLiteralKind, LiteralKind, RepetitionKind,
    RepetitionRange,
};
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::TranslatorBuilder;

use super::super::checksum;

/// Bytes of an annotation that are read.
pub(super) const LONGEST_TEXT: usize = 16 << 10;
/// Bytes that all automata of an annotation take.
const LARGEST: usize = 32 << 10;
/// Bytes that an automaton takes besides its states.
const OVERHEAD: usize = 1 << 10;
/// How deep an expression may be nested.
const DEEPEST: u32 = 100;
/// Go refuses expressions that repeat a part more often.
const MOST_REPEATS: u32 = 1000;

/// The names in one annotation.
#[derive(Debug, Clone, Default)]
pub struct NamePatterns {
    /// Of the annotation that it was read from.
    checksum: String,
    /// Names without operators but the dot, separated by commas.
    plain: String,
    automata: Vec<PikeVM>,
    /// What the automata take.
    bytes: usize,
    /// How many names are beyond the limits.
    pub(super) left_out: usize,
}

/// Why an expression counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Invalid,
    TooLarge,
}

impl NamePatterns {
    /// Reads an annotation, and which of its names are no regular expressions.
    pub(super) fn read(text: &str) -> (Self, Vec<&str>) {
        let mut patterns = Self { checksum: checksum::text(text), ..Self::default() };
        let (mut invalid, mut length) = (Vec::new(), 0);
        for pattern in text.split(',') {
            length += pattern.len() + 1;
            let pattern = pattern.trim();
            if length > LONGEST_TEXT + 1 {
                patterns.left_out += 1;
            } else if pattern.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
                patterns.plain.push_str(pattern);
                patterns.plain.push(',');
            } else {
                match patterns.add(pattern) {
                    Ok(()) => {}
                    Err(Refused::Invalid) => invalid.push(pattern),
                    Err(Refused::TooLarge) => patterns.left_out += 1,
                }
            }
        }
        (patterns, invalid)
    }

    fn add(&mut self, pattern: &str) -> Result<(), Refused> {
        let room = LARGEST.saturating_sub(self.bytes + OVERHEAD);
        let automaton = compile(pattern, room)?;
        self.bytes += automaton.get_nfa().memory_usage() + OVERHEAD;
        self.automata.push(automaton);
        Ok(())
    }

    /// Whether they were read from this annotation.
    pub(super) fn are_of(&self, text: &str) -> bool {
        self.checksum == checksum::text(text)
    }

    /// Whether one of them matches the name of a config.
    pub(super) fn match_name(&self, name: &str) -> bool {
        let is_equal = |pattern: &str| {
            let mut bytes = pattern.bytes().zip(name.bytes());
            pattern.len() == name.len() && bytes.all(|(pattern, byte)| pattern == byte || pattern == b'.')
        };
        self.plain.split(',').any(is_equal)
            || self.automata.iter().any(|automaton| automaton.is_match(&mut Cache::new(automaton), name))
    }

    /// How much work a look at them is: 1 is that of a workload without any.
    pub(super) fn cost(&self) -> usize {
        (self.plain.len() + 8 * self.bytes) / 512
    }

    /// What is wrong, for users; `None`: all of them count.
    pub(super) fn problem(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} of its names are left out; it may have {} KiB of names, and their expressions {} KiB of states and {DEEPEST} levels",
                self.left_out,
                LONGEST_TEXT >> 10,
                LARGEST >> 10
            )
        })
    }
}

impl PartialEq for NamePatterns {
    fn eq(&self, other: &Self) -> bool {
        self.checksum == other.checksum
    }
}

impl Eq for NamePatterns {}

fn compile(pattern: &str, room: usize) -> Result<PikeVM, Refused> {
    // As that controller puts it together: what is separated by `|` is bound to one end of the name
    // only.
    let pattern = format!("^{pattern}$");
    let ast = ParserBuilder::new().nest_limit(DEEPEST).build().parse(&pattern);
    let ast = ast.map_err(|error| match error.kind() {
        ErrorKind::NestLimitExceeded(_) => Refused::TooLarge,
        _ => Refused::Invalid,
    })?;
    if !is_gos(&ast, MOST_REPEATS) {
        return Err(Refused::Invalid);
    }
    let config = Config::new().utf8(false).nfa_size_limit(Some(room)).which_captures(WhichCaptures::None);
    let nfa = Compiler::new().configure(config).build_from_hir(&translate(&pattern, &ast).ok_or(Refused::Invalid)?);
    let nfa = nfa.map_err(|error| if error.size_limit().is_some() { Refused::TooLarge } else { Refused::Invalid })?;
    PikeVM::new_from_nfa(nfa).map_err(|_| Refused::Invalid)
}

/// As in Go, `\w` and its like are ASCII's. Only classes such as `\pL` need Unicode.
fn translate(pattern: &str, ast: &Ast) -> Option<Hir> {
    let with = |unicode| TranslatorBuilder::new().unicode(unicode).utf8(false).build().translate(pattern, ast).ok();
    with(false).or_else(|| with(true))
}

/// Whether Go's regexp has this, too; `left` is how often its parts may still be repeated.
fn is_gos(ast: &Ast, left: u32) -> bool {
    match ast {
        Ast::Repetition(repetition) => {
            let most = match &repetition.op.kind {
                RepetitionKind::Range(RepetitionRange::Exactly(most) | RepetitionRange::AtLeast(most)) => *most,
                RepetitionKind::Range(RepetitionRange::Bounded(_, most)) => *most,
                _ => 1,
            };
            // `a**` is an error there.
            let is_repeated = matches!(*repetition.ast, Ast::Repetition(_));
            most <= left && !is_repeated && is_gos(&repetition.ast, left / most.max(1))
        }
        Ast::Group(group) => {
            let flags = match &group.kind {
                GroupKind::NonCapturing(flags) => Some(flags),
                GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => None,
            };
            flags.is_none_or(are_gos) && is_gos(&group.ast, left)
        }
        Ast::Concat(all) => all.asts.iter().all(|ast| is_gos(ast, left)),
        Ast::Alternation(all) => all.asts.iter().all(|ast| is_gos(ast, left)),
        Ast::Flags(set) => are_gos(&set.flags),
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

fn are_gos(flags: &Flags) -> bool {
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
    fn names(#[case] text: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(read(text).0.match_name(name), expected);
    }

    /// The parser of Go's `regexp/syntax` refuses these.
    #[rstest]
    #[case::repeats("a{1001}")]
    #[case::repeats_of_repeats("(a{40}){40}")]
    #[case::repeats_of_operators("a**")]
    #[case::unclosed("(a")]
    #[case::flag("(?x)a")]
    #[case::word_start(r"\<a")]
    #[case::hex(r"\u0061")]
    fn go_refuses(#[case] pattern: &str) {
        let (patterns, invalid) = read(pattern);
        assert_eq!((invalid, patterns.left_out, patterns.automata.len()), (1, 0, 0));
    }

    #[rstest]
    #[case::most_repeats("a{1000}")]
    #[case::repeats_of_repeats("(a{30}){30}")]
    fn go_takes(#[case] pattern: &str) {
        assert_eq!(read(pattern).1, 0);
    }

    #[rstest]
    #[case::of_one_expression(r"(\w{30}){30},c", 1)]
    #[case::of_all_expressions(&format!("c{}", r",(\w{20}){5}".repeat(200)), 190)]
    #[case::of_depth(&format!("{}a{},c", "(".repeat(101), ")".repeat(101)), 1)]
    #[case::of_text(&format!("c{}", ",name".repeat(50_000)), 46_000)]
    fn limits(#[case] text: &str, #[case] at_least: usize) {
        let (patterns, invalid) = read(text);
        assert!(patterns.left_out >= at_least && invalid == 0, "{} {invalid}", patterns.left_out);
        assert!(patterns.match_name("c"), "the rest of the annotation works");
        assert!(patterns.bytes <= LARGEST && patterns.plain.len() <= LONGEST_TEXT + 1, "{patterns:?}");
        assert!(patterns.problem().is_some());
    }
}
