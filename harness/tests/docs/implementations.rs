//! The page of implementations: its scores are by the descriptions as they are, and their numbers
//! are those of the cases that they name. `tests/cluster/implementations.rs` plays the cases.

use lockstep_report::score_markdown;
use lockstep_verdict::Score;
use lockstep_workload::Workload;

use super::root;

const PAGE: &str = "docs/implementations.md";
/// The comments around a score; the first names the description.
const BEGINS: &str = "<!-- score: ";
const ENDS: &str = "<!-- end -->";

/// What is wrong with the page.
pub(crate) fn problems() -> Vec<String> {
    let text = std::fs::read_to_string(root().join(PAGE)).expect("the page is there");
    let mut scores = 0;
    let mut wrong = Vec::new();
    for rest in text.split(BEGINS).skip(1) {
        let (name, rest) = rest.split_once(" -->").expect("the comment ends");
        let (score, _) = rest.split_once(ENDS).unwrap_or_else(|| panic!("the score of {name} does not end"));
        scores += 1;
        wrong.extend(problems_of(name, score).into_iter().map(|why| format!("{PAGE}: {name}: {why}")));
    }
    assert!(scores >= 3, "only {scores} scores were found");
    wrong
}

fn problems_of(name: &str, score: &str) -> Vec<String> {
    let path = root().join(name);
    let path = if path.exists() { path.display().to_string() } else { name.to_owned() };
    let workload: Workload = match path.parse() {
        Ok(workload) => workload,
        Err(error) => return vec![format!("{error}")],
    };
    let empty = score_markdown(&Score::new(&workload));
    let (rows, fresh): (Vec<ScoreRow>, Vec<ScoreRow>) = (ScoreRow::all(score), ScoreRow::all(&empty));
    let mut wrong = Vec::new();
    let claims = |rows: &[ScoreRow]| rows.iter().map(|row| [row.area.clone(), row.claimed.clone()]).collect::<Vec<_>>();
    if claims(&rows) != claims(&fresh) {
        wrong.push(format!("the description claims\n{empty}"));
    }
    let judged: Option<usize> =
        score.lines().find_map(|line| line.strip_prefix("Judged: ")?.split(' ').next()?.parse().ok());
    let broken: usize = rows.iter().filter_map(|row| row.broken).sum();
    for row in rows.iter().filter(|row| row.broken.unwrap_or_default() != row.cases) {
        wrong.push(format!("`{}` names {} cases", row.area, row.cases));
    }
    // The first area is about all cases: one is conformant there, or counts once in one area.
    let all = rows.first().and_then(|row| row.conformant).map(|conformant| conformant + broken);
    if judged.is_none() || judged != all {
        wrong.push(format!("{judged:?} cases were judged, and {all:?} are in the table"));
    }
    wrong
}

#[derive(Debug)]
struct ScoreRow {
    area: String,
    claimed: String,
    conformant: Option<usize>,
    /// The number before the names of cases.
    broken: Option<usize>,
    /// How many are named.
    cases: usize,
}

impl ScoreRow {
    fn all(score: &str) -> Vec<Self> {
        score.lines().filter(|line| line.starts_with("| `")).filter_map(Self::of).collect()
    }

    fn of(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [area, claimed, conformant, broken] = cells.as_slice() else { return None };
        Some(Self {
            area: area.trim_matches('`').to_owned(),
            claimed: (*claimed).to_owned(),
            conformant: conformant.parse().ok(),
            broken: broken.split(':').next().and_then(|number| number.parse().ok()),
            cases: broken.matches('`').count() / 2,
        })
    }
}
