//! Reports what changed between neighbouring versions of upstream, as tables, small diffs and JSON.

use std::collections::BTreeMap;

use lockstep_support::pluralize;
use lockstep_support::sanitize;
use lockstep_timeline::{StepId, TimelineLine};
use lockstep_verdict::{Difference, DifferenceKind, FirstDifference, OutcomeSpread, TimelineLocation, VersionChange};
use serde_json::{Value, json as object};

use super::failure::diff;
use super::paint::Paint;
use super::rows::changed_in_short;
use super::table::pad;

/// The length at which a sentence in a table is truncated. The diff has the whole text.
const MOST_CHARS: usize = 150;
/// The length at which words of such a sentence are truncated first.
const MOST_WORD_CHARS: usize = 40;

/// The comparison of several versions.
#[derive(Debug, Clone, Default)]
pub struct VersionsReport {
    /// The versions, the oldest first.
    pub versions: Vec<VersionSummary>,
    /// The pairs of neighbours.
    pub pairs: Vec<VersionPair>,
}

/// One version on all cases.
#[derive(Debug, Clone)]
pub struct VersionSummary {
    /// `v1.36.3`.
    pub name: String,
    /// The number of cases that it played.
    pub cases: usize,
    /// The number of those cases that have golden timelines.
    pub recorded: usize,
    /// The number of cases whose first play matches the golden timelines, which were recorded on a
    /// real control plane.
    pub as_recorded: usize,
    /// By case the number of inconclusive plays, and the reason of the first.
    pub inconclusive: BTreeMap<String, (usize, String)>,
}

impl VersionSummary {
    /// `5 as on a real control plane, 1 not, 2 unblessed`.
    fn agreement(&self) -> String {
        let Self { cases, recorded, as_recorded, .. } = *self;
        let (others, unblessed) = (recorded - as_recorded, cases - recorded);
        if others == 0 && unblessed == 0 {
            return "all as on a real control plane".to_owned();
        }
        let parts = [
            (recorded > 0, as_recorded, "as on a real control plane"),
            (others > 0, others, "not"),
            (unblessed > 0, unblessed, "unblessed"),
        ];
        let parts = parts.into_iter().filter(|(is_shown, ..)| *is_shown);
        parts.map(|(_, number, what)| format!("{number} {what}")).collect::<Vec<_>>().join(", ")
    }
}

/// The comparison of two neighbouring versions.
#[derive(Debug, Clone)]
pub struct VersionPair {
    /// Such as `v1.33.13`.
    pub older: String,
    /// Such as `v1.36.3`.
    pub newer: String,
    /// What the newer version reports differently in every case; not compared.
    pub facts: Vec<String>,
    /// The comparison of each case, by name.
    pub cases: BTreeMap<String, VersionChange>,
}

impl VersionPair {
    /// The cases that changed.
    pub fn changed(&self) -> impl Iterator<Item = (&str, &FirstDifference)> {
        self.cases.iter().filter_map(|(case, change)| match change {
            VersionChange::Changed(parting) => Some((case.as_str(), parting.as_ref())),
            _ => None,
        })
    }

    /// The cases that vary within a version, with a description and the first difference of plays.
    fn varying(&self) -> impl Iterator<Item = (&str, String, &FirstDifference)> {
        self.cases.iter().filter_map(|(case, change)| match change {
            VersionChange::Varies { older, newer, parting } => {
                Some((case.as_str(), self.varies(*older, *newer), parting.as_ref()))
            }
            _ => None,
        })
    }

