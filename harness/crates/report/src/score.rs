//! The score of a controller with a description, as text, JSON and Markdown.

use std::fmt::Write;

use lockstep_support::pluralize;
use lockstep_support::sanitize::sanitize_line;
use lockstep_verdict::{AreaScore, Score};
use lockstep_workload::ClaimedShare;
use serde_json::{Value, json};

use super::play_summary::{PlayScore, PlaySummary};
use super::table::pad;

/// The score of those plays that were on a described kind; `None` if none was.
#[must_use]
pub fn score_of_plays<'a>(plays: impl IntoIterator<Item = &'a PlaySummary>) -> Option<Score> {
    let mut all = None::<Score>;
    for play in plays {
        if let Some(PlayScore { workload, verdict, areas }) = play.score.as_deref() {
            all.get_or_insert_with(|| Score::new(workload)).add_case(&play.case, *verdict, areas);
        }
    }
    all
}

/// The score as a table, with the cases that are not conformant below.
#[must_use]
pub fn score(score: &Score) -> String {
    let rows: Vec<[String; 4]> = score.rows.iter().map(cells).collect();
    let heads = ["area", "conformant", "not", "claimed"].map(ToOwned::to_owned);
    let all = || std::iter::once(&heads).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let mut text = format!("what a {} claims:\n", printable(&score.kind));
    for row in all() {
        let line =
            format!("  {}  {}  {}  {}", pad(&row[0], width(0)), pad(&row[1], width(1)), pad(&row[2], width(2)), row[3]);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The same in Markdown, with the cases.
#[must_use]
pub fn score_markdown(score: &Score) -> String {
    let mut text = "| area | claimed | conformant | not conformant |\n| --- | --- | --: | --- |\n".to_owned();
    for row in &score.rows {
        let [area, conformant, _, claimed] = cells(row);
        let broken: Vec<String> = row.broken.iter().map(|case| format!("`{}`", printable(case))).collect();
        let broken = match broken.len() {
            0 => String::new(),
            number => format!("{number}: {}", broken.join(", ")),
        };
        let _ = writeln!(text, "| `{area}` | {claimed} | {conformant} | {broken} |");
    }
    let _ = writeln!(text, "\n{}", describe_count(score));
    text
}

/// The same as one JSON object.
#[must_use]
pub fn score_json(score: &Score) -> Value {
    let row = |row: &AreaScore| {
        let (claimed, words) = match &row.claimed {
            ClaimedShare::Everything => ("all", None),
            ClaimedShare::AllBut(words) => ("allBut", Some(words)),
            ClaimedShare::Only(words) => ("only", Some(words)),
            ClaimedShare::Nothing => ("none", None),
        };
        json!({"area": row.area, "claimed": claimed, "words": words, "conformant": row.conformant, "broken": row.broken})
    };
    let rows: Vec<Value> = score.rows.iter().map(row).collect();
    json!({"score": {"kind": score.kind, "verdicts": score.verdicts, "inconclusive": score.inconclusive, "areas": rows}})
}

fn cells(row: &AreaScore) -> [String; 4] {
    let number = |cases: usize| match row.claimed {
        ClaimedShare::Nothing => "-".to_owned(),
        _ => cases.to_string(),
    };
    let claimed = match &row.claimed {
        ClaimedShare::Everything => "all".to_owned(),
        ClaimedShare::AllBut(words) => format!("all but {}", words.join(", ")),
        ClaimedShare::Only(words) => format!("only {}", words.join(", ")),
        ClaimedShare::Nothing => "not claimed".to_owned(),
    };
    [row.area.to_owned(), number(row.conformant.len()), number(row.broken.len()), claimed]
}

/// How many cases there were.
fn describe_count(score: &Score) -> String {
    let (judged, inconclusive) = (pluralize(score.verdicts, "case"), score.inconclusive);
    match inconclusive {
        0 => format!("Judged: {judged}."),
        _ => format!("Judged: {judged}; inconclusive: {inconclusive}."),
    }
}

fn printable(text: &str) -> String {
    let mut text = text.to_owned();
    sanitize_line(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, scaled};
    use lockstep_timeline::Timeline;
    use lockstep_verdict::testing::judge;
    use lockstep_workload::Workload;

    use super::*;
    use crate::RerunCommands;
    use crate::campaign::ResultLine;

    /// A rollout whose ReplicaSet is scaled to this size.
    fn scaled_to(size: i32, workload: &Workload) -> RecordingBuilder {
        let web = deployment("web", 10, "app:1");
        let set = owned_set(&web, "1", "app:1", 10);
        let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 12").driver_write(&scaled(&web, 12));
        builder.with_workload(workload).subject_write(&scaled(&set, size)).settled()
    }

    #[test]
    fn score_of_results_is_that_of_the_run() {
        let description = json!({"apiVersion": "apps/v1", "kind": "Deployment", "plural": "deployments"});
        let workload = Workload::from_json(description).unwrap();
        let golden = Timeline::from_recording(&scaled_to(12, &workload).end());
        let mut of_run = Score::new(&workload);
        let mut plays = Vec::new();
        for size in [12, 13] {
            let judgement = judge(&scaled_to(size, &workload).end(), Some(&golden));
            of_run.add(&judgement);
            let score = Some(Box::new(PlayScore::new(&judgement, &workload)));
            let summary = PlaySummary { score, ..PlaySummary::from(&judgement) };
            let line = crate::json_of_play(&judgement, &summary, &RerunCommands::default());
            let ResultLine::Play(read) = ResultLine::read("run", &line).unwrap() else { panic!("{line}") };
            plays.push(read);
        }
        assert_eq!(score_of_plays(&plays).as_ref(), Some(&of_run));
        assert_eq!((of_run.verdicts, of_run.rows[0].broken.len()), (2, 1));
    }
}
