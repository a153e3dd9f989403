//! What changed between which two versions of upstream: a table by pair, each change as a small
//! diff, and both for machines.

use std::collections::BTreeMap;

use serde_json::{Value, json as object};

use super::failure::diff;
use super::paint::Paint;
use super::rows::changed_in_short;
use super::table::pad;
use crate::plain;
use crate::timeline::{Line, StepId};
use crate::verdict::{Change, Difference, Otherwise, Parting, Place, Spread};

/// A sentence of a table that is longer is cut; the diff has all of it.
const LONGEST: usize = 150;
/// A word of such a sentence that is longer is cut first.
const WORD: usize = 40;

/// All that was found out about some versions.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    /// The versions, the oldest first.
    pub versions: Vec<Version>,
    /// Each two neighbours.
    pub pairs: Vec<Pair>,
}

/// One version on all cases.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1.36.3`.
    pub name: String,
    /// How many cases it played.
    pub cases: usize,
    /// In how many of them its first play was as its golden timelines, which are recorded on a real
    /// control plane.
    pub as_recorded: usize,
    /// How many plays were inconclusive, by case, and why the first of them was.
    pub inconclusive: BTreeMap<String, (usize, String)>,
}

/// Two versions beside each other.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The older one.
    pub older: String,
    /// The newer one.
    pub newer: String,
    /// What the newer one reports otherwise in every case; not compared.
    pub facts: Vec<String>,
    /// Each case, by its name.
    pub cases: BTreeMap<String, Change>,
}

impl Pair {
    /// The cases that changed.
    pub fn changed(&self) -> impl Iterator<Item = (&str, &Parting)> {
        self.cases.iter().filter_map(|(case, change)| match change {
            Change::Changed(parting) => Some((case.as_str(), parting.as_ref())),
            _ => None,
        })
    }

    /// The cases that vary within a version: what is said of that, and where plays part.
    fn varying(&self) -> impl Iterator<Item = (&str, String, &Parting)> {
        self.cases.iter().filter_map(|(case, change)| match change {
            Change::Varies { older, newer, parting } => {
                Some((case.as_str(), self.varies(*older, *newer), parting.as_ref()))
            }
            _ => None,
        })
    }

    /// The cases of which nothing is known, and why.
    fn unknown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cases.iter().filter_map(|(case, change)| match change {
            Change::Unknown(why) => Some((case.as_str(), why.as_str())),
            _ => None,
        })
    }

    /// `varies within v1.15.5: 2 outcomes in 16 plays, 9 plays as v1.29.15`.
    fn varies(&self, older: Spread, newer: Spread) -> String {
        let one = |spread: Spread, name: &str, other: &str| {
            let Spread { plays, outcomes, shared } = spread;
            (outcomes > 1).then(|| {
                format!("varies within {name}: {outcomes} outcomes in {plays} plays, {shared} plays as {other}")
            })
        };
        let sides = [one(older, &self.older, &self.newer), one(newer, &self.newer, &self.older)];
        sides.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn summary(&self) -> String {
        let all = self.cases.len();
        let mut text = format!("{} of {all} cases changed", self.changed().count());
        text += &match self.varying().count() {
            0 => String::new(),
            1 => ", 1 varies within a version".to_owned(),
            several => format!(", {several} vary within a version"),
        };
        text += &match self.unknown().count() {
            0 => String::new(),
            unknown => format!(", {unknown} inconclusive"),
        };
        text
    }
}

/// The tables for a terminal; with `diffs` each change follows as a small diff.
#[must_use]
pub fn versions(found: &Versions, diffs: bool, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut out = Vec::new();
    for pair in &found.pairs {
        out.push(paint.strong(&format!("{} to {}: {}", pair.older, pair.newer, pair.summary())));
        let named = pair.cases.iter().filter(|(_, change)| **change != Change::Same).map(|(case, _)| case);
        let wide = named.map(|case| case.chars().count()).max().unwrap_or(0);
        let row = |case: &str, says: &str| format!("  {}  {says}", pad(case, wide));
        out.extend(pair.changed().map(|(case, parting)| row(case, &cut(&sentence(parting)))));
        out.extend(pair.varying().map(|(case, says, _)| paint.faint(&row(case, &says))));
        let unknown = pair.unknown().map(|(case, why)| row(case, &cut(&format!("inconclusive: {why}"))));
        out.extend(unknown.map(|line| paint.doubtful(&line)));
        out.extend(pair.facts.iter().map(|fact| paint.faint(&format!("  in every case, not compared: {fact}"))));
        if diffs {
            for (case, parting) in pair.changed() {
                out.push(String::new());
                out.extend(small(case, pair, parting, paint));
            }
        }
        out.push(String::new());
    }
    for version in &found.versions {
        let Version { name, cases, as_recorded, inconclusive } = version;
        let real = match cases - as_recorded {
            0 => "all as on a real control plane".to_owned(),
            others => format!("{as_recorded} as on a real control plane, {others} not"),
        };
        let broke: usize = inconclusive.values().map(|(plays, _)| plays).sum();
        let broke = match broke {
            0 => String::new(),
            1 => "; one play inconclusive".to_owned(),
            plays => format!("; {plays} plays inconclusive"),
        };
        out.push(format!("{name}: {cases} cases, {real}{broke}"));
    }
    out.join("\n") + "\n"
}

