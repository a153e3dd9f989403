//! Recordings of tests, judged: the case of a recording is in its header.

use std::sync::Arc;

use super::Judgement;
use crate::case::{self, Case};
use crate::recording::Recording;
use crate::timeline::fixture::SOURCE;
use crate::timeline::{Golden, Timeline};

/// The case that a recording names.
pub(crate) fn case_of(recording: &Recording) -> Arc<Case> {
    let header = &recording.header;
    let parse = |source: &str| case::parse("cases/rolling/x.yaml", "rolling/x", source);
    // A text that is no case is there to be shown.
    let case = parse(&header.source).or_else(|_| parse(SOURCE)).expect("the fixtures' case is good");
    Arc::new(Case { name: header.case.clone(), path: header.path.clone(), source: header.source.clone(), ..case })
}

/// Judged by one golden timeline.
pub(crate) fn judge(recording: &Recording, golden: Option<&Timeline>) -> Judgement {
    judge_by(recording, golden.cloned().map(Golden::from).as_ref())
}

/// Judged by what is golden; where the versions are packed, too.
pub(crate) fn judge_by(recording: &Recording, golden: Option<&Golden>) -> Judgement {
    let judgement = super::judge(&case_of(recording), recording, golden);
    let mut packed = recording.clone();
    packed.pack();
    assert_eq!(super::judge(&case_of(recording), &packed, golden), judgement);
    judgement
}

/// Judged by another run.
pub(crate) fn judge_live(recording: &Recording, other: &Recording) -> Judgement {
    super::judge_live(&case_of(recording), recording, other)
}
