//! A run as JUnit XML, for the test reports of CI systems: a case is a test, its failure's text is
//! the whole report of it.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::again::Again;
use super::failure::{failure, headline};
use crate::outcome::Outcome;
use crate::verdict::Judgement;

/// One judged play.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    /// What was found.
    pub judgement: &'a Judgement,
    /// The commands that play it again.
    pub again: &'a Again,
    /// How long it took.
    pub took: Duration,
}

/// The XML. A suite is a subject on a cluster; what is neither right nor wrong is an error, as
/// nothing was proved.
#[must_use]
pub fn junit(played: &[Played<'_>]) -> String {
    let mut report = Report::new("lockstep");
    let mut suites: Vec<(String, Vec<&Played<'_>>)> = Vec::new();
    for it in played {
        let name = format!("{}::{}", it.judgement.cluster.name, it.judgement.subject.name);
        match suites.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(it),
            None => suites.push((name, vec![it])),
        }
    }
    for (name, all) in suites {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(all.into_iter().map(test_case));
        report.add_test_suite(suite);
    }
    report.to_string().unwrap_or_else(|error| format!("<!-- {error} -->"))
}

fn test_case(played: &Played<'_>) -> TestCase {
    let Played { judgement, again, took } = *played;
    let status = match judgement.outcome() {
        Outcome::Conformant => TestCaseStatus::success(),
        outcome => {
            let wrong = outcome == Outcome::NonConformant;
            let kind = if wrong { NonSuccessKind::Failure } else { NonSuccessKind::Error };
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(outcome.name()).set_message(headline(judgement));
            status.set_description(failure(judgement, again, false));
            status
        }
    };
    let mut case = TestCase::new(judgement.case.as_str(), status);
    case.set_time(took);
    let (area, _) = judgement.case.split_once('/').unwrap_or(("", &judgement.case));
    case.set_classname(area);
    let line = judgement.decisive().and_then(|finding| finding.line).unwrap_or(1);
    case.extra.insert(XmlString::new("file"), XmlString::new(&judgement.path));
    case.extra.insert(XmlString::new("line"), XmlString::new(line.to_string()));
    case
}
