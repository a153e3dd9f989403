//! `lockstep merge`: merges the results of several shards.

use std::path::{Path, PathBuf};

use lockstep_report::campaign::{self, FILE_ENDING, MergedResults, ResultLine, Results, SearchResult};
use lockstep_report::{self as report, FaultsSummary, PlaySummary, PlayTally};
use lockstep_runner::run::FileError;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize;
use walkdir::WalkDir;

use super::CliError;
use super::faults::no_fault_tried;
use super::out::{self, colour, note, say};
use super::reporter::{FormatArgs, OutputFormat};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Files that `--results` wrote, or folders of them.
    #[arg(required = true)]
    results: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    let files = find_results(&arguments.results)?;
    let files = files.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>, _>>()?;
    let merged = campaign::merge(files)?;
    for path in &merged.repeated {
        note!("{} repeats another file; it counts once", path.display());
    }
    match arguments.format.output {
        OutputFormat::Json => {
            merged.lines().into_iter().for_each(|(_, text)| say!("{}", sanitize::json(text)));
            report::ends_between_json(merged.ended_between()).iter().for_each(|line| say!("{line}"));
            if let Some(score) = report::score_of_plays(plays_of(&merged)) {
                say!("{}", report::score_json(&score));
            }
        }
        OutputFormat::Human => print(&merged),
    }
    // With JSON on standard output, messages go to standard error.
    let is_faults = merged.shards.first().is_some_and(|part| part.header.command == "faults");
    let nothing = (merged.tried_nothing() && is_faults).then(no_fault_tried);
    let missing = merged.missing.iter().map(|shard| {
        let command_line = merged.shards.first().map_or("", |part| part.header.command_line.as_str());
        format!("shard {shard} is missing; play it: {command_line} --shard {shard} --results FOLDER")
    });
    for line in missing.chain(nothing) {
        match arguments.format.output {
            OutputFormat::Json => note!("{line}"),
            OutputFormat::Human => say!("{line}"),
        }
    }
    let missing = (!merged.missing.is_empty()).then_some(RunOutcome::Inconclusive);
    let between = RunOutcome::of_ends_between(merged.ended_between());
    Ok(RunOutcome::most_severe(merged.outcomes().into_iter().chain(missing).chain(between)))
}

fn plays_of(merged: &MergedResults) -> impl Iterator<Item = &PlaySummary> {
    merged.lines().into_iter().filter_map(|(line, _)| match line {
        ResultLine::Play(play) => Some(play),
        ResultLine::Faults(_) | ResultLine::Search(_) | ResultLine::Explore(_) => None,
    })
}

/// Print the last lines of the run.
fn print(merged: &MergedResults) {
    let lines = merged.lines();
    let (mut plays, mut faults, mut searched) = (Vec::new(), Vec::new(), None::<SearchResult>);
    for (line, _) in lines {
        match line {
            ResultLine::Play(play) => plays.push(play),
            ResultLine::Faults(of) => faults.push(of),
            ResultLine::Explore(explored) => explored.lines.iter().for_each(|line| say!("{line}")),
            ResultLine::Search(one) => match &mut searched {
                Some(all) => all.add(one),
                None => searched = Some(one.clone()),
            },
        }
    }
    if !faults.is_empty() {
        print_faults(&faults);
    }
    if let Some(searched) = searched {
        searched.lines().iter().for_each(|line| say!("{line}"));
    }
    if merged.shards.iter().any(|part| part.header.command == "run") {
        print_plays(&plays, merged);
    }
    if merged.unplayed() > 0 {
        note!("the time was spent; {} of the selected cases were not tried", merged.unplayed());
    }
}

fn print_faults(all: &[&FaultsSummary]) {
    say!("{}\n", report::faults_table(all.iter().copied()));
    let failed = report::list_failed_points(all.iter().copied());
    if !failed.is_empty() {
        say!("{failed}\n");
    }
}

fn print_plays(plays: &[&PlaySummary], merged: &MergedResults) {
    let mut tally = PlayTally::default();
    plays.iter().for_each(|play| tally.take(play));
    tally.lines().iter().for_each(|line| say!("{line}"));
    let outcomes = merged.outcomes();
    match outcomes.as_slice() {
        [] => say!("nothing was judged"),
        some => say!("{}", report::summary(some, merged.ended_between(), merged.total_duration(), colour())),
    }
    let bad: Vec<PlaySummary> =
        plays.iter().filter(|play| play.outcome != RunOutcome::Conformant).map(|play| (*play).clone()).collect();
    let list = report::list_not_conformant(bad.iter().cloned(), colour());
    if !list.is_empty() && plays.len() > 1 {
        out::report(&format!("{list}\n"));
    }
    let causes = report::common_causes(bad);
    if !causes.is_empty() {
        out::report(&format!("{causes}\n"));
    }
    if let Some(score) = report::score_of_plays(plays.iter().copied()) {
        out::report(&format!("\n{}", report::score(&score)));
    }
}

/// The results files that the paths name. A folder names every results file below it.
fn find_results(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(find_results_below(path)?);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn find_results_below(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| FileError::File { path: folder.to_owned(), source: error.into() })?;
        let name = entry.file_name().to_string_lossy();
        if name.ends_with(FILE_ENDING) && entry.file_type().is_file() {
            found.push(entry.into_path());
        }
    }
    if found.is_empty() {
        let why = format!("has no results of a shard (*{FILE_ENDING}); `--results FOLDER` writes them");
        return Err(CliError::Usage(format!("{} {why}", folder.display())));
    }
    Ok(found)
}
