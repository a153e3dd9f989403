//! The readers of untrusted input: one function for each kind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use kube_apiserver_sim::{ApiServer, ControllerMode};
use lockstep_case as cases;
use lockstep_live::{audit as audit_log, capture};
use lockstep_recording::Recording;
use lockstep_report::campaign::{self, ResultLine, Results};
use lockstep_report::{self as report, PlaySummary, PlayTally, RerunCommands, inspect};
use lockstep_search::infer;
use lockstep_verdict as verdict;
#[cfg(feature = "terminal")]
use ratatui::layout::Size;
use serde_json::Value;

/// The maximum number of requests in an input.
const REQUESTS: usize = 12;

/// Requests to the simulated server, separated by lines of `---`: `METHOD PATH [CONTENT-TYPE]`, and
/// the body below.
pub fn requests(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime of this thread needs nothing that can fail");
    let server = ApiServer::builder().controllers(ControllerMode::Background).build();
    runtime.block_on(async {
        for text in split(data, b"\n---\n").take(REQUESTS) {
            let (head, body) = text
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
            let head = String::from_utf8_lossy(head);
            let mut words = head.split_whitespace();
            let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let mut request = hyper::Request::builder().method(method).uri(path);
            if let Some(kind) = words.next() {
                request = request.header("content-type", kind);
            }
            if let Some(accepted) = words.next() {
                request = request.header("accept", accepted);
            }
            let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body))) else { continue };
            let mut answer = server.handle(request).await.into_body();
            // A watch ends with its server.
            let _ = tokio::time::timeout(Duration::from_millis(10), answer.frame()).await;
        }
    });
}

/// A case file, as `lint` and `explain` read it.
pub fn case(data: &[u8]) {
    match cases::parse_bytes("cases/fuzz/case.yaml", "fuzz/case", data) {
        Err(cases::CaseError::Invalid(findings)) => {
            assert!(!findings.render(false).contains('\u{1b}'), "an escape sequence of the file is shown");
        }
        Err(error) => drop(error.to_string()),
        Ok(all) => {
            for case in &all {
                let _ = cases::cost(case);
                let _ = report::explanation(case, report::ExplainedTimeline::Missing, &[], false);
            }
        }
    }
}

/// A recording, as `judge`, `inspect`, `case` and `import --anonymise` read it.
pub fn recording(data: &[u8]) {
    if let Ok(recording) = Recording::read(data) {
        read(&recording);
    }
}

fn read(recording: &Recording) {
    let anonymous = capture::anonymous(recording);
    anonymous.write(std::io::sink()).expect("a sink takes all");
    let _ = infer::infer(recording, "fuzz/case", &infer::Arrangements::new());
    let mut views =
        vec![inspect::Inspection::without_case(recording), inspect::Inspection::without_steps(recording, "why")];
    if let Ok(case) = cases::parse_recorded(&recording.header) {
        let judgement = verdict::judge(&Arc::new(case), recording, None);
        let rerun = RerunCommands::default();
        let failure = report::failure(&judgement, &rerun, false);
        assert!(!failure.contains('\u{1b}'), "an escape sequence of the recording is shown");
        let summary = PlaySummary::from(&judgement);
        serde_json::from_str::<Value>(&report::json_of_play(&judgement, &summary, &rerun)).expect("it is JSON");
        let section = report::page::CaseSection {
            judgement: &judgement,
            expected: None,
            rerun: &rerun,
            took: None,
            frames: None,
        };
        let _ = report::page::page("fuzz", &[section]);
        views.push(inspect::Inspection::of_judgement(recording, &judgement, None));
    }
    for inspected in &views {
        let _ = inspect::trace(inspected);
        #[cfg(feature = "terminal")]
        for (at, size) in [(0, Size::new(80, 24)), (1, Size::new(200, 60)), (usize::MAX, Size::new(1, 1))] {
            let _ = inspect::FrameView::of(inspected, at, size);
        }
    }
}

/// An audit log, as `import` and then `case` read it.
pub fn audit(data: &[u8]) {
    let mut log = audit_log::Log::default();
    let sought = audit_log::ImportQuery { namespace: None, deployment: None, from: None, to: None };
    if log.add("audit.log", data).is_ok()
        && let Ok(recording) = audit_log::import(log, &sought)
    {
        read(&recording);
    }
}

/// Results files, separated by lines of `---`, as `merge` reads them.
pub fn results(data: &[u8]) {
    let path = Path::new("out/run.shard.ndjson");
    let files: Result<Vec<_>, _> = split(data, b"\n---\n").map(|file| Results::parse(path, file)).collect();
    let Ok(merged) = files
        .map_err(|error| error.to_string())
        .and_then(|files| campaign::merge(files).map_err(|error| error.to_string()))
    else {
        return;
    };
    let mut printed: Vec<String> = Vec::new();
    let (mut tally, mut plays, mut faults) = (PlayTally::default(), Vec::new(), Vec::new());
    let mut searched = campaign::SearchResult::default();
    for (line, _) in merged.lines() {
        match line {
            ResultLine::Play(play) => {
                tally.take(play);
                plays.push(play.clone());
            }
            ResultLine::Faults(of) => faults.push(of),
            ResultLine::Search(found) => searched.add(found),
            ResultLine::Explore(explored) => printed.extend(explored.lines.iter().cloned()),
        }
    }
    printed.extend(tally.lines());
    printed.extend(searched.lines());
    printed.push(report::faults_table(faults.iter().copied()));
    printed.push(report::list_failed_points(faults));
    printed.push(report::summary(&merged.outcomes(), merged.ended_between(), merged.total_duration(), false));
    printed.push(report::list_not_conformant(plays.iter().cloned(), false));
    printed.push(report::common_causes(plays));
    let _ = merged.unplayed();
    for text in printed {
        let acts = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(acts) && !text.lines().any(|line| line.starts_with("::error::")), "{text:?}");
    }
}

/// Splits at separators.
fn split<'a>(data: &'a [u8], separator: &'static [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let text = rest?;
        let at = text.windows(separator.len()).position(|window| window == separator);
        rest = at.map(|at| &text[at + separator.len()..]);
        Some(&text[..at.unwrap_or(text.len())])
    })
}
