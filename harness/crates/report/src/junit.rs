//! A run as JUnit XML for CI systems. A case is a test, with its report as the text of the failure.

use std::time::Duration;

use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize;
use lockstep_verdict::Judgement;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::failure::{RerunCommands, failure, headline};
use super::summary::{EarlyEnd, ends_between};

/// A judged play with its duration.
#[derive(Debug, Clone, Copy)]
pub struct TimedJudgement<'a> {
    /// What became of the play.
    pub judgement: &'a Judgement,
    /// The commands that repeat it.
    pub rerun: &'a RerunCommands,
    /// How long it took to play.
    pub took: Duration,
}

/// The XML. A suite is a subject on a cluster. A play that is neither conformant nor non-conformant
/// is an error. So is the early end of a run. A subject that ended between two cases is a failure.
#[must_use]
pub fn junit(plays: &[TimedJudgement<'_>], ended_between: usize, early: Option<&EarlyEnd>) -> String {
    let mut report = Report::new("lockstep");
    let mut suites: Vec<(String, Vec<&TimedJudgement<'_>>)> = Vec::new();
    for it in plays {
        let name = format!("{}::{}", it.judgement.cluster.name, it.judgement.subject.name);
        match suites.iter_mut().find(|(suite, _)| *suite == name) {
            Some((_, all)) => all.push(it),
            None => suites.push((name, vec![it])),
        }
    }
    for (name, all) in suites {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(all.into_iter().map(test_case));
        report.add_test_suite(suite);
    }
    let mut suite = TestSuite::new("lockstep");
    if let Some(ended) = ends_between(ended_between) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(RunOutcome::NonConformant.name()).set_message(&ended).set_description(ended);
        suite.add_test_case(TestCase::new("between two cases", status));
    }
    if let Some(early) = early {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("early end").set_message(early.title()).set_description(sanitize::text(&early.error));
        suite.add_test_case(TestCase::new("run", status));
    }
    if !suite.test_cases.is_empty() {
        report.add_test_suite(suite);
    }
    report.to_string().unwrap_or_else(|error| format!("<!-- {error} -->"))
}

fn test_case(play: &TimedJudgement<'_>) -> TestCase {
    let TimedJudgement { judgement, rerun, took } = *play;
    let status = match judgement.outcome() {
        RunOutcome::Conformant => TestCaseStatus::success(),
        outcome => {
            let wrong = outcome == RunOutcome::NonConformant;
            let kind = if wrong { NonSuccessKind::Failure } else { NonSuccessKind::Error };
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(outcome.name()).set_message(headline(judgement));
            status.set_description(failure(judgement, rerun, false));
            status
        }
    };
    let mut case = TestCase::new(judgement.case.as_str(), status);
    case.set_time(took);
    let (area, _) = judgement.case.rsplit_once('/').unwrap_or(("", &judgement.case));
    case.set_classname(area);
    let line = judgement.headline().and_then(|finding| finding.line).unwrap_or(1);
    case.extra.insert(XmlString::new("file"), XmlString::new(&judgement.path));
    case.extra.insert(XmlString::new("line"), XmlString::new(line.to_string()));
    case
}