/// A change with the lines of its step.
fn small(case: &str, pair: &Pair, parting: &Parting, paint: Paint) -> Vec<String> {
    let mut out = vec![format!("  {}  {}", paint.strong(case), place(parting))];
    match &parting.what {
        Otherwise::Lines(lines) | Otherwise::Stopped { lines: Some(lines), .. } => {
            out.extend(diff(lines, paint));
        }
        Otherwise::Stopped { .. } | Otherwise::Breaches { .. } => {}
    }
    if !matches!(parting.what, Otherwise::Lines(_)) {
        out.push(format!("    {}", plain::line(&says(parting))));
    }
    out.push(format!("  {}, {}", paint.good(&format!("- {}", pair.older)), paint.bad(&format!("+ {}", pair.newer))));
    match parting.differences {
        0 | 1 => {}
        2 => out.push("  one later step differs as well".to_owned()),
        more => out.push(format!("  {} later steps differ as well", more - 1)),
    }
    out
}

/// The tables as Markdown: a heading a pair, and below it what changed.
#[must_use]
pub fn versions_markdown(found: &Versions) -> String {
    let mut out = Vec::new();
    for pair in &found.pairs {
        out.push(format!("### {} to {}\n", pair.older, pair.newer));
        out.extend(pair.facts.iter().map(|fact| format!("* In every case: {fact}.")));
        let varying: Vec<_> = pair.varying().map(|(case, ..)| format!("`{case}`")).collect();
        if !varying.is_empty() {
            let within = pair.within();
            out.push(format!("* Left to chance by {within}, and so not compared: {}.", varying.join(", ")));
        }
        let unknown: Vec<_> = pair.unknown().map(|(case, _)| format!("`{case}`")).collect();
        if !unknown.is_empty() {
            out.push(format!("* Inconclusive: {}.", unknown.join(", ")));
        }
        let changed: Vec<_> = pair.changed().collect();
        if changed.is_empty() {
            out.push("* No case changed.\n".to_owned());
            continue;
        }
        // Without the number of all cases, which another case would make stale.
        let count =
            if let [_] = changed.as_slice() { "One case".to_owned() } else { format!("{} cases", changed.len()) };
        out.push(format!("* {count} changed:\n"));
        out.push(format!("| case | {} instead of {} |\n| --- | --- |", pair.newer, pair.older));
        let row = |(case, parting): (&str, &Parting)| {
            // A bar ends a cell, also within code; a back-tick ends the code.
            let says = cut(&sentence(parting)).replace('|', "\\|").replace('`', "'");
            format!("| `{case}` | `{says}` |")
        };
        out.extend(changed.into_iter().map(row));
        out.push(String::new());
    }
    out.join("\n").trim_end().to_owned() + "\n"
}

impl Pair {
    /// Which of the two leave something to chance.
    fn within(&self) -> String {
        let spreads = self.cases.values().filter_map(|change| match change {
            Change::Varies { older, newer, .. } => Some((older.outcomes > 1, newer.outcomes > 1)),
            _ => None,
        });
        let (older, newer) = spreads.fold((false, false), |all, one| (all.0 | one.0, all.1 | one.1));
        let names = [(older, &self.older), (newer, &self.newer)].into_iter().filter(|(varies, _)| *varies);
        names.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" or ")
    }
}

/// One line a pair and case, without the line breaks.
#[must_use]
pub fn versions_json(found: &Versions) -> Vec<String> {
    let mut out = Vec::new();
    for pair in &found.pairs {
        for (case, change) in &pair.cases {
            let (kind, parting, message) = match change {
                Change::Same => ("same", None, None),
                Change::Changed(parting) => ("changed", Some(parting), Some(says(parting))),
                Change::Varies { older, newer, parting } => {
                    ("varies", Some(parting), Some(pair.varies(*older, *newer)))
                }
                Change::Unknown(why) => ("inconclusive", None, Some(why.clone())),
            };
            let lines = |side: fn(&Difference) -> &Option<Vec<Line>>| -> Option<Value> {
                let lines = match &parting?.what {
                    Otherwise::Lines(lines) | Otherwise::Stopped { lines: Some(lines), .. } => lines,
                    Otherwise::Stopped { .. } | Otherwise::Breaches { .. } => return None,
                };
                side(lines).as_ref().map(|all| all.iter().map(Line::indented).collect())
            };
            let value = object!({
                "case": case,
                "older": pair.older,
                "newer": pair.newer,
                "change": kind,
                "message": message,
                "place": parting.map(|parting| parting.place.to_string()),
                "label": parting.map(|parting| parting.label.clone()),
                "differences": parting.map_or(0, |parting| parting.differences),
                "olderLines": lines(|lines| &lines.expected),
                "newerLines": lines(|lines| &lines.actual),
            });
            out.push(plain::json(&value.to_string()).into_owned());
        }
    }
    out
}