    /// The inconclusive cases, with the reason.
    fn unknown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cases.iter().filter_map(|(case, change)| match change {
            VersionChange::Unknown(why) => Some((case.as_str(), why.as_str())),
            _ => None,
        })
    }

    /// `varies within v1.15.5: 2 outcomes in 16 plays, 9 plays as v1.29.15`.
    fn varies(&self, older: OutcomeSpread, newer: OutcomeSpread) -> String {
        let one = |spread: OutcomeSpread, name: &str, neighbour: &str| {
            let OutcomeSpread { plays, outcomes, shared } = spread;
            (outcomes > 1).then(|| {
                format!("varies within {name}: {outcomes} outcomes in {plays} plays, {shared} plays as {neighbour}")
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

/// The tables as text; with `diffs`, each change follows as a small diff.
#[must_use]
pub fn versions(report: &VersionsReport, diffs: bool, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut out = Vec::new();
    for pair in &report.pairs {
        out.push(paint.strong(&format!("{} to {}: {}", pair.older, pair.newer, pair.summary())));
        let named = pair.cases.iter().filter(|(_, change)| **change != VersionChange::Same).map(|(case, _)| case);
        let wide = named.map(|case| case.chars().count()).max().unwrap_or(0);
        let row = |case: &str, text: &str| format!("  {}  {text}", pad(case, wide));
        out.extend(pair.changed().map(|(case, parting)| row(case, &truncate_sentence(&sentence(parting)))));
        out.extend(pair.varying().map(|(case, says, _)| paint.faint(&row(case, &says))));
        let unknown = pair.unknown().map(|(case, why)| row(case, &truncate_sentence(&format!("inconclusive: {why}"))));
        out.extend(unknown.map(|line| paint.doubtful(&line)));
        out.extend(pair.facts.iter().map(|fact| paint.faint(&format!("  in every case, not compared: {fact}"))));
        if diffs {
            for (case, parting) in pair.changed() {
                out.push(String::new());
                out.extend(small_diff(case, pair, parting, paint));
            }
        }
        out.push(String::new());
    }
    for version in &report.versions {
        let VersionSummary { name, cases, inconclusive, .. } = version;
        let real = version.agreement();
        let broke: usize = inconclusive.values().map(|(plays, _)| plays).sum();
        let broke = match broke {
            0 => String::new(),
            1 => "; one play inconclusive".to_owned(),
            plays => format!("; {plays} plays inconclusive"),
        };
        out.push(match cases {
            0 => format!("{name}: nothing was played"),
            _ => format!("{name}: {}, {real}{broke}", pluralize(*cases, "case")),
        });
    }
    out.join("\n") + "\n"
}

/// A change with the lines of its step.
fn small_diff(case: &str, pair: &VersionPair, parting: &FirstDifference, paint: Paint) -> Vec<String> {
    let mut out = vec![format!("  {}  {}", paint.strong(case), place(parting))];
    match &parting.kind {
        DifferenceKind::Lines(lines) | DifferenceKind::Stopped { lines: Some(lines), .. } => {
            out.extend(diff(lines, paint));
        }
        DifferenceKind::Stopped { .. } | DifferenceKind::Breaches { .. } => {}
    }
    if !matches!(parting.kind, DifferenceKind::Lines(_)) {
        out.push(format!("    {}", sanitize::line(&describe_change(parting))));
    }
    out.push(format!("  {}, {}", paint.minus(&format!("- {}", pair.older)), paint.plus(&format!("+ {}", pair.newer))));
    match parting.differences {
        0 | 1 => {}
        2 => out.push("  one later step differs as well".to_owned()),
        more => out.push(format!("  {} later steps differ as well", more - 1)),
    }
    out
}

/// The tables as Markdown, with a heading per pair.
#[must_use]
pub fn versions_markdown(report: &VersionsReport) -> String {
    let mut out = Vec::new();
    for pair in &report.pairs {
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
        // Omit the number of all cases, which a new case would make stale.
        let count =
            if let [_] = changed.as_slice() { "One case".to_owned() } else { format!("{} cases", changed.len()) };
        out.push(format!("* {count} changed:\n"));
        out.push(format!("| case | {} instead of {} |\n| --- | --- |", pair.newer, pair.older));
        let row = |(case, parting): (&str, &FirstDifference)| {
            // A bar ends a cell even within code, and a back-tick ends the code.
            let says = truncate_sentence(&sentence(parting)).replace('|', "\\|").replace('`', "'");
            format!("| `{case}` | `{says}` |")
        };
        out.extend(changed.into_iter().map(row));
        out.push(String::new());
    }
    out.join("\n").trim_end().to_owned() + "\n"
}

impl VersionPair {
    /// The versions of the pair that vary by chance.
    fn within(&self) -> String {
        let spreads = self.cases.values().filter_map(|change| match change {
            VersionChange::Varies { older, newer, .. } => Some((older.outcomes > 1, newer.outcomes > 1)),
            _ => None,
        });
        let (older, newer) = spreads.fold((false, false), |all, one| (all.0 | one.0, all.1 | one.1));
        let names = [(older, &self.older), (newer, &self.newer)].into_iter().filter(|(varies, _)| *varies);
        names.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" or ")
    }
}

/// One line of JSON per pair and case, without line breaks.
#[must_use]
pub fn versions_json(report: &VersionsReport) -> Vec<String> {
    let mut out = Vec::new();
    for pair in &report.pairs {
        for (case, change) in &pair.cases {
            let (kind, parting, message) = match change {
                VersionChange::Same => ("same", None, None),
                VersionChange::Changed(parting) => ("changed", Some(parting), Some(describe_change(parting))),
                VersionChange::Varies { older, newer, parting } => {
                    ("varies", Some(parting), Some(pair.varies(*older, *newer)))
                }
                VersionChange::Unknown(why) => ("inconclusive", None, Some(why.clone())),
            };
            let lines = |side: fn(&Difference) -> &Option<Vec<TimelineLine>>| -> Option<Value> {
                let lines = match &parting?.kind {
                    DifferenceKind::Lines(lines) | DifferenceKind::Stopped { lines: Some(lines), .. } => lines,
                    DifferenceKind::Stopped { .. } | DifferenceKind::Breaches { .. } => return None,
                };
                side(lines).as_ref().map(|all| all.iter().map(TimelineLine::indented).collect())
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
            out.push(sanitize::json(&value.to_string()).into_owned());
        }
    }
    out
}

/// `step 1 (set image=app:2): rs1 3 -> 1 instead of rs1 3 -> 0`.
fn sentence(parting: &FirstDifference) -> String {
    sanitize::line(&format!("{}: {}", place(parting), describe_change(parting))).into_owned()
}

fn place(parting: &FirstDifference) -> String {
    match parting.label.as_str() {
        // The label of `given` has its whole content.
        _ if parting.place == TimelineLocation::Step(StepId::GIVEN) => parting.place.to_string(),
        "" => parting.place.to_string(),
        label => format!("{} ({label})", parting.place),
    }
}

fn describe_change(parting: &FirstDifference) -> String {
    match &parting.kind {
        DifferenceKind::Lines(difference) => changed_in_short(difference),
        DifferenceKind::Stopped { older, newer, .. } => {
            let side = |why: &Option<String>| why.clone().unwrap_or_else(|| "it goes on".to_owned());
            format!("{}; before: {}", side(newer), side(older))
        }
        DifferenceKind::Breaches { older, newer } => {
            let fresh = newer.iter().filter(|breach| !older.contains(breach));
            let fresh = fresh.map(|it| format!("breaks the invariant `{}`: {}", it.invariant, it.detail));
            let gone = older.iter().filter(|breach| !newer.contains(breach));
            let gone = gone.map(|it| format!("no longer breaks the invariant `{}`: {}", it.invariant, it.detail));
            fresh.chain(gone).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Truncates a sentence for a table: first long words, such as a name of 250 characters, then the
/// end.
fn truncate_sentence(text: &str) -> String {
    if text.chars().count() <= MOST_CHARS {
        return text.to_owned();
    }
    let short = text.split(' ').map(|word| shortened(word, MOST_WORD_CHARS)).collect::<Vec<_>>().join(" ");
    shortened(&short, MOST_CHARS)
}

/// Truncates a text to this number of characters.
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
    use lockstep_timeline::Timeline;
    use lockstep_verdict::{Behavior, PlayResult, StopPoint, compare_versions};

    use super::*;

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");

    fn play(change: (&str, &str), stop: Option<&str>) -> PlayResult {
        let timeline = Timeline::parse(&ONE.replace(change.0, change.1)).unwrap();
        let place = TimelineLocation::Step(timeline.steps[1].id);
        let stop = stop.map(|why| StopPoint { place, why: why.to_owned() });
        PlayResult::Completed(Behavior { timeline, stop })
    }

    fn sample_report() -> VersionsReport {
        let same = || play(("", ""), None);
        let other = || play(("rs1 3 -> 0", "rs1 3 -> 1"), None);
        let state = || play(("rs1 0/0 ready=0 available=0 terminating=3", "rs1 0/0 ready=1 available=0"), None);
        let stops = || play(("", ""), Some("the namespace does not settle: a | b"));
        let broken = PlayResult::Inconclusive("step 2: etcd died".to_owned());
        let pair = |older: &str, newer: &str, cases: Vec<(&str, VersionChange)>| VersionPair {
            older: older.to_owned(),
            newer: newer.to_owned(),
            facts: Vec::new(),
            cases: cases.into_iter().map(|(case, change)| (case.to_owned(), change)).collect(),
        };
        let version = |name: &str, as_recorded| VersionSummary {
            name: name.to_owned(),
            cases: 6,
            recorded: 6,
            as_recorded,
            inconclusive: BTreeMap::new(),
        };
        let mut first = pair(
            "v1.15.5",
            "v1.29.15",
            vec![
                ("recreate/three", compare_versions(&[same()], &[other()])),
                ("status/ready", compare_versions(&[same()], &[state()])),
                ("rolling/long-name", compare_versions(&[stops()], &[same()])),
                ("kill-order/tie", compare_versions(&[same(), other(), same(), other()], &[same()])),
                ("scale/up", compare_versions(&[same()], &[same()])),
                ("history/x", compare_versions(std::slice::from_ref(&broken), &[same()])),
            ],
        );
        first.facts = vec!["an Event says \"to 5 from 3\"".to_owned()];
        let mut oldest = version("v1.15.5", 4);
        oldest.inconclusive.insert("history/x".to_owned(), (1, "step 2: etcd died".to_owned()));
        let second = pair("v1.29.15", "v1.36.3", vec![("scale/up", compare_versions(&[same()], &[same()]))]);
        VersionsReport { versions: vec![oldest, version("v1.29.15", 6)], pairs: vec![first, second] }
    }

    #[test]
    fn text_has_table_for_each_pair() {
        assert_snapshot!(versions(&sample_report(), false, false));
    }

    #[test]
    fn text_has_small_diff_for_each_change() {
        let text = versions(&sample_report(), true, false);
        let diffs: Vec<_> = text.split("\n\n").filter(|part| part.contains("\n  - v1.15.5, + v1.29.15")).collect();
        assert_snapshot!(diffs.join("\n\n"));
    }

    #[test]
    fn cases_without_golden_timeline_are_counted_apart() {
        let text = |cases, recorded, as_recorded| {
            let (name, inconclusive) = ("v1.36.3".to_owned(), BTreeMap::new());
            let version = VersionSummary { name, cases, recorded, as_recorded, inconclusive };
            versions(&VersionsReport { versions: vec![version], pairs: Vec::new() }, false, false)
        };
        assert_eq!(text(1, 0, 0), "v1.36.3: 1 case, 1 unblessed\n");
        assert_eq!(text(9, 7, 5), "v1.36.3: 9 cases, 5 as on a real control plane, 2 not, 2 unblessed\n");
        assert_eq!(text(2, 2, 0), "v1.36.3: 2 cases, 0 as on a real control plane, 2 not\n");
        assert_eq!(text(0, 0, 0), "v1.36.3: nothing was played\n");
    }

    #[test]
    fn markdown_has_section_for_each_pair() {
        assert_snapshot!(versions_markdown(&sample_report()));
    }

    #[test]
    fn json_has_line_for_each_case_and_pair() {
        assert_snapshot!(versions_json(&sample_report()).join("\n"));
    }

    #[test]
    fn long_sentences_are_truncated() {
        assert_eq!(truncate_sentence("short"), "short");
        let name = truncate_sentence(&format!("step 1: {} created", "ä".repeat(200)));
        assert_eq!(name, format!("step 1: {}… created", "ä".repeat(MOST_WORD_CHARS - 1)));
        let long = truncate_sentence(&"word ".repeat(50));
        assert!(long.chars().count() <= MOST_CHARS && long.ends_with("word…"), "{long}");
    }
}
