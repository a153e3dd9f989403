//! Finds the places at which mutants differ from a source file, and inserts a switch at each.
//!
//! A place is an expression: `is` in the source, `instead` in the mutant. `is` must occur once in
//! the file, or once in `in`, which then must occur once in the file. White space is ignored, so a
//! place still matches after a change of format.
//!
//! `EXPRESSION` becomes `(if crate::switch::is_on("NAME") { INSTEAD } else { EXPRESSION })`. So
//! `is` must be a whole operand: `b` or `b * c` of `a + b * c`, but not `a + b`, around which
//! parentheses would change the meaning of the source. A statement can also be written as an
//! expression: `instead` may be a block, `()`, `continue` or `return`. A statement that only the
//! mutant has goes into a block around an adjacent expression.
//!
//! Mutants may share a place, and a place may contain others. Places that overlap partially are an
//! error.

use std::ops::Range;

use serde::Deserialize;

/// Where a mutant differs from the source.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replacement {
    /// The file, relative to the folder of sources: the crate's folder, and the path in it.
    pub(crate) file: String,
    /// The text around the expression, if the expression occurs more than once.
    #[serde(rename = "in")]
    pub(crate) within: Option<String>,
    /// The expression in the source.
    pub(crate) is: String,
    /// The expression of the mutant.
    pub(crate) instead: String,
}

/// A mutant and one of its places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch<'a> {
    /// The mutant's name.
    pub(crate) mutant: &'a str,
    pub(crate) place: &'a Replacement,
}

/// A switch, and the range of the source that it replaces.
type LocatedSwitch<'a> = (Range<usize>, Switch<'a>);

/// A source file with all switches in it.
///
/// # Errors
/// Each place that does not occur, occurs more than once, or partially overlaps another one, with
/// the mutant's name.
pub(crate) fn insert_switches(source: &str, switches: &[Switch<'_>]) -> Result<String, Vec<String>> {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for switch in switches {
        match find(source, switch.place) {
            Ok(range) => found.push((range, *switch)),
            Err(why) => faults.push(format!("mutant {}: {} {why}", switch.mutant, switch.place.file)),
        }
    }
    // Outer places before those within them.
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    for (at, (outer, one)) in found.iter().enumerate() {
        let rest = found[at + 1..].iter().filter(|(inner, _)| inner.start < outer.end && inner.end > outer.end);
        faults.extend(rest.map(|(_, other)| {
            format!("mutant {}: its place overlaps that of {} in {}", other.mutant, one.mutant, one.place.file)
        }));
    }
    if faults.is_empty() { Ok(write(source, 0..source.len(), &found)) } else { Err(faults) }
}

fn find(source: &str, place: &Replacement) -> Result<Range<usize>, String> {
    let Some(within) = &place.within else { return only(source, &place.is, "`in` can say which") };
    let around = only(source, within, "`in` needs more of what surrounds it")?;
    let inner = only(&source[around.clone()], &place.is, "`in` must have it once")?;
    Ok(around.start + inner.start..around.start + inner.end)
}

/// Finds the only occurrence of a text.
fn only(source: &str, text: &str, remedy: &str) -> Result<Range<usize>, String> {
    match <[_; 1]>::try_from(occurrences(source, text)) {
        Ok([range]) => Ok(range),
        Err(none) if none.is_empty() => Err(format!("does not have `{text}`")),
        Err(several) => Err(format!("has `{text}` {} times: {remedy}", several.len())),
    }
}

/// All occurrences of a text; white space in either is ignored.
fn occurrences(source: &str, text: &str) -> Vec<Range<usize>> {
    let is_ink = |(_, sign): &(usize, char)| !sign.is_whitespace();
    let ink: Vec<(usize, char)> = source.char_indices().filter(is_ink).collect();
    let wanted: Vec<char> = text.chars().filter(|sign| !sign.is_whitespace()).collect();
    let Some(last) = wanted.len().checked_sub(1) else { return Vec::new() };
    let windows = ink.windows(wanted.len()).filter(|window| window.iter().map(|(_, sign)| sign).eq(&wanted));
    windows.map(|window| window[0].0..window[last].0 + window[last].1.len_utf8()).collect()
}