/// `step 1 (set image=app:2): rs1 3 -> 1 instead of rs1 3 -> 0`.
fn sentence(parting: &Parting) -> String {
    plain::line(&format!("{}: {}", place(parting), says(parting))).into_owned()
}

fn place(parting: &Parting) -> String {
    match parting.label.as_str() {
        // Of `given` the label is all that is there.
        _ if parting.place == Place::Step(StepId::GIVEN) => parting.place.to_string(),
        "" => parting.place.to_string(),
        label => format!("{} ({label})", parting.place),
    }
}

fn says(parting: &Parting) -> String {
    match &parting.what {
        Otherwise::Lines(difference) => changed_in_short(difference),
        Otherwise::Stopped { older, newer, .. } => {
            let side = |why: &Option<String>| why.clone().unwrap_or_else(|| "it goes on".to_owned());
            format!("{}; before: {}", side(newer), side(older))
        }
        Otherwise::Breaches { older, newer } => {
            let fresh = newer.iter().filter(|breach| !older.contains(breach));
            let fresh = fresh.map(|it| format!("breaks the invariant `{}`: {}", it.invariant, it.detail));
            let gone = older.iter().filter(|breach| !newer.contains(breach));
            let gone = gone.map(|it| format!("no longer breaks the invariant `{}`: {}", it.invariant, it.detail));
            fresh.chain(gone).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Cut where it is too long for a table: first long words, such as a name of 250 characters, then
/// the end.
fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let short = text.split(' ').map(|word| shortened(word, WORD)).collect::<Vec<_>>().join(" ");
    shortened(&short, LONGEST)
}

/// At most so many characters.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let short: String = text.chars().take(most - 1).collect();
    format!("{}…", short.trim_end())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::timeline::Timeline;
    use crate::verdict::{Conduct, Play, Stop, between};

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");

    fn play(change: (&str, &str), stop: Option<&str>) -> Play {
        let timeline = Timeline::parse(&ONE.replace(change.0, change.1)).unwrap();
        let place = Place::Step(timeline.steps[1].id);
        let stop = stop.map(|why| Stop { place, why: why.to_owned() });
        Play::Seen(Conduct { timeline, stop })
    }

    fn found() -> Versions {
        let same = || play(("", ""), None);
        let other = || play(("rs1 3 -> 0", "rs1 3 -> 1"), None);
        let state = || play(("rs1 0/0 ready=0 available=0 terminating=3", "rs1 0/0 ready=1 available=0"), None);
        let stops = || play(("", ""), Some("the namespace does not settle: a | b"));
        let broken = Play::Inconclusive("step 2: etcd died".to_owned());
        let pair = |older: &str, newer: &str, cases: Vec<(&str, Change)>| Pair {
            older: older.to_owned(),
            newer: newer.to_owned(),
            facts: Vec::new(),
            cases: cases.into_iter().map(|(case, change)| (case.to_owned(), change)).collect(),
        };
        let version = |name: &str, as_recorded| Version {
            name: name.to_owned(),
            cases: 6,
            as_recorded,
            inconclusive: BTreeMap::new(),
        };
        let mut first = pair(
            "v1.15.5",
            "v1.29.15",
            vec![
                ("recreate/three", between(&[same()], &[other()])),
                ("status/ready", between(&[same()], &[state()])),
                ("rolling/long-name", between(&[stops()], &[same()])),
                ("kill-order/tie", between(&[same(), other(), same(), other()], &[same()])),
                ("scale/up", between(&[same()], &[same()])),
                ("history/x", between(std::slice::from_ref(&broken), &[same()])),
            ],
        );
        first.facts = vec!["an Event says \"to 5 from 3\"".to_owned()];
        let mut oldest = version("v1.15.5", 4);
        oldest.inconclusive.insert("history/x".to_owned(), (1, "step 2: etcd died".to_owned()));
        let second = pair("v1.29.15", "v1.36.3", vec![("scale/up", between(&[same()], &[same()]))]);
        Versions { versions: vec![oldest, version("v1.29.15", 6)], pairs: vec![first, second] }
    }

    #[test]
    fn a_terminal_gets_a_table_for_each_pair() {
        assert_snapshot!(versions(&found(), false, false));
    }

    #[test]
    fn each_change_is_a_small_diff() {
        let text = versions(&found(), true, false);
        let diffs: Vec<_> = text.split("\n\n").filter(|part| part.contains("\n  - v1.15.5, + v1.29.15")).collect();
        assert_snapshot!(diffs.join("\n\n"));
    }

    #[test]
    fn a_page_gets_markdown() {
        assert_snapshot!(versions_markdown(&found()));
    }

    #[test]
    fn machines_get_a_line_for_each_case_and_pair() {
        assert_snapshot!(versions_json(&found()).join("\n"));
    }

    #[test]
    fn long_sentences_are_cut() {
        assert_eq!(cut("short"), "short");
        let name = cut(&format!("step 1: {} created", "ä".repeat(200)));
        assert_eq!(name, format!("step 1: {}… created", "ä".repeat(WORD - 1)));
        let long = cut(&"word ".repeat(50));
        assert!(long.chars().count() <= LONGEST && long.ends_with("word…"), "{long}");
    }
}