/// A part of the source with its switches inserted; outer switches come first.
fn write(source: &str, part: Range<usize>, mut found: &[LocatedSwitch<'_>]) -> String {
    let (mut text, mut at) = (String::new(), part.start);
    while let Some((place, _)) = found.first() {
        let here = found.iter().take_while(|(range, _)| range == place).count();
        let within = found[here..].iter().take_while(|(range, _)| range.start < place.end).count();
        let (these, after) = found.split_at(here + within);
        text.push_str(&source[at..place.start]);
        text.push_str(&switch(&these[..here], &write(source, place.clone(), &these[here..])));
        (at, found) = (place.end, after);
    }
    text.push_str(&source[at..part.end]);
    text
}

/// The expression that selects by the active mutant.
fn switch(these: &[LocatedSwitch<'_>], right: &str) -> String {
    let arm = |(_, switch): &LocatedSwitch<'_>| {
        format!("if crate::switch::is_on({:?}) {{ {} }} else ", switch.mutant, switch.place.instead)
    };
    format!("({}{{ {right} }})", these.iter().map(arm).collect::<String>())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Parses places `is -> instead` or `in: is -> instead`, for mutants named m0, m1 and so on.
    fn places(texts: &[&str]) -> Vec<Replacement> {
        let place = |text: &&str| {
            let (at, instead) = text.split_once(" -> ").unwrap();
            let (within, is) = at.split_once(": ").map_or((None, at), |(within, is)| (Some(within.to_owned()), is));
            Replacement { file: "a.rs".to_owned(), within, is: is.to_owned(), instead: instead.to_owned() }
        };
        texts.iter().map(place).collect()
    }

    /// The resulting source, with `is_on("m0")` abbreviated to `m0?`.
    fn result(source: &str, texts: &[&str]) -> Result<String, Vec<String>> {
        let places = places(texts);
        let names: Vec<String> = (0..places.len()).map(|number| format!("m{number}")).collect();
        let switches = names.iter().zip(&places).map(|(mutant, place)| Switch { mutant, place }).collect::<Vec<_>>();
        let text = insert_switches(source, &switches)?;
        Ok(text.replace("crate::switch::is_on(\"", "").replace("\")", "?"))
    }

    #[rstest]
    #[case::one("f(a + 1)", &["a + 1 -> b"], "f((if m0? { b } else { a + 1 }))")]
    #[case::surrounded("a; f(a)", &["f(a): a -> b"], "a; f((if m0? { b } else { a }))")]
    #[case::adjacent("a+b", &["b -> y", "a -> x"], "(if m1? { x } else { a })+(if m0? { y } else { b })")]
    #[case::touching("ab", &["a -> x", "b -> y"], "(if m0? { x } else { a })(if m1? { y } else { b })")]
    #[case::same("f(a)", &["a -> x", "a -> y"], "f((if m0? { x } else if m1? { y } else { a }))")]
    #[case::nested(
        "a && b && c;",
        &["b -> x", "a && b && c -> y", "c -> z"],
        "(if m1? { y } else { a && (if m0? { x } else { b }) && (if m2? { z } else { c }) });"
    )]
    #[case::nested_at_the_start("!a || b", &["!a || b -> y", "!a -> x"], "(if m0? { y } else { (if m1? { x } else { !a }) || b })")]
    #[case::three_deep("f(g(a))", &["a -> 1", "g(a) -> 2", "f(g(a)) -> 3"], "(if m2? { 3 } else { f((if m1? { 2 } else { g((if m0? { 1 } else { a })) })) })")]
    #[case::white_space("f(a,\n  b)\n  .c()", &["f(a, b).c() -> d"], "(if m0? { d } else { f(a,\n  b)\n  .c() })")]
    #[case::not_ascii("µ(ä); é", &["ä -> ö"], "µ((if m0? { ö } else { ä })); é")]
    fn each_place_gets_its_switch(#[case] source: &str, #[case] places: &[&str], #[case] expected: &str) {
        assert_eq!(result(source, places).unwrap(), expected);
    }

    #[rstest]
    #[case::absent("a", &["b -> c"], "mutant m0: a.rs does not have `b`")]
    #[case::twice("a a", &["a -> b"], "mutant m0: a.rs has `a` 2 times: `in` can say which")]
    #[case::overlapping_itself("aaa", &["aa -> b"], "mutant m0: a.rs has `aa` 2 times: `in` can say which")]
    #[case::empty("a", &[" -> b"], "mutant m0: a.rs does not have ``")]
    #[case::surroundings_absent("a", &["f(a): a -> b"], "mutant m0: a.rs does not have `f(a)`")]
    #[case::surroundings_twice("f(a) f(a)", &["f(a): a -> b"], "mutant m0: a.rs has `f(a)` 2 times: `in` needs more of what surrounds it")]
    #[case::twice_within("f(a, a)", &["f(a, a): a -> b"], "mutant m0: a.rs has `a` 2 times: `in` must have it once")]
    #[case::overlap("a + b + c", &["a + b -> x", "b + c -> y"], "mutant m1: its place overlaps that of m0 in a.rs")]
    fn a_fault_names_the_mutant(#[case] source: &str, #[case] places: &[&str], #[case] expected: &str) {
        assert_eq!(result(source, places).unwrap_err(), [expected]);
    }
}
